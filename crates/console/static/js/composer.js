// Where a question is written.

import { el, icon } from "./dom.js";

/** The form at the foot of the page. `onAsk(text)` gets a question that is not blank. */
export class Composer {
  element;
  #field;
  #button;
  #hint;
  #onAsk;
  #mayAsk = true;

  constructor(onAsk) {
    this.#onAsk = onAsk;
    this.#field = el("textarea", {
      id: "question", rows: "1", "aria-describedby": "composer-hint", autocomplete: "off", spellcheck: "true", maxlength: "8000",
      oninput: () => this.#fit(),
      onkeydown: (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        this.#submit();
      },
    });
    this.#button = el("button", { type: "submit", class: "button primary" }, "Ask", icon("arrow"));
    this.#hint = el("p", { id: "composer-hint", class: "quiet small" });
    this.element = el("form", { class: "composer", onsubmit: (event) => { event.preventDefault(); this.#submit(); } },
      el("label", { for: "question", class: "unseen" }, "Your question"),
      el("div", { class: "composer-line" }, this.#field, this.#button), this.#hint);
  }

  #submit() {
    const text = this.#field.value.trim();
    if (text === "" || !this.#mayAsk) return;
    this.#field.value = "";
    this.#fit();
    this.#onAsk(text);
  }

  /** Grows with what is written. */
  #fit() {
    this.#field.style.height = "auto";
    this.#field.style.height = `${Math.min(this.#field.scrollHeight, 200)}px`;
  }

  /** Puts a question back that was not taken, unless another has been begun. */
  draft(text) {
    if (this.#field.value === "") this.#field.value = text;
    this.#fit();
  }

  /** Shows what may be done now: `first`, `follow-up`, `running` or `expired`. */
  state(state) {
    const [placeholder, hint] = {
      first: ["Ask a question", "Enter asks, Shift + Enter begins a new line."],
      "follow-up": ["Ask a follow-up", "A follow-up knows what was asked before."],
      running: ["Ask a follow-up", "A question is being worked on. The next can be asked when it has ended."],
      expired: ["", "Sign in again to go on."],
    }[state];
    this.element.dataset.state = state;
    this.#mayAsk = state === "first" || state === "follow-up";
    this.#field.placeholder = placeholder;
    this.#hint.textContent = hint;
    this.#button.setAttribute("aria-disabled", String(!this.#mayAsk));
  }

  focus() {
    this.#field.focus({ preventScroll: true });
  }
}
