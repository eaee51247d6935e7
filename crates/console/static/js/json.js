// Reads JSON without losing digits: an integer that a number can't hold stays as its text.

/** The document, with integers beyond 2^53 as strings of their digits, where the browser tells their text. */
export function parse(text) {
  return JSON.parse(text, (_name, value, context) => {
    const lost = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return lost && /^-?[0-9]+$/.test(context?.source ?? "") ? context.source : value;
  });
}
