// What ended while the reader was away: the number in the title and in the header.
//
// The server counts when it makes a page. What ends afterwards, in front of a window that nobody
// looks at, is counted here from the answers to the polls that are made anyway. Looking clears it.

import { post } from "./api.js";
import { say } from "./dom.js";
import { data } from "./page.js";

const page = document.body.dataset;
const badge = document.getElementById("news");
const plain = document.title.replace(/^\(\d+\+?\) /, "");
const seenAt = page.seenAt ?? ""; // as the page was made: what was news then stays marked
let count = Number(page.news ?? 0);
let told = seenAt; // what the server knows to be seen
let latest = page.askedAt ?? ""; // what this page has shown
let shows = false; // whether this page shows what is news
let timer = null;

export const isNews = (task) => Boolean(seenAt) && Boolean(task.finished_at) && task.finished_at > seenAt;

const looking = () => !document.hidden && document.hasFocus();

// This page shows what ended: being looked at, it makes it no news any more.
export function showsNews() {
  shows = true;
  look();
}

// A task has ended, as this page has just learned.
export function ended(task) {
  if (!task.finished_at || task.finished_at <= latest) return;
  latest = task.finished_at;
  if (!looking()) count += 1;
  look();
}

function look() {
  if (shows && looking()) {
    count = 0;
    if (latest > told && !timer) timer = setTimeout(tell, 1500); // several that end together are told once
  }
  show();
}

function show() {
  document.title = count ? `(${count}) ${plain}` : plain;
  if (!badge) return;
  badge.hidden = !count;
  say(badge.firstElementChild, String(count));
}

function tell() {
  clearTimeout(timer);
  timer = null;
  if (latest <= told) return;
  told = latest;
  post(data.urls.seen, { until: latest });
}

window.addEventListener("focus", look);
document.addEventListener("visibilitychange", look);
window.addEventListener("pagehide", () => timer && tell());
