// The part of JSON Schema that forms need: what is wrong with one value, in a sentence.
// The service judges again; this only saves a round trip.

import { format, gettext, number } from "./i18n.js";

export const typesOf = (spec) => [spec.type ?? "string"].flat();
export const isNumber = (spec) => typesOf(spec).some((type) => type === "integer" || type === "number");

// Returns a sentence, or "" when the value fits. `undefined` means: not given.
export function fault(value, spec, required = false) {
  if (value === undefined || value === null) {
    return required ? gettext("Please fill this in.") : "";
  }
  if (spec.enum && !spec.enum.includes(value)) return gettext("Please choose one of these.");
  if (isNumber(spec)) return numberFault(value, spec);
  if (typeof value === "string") return textFault(value, spec, required);
  return "";
}

function numberFault(value, spec) {
  if (typeof value !== "number" || !Number.isFinite(value)) return gettext("Please give a number.");
  if (!typesOf(spec).includes("number") && !Number.isSafeInteger(value)) return gettext("Please give a whole number.");
  if (value < spec.minimum) return format(gettext("At least {limit}."), { limit: number(spec.minimum) });
  if (value > spec.maximum) return format(gettext("At most {limit}."), { limit: number(spec.maximum) });
  if (spec.multipleOf && Math.abs(value / spec.multipleOf - Math.round(value / spec.multipleOf)) > 1e-9) {
    return format(gettext("A multiple of {step}, for example {example}."),
      { step: number(spec.multipleOf), example: number(Math.round(value / spec.multipleOf) * spec.multipleOf) });
  }
  return "";
}

function textFault(value, spec, required) {
  const length = [...value].length; // characters, as the schema counts them, not UTF-16 units
  if (required && spec.minLength && !value.trim()) return gettext("Please fill this in.");
  if (length < spec.minLength) return format(gettext("At least {limit} characters."), { limit: number(spec.minLength) });
  if (length > spec.maxLength) {
    return format(gettext("{over} characters too long (at most {limit})."),
      { over: number(length - spec.maxLength), limit: number(spec.maxLength) });
  }
  return "";
}

const RATIOS = [
  ["square", 1, 1], ["portrait", 3, 4], ["tall", 9, 16], ["landscape", 4, 3], ["wide", 16, 9],
];

// Sizes worth offering within the bounds of both sides: [{name, width, height}].
export function presets(width, height) {
  const long = Math.max(width.default ?? 1024, height.default ?? 1024);
  const fitted = (side, spec) => {
    const step = spec.multipleOf ?? 1;
    return Math.round(side / step) * step;
  };
  const inside = (side, spec) => side >= (spec.minimum ?? 1) && side <= (spec.maximum ?? Infinity);
  return RATIOS
    .map(([name, w, h]) => ({
      name,
      width: fitted(w >= h ? long : (long * w) / h, width),
      height: fitted(h >= w ? long : (long * h) / w, height),
    }))
    .filter((size) => inside(size.width, width) && inside(size.height, height));
}
