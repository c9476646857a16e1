// The page of callbacks, just after a new secret: copies it, and keeps a reload from making another.

import { copy } from "./clipboard.js";
import { announce } from "./dom.js";
import { gettext } from "./i18n.js";

const secret = document.getElementById("secret");
const button = document.getElementById("copy");
const word = button.querySelector("span");
const label = word.textContent;

history.replaceState(null, "", location.pathname.replace(/\/secret$/, ""));
secret.addEventListener("focus", () => secret.select());
button.hidden = false;
button.addEventListener("click", async () => {
  const said = (await copy(secret.value)) ? gettext("Copied") : gettext("Copying is not possible here");
  announce(said);
  word.textContent = said;
  setTimeout(() => { word.textContent = label; }, 1600);
});
