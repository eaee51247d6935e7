// A conversation: its turns, what may be asked now, and what of it outlives a reload.

import { pause, wait } from "./backoff.js";
import { clear, notice } from "./notices.js";
import { Problem, SignedOut, Unreachable } from "./problem.js";
import * as session from "./session.js";
import { Turn } from "./turn.js";
import { sentence } from "./words.js";

const OFFLINE = { symbol: "offline", text: "The connection is gone. A question that was taken goes on by itself; this page catches up as soon as it can." };

/** What the thread needs of the page: `api`, `subject`, `place` (an element), `onChange`, `onReset`, `onDraft(text)`,
 * `onSignedOut`. */
export class Thread {
  #hooks;
  #turns = [];
  #conversation = null;
  #withdrawn = null;
  #cutOff = new Set();

  constructor(hooks) {
    this.#hooks = hooks;
  }

  get isEmpty() {
    return this.#turns.length === 0;
  }

  /** The turn that is running, or undefined. */
  get running() {
    return this.#turns.find((turn) => !turn.ended);
  }

  /** Takes the thread up again that this tab had before it was reloaded, if it is the same person's. */
  restore() {
    const kept = session.thread.read();
    if (kept === null || kept.subject !== this.#hooks.subject) return session.thread.write(null);
    this.#conversation = typeof kept.conversation === "string" ? kept.conversation : null;
    for (const ticket of kept.tickets) this.#add(null).follow(ticket);
    this.#hooks.onChange();
  }

  /** Asks a question, as a follow-up when there is a conversation. */
  async ask(question) {
    if (this.running) return;
    const turn = this.#add(question);
    turn.focus();
    this.#hooks.onChange();
    this.#withdrawn = new AbortController();
    const { signal } = this.#withdrawn;
    const keys = { conversation: crypto.randomUUID(), ask: crypto.randomUUID() };
    try {
      this.#conversation ??= (await this.#persist(turn, signal, () => this.#hooks.api.conversation(keys.conversation))).conversation_id;
      const ticket = await this.#persist(turn, signal, () => this.#hooks.api.ask(this.#conversation, question, keys.ask));
      if (signal.aborted) {
        // It was taken all the same.
        await this.#hooks.api.cancel(ticket.ticket);
        return;
      }
      turn.follow(ticket.ticket);
      this.#keep();
    } catch (err) {
      if (!signal.aborted) this.#notTaken(turn, question, err);
    }
  }

  /** Makes a call until an answer comes. Each try has the same key, so that nothing is asked twice. */
  async #persist(turn, signal, call) {
    for (let attempt = 0; ; attempt += 1) {
      if (signal.aborted) throw new Unreachable("It was withdrawn.");
      try {
        const made = await call();
        this.#link(turn, true);
        return made;
      } catch (err) {
        if (!(err instanceof Unreachable) || signal.aborted) throw err;
        this.#link(turn, false);
        await wait(pause(attempt), signal);
      }
    }
  }

  #notTaken(turn, question, err) {
    this.#drop(turn);
    this.#hooks.onDraft(question);
    if (err instanceof SignedOut) return this.#hooks.onSignedOut();
    const over = err instanceof Problem && (err.status === 404 || err.status === 410);
    if (over) {
      return notice("ask", {
        symbol: "broken", text: "This conversation has ended: the service keeps one for a limited time after its last question.",
        action: { label: "Begin a new one", run: () => this.reset() },
      });
    }
    const after = err.retryAfter ? ` Try again in ${err.retryAfter} s.` : "";
    notice("ask", { symbol: "broken", text: `The question was not taken. ${sentence(err.message)}${after}` });
  }

  #add(question) {
    clear("ask");
    const turn = new Turn({
      api: this.#hooks.api,
      onLink: (of, up) => this.#link(of, up),
      onEnded: (of) => {
        this.#link(of, true);
        this.#hooks.onChange();
      },
      onAgain: (text) => this.ask(text),
      onFailed: (_of, err) => this.#failed(err),
      onWithdrawn: (of) => {
        this.#withdrawn?.abort();
        this.#hooks.onDraft(of.run.question);
        this.#drop(of);
      },
    }, question);
    this.#turns.push(turn);
    this.#hooks.place.append(turn.element);
    return turn;
  }

  #failed(err) {
    if (err instanceof SignedOut) return this.#hooks.onSignedOut();
    notice("ask", { symbol: "broken", text: err instanceof Unreachable ? "That did not reach the service. Try again." : sentence(err.message) });
  }

  #drop(turn) {
    this.#link(turn, true);
    turn.leave();
    this.#turns = this.#turns.filter((other) => other !== turn);
    this.#hooks.onChange();
  }

  #link(turn, up) {
    if (up) this.#cutOff.delete(turn);
    else this.#cutOff.add(turn);
    if (this.#cutOff.size === 0 && navigator.onLine) clear("connection");
    else if (!up) notice("connection", OFFLINE);
  }

  /** The browser says that there is a network, or that there is none. */
  network(online) {
    if (!online) notice("connection", OFFLINE);
    else if (this.#cutOff.size === 0) clear("connection");
  }

  #keep() {
    const tickets = this.#turns.map((turn) => turn.run.ticket).filter((ticket) => ticket !== null);
    session.thread.write({ subject: this.#hooks.subject, conversation: this.#conversation, tickets });
  }

  tick() {
    for (const turn of this.#turns) turn.tick();
  }

  /** Stops what runs, and begins anew. */
  async reset() {
    const { running } = this;
    for (const turn of this.#turns) turn.leave();
    this.#turns = [];
    this.#conversation = null;
    this.#cutOff.clear();
    session.thread.write(null);
    clear("ask");
    this.#hooks.onChange();
    this.#hooks.onReset();
    this.#withdrawn?.abort();
    if (running?.run.ticket) await this.#hooks.api.cancel(running.run.ticket, true).catch(() => {});
  }
}
