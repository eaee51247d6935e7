// What is the matter with the connection or the sign-in, above everything else for as long as it is so.

import { el, icon } from "./dom.js";

const shown = new Map();

/** Shows a notice under a name, instead of the one before of that name. */
export function notice(name, { symbol, text, action }) {
  clear(name);
  const button = action && el("button", { type: "button", class: "button small", onclick: action.run }, action.label);
  const bar = el("div", { class: `notice notice-${name}`, role: "alert" }, icon(symbol), el("p", {}, text), button);
  shown.set(name, bar);
  document.getElementById("notices").append(bar);
}

/** Takes a notice away. */
export function clear(name) {
  shown.get(name)?.remove();
  shown.delete(name);
}
