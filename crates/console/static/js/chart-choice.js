// Whether a picture helps with a result, and which.

import { kindOf } from "./columns.js";

const MOST_BARS = 24;
const FEWEST_POINTS = 3;

/**
 * `{kind: "bars" | "line", label, values, points}`, or null when a table says it better: `label` is the column along which the
 * picture runs, `values` are the columns that can be shown, the first of them first.
 *
 * Bars take a name for each row, with no name twice; a line takes dates.
 */
export function choose({ columns, rows, truncated }) {
  if (truncated || rows.length < 2 || columns.length < 2 || columns.length > 8) return null;
  const kinds = columns.map((_, column) => kindOf(rows, column));
  const filled = (column) => rows.every((row) => row[column] !== null && row[column] !== undefined);
  const values = kinds.flatMap((kind, column) => (kind === "number" && filled(column) && !isPeriod(columns[column], rows, column) ? [column] : []));
  const labels = kinds.flatMap((kind, column) => (values.includes(column) || !filled(column) ? [] : [column]));
  if (values.length === 0 || labels.length !== 1) return null;
  const [label] = labels;
  const names = rows.map((row) => String(row[label]));
  if (new Set(names).size !== names.length) return null;
  const inTime = kinds[label] === "date" || kinds[label] === "number";
  if (inTime && rows.length >= FEWEST_POINTS) return { kind: "line", label, values };
  return rows.length <= MOST_BARS && rows.every((row) => values.every((column) => Number(row[column]) >= 0)) ? { kind: "bars", label, values } : null;
}

/** Whether a column of numbers counts years or months: along it a picture runs, and it is no size. */
function isPeriod(name, rows, column) {
  return /(^|_)(fiscal_)?(year|month|quarter|week|day)$/i.test(name) && rows.every((row) => Number.isInteger(row[column]));
}
