// Words in the reader's language. Django's catalogue script defines the globals before modules run;
// without it (it failed to load) the English message ids are shown.

export function gettext(message) {
  return globalThis.gettext ? globalThis.gettext(message) : message;
}

// format("{count} of {all}", {count: 1, all: 2})
export function format(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

export const language = () => document.documentElement.lang || "en";

export function number(value) {
  return new Intl.NumberFormat(language()).format(value);
}

export function moment(stamp) {
  return new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "medium" }).format(new Date(stamp));
}

// "Today", "Yesterday", "Friday, 28 November 2026"
export function day(stamp) {
  const then = new Date(stamp);
  const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());
  const days = Math.round((midnight(new Date()) - midnight(then)) / 86_400_000);
  if (days === 0) return gettext("Today");
  if (days === 1) return gettext("Yesterday");
  return new Intl.DateTimeFormat(language(), { dateStyle: "full" }).format(then);
}

export function clockTime(stamp) {
  return new Intl.DateTimeFormat(language(), { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(new Date(stamp));
}

// "3 minutes ago"
export function ago(stamp, now) {
  const seconds = Math.round((Date.parse(stamp) - now) / 1000);
  const relative = new Intl.RelativeTimeFormat(language(), { numeric: "auto", style: "short" });
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return gettext("just now");
}

// "4 s", "1 min 20 s", "2 h 5 min", "12 d 3 h", and "2 h", not "2 h 0 min"
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return format(gettext("{seconds} s"), { seconds: whole });
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return both(gettext("{minutes} min {seconds} s"), gettext("{minutes} min"), { minutes, seconds: whole % 60 });
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return both(gettext("{hours} h {minutes} min"), gettext("{hours} h"), { hours, minutes: minutes % 60 });
  return both(gettext("{days} d {hours} h"), gettext("{days} d"), { days: Math.floor(hours / 24), hours: hours % 24 });
}

// Leaves the smaller unit, the last value, out where there is none of it.
function both(whole, larger, values) {
  return format(Object.values(values).at(-1) ? whole : larger, values);
}

export function size(bytes) {
  const [value, unit] = bytes >= 1e6 ? [bytes / 1e6, "MB"] : [bytes / 1e3, "kB"];
  return `${number(Math.round(value * 10) / 10)} ${unit}`;
}
