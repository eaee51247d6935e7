// An answer: its one figure, its prose, a picture where one fits, its table, and beside it what it rests on.

import { chart } from "./chart.js";
import { el } from "./dom.js";
import { provenance } from "./provenance.js";
import { table } from "./table.js";
import { figure } from "./words.js";

/** An answer as a part of the page. */
export function answer(event) {
  const { headline, text, result } = event;
  const rows = result !== null && result !== undefined && result.rows.length > 0;
  // A single cell that is the headline already.
  const said = rows && result.rows.length === 1 && result.columns.length === 1 && result.rows[0][0] === headline?.value;
  return el("section", { class: "ending answer", "data-ending": "answer", "aria-label": "Answer" },
    el("div", { class: "answer-main" },
      headline && el("p", { class: "headline" },
        el("span", { class: "headline-label" }, headline.label),
        el("span", { class: "headline-value" }, figure(headline.value), headline.unit && el("span", { class: "headline-unit" }, ` ${headline.unit}`))),
      el("div", { class: headline ? "prose" : "prose lead" }, paragraphs(text)),
      rows && chart(result, headline?.value),
      rows && !said && table(result),
      result && !rows && el("p", { class: "quiet" }, "The statement ran and returned no rows.")),
    provenance(event));
}

/** Prose by its paragraphs. */
export function paragraphs(text) {
  return String(text).split(/\n{2,}/).filter((part) => part.trim() !== "").map((part) => el("p", {}, part.trim()));
}
