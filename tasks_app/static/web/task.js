// One task: its pictures large, its wish, its history.

import { cancelButton, copyButton, iconLink, removeButton, retryButton } from "./actions.js";
import { call, newKey } from "./api.js";
import { ProgressBar, StateLine } from "./card.js";
import { curl } from "./curl.js";
import { button, el, fill, icon } from "./dom.js";
import { clockTime, duration, format, gettext, moment, number, size } from "./i18n.js";
import { ended, isNews, showsNews } from "./notices.js";
import { data, taskPage } from "./page.js";
import { walk } from "./pictures.js";
import { blank, download, picture, sheet, tombstone } from "./prints.js";
import { watch } from "./watch.js";
import { advice, attemptsOf, errorSentence, errorTitle, eventDetail, eventWord, isCanceled, isGone, isLive, promptOf, stateIcon, stateWord } from "./words.js";

const wall = document.getElementById("wall");
const facts = document.getElementById("facts");
const state = new StateLine();
const bar = new ProgressBar();
const note = el("div", { class: "note" });
const actions = el("div", { class: "actions" });
const story = el("ol", { class: "history" });
const tries = el("section", { class: "panel", hidden: true, "aria-labelledby": "tries-title" });
let task = data.task;
let shown = null;
let paper = null;

const poller = watch({
  wanted: () => (isLive(task) ? [task.task_id] : []),
  onTasks: ([fresh]) => {
    if (!fresh) return;
    const lived = isLive(task);
    update(fresh);
    if (lived && !isLive(fresh)) ended(fresh);
  },
});

function update(fresh) {
  const wasLive = shown !== null && isLive(task);
  const attempt = task.attempt;
  task = fresh;
  facts.dataset.state = isCanceled(task) ? "canceled" : task.status;
  state.update(task);
  bar.update(task);
  paper?.style.setProperty("--wet", String(task.status === "running" ? task.progress / 100 : 0));
  const look = `${task.status}/${isGone(task)}`;
  if (look !== shown) {
    shown = look;
    hang(wasLive);
    fill(note, explanation());
    const focused = actions.contains(document.activeElement);
    fill(actions, buttons());
    if (focused) actions.querySelector("button, a")?.focus();
    loadHistory();
  } else if (attempt !== task.attempt) {
    loadHistory();
  }
}

// --- pictures ---

function hang(wasLive) {
  const artifacts = task.result?.artifacts ?? [];
  paper = null;
  if (artifacts.length) {
    fill(wall, artifacts.map((artifact, place) => figure(artifact, place, artifacts.length, wasLive)));
  } else if (isLive(task)) {
    paper = sheet(task);
    const card = el("div", { class: "card", data: { state: task.status } }, paper);
    card.style.setProperty("--ratio", paper.style.getPropertyValue("--ratio"));
    fill(wall, card);
  } else {
    const empty = sheet(task);
    blank(empty, isGone(task) ? tombstone(goneWords()) : el("div", { class: "tomb" }, icon(stateIcon(task))));
    fill(wall, empty);
  }
}

function goneWords() {
  return format(gettext("{state} {time}"), { state: stateWord(task), time: moment(task.result.removed_at) });
}

function figure(artifact, place, count, wasLive) {
  const image = picture(artifact, task, place, count);
  if (wasLive) image.classList.add("developing");
  const seeded = Number.isInteger(artifact.seed);
  return el("figure", {}, image, el("figcaption", {},
    el("span", { class: "dim" }, `${artifact.width} × ${artifact.height} · ${size(artifact.bytes)}`,
      seeded ? ` · ${format(gettext("seed {seed}"), { seed: artifact.seed })}` : ""),
    el("span", { class: "actions" },
      seeded && task.params.seed !== artifact.seed ? iconLink(`${data.urls.home}?from=${task.task_id}&seed=${artifact.seed}`, gettext("Use this seed"), "dice", { class: "quiet" }) : null,
      iconLink(download(artifact), gettext("Download"), "save", { download: "", class: "button" }))));
}

// --- facts ---

function explanation() {
  if (task.error && !isCanceled(task)) {
    return [el("p", { class: "what" }, errorTitle(task.error.code)), el("p", { class: "help" }, `${errorSentence(task.error)} ${advice(task)}`.trim())];
  }
  if (task.status === "success" && !isGone(task)) {
    return el("p", { class: "help" }, format(gettext("Kept until {time}."), { time: moment(task.result.expires_at) }));
  }
  return null;
}

