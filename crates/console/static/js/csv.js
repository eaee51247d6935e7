// A result as CSV (RFC 4180), for a spreadsheet.

import { block } from "./neutral.js";
import { cell } from "./words.js";

/** Columns and rows as CSV. A null is an empty field. */
export function csv(columns, rows) {
  return [columns.map(field), ...rows.map((row) => row.map(fieldOf))].map((fields) => `${fields.join(",")}\r\n`).join("");
}

function fieldOf(value) {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : field(cell(value));
}

function field(text) {
  let safe = block(text);
  // A spreadsheet would take this text for a formula and run it.
  if (/^[=+\-@\t]/.test(safe) && !/^-?\d+(\.\d+)?$/.test(safe)) safe = `'${safe}`;
  return /[",\n]|^ | $/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
