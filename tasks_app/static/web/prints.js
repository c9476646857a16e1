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

// A sheet that will never hold a picture: one cell, whatever was asked for.
export function blank(node, content) {
  node.dataset.cells = "1";
  fill(node, content);
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
  if (isFilm(artifact) && !thumbnail) return film(artifact, alt);
  const image = el("img", {
    src: own(thumbnail ? artifact.thumbnail_url : artifact.url), alt,
    width: artifact.width, height: artifact.height, decoding: "async", loading: thumbnail ? "lazy" : null,
  });
  image.addEventListener("load", () => image.classList.add("there"), { once: true });
  image.addEventListener("error", () => image.replaceWith(tombstone(gettext("This picture cannot be shown."))), { once: true });
  return image;
}

export const isFilm = (artifact) => artifact.media_type.startsWith("video/");

// A loop: plays by itself, silently, unless the reader asked for calm; the box is there before it.
function film(artifact, label) {
  const video = el("video", {
    src: own(artifact.url), poster: own(artifact.thumbnail_url), "aria-label": label,
    width: artifact.width, height: artifact.height,
    loop: true, playsinline: true, controls: true, preload: calm() ? "none" : "auto",
  });
  // Its place is kept from the beginning, whatever the poster's size is.
  video.style.aspectRatio = `${artifact.width} / ${artifact.height}`;
  video.style.setProperty("--width", `${artifact.width}px`);
  video.style.setProperty("--ratio", String(artifact.width / artifact.height));
  video.muted = true;
  video.autoplay = !calm();
  video.addEventListener("loadeddata", () => video.classList.add("there"), { once: true });
  video.addEventListener("error", () => video.replaceWith(tombstone(gettext("This video cannot be shown."))), { once: true });
  return video;
}

// Lets the video behind a thumbnail play while one points at it or has the focus on it.
export function playOnHover(link, box, artifact) {
  let video = null;
  const stop = () => { video?.remove(); video = null; };
  const start = () => {
    if (video || calm()) return;
    video = el("video", { src: own(artifact.url), loop: true, playsinline: true, "aria-hidden": "true", tabindex: -1 });
    video.muted = true;
    video.addEventListener("playing", ({ target }) => target.classList.add("there"), { once: true });
    video.addEventListener("error", stop, { once: true });
    box.append(video);
    video.play().catch(() => {}); // gone again before it began
  };
  for (const event of ["pointerenter", "focus"]) link.addEventListener(event, start);
  for (const event of ["pointerleave", "blur"]) link.addEventListener(event, stop);
}

export function tombstone(text) {
  return el("div", { class: "tomb" }, icon("ghost"), el("span", {}, text));
}

export const download = (artifact) => `${own(artifact.url)}?download=1`;