function buttons() {
  if (isLive(task)) return cancelButton(task, update);
  const reuse = iconLink(`${data.urls.home}?from=${task.task_id}`, gettext("Reuse"), "reuse");
  const fresh = (added) => location.assign(taskPage(added.task_id));
  return [
    task.status !== "success" && task.error.retryable ? retryButton(task, fresh) : null,
    reuse,
    task.result?.artifacts.length > 1 ? button(gettext("Download all"), { icon: "save", on: saveAll }) : null,
    task.status === "success" && !isGone(task) ? removeButton(task, update) : null,
  ];
}

// One after the other: browsers take several downloads of one click for the same one otherwise.
async function saveAll() {
  for (const artifact of task.result.artifacts) {
    const link = el("a", { href: download(artifact), download: "" });
    document.body.append(link);
    link.click();
    link.remove();
    await new Promise((resume) => setTimeout(resume, 400));
  }
}

// The parameters in the words and the order of the generator's form, as far as it is still offered.
function wish() {
  const offered = data.generators.find((one) => one.name === task.generator);
  const specs = offered?.params_schema.properties ?? {};
  const { width, height, ...rest } = task.params;
  const names = [...new Set([...Object.keys(specs), ...Object.keys(rest)])]
    .filter((name) => name !== "prompt" && name in rest && rest[name] !== null && rest[name] !== "");
  return el("dl", { class: "params" },
    row(gettext("Generator"), offered?.title ?? task.generator),
    width && height ? row(gettext("Size"), `${width} × ${height}`) : null,
    names.map((name) => row(specs[name]?.title ?? name.replaceAll("_", " "), valueWord(rest[name], specs[name]))),
    row(gettext("Handed in"), moment(task.created_at)),
    task.retry_of ? row(gettext("Retry of"), el("a", { href: taskPage(task.retry_of) }, gettext("an earlier task"))) : null,
    row(gettext("Task"), el("code", {}, task.task_id)));
}

function valueWord(value, spec) {
  const label = spec?.["x-enum-labels"]?.[value];
  if (label) return label;
  if (typeof value === "number" && spec?.["x-unit"]) return `${number(value)} ${spec["x-unit"]}`;
  if (typeof value === "number" && !Number.isInteger(value)) return number(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const row = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));

async function loadHistory() {
  try {
    const { body } = await call("GET", `/tasks/${task.task_id}/events`);
    const begin = Date.parse(task.created_at);
    showTries(attemptsOf(body.items));
    fill(story, body.items.map((event) => el("li", { data: { kind: event.kind } },
      el("span", { class: "event" }, eventWord(event, task.kind), event.attempt > 1 ? el("small", {}, ` ${format(gettext("attempt {number}"), { number: event.attempt })}`) : null),
      el("span", { class: "dim" }, eventDetail(event, task.kind)),
      el("time", { datetime: event.at, title: moment(event.at) }, clockTime(event.at), " ", el("small", {}, `+${duration((Date.parse(event.at) - begin) / 1000)}`)))));
  } catch (error) {
    if (error.status === undefined) throw error;
  }
}

// Worth a table of their own when there was more than one.
function showTries(attempts) {
  tries.hidden = attempts.length < 2;
  fill(tries, el("h2", { id: "tries-title" }, gettext("Attempts")), el("ol", { class: "tries" }, attempts.map((attempt) =>
    el("li", { value: attempt.number, data: { kind: attempt.kind ?? "running" } },
      el("span", {}, attempt.kind ? attempt.how : gettext("Developing")),
      el("time", { class: "dim", datetime: attempt.began, title: moment(attempt.began) },
        attempt.ended ? duration((Date.parse(attempt.ended) - Date.parse(attempt.began)) / 1000) : clockTime(attempt.began)),
      attempt.detail ? el("span", { class: "dim" }, attempt.detail) : null))));
}

fill(facts,
  el("p", { class: "full-prompt" }, promptOf(task)),
  el("div", { class: "panel status" }, state.node, bar.node, note, actions),
  el("section", { class: "panel" }, el("h2", {}, gettext("Request")), wish(),
    el("div", { class: "actions" },
      copyButton(gettext("Copy as curl"), () => curl(task, location.origin, newKey()), {
        title: gettext("Sent twice, it is still one task: change its key for another one."),
      }),
      copyButton(gettext("Copy prompt"), () => promptOf(task)))),
  el("section", { class: "panel" }, el("h2", {}, gettext("History")), story), tries);
update(task);
walk(wall);
if (isNews(task) && document.body.dataset.news === "1") showsNews(); // the only news is this one
poller.soon();
setInterval(() => isLive(task) && state.tick(task), 1000);

