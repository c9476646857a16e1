// What states, waits, errors and events are called.

import { duration, format, gettext, number } from "./i18n.js";

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

export function advice(task) {
  const { code, retryable } = task.error;
  if (code === "canceled") return "";
  if (code === "content_rejected") return gettext("Describe it differently and send it again.");
  if (code === "outcome_unknown") return gettext("Trying again may be charged a second time by the model service.");
  return retryable ? gettext("Trying again may help.") : gettext("Change the request and send it again.");
}

export function eventWord(event) {
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
    result_removed: gettext("Pictures removed"),
    staff_action: gettext("Staff stepped in"),
  }[event.kind];
  return word ?? event.kind;
}

export function eventDetail(event) {
  const { code, reason: why, detail, by } = event.data ?? {};
  const words = event.kind === "canceled" ? [] : [code, why].map((one) => codeWord(one) ?? one);
  const who = by === "owner" ? gettext("by you") : by;
  return [...words, detail, who].filter((part) => typeof part === "string" && part).join(" · ");
}

export const promptOf = (task) =>
  typeof task.params.prompt === "string" && task.params.prompt.trim() ? task.params.prompt.trim() : gettext("No prompt");
