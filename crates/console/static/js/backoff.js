// How long to wait before the next try: longer each time, and never for all clients the same.

const FIRST_MS = 400;
const MOST_MS = 15_000;

/** Milliseconds before try number `attempt`, from 0: between half and all of a span that doubles. */
export function pause(attempt, random = Math.random) {
  const span = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
  return span * (0.5 + random() / 2);
}

/** Waits, until the time is over, the signal aborts, or the network is back. */
export function wait(ms, signal) {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      globalThis.removeEventListener?.("online", over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    signal?.addEventListener("abort", over);
    globalThis.addEventListener?.("online", over);
    if (signal?.aborted) over();
  });
}
