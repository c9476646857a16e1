// Idempotency keys of requests that have had no answer yet, kept in this tab across reloads: the
// same request sent again has the same key, so it cannot be made twice.

import { newKey } from "./api.js";

const PREFIX = "darkroom-key:";

export function keyFor(name) {
  const held = read(name);
  if (held) return held;
  const key = newKey();
  try {
    sessionStorage.setItem(PREFIX + name, key);
  } catch {
    // storage may be forbidden: then the key lives as long as the page
    kept.set(name, key);
  }
  return key;
}

// The service has answered for good.
export function settled(name) {
  kept.delete(name);
  try {
    sessionStorage.removeItem(PREFIX + name);
  } catch {
    // forbidden
  }
}

const kept = new Map();

function read(name) {
  try {
    return sessionStorage.getItem(PREFIX + name) ?? kept.get(name);
  } catch {
    return kept.get(name);
  }
}
