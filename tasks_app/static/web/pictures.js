// Arrow keys go from picture to picture, and from the last one to the next task.

const FIELD = "input, textarea, select, video, audio, dialog, [contenteditable]";

export function walk(wall) {
  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest?.(FIELD)) return;
    event.preventDefault();
    go(wall, step);
  });
}

function go(wall, step) {
  const pictures = [...wall.querySelectorAll("figure")];
  const place = pictures.indexOf(document.activeElement.closest("figure"));
  const next = pictures[place < 0 ? (step > 0 ? 0 : -1) : place + step];
  if (next && pictures.length > 1) {
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "center" });
    return;
  }
  document.getElementById(step > 0 ? "older" : "newer")?.click();
}
