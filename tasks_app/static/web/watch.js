// The page's poller: /v1/tasks?ids=…, and the note that says when the connection is gone.

import { call } from "./api.js";
import { el, fill } from "./dom.js";
import { gettext } from "./i18n.js";
import { loginPage } from "./page.js";
import { Poller } from "./poller.js";

const MOST = 100; // ids in one question

export function watch({ wanted, onTasks }) {
  return new Poller({
    wanted: () => wanted().slice(0, MOST),
    ask: async (ids) => {
      const answer = await call("GET", `/tasks?ids=${ids.join(",")}`);
      return { items: answer.body.items, retryAfter: answer.retryAfter };
    },
    onTasks,
    onTrouble: (failures) => note(failures > 1 ? gettext("Reconnecting…") : ""),
    onEnd: sessionEnded,
  });
}

function note(text) {
  const line = document.getElementById("net");
  line.hidden = !text;
  fill(line, text);
}

export function sessionEnded() {
  const line = document.getElementById("net");
  line.hidden = false;
  fill(line, gettext("Your session has ended."), " ",
    el("a", { href: loginPage() }, gettext("Log in again")));
}
