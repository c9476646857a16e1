// The compose form: draws itself from the chosen generator's schema and hands wishes in.
//
// A filled form has one idempotency key, whatever is clicked how often: it is made at the first
// try and given up when the form is edited or the service has accepted it.

import { insist, newKey } from "./api.js";
import { countDown } from "./countdown.js";
import { add, el, fill, icon } from "./dom.js";
import { draw, unknownField } from "./fields.js";
import { duration, format, gettext } from "./i18n.js";
import { data, loginPage } from "./page.js";
import { fault } from "./schema.js";
import { fieldWords, refusal } from "./words.js";

const DRAFT = "darkroom-draft";
const SHORT = 60; // seconds of a wait during which the form cannot be sent
const HOLD = 700; // ms after an accepted form, so that the second click of two is not a second wish

export class Compose {
  #form;
  #onAccepted;
  #generator = null;
  #fields = [];
  #schema = null;
  #key = null;
  #unanswered = false;
  #busy = false;
  #countdown = null;
  #slot = el("div", { class: "slot" });
  #about = el("p", { class: "help" });
  #problem = el("div", { class: "problem", role: "alert" });
  #label = el("span", {}, gettext("Develop"));
  #submit = el("button", { class: "primary wide", type: "submit" }, icon("drop"), this.#label,
    el("kbd", { "aria-hidden": "true" }, /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘ ↵" : "Ctrl ↵"));

  constructor(form, onAccepted) {
    this.#form = form;
    this.#onAccepted = onAccepted;
    add(form, [el("div", { class: "fields" }, this.#chooser(), this.#slot), this.#problem, el("div", { class: "send" }, this.#submit)]);
    form.addEventListener("input", (event) => this.#edited(event));
    form.addEventListener("submit", (event) => { event.preventDefault(); this.#send(); });
    form.addEventListener("keydown", (event) => this.#shortcut(event));
    this.#submit.addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
    window.addEventListener("pagehide", () => this.#keepDraft());
    this.#takeUp(this.#draft());
    form.hidden = !this.#generator;
  }

  // Fills the form with an earlier task's wish.
  reuse(task, changes = {}) {
    const known = data.generators.find((one) => one.name === task.generator);
    this.#choose(known ?? this.#generator, { ...task.params, ...changes });
    this.#key = null;
    this.#form.scrollIntoView({ block: "start" });
    this.#fields[0]?.focus();
  }

  prompt(text) {
    const field = this.#fields.find((one) => one.names.includes("prompt"));
    field?.write({ prompt: text });
    this.#key = null;
    field?.focus();
  }

  #chooser() {
    const offered = data.generators;
    if (offered.length < 2) return null;
    const select = el("select", { id: "generator", on: { change: () => this.#choose(offered[select.selectedIndex], this.#touched()) } },
      offered.map((one) => el("option", { value: one.name }, one.paused ? format(gettext("{title} (paused)"), { title: one.title }) : one.title)));
    return el("div", { class: "field" }, el("label", { for: "generator" }, gettext("Generator")), el("div", { class: "select" }, select), this.#about);
  }

  #choose(generator, values) {
    if (!generator) return;
    this.#generator = generator;
    const select = this.#form.querySelector("#generator");
    if (select) select.value = generator.name;
    fill(this.#about, generator.description || "");
    this.#schema = draw(generator.params_schema);
    const { open, folded } = this.#schema;
    this.#fields = [...open, ...folded];
    fill(this.#slot, open.map((field) => field.node), folded.length
      ? el("details", { class: "advanced" }, el("summary", {}, gettext("More settings")), folded.map((field) => field.node))
      : null);
    for (const field of this.#fields) field.write(values);
    this.#calm();
  }

  // Nothing went wrong; what remains to be said is that the generator is paused.
  #calm() {
    this.#tell(this.#generator.paused ? gettext("This generator is paused: tasks are accepted and wait.") : "", "notice");
  }

  #values() {
    return Object.assign({}, ...this.#fields.map((field) => field.read()));
  }

  // What differs from the generator's defaults: the rest takes those of the next one.
  #touched() {
    const known = this.#generator.params_schema.properties ?? {};
    const same = ([name, value]) => JSON.stringify(value ?? null) === JSON.stringify(known[name]?.default ?? null);
    return Object.fromEntries(Object.entries(this.#values()).filter((entry) => !same(entry)));
  }

  #edited(event) {
    this.#key = null;
    this.#unanswered = false;
    if (!this.#countdown) this.#calm();
    for (const field of this.#fields) {
      if (!field.node.contains(event.target)) continue;
      for (const name of field.names) field.fault(name, "");
    }
  }

  #shortcut(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    event.preventDefault();
    this.#form.requestSubmit();
  }

  async #send() {
    if (this.#busy || this.#submit.disabled) return;
    if (this.#countdown) this.#ready();
    const params = this.#values();
    if (this.#show(this.#schema.check(params))) return;
    this.#key ??= newKey();
    const key = this.#key;
    this.#unanswered = true;
    this.#keepDraft(); // whatever happens to this page now, the same key is sent again
    this.#work(gettext("Handing in…"));
    this.#tell("");
    try {
      const options = { body: { generator: this.#generator.name, params }, key };
      const answer = await insist("POST", "/tasks", options, {
        onWait: () => this.#tell(gettext("No answer yet. The same request is sent again; it cannot be made twice."), "notice"),
      });
      this.#accepted(answer, key);
    } catch (error) {
      this.#rest();
      this.#refused(error);
    }
  }

  #accepted(answer, key) {
    if (this.#key === key) this.#key = null;
    this.#unanswered = false;
    this.#keepDraft();
    this.#calm();
    this.#work(gettext("In the tray"));
    this.#onAccepted(answer.body, answer.retryAfter);
    setTimeout(() => this.#rest(), HOLD);
  }

  #refused(error) {
    if (error.status && !error.passing) this.#unanswered = false;
    this.#keepDraft();
    if (error.status === 401) {
      this.#tell([gettext("Your session has ended; what you wrote is kept."), " ", el("a", { href: loginPage() }, gettext("Log in again"))]);
    } else if (error.status === 429) {
      this.#wait(error);
    } else if (error.status === 422 && error.problem.errors) {
      this.#invalid(error.problem.errors);
    } else if (!error.status || error.passing) {
      this.#tell(gettext("The service does not answer. Try again: the same request cannot be made twice."));
    } else if (error.status === 403) {
      this.#tell(gettext("The service did not accept this page any more. Reload it and try again."));
    } else {
      this.#tell(refusal(error));
    }
    if (error.status === undefined) throw error;
  }

  #invalid(errors) {
    const faults = {};
    const others = [];
    const values = this.#values();
    const specs = this.#generator.params_schema.properties ?? {};
    for (const error of errors) {
      const name = /^\/params\/([^/]+)/.exec(error.pointer)?.[1];
      const own = name && this.#fields.some((field) => field.names.includes(name));
      if (own) faults[name] ??= fault(values[name], specs[name] ?? {}) || fieldWords(error);
      else others.push(unknownField(error.pointer.replace(/^\//, ""), fieldWords(error)));
    }
    // First what takes room from the fields, then the way to the first of them.
    if (others.length) this.#tell(others.join(" "));
    this.#show(faults);
  }

  // Shows faults at their fields and goes to the first one. True if there is one.
  #show(faults) {
    let first = null;
    for (const field of this.#fields) {
      for (const name of field.names) {
        field.fault(name, faults[name] ?? "");
        if (faults[name]) first ??= field;
      }
    }
    if (!first) return false;
    const folded = first.node.closest("details");
    if (folded) folded.open = true;
    first.focus({ preventScroll: true });
    first.node.scrollIntoView({ block: "nearest" }); // with what is said below it
    return true;
  }

  // A short wait is waited for. A long one leaves the button alone: staff may raise a limit.
  #wait(error) {
    const seconds = error.retryAfter ?? 5;
    const left = el("b", {});
    this.#tell([refusal(error), " ", left], "notice");
    this.#submit.disabled = seconds <= SHORT;
    this.#countdown?.();
    this.#countdown = countDown(
      seconds,
      (rest) => fill(left, format(gettext("Ready in {time}."), { time: duration(rest) })),
      () => this.#ready(),
    );
  }

  #ready() {
    this.#countdown?.();
    this.#countdown = null;
    this.#submit.disabled = false;
    this.#calm();
  }

  #work(text) {
    this.#busy = true;
    this.#form.setAttribute("aria-busy", "true");
    this.#submit.setAttribute("aria-disabled", "true");
    fill(this.#label, text);
  }

  #rest() {
    this.#busy = false;
    this.#form.removeAttribute("aria-busy");
    this.#submit.removeAttribute("aria-disabled");
    fill(this.#label, gettext("Develop"));
  }

  #tell(content, kind = "bad") {
    const empty = !content || !content.length;
    fill(this.#problem, empty ? null : el("p", { class: `notice ${kind}` }, icon(kind === "bad" ? "warn" : "clock"), el("span", {}, content)));
  }

  // --- a draft of this tab, so that nothing typed is lost to a reload or a new login ---

  #keepDraft() {
    if (!this.#generator) return;
    const draft = { generator: this.#generator.name, values: this.#values(), key: this.#key, unanswered: this.#unanswered };
    try {
      sessionStorage.setItem(DRAFT, JSON.stringify(draft));
    } catch {
      // storage may be forbidden
    }
  }

  #draft() {
    try {
      return JSON.parse(sessionStorage.getItem(DRAFT)) ?? {};
    } catch {
      return {};
    }
  }

  #takeUp(draft) {
    const offered = data.generators;
    const chosen = offered.find((one) => one.name === draft.generator) ?? offered.find((one) => !one.paused) ?? offered[0];
    if (!chosen) {
      this.#form.after(el("p", { class: "notice" }, icon("pause"), gettext("No generator is offered at the moment.")));
      return;
    }
    this.#choose(chosen, draft.values ?? {});
    if (chosen.name !== draft.generator) return;
    this.#key = draft.key ?? null;
    this.#unanswered = Boolean(draft.key && draft.unanswered);
    if (this.#unanswered) this.#tell(gettext("Your last request has had no answer yet. Send it again: it cannot be made twice."), "notice");
  }
}

