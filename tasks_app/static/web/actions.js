// What can be done with a task, as buttons that guard themselves against a second click.

import { call, insist } from "./api.js";
import { copy } from "./clipboard.js";
import { countDown } from "./countdown.js";
import { announce, button, el, fill, icon } from "./dom.js";
import { duration, format, gettext } from "./i18n.js";
import { keyFor, settled } from "./pending.js";
import { sessionEnded } from "./watch.js";
import { refusal, removalWords } from "./words.js";

const TWICE = 1500; // ms within which a second click means the first one

// Runs one request at a time; a refusal is said next to the button.
function guarded(label, options, act) {
  const node = button(label, { ...options, on: async () => {
    if (node.getAttribute("aria-busy")) return;
    node.setAttribute("aria-busy", "true");
    try {
      await act();
    } catch (error) {
      if (error.status === undefined) throw error;
      if (error.status === 401) sessionEnded();
      complain(node, error);
    } finally {
      node.removeAttribute("aria-busy");
    }
  } });
  return node;
}

function complain(node, error) {
  node.parentElement?.querySelector(".action-error")?.remove();
  const text = error.status ? refusal(error) : gettext("The service does not answer. Try again.");
  const left = el("b", {});
  const said = el("span", { class: "action-error", role: "alert" }, text, " ", left);
  node.after(said);
  if (error.status !== 429) {
    setTimeout(() => said.remove(), 8000);
    return;
  }
  const stop = countDown(error.retryAfter ?? 5, (rest) => {
    if (said.isConnected) fill(left, format(gettext("Ready in {time}."), { time: duration(rest) }));
    else stop();
  }, () => said.remove());
}

export function cancelButton(task, onTask) {
  return guarded(gettext("Cancel"), { icon: "stop" }, async () => {
    const { body } = await insist("DELETE", `/tasks/${task.task_id}`, {}, { tries: 3 });
    onTask(body);
  });
}

export function retryButton(task, onNew, { primary = true } = {}) {
  const name = `retry:${task.task_id}`;
  let key = null; // for clicks in a row, and across reloads until there is an answer: one new task
  return guarded(gettext("Try again"), { icon: "retry", class: primary ? "primary" : "" }, async () => {
    key ??= keyFor(name);
    const { body, retryAfter } = await insist("POST", `/tasks/${task.task_id}/retry`, { body: {}, key });
    settled(name);
    setTimeout(() => { key = null; }, TWICE);
    onNew(body, retryAfter);
  });
}

export function removeButton(task, onTask) {
  const [label, question] = removalWords(task);
  return button(label, { icon: "bin", class: "danger", on: () => ask(
    question,
    gettext("It is removed for good, with its files. The task stays in your history."),
    gettext("Delete"),
    gettext("Keep"),
    async () => onTask((await call("DELETE", `/tasks/${task.task_id}/result`)).body),
  ) });
}

export function copyButton(label, text, options = {}) {
  const node = button(label, { icon: "copy", ...options, on: async () => {
    const done = await copy(text());
    announce(done ? gettext("Copied") : gettext("Copying is not possible here"));
    const word = node.querySelector("span");
    word.textContent = done ? gettext("Copied") : gettext("Copying is not possible here");
    setTimeout(() => { word.textContent = label; }, 1600);
  } });
  return node;
}

function ask(title, text, yes, no, act) {
  const close = () => dialog.close();
  const confirm = guarded(yes, { class: "danger solid", icon: "bin" }, async () => { await act(); close(); });
  const dialog = el("dialog", { class: "ask", "aria-labelledby": "ask-title" },
    el("h2", { id: "ask-title" }, title), el("p", {}, text),
    el("div", { class: "actions" }, button(no, { on: close, autofocus: true }), confirm));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && close());
  document.body.append(dialog);
  dialog.showModal();
}

export function iconLink(href, label, name, props = {}) {
  return el("a", { class: "button", href, ...props }, icon(name), el("span", {}, label));
}
