// Follows a ticket's stream to its end, through cut connections: each event once, in order.

import { pause, wait } from "./backoff.js";
import { parse } from "./json.js";
import { Problem, SignedOut, Unreachable } from "./problem.js";
import { SseReader } from "./sse.js";

// The service breaks a silence every 15 s. Three times that without a byte is a dead connection.
const SILENCE_MS = 45_000;

/**
 * Gives each event to `onEvent` until `done`. `onLink` hears whether the stream is up (`true`) or being looked for again.
 * `skew`, an event's second argument, is how far the service's clock is ahead of this one, in milliseconds. `pauseOf` gives the
 * milliseconds before a further try.
 *
 * Fails with a `Problem` that won't pass, or with `SignedOut`.
 */
export async function follow(api, ticket, { signal, onEvent, onLink = () => {}, pauseOf = pause }) {
  let last = 0;
  let attempt = 0;
  let hint = null;
  while (!signal.aborted) {
    let after = null;
    try {
      for await (const frame of frames(api, ticket, last, signal, () => onLink(true))) {
        if (frame.retry !== null) hint = frame.retry;
        if (frame.data === "") continue;
        const event = parse(frame.data);
        if (!(event.seq > last)) continue;
        last = event.seq;
        attempt = 0;
        onEvent(event, frame.skew);
        if (event.type === "done") return;
      }
    } catch (err) {
      if (signal.aborted) return;
      if (err === NO_MORE) return;
      if (err instanceof Problem && !err.passes) throw err;
      if (!(err instanceof Problem || err instanceof Unreachable || err instanceof Cut)) throw err;
      after = err.retryAfter == null ? null : err.retryAfter * 1000;
    }
    if (signal.aborted) return;
    onLink(false);
    await wait(after ?? Math.max(hint ?? 0, pauseOf(attempt)), signal);
    hint = null;
    attempt += 1;
  }
}

const NO_MORE = new Error("the stream has no more");

/** The connection ended before the stream did. */
class Cut extends Error {}

async function* frames(api, ticket, last, signal, onOpen) {
  const connection = new AbortController();
  const abort = () => connection.abort();
  signal.addEventListener("abort", abort);
  let timer = setTimeout(abort, SILENCE_MS);
  try {
    const response = await api.events(ticket, last, connection.signal);
    if (response === null) throw NO_MORE;
    onOpen();
    const date = Date.parse(response.headers.get("date") ?? "");
    const skew = Number.isNaN(date) ? 0 : date - Date.now();
    const reader = new SseReader();
    const body = response.body.getReader();
    for (;;) {
      const { done, value } = await body.read();
      clearTimeout(timer);
      if (done) return;
      timer = setTimeout(abort, SILENCE_MS);
      for (const frame of reader.push(value)) yield { ...frame, skew };
    }
  } catch (err) {
    if (err === NO_MORE || [Problem, SignedOut, Unreachable].some((kind) => err instanceof kind)) throw err;
    throw new Cut("the connection broke", { cause: err });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    connection.abort();
  }
}
