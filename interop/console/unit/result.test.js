import assert from "node:assert/strict";
import { test } from "node:test";

import { choose } from "../../../crates/console/static/js/chart-choice.js";
import { kindOf, sorted } from "../../../crates/console/static/js/columns.js";
import { csv } from "../../../crates/console/static/js/csv.js";

const column = (...cells) => cells.map((cell) => [cell]);
const flat = (rows) => rows.map(([cell]) => cell);

test("a column is what all of its cells are", () => {
  assert.equal(kindOf(column(1, null, 2.5), 0), "number");
  assert.equal(kindOf(column("9007199254740993", 1), 0), "number");
  assert.equal(kindOf(column("2024-06", "2024-07"), 0), "date");
  assert.equal(kindOf(column("2024-06-01T10:00:00Z", null), 0), "date");
  assert.equal(kindOf(column("2024-06", "June"), 0), "text");
  assert.equal(kindOf(column("12", "13"), 0), "text");
  assert.equal(kindOf(column(null, null), 0), "empty");
});

test("rows are put in order by what the column holds, with nothing last either way", () => {
  assert.deepEqual(flat(sorted(column(10, 9, null, 100), 0, "ascending")), [9, 10, 100, null]);
  assert.deepEqual(flat(sorted(column(10, 9, null, 100), 0, "descending")), [100, 10, 9, null]);
  assert.deepEqual(flat(sorted(column("b10", "B9", "a"), 0, "ascending")), ["a", "B9", "b10"]);
  assert.deepEqual(flat(sorted(column("2024-10", "2024-09"), 0, "ascending")), ["2024-09", "2024-10"]);
  assert.deepEqual(flat(sorted(column("9007199254740993", "9007199254740992", 5), 0, "ascending")), [5, "9007199254740992", "9007199254740993"]);
});

test("equal rows keep their order", () => {
  const rows = [["x", 1], ["x", 2], ["a", 3], ["x", 4]];
  assert.deepEqual(sorted(rows, 0, "descending").map(([, place]) => place), [1, 2, 4, 3]);
  assert.deepEqual(rows.map(([, place]) => place), [1, 2, 3, 4], "the rows themselves stay");
});

test("CSV is what RFC 4180 says", () => {
  const rows = [["a,b", 1.5, null], ['say "x"', -2, true], ["two\nlines", 0, { k: 1 }], [" edge", 1, "ü"]];
  assert.equal(csv(["name", "n", "z"], rows),
    'name,n,z\r\n"a,b",1.5,\r\n"say ""x""",-2,true\r\n"two\nlines",0,"{""k"":1}"\r\n" edge",1,ü\r\n');
});

test("no cell becomes a formula, and no figure loses its sign", () => {
  const cells = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\tx", "-2.5", "-7"];
  assert.equal(csv(["=h"], cells.map((cell) => [cell])), "'=h\r\n'=1+1\r\n'+cmd|x\r\n'-2+3\r\n'@SUM(A1)\r\n'\tx\r\n-2.5\r\n-7\r\n");
});

const result = (columns, ...rows) => ({ columns, rows, truncated: false });

test("names with a size are bars, dates are a line", () => {
  assert.deepEqual(choose(result(["team", "n"], ["A", 1], ["B", 2])), { kind: "bars", label: 0, values: [1] });
  assert.deepEqual(choose(result(["n", "team", "m"], [1, "A", 2], [3, "B", 4])), { kind: "bars", label: 1, values: [0, 2] });
  assert.deepEqual(choose(result(["month", "n"], ["2024-01", 1], ["2024-02", 2], ["2024-03", 2])), { kind: "line", label: 0, values: [1] });
  assert.deepEqual(choose(result(["year", "n"], [2022, 1], [2023, 2], [2024, 2])), { kind: "line", label: 0, values: [1] });
  assert.equal(choose(result(["month", "n"], ["2024-01", 1], ["2024-02", 2])).kind, "bars");
});

test("a table says the rest better", () => {
  assert.equal(choose(result(["n"], [1], [2])), null, "no name");
  assert.equal(choose(result(["team", "n"], ["A", 1])), null, "one row");
  assert.equal(choose(result(["team", "n"], ["A", 1], ["A", 2])), null, "a name twice");
  assert.equal(choose(result(["team", "n"], ["A", 1], ["B", null])), null, "a size that is missing");
  assert.equal(choose(result(["a", "b", "n"], ["A", "x", 1], ["B", "y", 2])), null, "two names");
  assert.equal(choose(result(["team", "n"], ["A", -1], ["B", 2])), null, "bars below zero");
  assert.equal(choose({ ...result(["team", "n"], ["A", 1], ["B", 2]), truncated: true }), null, "only a part");
  assert.equal(choose(result(["team", "n"], ...Array.from({ length: 25 }, (_, at) => [`t${at}`, at]))), null, "too many");
});
