// Reads an event stream (text/event-stream) from bytes that come in any pieces.

// A frame that is longer than this is no frame of the contract's.
const MOST_CHARACTERS = 64 * 1024 * 1024;

/** Turns bytes into frames `{id, event, data, retry}`; `id` and `retry` are null when the frame has none. */
export class SseReader {
  #decoder = new TextDecoder();
  #rest = "";
  #afterReturn = false;
  #frame = blank();

  /** The frames that these bytes complete. */
  push(bytes) {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  #read(text) {
    // A line feed behind a carriage return ends no second line, also when the two come apart.
    if (text === "") return [];
    const opened = this.#afterReturn && text.startsWith("\n") ? 1 : 0;
    this.#afterReturn = text.endsWith("\r");
    text = text.slice(opened);
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop();
    if (this.#rest.length + this.#frame.size > MOST_CHARACTERS) throw new Error("a frame without an end");
    return lines.flatMap((line) => this.#take(line));
  }

  #take(line) {
    if (line === "") {
      const frame = this.#frame;
      this.#frame = blank();
      const { id, event, retry } = frame;
      // A frame without data says at most when to come back.
      if (frame.data.length === 0) return retry === null ? [] : [{ id: null, event: "", data: "", retry }];
      return [{ id, event: event || "message", data: frame.data.join("\n"), retry }];
    }
    const colon = line.indexOf(":");
    if (colon === 0) return [];
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    this.#frame.size += line.length;
    if (name === "data") this.#frame.data.push(value);
    else if (name === "event") this.#frame.event = value;
    else if (name === "id" && !value.includes("\0")) this.#frame.id = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) this.#frame.retry = Number(value);
    return [];
  }
}

function blank() {
  return { id: null, event: "", data: [], retry: null, size: 0 };
}
