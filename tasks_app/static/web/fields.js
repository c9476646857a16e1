// Form fields drawn from a schema. Each is {names, node, read(), write(values), fault(name, text)}:
// read() gives {name: value}, leaving out what is empty.

import { add, el, fill, frame, icon } from "./dom.js";
import { format, gettext, number } from "./i18n.js";
import { fault, isNumber, presets, typesOf } from "./schema.js";

const MOST_CHIPS = 6;

// A labelled shell with help and error text tied to the control(s).
function shell(name, spec, { group = false, aside = null, quiet = false } = {}) {
  const id = `f-${name}`;
  const error = el("p", { class: "error", id: `${id}-error`, hidden: true });
  const help = spec.description ? el("p", { class: quiet ? "unseen" : "help", id: `${id}-help` }, spec.description) : null;
  const title = spec.title ?? name;
  const described = [help ? help.id : null, error.id].filter(Boolean).join(" ");
  const node = group
    ? el("fieldset", { class: "field", "aria-describedby": described }, el("legend", {}, title))
    : el("div", { class: "field" }, el("div", { class: "label-row" }, el("label", { for: id }, title), aside));
  const tell = (control) => (text) => {
    error.hidden = !text;
    fill(error, text ? icon("warn") : null, text);
    for (const one of [control].flat()) {
      if (text) one.setAttribute("aria-invalid", "true");
      else one.removeAttribute("aria-invalid");
    }
  };
  return { id, node, help, error, described, tell };
}

function single(name, spec, control, value, write, frameOptions = {}) {
  const { id, node, help, error, described, tell } = shell(name, spec, frameOptions);
  control.id = id;
  control.setAttribute("aria-describedby", described);
  add(node, [frameOptions.wrap ?? control, error, help]);
  const show = tell(control);
  return {
    names: [name],
    node,
    read: () => (value() === undefined ? {} : { [name]: value() }),
    write: (values) => write(values[name]),
    fault: (_, text) => show(text),
    focus: () => control.focus(),
  };
}

export function textarea(name, spec, { big = false, required = false } = {}) {
  const count = el("span", { class: "count", "aria-hidden": "true" });
  const control = el("textarea", {
    rows: big ? 4 : 2, class: big ? "prompt" : null, "aria-required": required ? "true" : null, spellcheck: "true",
    placeholder: big ? gettext("A lighthouse in a storm, late evening light…") : null,
  });
  const recount = () => {
    const length = [...control.value].length;
    const near = spec.maxLength && length > spec.maxLength * 0.8;
    fill(count, near ? `${number(length)} / ${number(spec.maxLength)}` : "");
  };
  control.addEventListener("input", recount);
  const value = () => (control.value === "" ? undefined : control.value);
  return single(name, spec, control, value, (text) => {
    control.value = text ?? spec.default ?? "";
    recount();
  }, { aside: count, quiet: big });
}

function line(name, spec) {
  const control = el("input", { type: "text", autocomplete: "off" });
  return single(name, spec, control, () => (control.value === "" ? undefined : control.value),
    (text) => { control.value = text ?? spec.default ?? ""; });
}

function numeric(name, spec, extra = null) {
  const control = el("input", {
    type: "text", inputmode: "decimal", autocomplete: "off", size: 10, placeholder: typesOf(spec).includes("null") ? gettext("any") : null,
  });
  const value = () => {
    const text = control.value.trim();
    if (text === "") return undefined;
    return Number.isNaN(Number(text)) ? text : Number(text);
  };
  const unit = spec["x-unit"] ? el("span", { class: "unit" }, spec["x-unit"]) : null;
  const wrap = el("div", { class: "with-button" }, control, unit, extra?.(control));
  return single(name, spec, control, value, (given) => { control.value = given ?? spec.default ?? ""; }, { wrap });
}

function seed(name, spec) {
  return numeric(name, spec, (control) => el("button", {
    type: "button", class: "square", "aria-label": gettext("Roll a seed"), title: gettext("Roll a seed"),
    on: {
      click: () => {
        const low = spec.minimum ?? 0;
        const span = Math.min(spec.maximum ?? 1e9, 999_999_999) - low + 1;
        control.value = String(low + (crypto.getRandomValues(new Uint32Array(1))[0] % span));
        control.dispatchEvent(new Event("input", { bubbles: true }));
      },
    },
  }, icon("dice")));
}

function tick(name, spec) {
  const control = el("input", { type: "checkbox", id: `f-${name}` });
  const error = el("p", { class: "error", hidden: true });
  const node = el("div", { class: "field" },
    el("label", { class: "check" }, control, el("span", {}, spec.title ?? name)), error,
    spec.description ? el("p", { class: "help" }, spec.description) : null);
  return {
    names: [name], node, read: () => ({ [name]: control.checked }),
    write: (values) => { control.checked = Boolean(values[name] ?? spec.default); },
    fault: (_, text) => { error.hidden = !text; fill(error, text); },
    focus: () => control.focus(),
  };
}

// Radio buttons that look like chips: [[value, ...what to show]].
function chips(name, spec, options, { className = "chips" } = {}) {
  const { id, node, help, error, tell } = shell(name, spec, { group: true });
  const inputs = options.map(([value]) => el("input", { type: "radio", name: id, value: String(value) }));
  const list = el("div", { class: className }, options.map(([, ...shown], place) =>
    el("label", { class: "chip" }, inputs[place], el("span", {}, shown))));
  add(node, [list, error, help]);
  const show = tell(inputs);
  const picked = () => inputs.findIndex((input) => input.checked);
  return {
    names: [name],
    node,
    inputs,
    read: () => (picked() < 0 ? {} : { [name]: options[picked()][0] }),
    write: (values) => {
      const wanted = values[name] ?? spec.default;
      inputs.forEach((input, place) => { input.checked = options[place][0] === wanted; });
    },
    fault: (_, text) => show(text),
    focus: () => (inputs[Math.max(0, picked())] ?? node).focus(),
  };
}

