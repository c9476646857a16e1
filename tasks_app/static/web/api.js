// Calls of /v1 with the page's session.

import { data } from "./page.js";

const TIMEOUT = 20_000;

// The service answered, and it was not what was hoped for.
export class Refused extends Error {
  constructor(status, problem, retryAfter) {
    super(problem.detail || problem.title || `HTTP ${status}`);
    this.status = status;
    this.problem = problem;
    this.retryAfter = retryAfter;
  }

  get passing() {
    return [408, 502, 503, 504].includes(this.status);
  }
}

// No answer: it may or may not have arrived.
export class Unreachable extends Error {
  passing = true;
  retryAfter = null;
  status = 0;
}

export async function call(method, path, { body, key } = {}) {
  const aborter = new AbortController();
  const timer = setTimeout(() => aborter.abort(), TIMEOUT);
  try {
    const response = await fetch(`/v1${path}`, {
      method,
      headers: headers(method, body, key),
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      cache: "no-store",
      signal: aborter.signal,
    });
    return await read(response);
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Unreachable(String(error));
  } finally {
    clearTimeout(timer);
  }
}

// Sends a request with an idempotency key until there is an answer: the same key every time.
export async function insist(method, path, options, { tries = 6, onWait = () => {} } = {}) {
  for (let tried = 1; ; tried += 1) {
    try {
      return await call(method, path, options);
    } catch (error) {
      if (!error.passing || tried >= tries) throw error;
      onWait(tried);
      const cap = Math.min(8, 2 ** (tried - 1));
      const seconds = Math.max(error.retryAfter ?? 0, 0.3 + Math.random() * cap);
      await new Promise((resume) => setTimeout(resume, Math.min(seconds, 15) * 1000));
    }
  }
}

// A small form of our own pages, sent along even while the page goes away; its loss does no harm.
export function post(address, fields) {
  return fetch(address, {
    method: "POST",
    headers: { "X-CSRFToken": cookie(data.csrf_cookie) },
    body: new URLSearchParams(fields),
    credentials: "same-origin",
    keepalive: true,
  }).catch(() => {});
}

async function read(response) {
  const retryAfter = parseRetryAfter(response.headers.get("Retry-After"));
  const text = await response.text();
  if (!response.ok) throw new Refused(response.status, problem(text), retryAfter);
  return { status: response.status, body: text ? JSON.parse(text) : null, retryAfter };
}

function problem(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {}; // something between us and the service answered
  }
}

export function parseRetryAfter(value) {
  if (!value) return null;
  if (/^\d+$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, (at - Date.now()) / 1000);
}

function headers(method, body, key) {
  const sent = { Accept: "application/json" };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (key) sent["Idempotency-Key"] = key;
  if (method !== "GET") sent["X-CSRFToken"] = cookie(data.csrf_cookie);
  return sent;
}

// Read at each call: a login in another tab changes it.
function cookie(name) {
  const found = document.cookie.split("; ").find((part) => part.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

// crypto.randomUUID exists only on https and localhost; getRandomValues exists everywhere.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return "web-" + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
