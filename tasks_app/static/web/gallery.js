// What was made before: a grid of boxes of one size, newest first, more on demand.

import { call } from "./api.js";
import { button, el, fill, icon } from "./dom.js";
import { ago, format, gettext, number } from "./i18n.js";
import { isNews } from "./notices.js";
import { now, taskPage } from "./page.js";
import { isFilm, picture, playOnHover, tombstone } from "./prints.js";
import { isCanceled, isGone, promptOf, stateIcon, stateWord } from "./words.js";

const ENDED = "success,failed,timeout";

export function tile(task) {
  const artifacts = (task.result?.artifacts ?? []).slice(0, 4);
  const shown = artifacts.length
    ? artifacts.map((artifact, place) => picture(artifact, task, place, artifacts.length, { thumbnail: true }))
    : tombstone(isGone(task) ? stateWord(task) : "");
  if (!artifacts.length && !isGone(task)) fill(shown, icon(stateIcon(task)));
  const box = el("div", { class: "box", data: { cells: Math.max(1, artifacts.length) } }, shown);
  const film = artifacts.find(isFilm);
  if (film) box.append(el("span", { class: "length" }, format(gettext("{seconds} s"), { seconds: number(Math.round(film.duration_seconds)) })));
  const item = el("li", { class: "tile", data: { task: task.task_id, state: isCanceled(task) ? "canceled" : isGone(task) ? "gone" : task.status, news: String(isNews(task)) } },
    el("a", { href: taskPage(task.task_id) },
      box,
      el("div", { class: "caption" },
        el("span", { class: "snippet", title: promptOf(task) }, promptOf(task)),
        el("span", { class: "badge" }, icon(stateIcon(task)), el("span", {}, stateWord(task)),
          el("time", { datetime: task.finished_at ?? task.created_at }, ago(task.finished_at ?? task.created_at, now()))))));
  if (film) playOnHover(item.firstElementChild, box, film);
  return item;
}

export class Gallery {
  #list = document.getElementById("gallery");
  #more = document.getElementById("more");
  #cursor;
  #onChange = null;

  constructor(tasks, cursor, onChange) {
    this.#cursor = cursor;
    this.#list.append(...tasks.map(tile));
    this.#more.addEventListener("click", () => this.#load());
    this.#show();
    this.#onChange = onChange;
  }

  get empty() {
    return this.#list.childElementCount === 0;
  }

  #find(id) {
    return this.#list.querySelector(`[data-task="${CSS.escape(id)}"]`);
  }

  // A task that has ended, at its place by age (ids are ordered by time).
  put(task) {
    this.#insert(task);
    this.#show();
  }

  #insert(task) {
    const fresh = tile(task);
    const known = this.#find(task.task_id);
    if (known?.dataset.state === fresh.dataset.state) return known;
    known?.remove();
    const older = [...this.#list.children].find((item) => item.dataset.task < task.task_id);
    this.#list.insertBefore(fresh, older ?? null);
    return fresh;
  }

  #show() {
    this.#more.hidden = !this.#cursor;
    this.#onChange?.();
  }

  async #load() {
    if (this.#more.getAttribute("aria-busy")) return;
    this.#more.setAttribute("aria-busy", "true");
    try {
      const { body } = await call("GET", `/tasks?status=${ENDED}&limit=24&cursor=${encodeURIComponent(this.#cursor)}`);
      const fresh = body.items.map((task) => this.#insert(task));
      this.#cursor = body.next_cursor;
      fresh[0]?.querySelector("a").focus({ preventScroll: true });
      this.#more.textContent = gettext("Show more");
    } catch (error) {
      if (error.status === undefined) throw error;
      this.#more.textContent = gettext("That did not work. Try again");
    } finally {
      this.#more.removeAttribute("aria-busy");
      this.#show();
    }
  }
}

// Shown before the first picture: what could be asked for.
export function invitation(onPick) {
  const ideas = [
    gettext("A lighthouse in a storm at dusk"),
    gettext("Snowy mountains under the northern lights"),
    gettext("A quiet harbour in morning fog, ink wash"),
    gettext("A bunch of red poppies, watercolour"),
  ];
  return [
    el("div", { class: "blank", "aria-hidden": "true" }, el("span", {}), el("span", {}), el("span", {})),
    el("h3", {}, gettext("Your first picture is one sentence away")),
    el("p", { class: "lead" }, gettext("Write what you would like to see, or begin with one of these:")),
    el("div", { class: "ideas" }, ideas.map((idea) => button(idea, { on: () => onPick(idea) }))),
  ];
}
