// What states, waits, errors and events are called.

import { duration, format, gettext, language, number } from "./i18n.js";
import { data } from "./page.js";

export const LIVE = new Set(["pending", "running"]);
export const isLive = (task) => LIVE.has(task.status);
export const isCanceled = (task) => task.error?.code === "canceled";
export const isGone = (task) => task.status === "success" && !task.result?.artifacts.length;

export function stateWord(task) {
  if (isCanceled(task)) return gettext("Canceled");
  if (isGone(task)) {
    return task.result.removed_at < task.result.expires_at ? gettext("Removed") : gettext("Expired");
  }
  return {
    pending: gettext("Waiting"),
    running: gettext("Developing"),
    success: gettext("Finished"),
    failed: gettext("Failed"),
    timeout: gettext("Timed out"),
  }[task.status];
}

export function stateIcon(task) {
  if (isCanceled(task)) return "stop";
  if (isGone(task)) return "ghost";
  if (task.waiting_for === "paused") return "pause";
  return { pending: "clock", running: "drop", success: "check", failed: "warn", timeout: "hourglass" }[task.status];
}

// Why a task has not started, or how far it is.
export function reason(task) {
  if (task.status === "running") {
    return task.attempt > 1 ? format(gettext("Attempt {number}"), { number: task.attempt }) : "";
  }
  if (task.status !== "pending") return "";
  return {
    slots: task.queue_position === 1 ? gettext("Next in line: it starts when a place is free.") : gettext("Waiting for a free place."),
    your_limit: gettext("You have as many running as your plan allows; it starts when one of them ends."),
    no_worker: gettext("No worker is on duty. It keeps its place and starts as soon as one comes."),
    paused: gettext("This generator is paused. The task keeps its place."),
    upstream: gettext("The model service is busy. It is tried again shortly."),
    storage: gettext("Results cannot be stored at the moment. It keeps its place and starts as soon as they can."),
  }[task.waiting_for] ?? gettext("Handed in; it starts in a moment.");
}

export function figures(task, now) {
  const parts = [];
  if (task.status === "pending") {
    if (task.queue_position > 1) parts.push(format(gettext("No. {place} in line"), { place: number(task.queue_position) }));
    parts.push(format(gettext("waiting {time}"), { time: duration((now - Date.parse(task.created_at)) / 1000) }));
  } else if (task.status === "running") {
    parts.push(duration((now - Date.parse(task.started_at)) / 1000));
  } else {
    const from = Date.parse(task.started_at ?? task.created_at);
    const sentence = task.status === "success" ? gettext("took {time}") : gettext("after {time}");
    parts.push(format(sentence, { time: duration((Date.parse(task.finished_at) - from) / 1000) }));
  }
  if (task.eta_seconds) parts.push(format(gettext("about {time} left"), { time: duration(task.eta_seconds) }));
  if (task.degraded) parts.push(gettext("made by a substitute"));
  return parts.join(" · ");
}

export const errorTitle = (code) => (code === "internal" ? null : codeWord(code)) ?? gettext("That did not work");

function codeWord(code) {
  return {
    canceled: gettext("Canceled"),
    invalid_params: gettext("The generator did not accept the request"),
    content_rejected: gettext("The generator refused this content"),
    upstream_rejected: gettext("The model service refused the request"),
    upstream_error: gettext("The model service failed"),
    upstream_unreachable: gettext("The model service could not be reached"),
    outcome_unknown: gettext("It is not known whether the request arrived"),
    worker_lost: gettext("The worker was lost"),
    waited_too_long: gettext("It waited too long"),
    deadline_exceeded: gettext("It took too long"),
    result_unusable: gettext("The result could not be used"),
    internal: gettext("Something went wrong inside the service"),
  }[code];
}

// What happened, in the reader's language, with what the generator itself said.
export function errorSentence({ code, message }) {
  const known = data.errors[code];
  if (!known || !message.startsWith(known.english)) return message;
  return `${known.said} ${message.slice(known.english.length).trim()}`.trim();
}

// What to do about it.
export function advice(task) {
  const { code, retryable } = task.error;
  return {
    canceled: "",
    content_rejected: gettext("Describe it differently and send it again."),
    invalid_params: gettext("Reuse the request, change what does not fit and send it again."),
    upstream_unreachable: gettext("Wait a few minutes, then try again."),
    outcome_unknown: gettext("Trying again may be charged a second time by the model service."),
    waited_too_long: gettext("Try again when less is going on."),
    deadline_exceeded: gettext("Try again, or ask for something smaller or simpler."),
    result_unusable: gettext("Change the request and send it again; if that does not help, tell those who run this service."),
    internal: gettext("Try again; if it happens again, tell those who run this service, with the id of the task."),
  }[code] ?? (retryable ? gettext("Trying again may help.") : gettext("Change the request and send it again."));
}

