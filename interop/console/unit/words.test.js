import assert from "node:assert/strict";
import { test } from "node:test";

import { pause } from "../../../crates/console/static/js/backoff.js";
import { check } from "../../../crates/console/static/js/config.js";
import { parse } from "../../../crates/console/static/js/json.js";
import { block, line } from "../../../crates/console/static/js/neutral.js";
import { begun, droppedSteps, elapsed, stretches, take } from "../../../crates/console/static/js/run.js";
import * as words from "../../../crates/console/static/js/words.js";

test("every milestone has a sentence of its own", () => {
  const said = new Set();
  for (const phase of ["grounding", "discovering", "querying", "reconciling"]) {
    for (const subject of [null, "Net Revenue"]) said.add(words.milestone({ phase, subject, source: "sales" }));
  }
  assert.equal(said.size, 8);
  assert.equal(words.milestone({ phase: "grounding", subject: "Net Revenue", source: null }), "Looking up “Net Revenue” in the catalog");
  assert.equal(words.milestone({ phase: "dreaming", subject: null, source: null }), "Working");
});

test("every ending is told in other words", () => {
  const titles = [
    ...["access", "guard", "rate_limit", "new"].map((what) => words.refusal(what).title),
    ...["cancelled", "max_steps", "model", "transport", "internal"].map((kind) => words.failure(kind).title),
  ];
  assert.equal(new Set(titles).size, titles.length);
});

test("what is gone is told by why it is", () => {
  assert.match(words.gone({ status: 410, code: "ticket_lost", message: "x" }), /started anew/);
  assert.match(words.gone({ status: 410, code: "ticket_expired", message: "x" }), /limited time/);
  assert.match(words.gone({ status: 404, code: "not_found", message: "x" }), /too long ago/);
  assert.equal(words.gone({ status: 403, code: "insufficient_scope", message: "No scope" }), "No scope.");
});

test("spans, counts and figures are short", () => {
  assert.deepEqual([0, 999, 1000, 26_049, 61_500].map(words.span), ["0 ms", "999 ms", "1.0 s", "26.0 s", "1 min 1 s"]);
  assert.deepEqual([0, 59_999, 61_500].map(words.running), ["0 s", "59 s", "1 min 1 s"]);
  assert.deepEqual([words.count(1, "call"), words.count(0, "call")], ["1 call", "0 calls"]);
  assert.deepEqual([1234567.891, -0.00001234567, 0, "Billing"].map(words.figure), ["1,234,567.891", "-0.00001235", "0", "Billing"]);
  assert.equal(words.column("average_resolution_time"), "Average resolution time");
});

test("what hides in a text loses its force, and what scripts and emoji need stays", () => {
  assert.equal(block("user\u202enimda\u0007\u200b\u{e0041}"), "user\ufffdnimda\ufffd\ufffd\ufffd");
  assert.equal(block("a\r\nb\tc"), "a\nb\tc");
  assert.equal(line("a\r\nb\tc\u0085d"), "a b c\ufffdd");
  for (const text of ["नमस्ते", "👩‍👩‍👧", "עברית", "5 €"]) assert.equal(block(text), text);
});

test("JSON reads as JSON does", () => {
  assert.deepEqual(parse('{"a":[1,2.5,"x",null,9007199254740991]}'), { a: [1, 2.5, "x", null, 9007199254740991] });
});

test("pauses grow to a limit, and differ", () => {
  assert.deepEqual([0, 1, 2, 30].map((attempt) => pause(attempt, () => 1)), [400, 800, 1600, 15_000]);
  assert.equal(pause(0, () => 0), 200);
});

test("a configuration names what it lacks", () => {
  const whole = { ask: "/ask", issuer: "https://i", client_id: "c", scope: "s" };
  assert.deepEqual(check(whole).examples, []);
  for (const name of Object.keys(whole)) assert.throws(() => check({ ...whole, [name]: "" }), new RegExp(`: ${name} `));
  for (const ask of ["//elsewhere", "https://elsewhere/ask", "ask"]) assert.throws(() => check({ ...whole, ask }), /path of this origin/);
});

const at = (seconds) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();

test("a run is what its events say, branches of which nobody told included", () => {
  const run = begun("t");
  const events = [
    { seq: 1, type: "accepted", ts: at(0), question: "Q?", turn: 2 },
    { seq: 2, type: "branch", ts: at(0), branch_id: "a", state: "opened", role: "source", source: "sales" },
    { seq: 3, type: "milestone", ts: at(1), branch_id: "a", phase: "querying" },
    { seq: 4, type: "milestone", ts: at(1), branch_id: "b", phase: "grounding", subject: "x" },
    { seq: 9, type: "step", ts: at(2), branch_id: "a", tool: "w__q", args: {}, ms: 4, is_error: false },
    { seq: 10, type: "new", ts: at(2) },
    { seq: 11, type: "branch", ts: at(3), branch_id: "a", state: "closed", role: "source", source: "sales" },
    { seq: 12, type: "abstention", ts: at(3), text: "no", searched_terms: [] },
  ];
  for (const event of events) take(run, event);
  assert.deepEqual([run.question, run.turn, run.lastSeq, run.terminal.type], ["Q?", 2, 12, "abstention"]);
  assert.deepEqual(run.branches.map(({ id, role, source, items }) => [id, role, source, items.length]), [["a", "source", "sales", 2], ["b", null, null, 1]]);
  assert.equal(elapsed(run, Date.parse(at(7))), 7000);
  take(run, { seq: 13, type: "done", ts: at(3), ms: 3000, steps: 6 });
  assert.equal(elapsed(run, Date.parse(at(99))), 3000);
  assert.equal(droppedSteps(run), 5);
});

test("a clock that is wrong by more than its own coarseness is put right", () => {
  const run = take(begun("t"), { seq: 1, type: "accepted", ts: at(0), question: "Q?", turn: 1 }, -3_600_000);
  assert.equal(elapsed(run, Date.parse(at(5)) + 3_600_000), 5000);
  run.skew = 900;
  assert.equal(elapsed(run, Date.parse(at(5))), 5000);
});

test("milestones of a kind are one stretch, and steps belong to the stretch they came in", () => {
  const milestone = (phase, subject, source = null) => ({ kind: "milestone", at: 0, phase, subject, source });
  const step = (tool) => ({ kind: "step", at: 0, tool });
  const items = [
    step("before"), milestone("grounding", "a"), milestone("grounding", "b"), step("x"), step("y"), milestone("grounding", "b"),
    milestone("discovering", null), milestone("discovering", null, "sales"), milestone("querying", "c", "sales"), step("z"),
  ];
  const found = stretches({ items }).map((it) => [it.phase, it.source, it.subjects.join(), it.steps.map(({ tool }) => tool).join()]);
  assert.deepEqual(found, [
    [null, null, "", "before"], ["grounding", null, "a,b", "x,y"], ["discovering", null, "", ""], ["discovering", "sales", "", ""],
    ["querying", "sales", "c", "z"],
  ]);
  assert.equal(words.stretch({ phase: "grounding", source: null, subjects: ["a", "b"] }), "Looking up what the words mean");
  assert.equal(words.stretch({ phase: "querying", source: "sales", subjects: ["c"] }), "Asking sales about “c”");
  assert.deepEqual([0, -5, 1234, 61_000].map(words.moment), ["0.0 s", "0.0 s", "1.2 s", "1 min 1 s"]);
});
