// What can go wrong with a call, told apart: the service said no, the sign-in has ended, or nobody could be reached.

/** The service's own answer: RFC 9457, or what little a gateway says. */
export class Problem extends Error {
  constructor({ status, code, title, detail, retryAfter }) {
    super(detail || title || `The service answered ${status}.`);
    Object.assign(this, { status, code: code ?? null, retryAfter: retryAfter ?? null });
  }

  /** Reads an answer that is no success. */
  static async from(response) {
    const said = await response.json().catch(() => ({}));
    const text = (value) => (typeof value === "string" ? value : undefined);
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    return new Problem({
      status: response.status,
      code: text(said?.code),
      title: text(said?.title),
      detail: text(said?.detail),
      retryAfter: Number.isFinite(seconds) && seconds >= 0 ? seconds : null,
    });
  }

  /** Whether the call may simply be made again after a while. */
  get passes() {
    return [429, 502, 503, 504].includes(this.status);
  }
}

/** The token is missing, expired or no longer taken. */
export class SignedOut extends Error {}

/** No answer came at all. */
export class Unreachable extends Error {}