// What the button is called that removes a result, and what it asks.
export function removalWords(task) {
  const several = task.result.artifacts.length > 1;
  if (task.kind === "video") {
    return several ? [gettext("Delete videos"), gettext("Delete these videos?")] : [gettext("Delete video"), gettext("Delete this video?")];
  }
  return several ? [gettext("Delete pictures"), gettext("Delete these pictures?")] : [gettext("Delete picture"), gettext("Delete this picture?")];
}

const used = (sentence, limit) =>
  format(sentence, { used: number(limit?.used ?? 0), size: number(limit?.size ?? 0) });

// Why the service refused a request. The API speaks English; what is known by its code is said here.
export function refusal(error) {
  return {
    not_found: gettext("It is not there any more."),
    result_expired: gettext("The result is not stored any more."),
    generator_unavailable: gettext("This generator is not offered any more."),
    not_finished: gettext("It has not ended yet."),
    idempotency_key_reused: gettext("This was sent before with other values. Change something and send it again."),
    too_many_open_tasks: gettext("You have as many open tasks as your plan allows. Wait for one to finish, or cancel one."),
    submit_rate: gettext("That is faster than your plan allows."),
    day_limit: used(gettext("You have used {used} of the {size} tasks of today (UTC)."), error.problem?.limit),
    month_limit: used(gettext("You have used {used} of the {size} tasks of this month (UTC)."), error.problem?.limit),
    too_large: gettext("That is more than this service reads."),
    forbidden: gettext("The service did not accept this page any more. Reload it and try again."),
    unavailable: gettext("A part of the service is away at the moment. Try again shortly."),
    internal: gettext("Something went wrong inside the service"),
  }[error.problem?.code] ?? error.message;
}

// What is wrong with one field of a request; English readers get the service's own words.
export function fieldWords({ code, detail }) {
  if (language().startsWith("en")) return detail;
  return {
    required: gettext("Please fill this in."),
    wrong_type: gettext("This is of the wrong kind."),
    not_a_choice: gettext("Please choose one of these."),
    too_small: gettext("This is too small."),
    too_large: gettext("This is too large."),
    number_too_large: gettext("This is too large."),
    not_a_multiple: gettext("This is between the steps that are possible."),
    too_short: gettext("This is too short."),
    too_long: gettext("This is too long."),
    too_few: gettext("These are too few."),
    too_many: gettext("These are too many."),
    nul_character: gettext("There is a character in it that cannot be stored."),
    unknown_field: gettext("The generator does not know this."),
    unknown_generator: gettext("This generator is not offered any more."),
    above_plan: gettext("This is more than your plan allows."),
  }[code] ?? detail;
}

export function eventWord(event, kind) {
  const word = {
    submitted: gettext("Handed in"),
    claimed: gettext("Taken by a worker"),
    succeeded: gettext("Finished"),
    failed: gettext("Failed"),
    timed_out: gettext("Timed out"),
    canceled: gettext("Canceled"),
    requeued: gettext("Back in line"),
    attempt_ended: gettext("Attempt ended"),
    late_result: gettext("A result came too late"),
    result_removed: kind === "video" ? gettext("Video removed") : gettext("Pictures removed"),
    staff_action: gettext("Staff stepped in"),
  }[event.kind];
  return word ?? event.kind;
}

export function eventDetail(event, kind) {
  const { code, reason: why, detail, by, action, artifacts } = event.data ?? {};
  const words = event.kind === "canceled" ? [] : [code, why].map((one) => codeWord(one) ?? reasonWord(one));
  const made = event.kind === "succeeded" && artifacts > 1 ? format(kind === "video" ? gettext("{count} videos") : gettext("{count} pictures"), { count: number(artifacts) }) : "";
  return [...words, made, actionWord(action), detail, whoWord(by)].filter((part) => typeof part === "string" && part).join(" · ");
}

const reasonWord = (reason) => ({
  "worker stopped": gettext("the worker was stopped in good order"),
  "generator withdrawn": gettext("the generator was taken off the offer"),
  "worker lost": gettext("the worker gave no sign of life any more"),
})[reason] ?? reason;

const actionWord = (action) => ({
  retry: gettext("handed in once more"),
  release_slots: gettext("its places were set free"),
})[action] ?? action;

const whoWord = (who) => ({ owner: gettext("by you"), staff: gettext("by staff"), expiry: gettext("their time was over") })[who] ?? who;

// The attempts that a history tells of: [{number, began, ended, how, detail}].
export function attemptsOf(events) {
  const attempts = new Map();
  for (const event of events) {
    if (event.kind === "claimed") attempts.set(event.attempt, { number: event.attempt, began: event.at, ended: null, kind: null, detail: "" });
    const attempt = attempts.get(event.attempt);
    if (!attempt || !ENDS.has(event.kind) || attempt.ended) continue;
    Object.assign(attempt, { ended: event.at, kind: event.kind, how: eventWord(event), detail: eventDetail(event) });
  }
  return [...attempts.values()];
}

const ENDS = new Set(["succeeded", "failed", "timed_out", "canceled", "requeued", "attempt_ended"]);

export const promptOf = (task) =>
  typeof task.params.prompt === "string" && task.params.prompt.trim() ? task.params.prompt.trim() : gettext("No prompt");