function choice(name, spec) {
  const labels = spec["x-enum-labels"] ?? {};
  const options = spec.enum.map((value) => [value, labels[value] ?? String(value)]);
  if (options.length <= MOST_CHIPS) return chips(name, spec, options);
  const control = el("select", {}, options.map(([value, label]) => el("option", { value: String(value) }, label)));
  return single(name, spec, control, () => options[control.selectedIndex]?.[0], (given) => {
    control.selectedIndex = Math.max(0, options.findIndex(([value]) => value === (given ?? spec.default)));
  }, { quiet: true, wrap: el("div", { class: "select" }, control) });
}

function count(name, spec) {
  const numbers = Array.from({ length: spec.maximum - spec.minimum + 1 }, (_, place) => spec.minimum + place);
  return chips(name, spec, numbers.map((value) => [value, number(value)]), { className: "segments" });
}

function structure(name, spec) {
  const control = el("textarea", { rows: 3, class: "code", spellcheck: "false" });
  const value = () => {
    if (!control.value.trim()) return undefined;
    try {
      return JSON.parse(control.value);
    } catch {
      return control.value; // the service says what it should be
    }
  };
  return single(name, spec, control, value, (given) => {
    const shown = given ?? spec.default;
    control.value = shown === undefined || shown === null ? "" : JSON.stringify(shown);
  });
}

// Width and height together: chips with little rectangles, and numbers for everything else.
export function sizes(width, height) {
  const words = {
    square: gettext("Square"), portrait: gettext("Portrait"), tall: gettext("Tall"),
    landscape: gettext("Landscape"), wide: gettext("Wide"), custom: gettext("Custom"),
  };
  const offered = presets(width, height);
  const options = offered.map((size) => [size.name, frame(size.width, size.height), el("b", {}, words[size.name]),
    el("small", {}, `${size.width} × ${size.height}`)]);
  options.push(["custom", frame(5, 4), el("b", {}, words.custom), el("small", {}, gettext("your numbers"))]);
  const picker = chips("size", { title: gettext("Size") }, options, { className: "chips tiles" });
  const sides = { width: numeric("width", width), height: numeric("height", height) };
  const numbers = el("div", { class: "pair", hidden: true }, sides.width.node, sides.height.node);
  picker.node.append(numbers);
  const sync = () => {
    const { size: name } = picker.read();
    const chosen = offered.find((size) => size.name === name);
    numbers.hidden = Boolean(chosen);
    if (chosen) for (const side of ["width", "height"]) sides[side].write(chosen);
  };
  picker.node.addEventListener("change", (event) => picker.inputs.includes(event.target) && sync());
  return {
    names: ["width", "height"],
    node: picker.node,
    read: () => ({ ...sides.width.read(), ...sides.height.read() }),
    write: (values) => {
      const wanted = { width: values.width ?? width.default, height: values.height ?? height.default };
      for (const side of ["width", "height"]) sides[side].write(wanted);
      const match = offered.find((size) => size.width === wanted.width && size.height === wanted.height);
      picker.write({ size: match ? match.name : "custom" });
      numbers.hidden = Boolean(match);
    },
    fault: (name, text) => {
      if (text) {
        picker.write({ size: "custom" });
        numbers.hidden = false;
      }
      sides[name].fault(name, text);
    },
    focus: () => (numbers.hidden ? picker : sides.width).focus(),
  };
}

function plain(name, spec, required) {
  const types = typesOf(spec);
  if (spec.enum) return choice(name, spec);
  if (types.includes("boolean")) return tick(name, spec);
  if (name === "seed" && isNumber(spec)) return seed(name, spec);
  if (isNumber(spec)) {
    const few = types.length === 1 && spec.type === "integer" && spec.maximum - spec.minimum < 8 && spec.default !== undefined;
    return few ? count(name, spec) : numeric(name, spec);
  }
  if (types.includes("array") || types.includes("object")) return structure(name, spec);
  if (spec.format === "textarea" || name === "prompt") return textarea(name, spec, { big: name === "prompt", required });
  return line(name, spec);
}

// All fields of a schema: {open, folded}, in the schema's order.
export function draw(schema) {
  const properties = schema.properties ?? {};
  const required = new Set(schema.required ?? []);
  const sided = properties.width && properties.height && [properties.width, properties.height].every(isNumber);
  const open = [];
  const folded = [];
  for (const [name, spec] of ordered(properties)) {
    if (name === "height" && sided) continue;
    const field = name === "width" && sided ? sizes(spec, properties.height) : plain(name, spec, required.has(name));
    const secondText = spec.format === "textarea" && !required.has(name);
    (spec["x-advanced"] || secondText ? folded : open).push(field);
  }
  return { open, folded, check: (values) => check(properties, required, values) };
}

// The words come first, wherever the schema has them; the rest keeps its order.
function ordered(properties) {
  const entries = Object.entries(properties);
  return [...entries.filter(([name]) => name === "prompt"), ...entries.filter(([name]) => name !== "prompt")];
}

function check(properties, required, values) {
  const faults = {};
  for (const [name, spec] of Object.entries(properties)) {
    const text = fault(values[name], spec, required.has(name));
    if (text) faults[name] = text;
  }
  return faults;
}

export const unknownField = (name, text) => format("{name}: {text}", { name, text });
