// The three endings that are no answer. Each has its own word, shape, sign and colour, so that none is taken for another.

import { paragraphs } from "./answer.js";
import { el, icon } from "./dom.js";
import { failure, refusal as refusalWords } from "./words.js";

function panel(type, symbol, kicker, title, ...rest) {
  return el("section", { class: `ending panel panel-${type}`, "data-ending": type, "aria-label": kicker },
    el("div", { class: "panel-sign" }, icon(symbol)),
    el("div", { class: "panel-body" }, el("p", { class: "kicker" }, kicker), el("h3", {}, title), ...rest));
}

/** Looked, and could not answer. */
export function abstention({ text, searched_terms: terms }) {
  return panel("abstention", "gap", "No answer", "The catalog does not say enough to answer this",
    el("div", { class: "prose" }, paragraphs(text)),
    terms.length > 0 && el("div", { class: "terms" },
      el("p", { class: "quiet small" }, "Looked for in the catalog"),
      el("ul", {}, terms.map((term) => el("li", {}, term)))),
    el("p", { class: "advice" }, "This is a gap in the catalog, not a result of zero. Whoever looks after the catalog can close it."));
}

/** A tool said no. */
export function refusal({ what, detail, source }) {
  const words = refusalWords(what);
  return panel("refusal", "lock", "Refused", words.title,
    el("blockquote", {}, el("p", {}, detail), source && el("footer", {}, "— ", el("cite", {}, source))),
    el("p", { class: "advice" }, `This is not an empty result. ${words.advice}`));
}

/** It broke off. */
export function failed({ kind, detail }, again) {
  const words = failure(kind);
  const stopped = kind === "cancelled";
  return panel(stopped ? "stopped" : "error", stopped ? "stop" : "broken", stopped ? "Stopped" : "Error",
    stopped ? "You stopped this question" : words.title,
    el("p", {}, stopped ? "Nothing of it was answered." : words.advice),
    !stopped && detail && el("p", { class: "quiet small" }, detail),
    again && el("p", {}, el("button", { type: "button", class: "button small", onclick: again }, "Ask it again")));
}

/** The service no longer has it. */
export function gone(why) {
  return panel("gone", "broken", "No longer kept", "The service has forgotten this turn", el("p", {}, why));
}
