// The account: what comes back counts down; then the page is read anew.

import { countDown } from "./countdown.js";
import { say } from "./dom.js";
import { duration, format, gettext } from "./i18n.js";

const WORDS = {
  anew: gettext("It begins anew in {time}."),
  next: gettext("the next one in {time}"),
};

for (const node of document.querySelectorAll("[data-countdown]")) {
  node.hidden = false;
  countDown(Number(node.dataset.countdown), (left) => {
    say(node, format(WORDS[node.dataset.words], { time: duration(left) }));
  }, () => location.reload());
}

for (const node of document.querySelectorAll("[data-duration]")) {
  say(node, duration(Number(node.dataset.duration)));
}
