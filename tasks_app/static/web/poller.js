// Asks for all watched tasks in one request, as seldom as the service hints.

const FLOOR = 1; // seconds
const CAP = 15;

// Seconds until the next question. With a hint never earlier than it, a little later at random,
// so that many pages do not ask in step; without one full jitter under a growing ceiling.
export function delay({ hint = null, polls = 0, failures = 0, random = Math.random }) {
  if (hint !== null) {
    const start = Math.min(Math.max(hint, FLOOR), failures ? 60 : CAP);
    return start + random() * Math.min(start * 0.5, 3);
  }
  const ceiling = Math.min(CAP, 2 * 2 ** (failures || polls));
  return Math.max(FLOOR, random() * ceiling);
}

export class Poller {
  #timer = null;
  #busy = false;
  #again = false;
  #ended = false;
  #polls = 0;
  #failures = 0;
  #options;

  // wanted(): ids to watch; ask(ids): {items, retryAfter}; onTasks(items, missing);
  // onTrouble(failures): 0 when all is well again; onEnd(): the session is over.
  constructor(options) {
    this.#options = options;
    document.addEventListener("visibilitychange", () => this.#seen());
    window.addEventListener("pageshow", (event) => event.persisted && this.now());
    window.addEventListener("online", () => this.now());
  }

  // Something new to watch: the first question comes soon.
  soon(hint = null) {
    this.#polls = 0;
    this.#plan(delay({ hint: hint === null ? FLOOR : hint }));
  }

  now() {
    this.#polls = 0;
    this.#plan(0);
  }

  #seen() {
    if (document.hidden) clearTimeout(this.#timer);
    else this.now();
  }

  #plan(seconds) {
    clearTimeout(this.#timer);
    if (this.#ended || document.hidden || !this.#options.wanted().length) return;
    this.#timer = setTimeout(() => this.#ask(), seconds * 1000);
  }

  async #ask() {
    if (this.#busy) {
      this.#again = true;
      return;
    }
    const ids = this.#options.wanted();
    if (!ids.length) return;
    this.#busy = true;
    let next;
    try {
      next = await this.#once(ids);
    } catch (error) {
      next = this.#failed(error);
    } finally {
      this.#busy = false;
    }
    this.#plan(this.#again ? 0 : next);
    this.#again = false;
  }

  async #once(ids) {
    const { items, retryAfter } = await this.#options.ask(ids);
    if (this.#failures) this.#options.onTrouble(0);
    this.#failures = 0;
    this.#polls += 1;
    const found = new Set(items.map((item) => item.task_id));
    this.#options.onTasks(items, ids.filter((id) => !found.has(id)));
    return delay({ hint: retryAfter, polls: this.#polls });
  }

  #failed(error) {
    if (error.status === 401) {
      this.#ended = true;
      this.#options.onEnd();
      return CAP;
    }
    if (error.status === undefined) throw error; // a bug of ours, not of the network
    this.#failures += 1;
    this.#options.onTrouble(this.#failures);
    return delay({ hint: error.retryAfter || null, failures: this.#failures });
  }
}
