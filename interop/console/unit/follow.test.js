import assert from "node:assert/strict";
import { test } from "node:test";

import { follow } from "../../../crates/console/static/js/follow.js";
import { Problem, SignedOut, Unreachable } from "../../../crates/console/static/js/problem.js";

const event = (seq, type = "milestone") => ({ seq, type });
const frame = (it) => `id: ${it.seq}\nevent: ${it.type}\ndata: ${JSON.stringify(it)}\n\n`;
const EVENTS = [event(1, "accepted"), event(2), event(3), event(4, "answer"), event(5, "done")];
const STREAM = EVENTS.map(frame).join("");

/** A service whose streams are cut as told: a number of bytes each, or an error instead. */
function service(cuts) {
  const asked = [];
  const left = [...cuts];
  return {
    asked,
    async events(_ticket, last) {
      asked.push(last);
      const cut = left.length > 0 ? left.shift() : Infinity;
      if (cut instanceof Error) throw cut;
      if (cut === null) return null;
      const rest = EVENTS.filter((it) => it.seq > last).map(frame).join("");
      const text = new TextEncoder().encode(rest).slice(0, Math.min(cut, rest.length));
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(text);
          if (cut === Infinity || cut % 2 === 0) controller.close();
          else controller.error(new TypeError("network error"));
        },
      });
      return new Response(body, { headers: { date: new Date().toUTCString() } });
    },
  };
}

async function followed(cuts) {
  const api = service(cuts);
  const seen = [];
  const links = [];
  await follow(api, "t", { signal: new AbortController().signal, onEvent: (it) => seen.push(it.seq), onLink: (up) => links.push(up), pauseOf: () => 0 });
  return { seen, links, asked: api.asked };
}

test("a stream that is cut anywhere is taken up where it was, each event once", async () => {
  for (let cut = 0; cut < STREAM.length; cut += 1) {
    const { seen, asked, links } = await followed([cut, cut + 1]);
    assert.deepEqual(seen, [1, 2, 3, 4, 5], `cut at ${cut}`);
    assert.equal(asked[0], 0);
    for (const last of asked.slice(1)) assert.ok(seen.includes(last) || last === 0);
    assert.ok(links.includes(false) && links.at(-1) === true);
  }
});

test("a stream whose end was seen before has no more", async () => {
  assert.deepEqual((await followed([null])).seen, []);
});

test("what passes is waited for, and what does not is told", async () => {
  const busy = new Problem({ status: 503, retryAfter: 0 });
  assert.deepEqual((await followed([busy, new Unreachable("x")])).seen, [1, 2, 3, 4, 5]);
  await assert.rejects(followed([new Problem({ status: 410 })]), { status: 410 });
  await assert.rejects(followed([new SignedOut("x")]), SignedOut);
});

test("an event that comes twice is taken once, and one of an unknown type is passed on", async () => {
  const seen = [];
  const twice = [event(1), event(1), event(2, "new_type"), event(3, "done")].map(frame).join("");
  const api = { events: async () => new Response(twice) };
  await follow(api, "t", { signal: new AbortController().signal, onEvent: (it) => seen.push(it.seq) });
  assert.deepEqual(seen, [1, 2, 3]);
});
