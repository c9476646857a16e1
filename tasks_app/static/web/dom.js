// Building the page. Text goes in as text only: prompts are strangers' words.

const SVG = "http://www.w3.org/2000/svg";

// el("a", {class: "x", href: "…", on: {click}, data: {state}, hidden: true}, "text", node, null)
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "data") Object.assign(node.dataset, value);
    else if (name === "class") node.className = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

export function add(node, children) {
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
}

export function fill(node, ...children) {
  node.replaceChildren();
  add(node, children);
}

// Sets text only if it differs, so that screen readers and selections are left in peace.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function icon(name, className = "icon") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", className);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

// A little rectangle with the proportions of a picture.
export function frame(width, height) {
  const scale = 18 / Math.max(width, height);
  const [w, h] = [width * scale, height * scale];
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "frame");
  svg.setAttribute("viewBox", "0 0 22 22");
  svg.setAttribute("aria-hidden", "true");
  const rect = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ x: 11 - w / 2, y: 11 - h / 2, width: w, height: h, rx: 1.5 })) {
    rect.setAttribute(name, String(value));
  }
  svg.append(rect);
  return svg;
}

export function button(label, { icon: name, class: className = "", on, ...rest } = {}) {
  return el("button", { type: "button", class: className, on: on ? { click: on } : undefined, ...rest },
    name ? icon(name) : null, el("span", {}, label));
}

export function announce(text) {
  const region = document.getElementById("announce");
  if (region) say(region, text);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
