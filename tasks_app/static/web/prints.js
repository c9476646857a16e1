// Pictures on paper: boxes that have their proportions before the picture is there.

import { calm, el, fill, icon } from "./dom.js";
import { format, gettext } from "./i18n.js";
import { own } from "./page.js";
import { promptOf } from "./words.js";

const clamp = (value) => Math.min(2.4, Math.max(0.42, value));

function proportions(task) {
  const [first] = task.result?.artifacts ?? [];
  const width = first?.width ?? task.params.width;
  const height = first?.height ?? task.params.height;
  return width > 0 && height > 0 ? [width, height] : [1, 1];
}

// An empty sheet with as many cells as pictures were asked for.
export function sheet(task) {
  const wanted = task.result?.artifacts.length || Number(task.params.n) || 1;
  const cells = Math.min(4, Math.max(1, wanted));
  const [width, height] = proportions(task);
  const node = el("div", { class: "print", data: { cells, shape: width > height ? "wide" : "tall" } },
    Array.from({ length: cells }, () => el("div", { class: "cell" })));
  node.style.setProperty("--ratio", String(clamp(width / height)));
  return node;
}

// Lets the pictures of a finished task appear on its sheet.
export function develop(node, task, { slowly = false } = {}) {
  const shown = task.result.artifacts.slice(0, 4);
  const cells = shown.map((artifact, place) => {
    const image = picture(artifact, task, place, shown.length);
    if (slowly && !calm()) image.classList.add("developing");
    return el("div", { class: "cell" }, image);
  });
  node.dataset.cells = String(shown.length);
  fill(node, cells);
}

export function picture(artifact, task, place, count, { thumbnail = false } = {}) {
  // A thumbnail stands beside its prompt, within the same link: a name would only be said twice.
  const alt = thumbnail ? "" : count > 1
    ? format(gettext("Picture {place} of {count}: {prompt}"), { place: place + 1, count, prompt: promptOf(task).slice(0, 200) })
    : promptOf(task).slice(0, 200);
  const image = el("img", {
    src: own(thumbnail ? artifact.thumbnail_url : artifact.url), alt,
    width: artifact.width, height: artifact.height, decoding: "async", loading: thumbnail ? "lazy" : null,
  });
  image.addEventListener("load", () => image.classList.add("there"), { once: true });
  image.addEventListener("error", () => image.replaceWith(tombstone(gettext("This picture cannot be shown."))), { once: true });
  return image;
}

export function tombstone(text) {
  return el("div", { class: "tomb" }, icon("ghost"), el("span", {}, text));
}

export const download = (artifact) => `${own(artifact.url)}?download=1`;
