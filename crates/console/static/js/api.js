// The calls of the ask contract, and nothing else.

import { parse } from "./json.js";
import { Problem, SignedOut, Unreachable } from "./problem.js";

export class Api {
  #base;
  #token;

  /** A client of the service mounted at `base`; `token` gives the bearer of the moment, or null. */
  constructor(base, token) {
    this.#base = base.replace(/\/$/, "");
    this.#token = token;
  }

  /** Opens a conversation. */
  conversation(key) {
    return this.#json("POST", "/v1/conversations", { key });
  }

  /** Asks; the ticket comes before anything runs. The same key gives the same ticket. */
  ask(conversation, question, key) {
    return this.#json("POST", `/v1/conversations/${encodeURIComponent(conversation)}/asks`, { key, body: { question } });
  }

  /** Cancels. No error when it has ended already. */
  cancel(ticket, keepalive = false) {
    return this.#json("POST", `/v1/asks/${encodeURIComponent(ticket)}/cancel`, { keepalive });
  }

  /** Opens the stream behind event number `last`; null when there is no more. */
  async events(ticket, last, signal) {
    const headers = { accept: "text/event-stream", "last-event-id": String(last) };
    const response = await this.#send("GET", `/v1/asks/${encodeURIComponent(ticket)}/events`, { headers, signal });
    return response.status === 204 ? null : response;
  }

  async #json(method, path, options) {
    const response = await this.#send(method, path, options);
    return parse(await response.text());
  }

  async #send(method, path, { headers = {}, body, key, signal, keepalive }) {
    const token = this.#token();
    if (token === null) throw new SignedOut("There is no sign-in.");
    const all = { ...headers, authorization: `Bearer ${token}` };
    if (key) all["idempotency-key"] = key;
    if (body) all["content-type"] = "application/json";
    const request = {
      method, signal, keepalive, headers: all,
      body: body && JSON.stringify(body),
      cache: "no-store", credentials: "omit", redirect: "error",
    };
    let response;
    try {
      response = await fetch(`${this.#base}${path}`, request);
    } catch (err) {
      if (signal?.aborted) throw err;
      throw new Unreachable("The service can't be reached.", { cause: err });
    }
    if (response.status === 401) throw new SignedOut("The sign-in is no longer taken.");
    if (!response.ok) throw await Problem.from(response);
    return response;
  }
}
