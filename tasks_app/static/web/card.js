// A task in the tray: drawn once, then kept up to date in place, so that focus is not lost.

import { cancelButton, iconLink, retryButton } from "./actions.js";
import { announce, button, el, fill, icon, say } from "./dom.js";
import { format, gettext } from "./i18n.js";
import { now, taskPage } from "./page.js";
import { blank, develop, download, sheet, tombstone } from "./prints.js";
import { advice, errorSentence, errorTitle, figures, isCanceled, isGone, isLive, promptOf, reason, stateIcon, stateWord } from "./words.js";

const HELD = new Set(["paused", "no_worker", "upstream", "storage"]); // nothing moves until somebody acts

export class ProgressBar {
  node = el("div", { class: "bar", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": gettext("Progress") }, el("div", {}));

  update(task) {
    const waiting = task.status === "pending";
    this.node.hidden = !isLive(task);
    this.node.dataset.waiting = String(waiting);
    this.node.dataset.held = String(HELD.has(task.waiting_for));
    if (waiting) this.node.removeAttribute("aria-valuenow");
    else this.node.setAttribute("aria-valuenow", String(task.progress));
    this.node.firstChild.style.setProperty("--part", String(waiting ? 0 : task.progress / 100));
  }
}

// State in words, with an icon; says changes of state aloud.
export class StateLine {
  #mark = el("span", { class: "mark" });
  #word = el("strong", {});
  #percent = el("span", { class: "percent", "aria-hidden": "true" });
  #why = el("p", { class: "why" });
  #figures = el("p", { class: "figures" });
  #seen = null;
  node = el("div", { class: "state" }, el("p", { class: "state-head" }, this.#mark, this.#word, this.#percent), this.#why, this.#figures);

  update(task) {
    const word = stateWord(task);
    if (word !== this.#word.textContent || task.status !== this.#seen) fill(this.#mark, icon(stateIcon(task)));
    say(this.#word, word);
    say(this.#percent, task.status === "running" ? `${task.progress} %` : "");
    const why = reason(task);
    this.#why.hidden = !why;
    say(this.#why, why);
    this.tick(task);
    if (this.#seen && this.#seen !== task.status) announce(format("{state}: {prompt}", { state: word, prompt: promptOf(task).slice(0, 80) }));
    this.#seen = task.status;
  }

  tick(task) {
    say(this.#figures, figures(task, now()));
  }
}

const SHOWS_PROGRESS = new Set(["pending", "running"]);

export class Card {
  #handlers;
  #sheet;
  #state = new StateLine();
  #bar = new ProgressBar();
  #note = el("div", { class: "note" });
  #actions = el("div", { class: "actions" });
  #shown = null;

  // handlers: {changed(task), added(task, hint), reuse(task), dismiss(task)}
  constructor(task, handlers) {
    this.#handlers = handlers;
    this.task = task;
    this.#sheet = sheet(task);
    const title = el("a", { class: "prompt-line", href: taskPage(task.task_id), title: promptOf(task) }, promptOf(task));
    this.node = el("article", { class: "card", data: { task: task.task_id }, "aria-label": promptOf(task).slice(0, 80) },
      this.#sheet, el("div", { class: "card-body" }, title, this.#state.node, this.#bar.node, this.#note, this.#actions));
    this.node.style.setProperty("--ratio", this.#sheet.style.getPropertyValue("--ratio"));
    this.update(task);
  }

  get live() {
    return isLive(this.task);
  }

  update(task) {
    const wasLive = this.#shown !== null && SHOWS_PROGRESS.has(this.#shown);
    this.task = task;
    this.node.dataset.state = isCanceled(task) ? "canceled" : task.status;
    this.#state.update(task);
    this.#bar.update(task);
    this.#sheet.style.setProperty("--wet", String(task.status === "running" ? task.progress / 100 : 0));
    if (this.#shown === task.status) return;
    this.#shown = task.status;
    const focused = this.#actions.contains(document.activeElement);
    this.#ended(task, wasLive);
    fill(this.#actions, this.#buttons(task));
    if (focused) this.#actions.querySelector("button, a")?.focus();
  }

  tick() {
    if (this.live) this.#state.tick(this.task);
  }

  #ended(task, wasLive) {
    fill(this.#note);
    if (task.status === "success" && !isGone(task)) develop(this.#sheet, task, { slowly: wasLive });
    else if (isGone(task)) blank(this.#sheet, tombstone(stateWord(task)));
    else if (!isLive(task)) blank(this.#sheet, el("div", { class: "tomb" }, icon(stateIcon(task))));
    if (task.error && !isCanceled(task)) {
      fill(this.#note, el("p", { class: "what" }, errorTitle(task.error.code)), el("p", { class: "help" }, `${errorSentence(task.error)} ${advice(task)}`.trim()));
    }
  }

  #buttons(task) {
    const { changed, added, reuse, dismiss } = this.#handlers;
    if (isLive(task)) return cancelButton(task, changed);
    const open = iconLink(taskPage(task.task_id), gettext("Open"), "link");
    const again = button(gettext("Reuse"), { icon: "reuse", on: () => reuse(this.task) });
    const away = el("button", {
      type: "button", class: "quiet square away", "aria-label": gettext("Put away"), title: gettext("Put away"),
      on: { click: () => dismiss(this.task) },
    }, icon("close"));
    if (task.status === "success") {
      const artifacts = task.result.artifacts;
      const save = artifacts.length === 1 ? iconLink(download(artifacts[0]), gettext("Download"), "save", { download: "" }) : null;
      return [save, open, again, away];
    }
    return [task.error.retryable ? retryButton(task, added) : null, open, again, away];
  }
}
