import assert from "node:assert/strict";
import { test } from "node:test";

import { SseReader } from "../../../crates/console/static/js/sse.js";

const bytes = (text) => new TextEncoder().encode(text);
const STREAM = [
  ": hello\n\n",
  'id: 1\nevent: accepted\ndata: {"question":"Grüße, 世界 👩‍👩‍👧"}\n\n',
  "id: 2\r\nevent: branch\r\ndata: {}\r\n\r\n",
  "id: 3\revent: step\rdata:one\rdata: two\rdata:\r\r",
  "retry: 250\n\n",
  ":\n\nid:4\nevent: done\nunknown: x\ndata: {}\n\n",
  "id: 5\nevent: never\ndata: ended",
].join("");
const FRAMES = [
  { id: "1", event: "accepted", data: '{"question":"Grüße, 世界 👩‍👩‍👧"}', retry: null },
  { id: "2", event: "branch", data: "{}", retry: null },
  { id: "3", event: "step", data: "one\ntwo\n", retry: null },
  { id: null, event: "", data: "", retry: 250 },
  { id: "4", event: "done", data: "{}", retry: null },
];

test("a stream is the same wherever it is cut in two", () => {
  const all = bytes(STREAM);
  for (let cut = 0; cut <= all.length; cut += 1) {
    const reader = new SseReader();
    const frames = [...reader.push(all.slice(0, cut)), ...reader.push(all.slice(cut))];
    assert.deepEqual(frames, FRAMES, `cut at ${cut}`);
  }
});

test("a stream is the same byte by byte", () => {
  const reader = new SseReader();
  const frames = [...bytes(STREAM)].flatMap((byte) => reader.push(Uint8Array.of(byte)));
  assert.deepEqual(frames, FRAMES);
});

test("a byte order mark at the start is none of the first field's", () => {
  assert.deepEqual(new SseReader().push(bytes("\ufeffdata: x\n\n"))[0].data, "x");
});

test("one space behind the colon goes, and no more", () => {
  assert.deepEqual(new SseReader().push(bytes("data:  x \n\n"))[0].data, " x ");
});

test("what is odd changes nothing else", () => {
  const reader = new SseReader();
  const frames = reader.push(bytes("id: a\0b\nretry: -1\nretry: 1e3\nevent\ndata\n\nid: 7\n\ndata: x\n\n"));
  assert.deepEqual(frames, [
    { id: null, event: "message", data: "", retry: null },
    { id: null, event: "message", data: "x", retry: null },
  ]);
});

test("separators of Unicode end no line", () => {
  assert.equal(new SseReader().push(bytes("data: a\u2028b\u0085c\u000bd\n\n"))[0].data, "a\u2028b\u0085c\u000bd");
});
