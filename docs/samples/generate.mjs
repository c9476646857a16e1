// Generate one picture with Darkroom: submit, poll, download. Node 18 or newer, no dependencies.
//
//     export DARKROOM_URL=http://127.0.0.1:8000 DARKROOM_API_KEY=dk_…
//     node generate.mjs '{"prompt": "a red boat at dawn"}' boat.png
//
// Exit status: 0 the file is there; 1 it could not be made; 2 it was not ready in time.

import { createHash, randomUUID } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/** Return what the environment must say. */
function setting(name) {
  const value = process.env[name];
  if (value) return value;
  console.error(`${name} is not set: see docs/polling.md for where it comes from.`);
  return process.exit(1);
}

const URL_ = setting("DARKROOM_URL").replace(/\/$/, "");
const KEY = setting("DARKROOM_API_KEY");
const GENERATOR = process.env.GENERATOR ?? "sketch";
const SECONDS = Number(process.env.SECONDS ?? 600);
const TIMEOUT = 30;
const LONGEST_PAUSE = 10;

class TimeIsOver extends Error {}
class Failed extends Error {}

/** One moment for everything: submitting, waiting and downloading. */
class Deadline {
  #at;
  constructor(seconds) {
    this.#at = performance.now() + seconds * 1000;
  }
  left() {
    const seconds = (this.#at - performance.now()) / 1000;
    if (seconds <= 0) throw new TimeIsOver();
    return seconds;
  }
  /** Sleep a little longer than asked for, so that many programs do not come at once. */
  async pause(seconds) {
    await sleep(Math.min(seconds * (1 + Math.random() / 4), this.left()) * 1000);
  }
}

/** Send one request and read its answer whole. Throws when there is none. */
async function ask(method, url, headers, body, seconds) {
  // Whole milliseconds: others are refused.
  const signal = AbortSignal.timeout(Math.ceil(Math.min(TIMEOUT, seconds) * 1000));
  // Redirects are followed by hand: the API key is for the API alone.
  const answer = await fetch(url, { method, headers, body, signal, redirect: "manual" });
  const content = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, content };
}

/**
 * Repeat a request until the service has answered it: safe for all that this program sends.
 *
 * A lost connection, 5xx and 429 are not answers. A submission may have arrived all the same,
 * but it has an idempotency key: sent again, it is the same task.
 */
async function askUntilAnswered(deadline, method, path, headers = {}, body = undefined) {
  const all = { Authorization: `Bearer ${KEY}`, ...headers };
  for (let tries = 0; ; tries += 1) {
    let hint = null;
    const left = deadline.left();
    try {
      const answer = await ask(method, URL_ + path, all, body, left);
      if (answer.status < 500 && answer.status !== 429) return answer;
      hint = answer.headers.get("Retry-After");
      console.error(`${method} ${path}: ${answer.status}, again`);
    } catch (error) {
      console.error(`${method} ${path}: ${error.cause?.code ?? error.message}, again`);
    }
    const backoff = Math.min(LONGEST_PAUSE, 0.5 * 2 ** tries);
    await deadline.pause(hint ? Number(hint) : 0.1 + Math.random() * (backoff - 0.1));
  }
}

/** Say why a request was refused; no repetition would change that. */
function refused({ status, content }) {
  const problem = JSON.parse(content);
  const fields = (problem.errors ?? []).map((one) => `\n  ${one.pointer}: ${one.detail}`);
  return new Failed(`${status} ${problem.code}: ${problem.detail}${fields.join("")}`);
}

/** Submit a task; returns its path and the seconds until a first poll is worth it. */
async function submit(deadline, wish, key) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
  const answer = await askUntilAnswered(deadline, "POST", "/v1/tasks", headers, JSON.stringify(wish));
  if (answer.status !== 200 && answer.status !== 202) throw refused(answer);
  return [answer.headers.get("Location"), Number(answer.headers.get("Retry-After") ?? 0)];
}

/** Poll a task until it has ended; returns it. */
async function wait(deadline, path, seconds) {
  let headers = {};
  for (;;) {
    await deadline.pause(seconds);
    const answer = await askUntilAnswered(deadline, "GET", path, headers);
    if (answer.status === 200) {
      const task = JSON.parse(answer.content);
      console.error(`${task.status} ${task.progress} %`);
      if (["success", "failed", "timeout"].includes(task.status)) return task;
      headers = { "If-None-Match": answer.headers.get("ETag") };
    } else if (answer.status !== 304) {
      throw refused(answer);
    }
    seconds = Number(answer.headers.get("Retry-After"));
  }
}

/** Save a file, if it is the one that was promised. */
async function download(deadline, artifact, target) {
  const path = new URL(artifact.url).pathname;
  let file;
  for (;;) {
    const answer = await askUntilAnswered(deadline, "GET", path);
    if (answer.status !== 302) throw refused(answer);
    const link = new URL(answer.headers.get("Location"), URL_ + path);
    const left = deadline.left();
    file = await ask("GET", link, {}, undefined, left).catch((error) => {
      console.error(`download: ${error.cause?.code ?? error.message}, again`);
      return { status: 0 };
    });
    if (file.status === 200) break;
    await deadline.pause(1); // the link may have ended: ask for another
  }
  const { content } = file;
  if (content.length !== artifact.bytes) {
    throw new Failed(`the file has ${content.length} bytes instead of ${artifact.bytes}`);
  }
  if (createHash("sha256").update(content).digest("hex") !== artifact.sha256) {
    throw new Failed("the file is not the one that was made: its SHA-256 differs");
  }
  await writeFile(`${target}.part`, content);
  await rename(`${target}.part`, target);
}

/** Nobody waits for the task any more: let it not be made, if that can still be said. */
async function cancel(path) {
  try {
    await askUntilAnswered(new Deadline(TIMEOUT), "DELETE", path);
  } catch (error) {
    if (!(error instanceof TimeIsOver)) throw error;
    console.error("could not cancel the task");
  }
}

/** Return the parameters and the file to write, as the command line says. */
function wish([text, target, ...more]) {
  try {
    if (target && !more.length) return [JSON.parse(text), target];
  } catch {
    // said below
  }
  console.error(`Give parameters as JSON and a file: '{"prompt": "a red boat"}' boat.png`);
  return process.exit(1);
}

async function main(args) {
  const [params, target] = wish(args);
  const deadline = new Deadline(SECONDS);
  // Keep the key where your own order is kept, before the first request: a program that was
  // killed sends the same request with the same key again, and gets the same task.
  const key = process.env.IDEMPOTENCY_KEY ?? randomUUID();
  let path;
  let seconds;
  try {
    [path, seconds] = await submit(deadline, { generator: GENERATOR, params }, key);
    const task = await wait(deadline, path, seconds);
    if (task.status !== "success") throw new Failed(`${task.error.code}: ${task.error.message}`);
    if (task.result.artifacts.length === 0) throw new Failed("the result has been removed");
    await download(deadline, task.result.artifacts[0], target);
  } catch (error) {
    if (error instanceof Failed) {
      console.error(error.message);
      return 1;
    }
    if (!(error instanceof TimeIsOver)) throw error;
    if (path) await cancel(path);
    console.error("not ready in time");
    return 2;
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
