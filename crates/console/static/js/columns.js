// What a result's columns hold, and how its rows are put in order.

const DATE = /^\d{4}-\d{2}(-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?)?$/;
const DIGITS = /^-?\d+$/;

/** What a column holds: `number`, `date`, `text`, or `empty`. */
export function kindOf(rows, column) {
  const cells = rows.map((row) => row[column]).filter((cell) => cell !== null && cell !== undefined);
  if (cells.length === 0) return "empty";
  if (cells.every(isNumber)) return "number";
  if (cells.every((cell) => typeof cell === "string" && DATE.test(cell))) return "date";
  return "text";
}

// An integer too large for a number comes as its digits.
function isNumber(cell) {
  return typeof cell === "number" || (typeof cell === "string" && DIGITS.test(cell) && !Number.isSafeInteger(Number(cell)));
}

const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function compare(kind, left, right) {
  if (kind === "number") {
    const whole = [left, right].every((cell) => typeof cell === "string" || Number.isInteger(cell));
    const [a, b] = whole ? [BigInt(left), BigInt(right)] : [Number(left), Number(right)];
    return a < b ? -1 : a > b ? 1 : 0;
  }
  if (kind === "date") return left < right ? -1 : left > right ? 1 : 0;
  const text = (cell) => (typeof cell === "string" ? cell : JSON.stringify(cell));
  return words.compare(text(left), text(right));
}

/** The rows by a column, `ascending` or `descending`. Equal rows keep their order; what is empty comes last either way. */
export function sorted(rows, column, direction) {
  const kind = kindOf(rows, column);
  const sign = direction === "descending" ? -1 : 1;
  const none = (cell) => cell === null || cell === undefined;
  return rows
    .map((row, place) => ({ row, place }))
    .sort((left, right) => {
      const [a, b] = [left.row[column], right.row[column]];
      if (none(a) || none(b)) return Number(none(a)) - Number(none(b)) || left.place - right.place;
      return sign * compare(kind, a, b) || left.place - right.place;
    })
    .map(({ row }) => row);
}
