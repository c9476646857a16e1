// The gallery page: days of tiles, more of them on demand, live ones kept up to date.

import { call } from "./api.js";
import { announce, el, fill, icon, say } from "./dom.js";
import { tile } from "./gallery.js";
import { day, format, gettext, moment } from "./i18n.js";
import { ended, showsNews } from "./notices.js";
import { data } from "./page.js";
import { watch } from "./watch.js";
import { isLive } from "./words.js";

const shown = data.gallery;
const list = document.getElementById("gallery");
const more = document.getElementById("more");
const finder = document.getElementById("finder");
const tasks = new Map(); // id -> task
const MOST_PAGES = 20; // that are drawn again after going back
let cursor = shown.next_cursor;
let pages = 1;

// Appends tasks, older than all that are there, under their days.
function append(found) {
  for (const task of found) {
    if (tasks.has(task.task_id)) continue;
    const name = day(task.created_at);
    if (list.dataset.day !== name) {
      list.dataset.day = name;
      list.append(el("li", { class: "day" }, el("h2", {}, name)));
    }
    tasks.set(task.task_id, task);
    list.append(tile(task));
  }
}

function update(task) {
  const before = tasks.get(task.task_id);
  tasks.set(task.task_id, task);
  if (before?.status === task.status) return;
  const old = list.querySelector(`[data-task="${CSS.escape(task.task_id)}"]`);
  const focused = old?.contains(document.activeElement);
  const fresh = tile(task);
  old?.replaceWith(fresh);
  if (focused) fresh.querySelector("a").focus({ preventScroll: true });
  if (!isLive(task)) ended(task);
}

const poller = watch({
  wanted: () => [...tasks.values()].filter(isLive).map((task) => task.task_id),
  onTasks: (found) => found.forEach(update),
});

// How far a search went that found too little to fill its page.
function reach(to) {
  const line = document.getElementById("reach");
  line.hidden = !to;
  if (to) fill(line, format(gettext("Searched back to {time}."), { time: moment(to) }));
  say(more, to ? gettext("Search on") : gettext("Show more"));
  more.hidden = !cursor;
  if (cursor) {
    const address = new URL(location.href);
    address.searchParams.set("before", cursor);
    more.href = address.pathname + address.search;
  }
  const empty = document.getElementById("empty");
  empty.hidden = tasks.size > 0 || Boolean(cursor);
  list.hidden = !tasks.size;
  if (!empty.hidden && !empty.firstChild) fill(empty, nothing());
}

function nothing() {
  if (!shown.narrowed) {
    return [el("h3", {}, gettext("Nothing has been developed yet")),
      el("p", { class: "lead" }, gettext("What you make in the studio is kept here.")),
      el("a", { class: "button primary", href: data.urls.home }, gettext("To the studio"))];
  }
  return [icon("ghost", "icon emblem"), el("h3", {}, gettext("Nothing like that here")),
    el("p", { class: "lead" }, gettext("Try fewer words, another state or more days.")),
    el("a", { class: "button", href: data.urls.gallery }, gettext("Show all"))];
}

// The time of an id: its first 48 bits are milliseconds.
const timeOf = (id) => new Date(parseInt(id.replaceAll("-", "").slice(0, 12), 16)).toISOString();

async function load() {
  if (more.getAttribute("aria-busy") || !cursor) return false;
  more.setAttribute("aria-busy", "true");
  try {
    const query = new URLSearchParams(shown.query);
    query.set("limit", String(shown.page_size));
    query.set("cursor", cursor);
    const { body } = await call("GET", `/tasks?${query}`);
    const before = tasks.size;
    append(body.items);
    cursor = body.next_cursor;
    pages += 1;
    reach(cursor && body.items.length < shown.page_size ? timeOf(cursor) : null);
    announce(format(gettext("{count} more"), { count: tasks.size - before }));
    poller.soon();
    return true;
  } catch (error) {
    if (error.status === undefined) throw error;
    say(more, gettext("That did not work. Try again"));
    return false;
  } finally {
    more.removeAttribute("aria-busy");
  }
}

more.addEventListener("click", async (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a link like any other
  event.preventDefault();
  const last = list.lastElementChild;
  if (await load()) (last?.nextElementSibling?.querySelector("a") ?? last?.nextElementSibling?.nextElementSibling?.querySelector("a"))?.focus({ preventScroll: true });
});

// Going back draws what was drawn before, and returns to the place.
async function restore() {
  const { pages: wanted = 1, top = 0 } = history.state ?? {};
  while (pages < Math.min(wanted, MOST_PAGES) && await load());
  if (top) scrollTo(0, top);
}

// --- the form ---

// Only what is asked for gets into the address; days are those of the reader's clock.
finder.addEventListener("submit", () => {
  const days = ["from", "to"].some((name) => finder.elements[name].value);
  finder.elements.zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  finder.elements.zone.disabled = !days;
  for (const field of finder.querySelectorAll("input:not([type=hidden]), select")) field.disabled = !field.value;
});
finder.addEventListener("change", (event) => event.target.matches("select") && finder.requestSubmit());
window.addEventListener("pageshow", () => {
  for (const field of finder.querySelectorAll("input, select")) field.disabled = false;
});

window.addEventListener("pagehide", () => history.replaceState({ pages, top: scrollY }, ""));
append(shown.items);
reach(shown.searched_to);
restore();
showsNews();
poller.soon();
