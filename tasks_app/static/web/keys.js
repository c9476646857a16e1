// The page of API keys: copies a new key, and keeps a reload from making another one.

import { copy } from "./clipboard.js";
import { announce } from "./dom.js";
import { gettext } from "./i18n.js";

const secret = document.getElementById("secret");
const button = document.getElementById("copy");

if (secret) {
  history.replaceState(null, "", location.pathname); // the answer to a form, kept as a page of its own
  secret.addEventListener("focus", () => secret.select());
  button.hidden = false;
  const word = button.querySelector("span");
  const label = word.textContent;
  button.addEventListener("click", async () => {
    const said = (await copy(secret.value)) ? gettext("Copied") : gettext("Copying is not possible here");
    announce(said);
    word.textContent = said;
    setTimeout(() => { word.textContent = label; }, 1600);
  });
}

const form = document.getElementById("new-key");
form.addEventListener("submit", (event) => {
  if (form.getAttribute("aria-busy")) event.preventDefault(); // the second click of two
  form.setAttribute("aria-busy", "true");
});
window.addEventListener("pageshow", () => form.removeAttribute("aria-busy"));
