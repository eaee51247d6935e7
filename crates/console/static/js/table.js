// A result as a table: sortable by each column, and copied as CSV.

import { announce } from "./announce.js";
import { kindOf, sorted } from "./columns.js";
import { csv } from "./csv.js";
import { el, fill } from "./dom.js";
import { cell, column as columnName, count } from "./words.js";

/** A table of a result, with its tools. */
export function table({ columns, rows, truncated }) {
  const kinds = columns.map((_, column) => kindOf(rows, column));
  let order = { column: null, direction: null };
  let shown = rows;

  const body = el("tbody");
  const heads = columns.map((name, column) => {
    const head = el("th", { scope: "col", class: kinds[column] },
      el("button", { type: "button", class: "sort", title: name, onclick: () => sort(column) },
        el("span", {}, columnName(name)), el("span", { class: "sort-mark", "aria-hidden": "true" })));
    return head;
  });

  function sort(column) {
    const next = { null: "ascending", ascending: "descending", descending: null };
    const direction = next[order.column === column ? order.direction : null];
    order = { column: direction === null ? null : column, direction };
    shown = direction === null ? rows : sorted(rows, column, direction);
    heads.forEach((head, at) => {
      if (at === order.column) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    });
    draw();
    announce(direction === null ? "In the order of the source" : `Sorted by ${columnName(columns[column])}, ${direction}`);
  }

  function draw() {
    fill(body, shown.map((row) => el("tr", {}, columns.map((_, column) => {
      const value = row[column];
      const empty = value === null || value === undefined;
      return el("td", { class: kinds[column] }, empty ? el("span", { class: "quiet", title: "no value" }, "—") : cell(value));
    }))));
  }

  const copied = el("button", { type: "button", class: "button quiet small", onclick: async () => {
    try {
      await navigator.clipboard.writeText(csv(columns, shown));
      copied.textContent = "Copied";
      announce("Copied as CSV");
    } catch {
      copied.textContent = "Could not copy";
      announce("The table could not be copied");
    }
    setTimeout(() => (copied.textContent = "Copy as CSV"), 2000);
  } }, "Copy as CSV");

  draw();
  const said = truncated ? `First ${count(rows.length, "row")}; the source has more` : count(rows.length, "row");
  return el("section", { class: "result", "aria-label": "Result" },
    el("div", { class: "result-bar" }, el("span", { class: truncated ? "mark" : "quiet" }, said), copied),
    el("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Table of the result" },
      el("table", {}, el("thead", {}, el("tr", {}, heads)), body)));
}
