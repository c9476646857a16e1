// The studio: compose, the tray of what develops, and what was made before.

import { call } from "./api.js";
import { Card } from "./card.js";
import { calm, fill } from "./dom.js";
import { Compose } from "./form.js";
import { Gallery, invitation } from "./gallery.js";
import { ended, showsNews } from "./notices.js";
import { data } from "./page.js";
import { watch } from "./watch.js";
import { isLive } from "./words.js";

const cards = new Map(); // task id -> Card, newest first in the page
const tray = document.getElementById("tray");
const empty = document.getElementById("empty");

const handlers = { changed: update, added: show, reuse: (task) => compose.reuse(task), dismiss: putAway };

const poller = watch({
  wanted: () => [...cards.values()].filter((card) => card.live).map((card) => card.task.task_id),
  onTasks: (tasks, missing) => {
    tasks.forEach(update);
    missing.forEach(drop);
  },
});

const gallery = new Gallery(data.recent, data.next_cursor, layout);
const compose = new Compose(document.getElementById("compose"), (task, hint) => {
  for (const card of [...cards.values()]) if (card.task.status === "success") putAway(card.task);
  show(task, hint);
});
fill(empty, invitation((text) => compose.prompt(text)));

function show(task, hint = null) {
  if (cards.has(task.task_id)) return update(task);
  const card = new Card(task, handlers);
  cards.set(task.task_id, card);
  const older = [...tray.children].find((node) => node.dataset.task < task.task_id);
  tray.insertBefore(card.node, older ?? null);
  layout();
  if (hint !== null) {
    card.node.classList.add("entering");
    card.node.scrollIntoView({ block: "nearest", behavior: calm() ? "auto" : "smooth" });
  }
  poller.soon(hint);
}

function update(task) {
  const card = cards.get(task.task_id);
  const lived = card?.live;
  card?.update(task);
  if (lived && !isLive(task)) ended(task);
}

function drop(id) {
  cards.get(id)?.node.remove();
  cards.delete(id);
  layout();
}

function putAway(task) {
  drop(task.task_id);
  gallery.put(task);
}

function layout() {
  document.getElementById("tray-section").hidden = cards.size === 0;
  empty.hidden = cards.size > 0 || !gallery.empty;
  document.getElementById("recent-section").hidden = cards.size > 0 && gallery.empty;
  document.getElementById("recent-title").hidden = gallery.empty;
}

// Tasks handed in elsewhere (another tab, the API) turn up when this tab is looked at again.
async function catchUp() {
  if (document.hidden) return;
  try {
    const { body } = await call("GET", "/tasks?limit=24");
    for (const task of body.items.reverse()) {
      if (cards.has(task.task_id)) update(task);
      else if (isLive(task)) show(task);
      else {
        gallery.put(task);
        ended(task);
      }
    }
  } catch (error) {
    if (error.status === undefined) throw error; // the poller tells about the network
  }
}

// A link of the task page: /?from=<task>&seed=<seed> fills the form.
async function takeOver() {
  const query = new URLSearchParams(location.search);
  const from = query.get("from");
  if (!from) return;
  history.replaceState(null, "", location.pathname);
  try {
    const { body } = await call("GET", `/tasks/${encodeURIComponent(from)}`);
    compose.reuse(body, query.has("seed") ? { seed: Number(query.get("seed")), n: 1 } : {});
  } catch (error) {
    if (error.status === undefined) throw error;
  }
}

for (const task of [...data.live].reverse()) show(task);
layout();
takeOver();
showsNews();
document.addEventListener("visibilitychange", catchUp);
window.addEventListener("pageshow", (event) => event.persisted && catchUp());
setInterval(() => cards.forEach((card) => card.tick()), 1000);

