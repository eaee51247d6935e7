// One question and what became of it: the work while it goes on, the ending afterwards.

import { announce } from "./announce.js";
import { answer } from "./answer.js";
import { el, fill, icon, put } from "./dom.js";
import { follow } from "./follow.js";
import { abstention, failed, gone, refusal } from "./no-answer.js";
import { Problem } from "./problem.js";
import { begun, elapsed, take } from "./run.js";
import { folded, Timeline } from "./timeline.js";
import * as words from "./words.js";

/**
 * What the turn needs of the thread: `api`, `onLink(turn, up)`, `onEnded(turn)`, `onFailed(turn, err)`, `onWithdrawn(turn)` for one that
 * was stopped before it was taken, `onAgain(question)`.
 */
export class Turn {
  element;
  run = begun(null);
  #hooks;
  #abort = new AbortController();
  #heading = el("h2", { class: "question", tabindex: "-1" });
  #status = el("span", { class: "status-words" }, "Sending the question");
  #clock = el("span", { class: "clock" });
  #stop;
  #live;
  #end = el("div", { class: "turn-end" });
  #timeline = null;
  #ended = false;
  #stopping = false;

  constructor(hooks, question) {
    this.#hooks = hooks;
    this.run.question = question;
    this.#stop = el("button", { type: "button", class: "button stop", onclick: () => this.cancel() }, icon("stop"), "Stop");
    this.#live = el("div", { class: "live-part" },
      el("div", { class: "status" }, el("span", { class: "pulse", "aria-hidden": "true" }), this.#status, this.#clock, this.#stop));
    this.element = el("article", { class: "turn", "data-state": "running" }, this.#heading, this.#live, this.#end);
    this.#name();
  }

  get ended() {
    return this.#ended;
  }

  /** Follows the ticket to its end. */
  async follow(ticket) {
    this.run.ticket = ticket;
    this.#timeline = new Timeline(this.run);
    put(this.#live, this.#timeline.element);
    this.#status.textContent = "Catching up";
    try {
      await follow(this.#hooks.api, ticket, {
        signal: this.#abort.signal,
        onLink: (up) => this.#hooks.onLink(this, up),
        onEvent: (event, skew) => this.#take(event, skew),
      });
    } catch (err) {
      if (!(err instanceof Problem)) return this.#hooks.onFailed(this, err);
      this.#close(gone(words.gone(err)), "gone");
    }
    // The stream has no more, though its end was not seen: the service says so of a stream that was read to its end before.
    if (!this.#ended && !this.#abort.signal.aborted) this.#close(gone("Its end could not be read."), "gone");
  }

  #take(event, skew) {
    take(this.run, event, skew);
    if (event.type === "accepted") this.#name();
    if (event.type === "milestone") {
      const sentence = words.milestone(event);
      this.#status.textContent = sentence;
      announce(sentence);
    }
    if (event.type === "done") return this.#conclude();
    this.#timeline.update();
    this.tick();
  }

  #conclude() {
    const { terminal } = this.run;
    const again = () => this.#hooks.onAgain(this.run.question);
    const [part, sentence] = {
      answer: () => [answer(terminal), `Answered. ${terminal.text}`],
      abstention: () => [abstention(terminal), `No answer. ${terminal.text}`],
      refusal: () => [refusal(terminal), `Refused. ${words.refusal(terminal.what).title}. ${terminal.detail}`],
      error: () => [failed(terminal, again), `Error. ${words.failure(terminal.kind).title}.`],
    }[terminal?.type]?.() ?? [gone("It ended in a way that this page does not know."), "It ended."];
    this.#close(part, terminal?.type ?? "unknown");
    announce(sentence);
  }

  #close(part, state) {
    if (this.#ended) return;
    this.#ended = true;
    this.element.dataset.state = state;
    // Whoever had the stop button in hand is left at the question, not nowhere.
    const held = this.#live.contains(document.activeElement);
    this.#live.remove();
    if (held) this.#heading.focus({ preventScroll: true });
    fill(this.#end, part, this.#timeline && this.run.done && folded(this.run, this.#timeline));
    this.#timeline?.update();
    this.#name();
    this.#hooks.onEnded(this);
  }

  #name() {
    fill(this.#heading, this.run.question ?? (this.#ended ? "An earlier question" : "…"));
  }

  /** Moves the clock. */
  tick() {
    if (!this.#ended && this.run.startedAt !== null) this.#clock.textContent = words.running(elapsed(this.run));
  }

  /** Cancels the run: the service stops the model, and the stream tells the end. */
  async cancel() {
    if (this.#stopping || this.#ended) return;
    this.#stopping = true;
    this.#stop.setAttribute("aria-disabled", "true");
    this.#status.textContent = "Stopping";
    if (this.run.ticket === null) return this.#hooks.onWithdrawn(this);
    try {
      await this.#hooks.api.cancel(this.run.ticket);
    } catch (err) {
      this.#stop.removeAttribute("aria-disabled");
      this.#hooks.onFailed(this, err);
    }
    this.#stopping = false;
  }

  /** Leaves the stream, and the page. The run itself goes on. */
  leave() {
    this.#abort.abort();
    this.element.remove();
  }

  focus() {
    this.element.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }
}
