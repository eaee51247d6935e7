// Reads the frames file with eventsource-parser and compares each event with the truth file.
import { createReadStream, readFileSync } from "node:fs";
import { createParser } from "eventsource-parser";

const [frames, truth] = process.argv.slice(2);
const lines = readFileSync(truth, "utf8").split("\n").slice(0, -1);
let read = 0, wrong = 0;

const textOf = (event) => (event.type === "step" ? event.args.sql : event.subject ?? event.text ?? event.detail);

const parser = createParser({
  onEvent({ id, event: kind, data }) {
    const [seq, trueKind, text] = (lines[read] ?? "").split(" ");
    read += 1;
    const event = JSON.parse(data);
    const right = id === seq && kind === trueKind && String(event.seq) === seq && event.type === trueKind;
    if (!right || textOf(event) !== Buffer.from(text, "hex").toString("utf8")) wrong += 1;
  },
  onRetry() {
    wrong += 1;
  },
});

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
for await (const piece of createReadStream(frames, { highWaterMark: 4093 })) parser.feed(decoder.decode(piece, { stream: true }));
console.log(JSON.stringify({ read, wrong, missing: lines.length - read }));
