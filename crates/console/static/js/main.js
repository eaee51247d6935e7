// Puts the page together: who is signed in, which thread is shown, and what the buttons at the top do.

import { announce } from "./announce.js";
import { Api } from "./api.js";
import { Composer } from "./composer.js";
import { load } from "./config.js";
import { el, fill, icon } from "./dom.js";
import { clear, notice } from "./notices.js";
import * as session from "./session.js";
import { begin, finish, isReturn, SignInFailed } from "./sign-in.js";
import { Thread } from "./thread.js";

const main = document.getElementById("main");
const foot = document.getElementById("foot");
const account = document.getElementById("account");

const PROMISES = [
  ["Watch the work", "See each look-up and each query as it happens, and stop it whenever you like."],
  ["Know what it means", "An answer names the definitions, the tables and the SQL that it rests on."],
  ["See what you may", "Every question is put to the sources as you. A refusal is never dressed up."],
];

start().catch((err) => {
  fill(main, el("section", { class: "welcome" }, el("h2", {}, "This page can't start"), el("p", {}, err.message)));
});

async function start() {
  const config = await load();
  const parameters = new URLSearchParams(location.search);
  let failed = null;
  if (isReturn(parameters)) {
    // The code has no business in the history.
    history.replaceState(null, "", new URL("./", document.baseURI));
    try {
      session.token.write(await finish(config, parameters));
    } catch (err) {
      if (!(err instanceof SignInFailed)) throw err;
      failed = err.message;
    }
  }
  const token = session.token.read();
  if (token !== null && token.expiresAt > Date.now()) signedIn(config, token);
  else signedOut(config, failed ?? (token === null ? null : "Your sign-in has expired. Sign in to go on where you were."));
}

/** Leaves for the issuer, and says so when that can't be done. */
async function leave(config, button) {
  button?.setAttribute("aria-disabled", "true");
  try {
    await begin(config);
  } catch (err) {
    button?.removeAttribute("aria-disabled");
    notice("sign-in", { symbol: "key", text: err instanceof SignInFailed ? err.message : "The sign-in could not be begun." });
  }
}

function signedOut(config, why) {
  document.body.dataset.view = "signed-out";
  session.token.write(null);
  fill(account);
  fill(foot);
  const button = el("button", { type: "button", class: "button primary", onclick: () => leave(config, button) }, "Sign in");
  fill(main, el("section", { class: "welcome" },
    el("h2", {}, "Ask your data a question"),
    el("p", { class: "lead" }, "Sign in with your organisation’s account to begin."),
    why && el("p", { class: "why", role: "alert" }, icon("key"), why),
    el("p", {}, button),
    el("div", { class: "promises" }, PROMISES.map(([title, text]) => el("div", {}, el("h3", {}, title), el("p", { class: "quiet" }, text))))));
}

function signedIn(config, token) {
  document.body.dataset.view = "thread";
  let expired = false;
  const turns = el("div", { class: "turns" });
  const greeting = el("section", { class: "welcome greeting" },
    el("h2", {}, "What would you like to know?"),
    config.examples.length > 0 && el("ul", { class: "examples" }, config.examples.map((question) => el("li", {},
      el("button", { type: "button", class: "example", onclick: () => thread.ask(question) }, question)))));
  const composer = new Composer((question) => thread.ask(question));
  const anew = el("button", { type: "button", class: "button quiet small", onclick: () => thread.reset() },
    el("span", {}, "New", el("span", { class: "spare" }, " conversation")));

  const expire = () => {
    if (expired) return;
    expired = true;
    notice("expired", {
      symbol: "key", text: "Your sign-in has expired. The thread stays as it is.",
      action: { label: "Sign in again", run: () => leave(config) },
    });
    change();
  };

  const change = () => {
    greeting.hidden = !thread.isEmpty;
    anew.hidden = thread.isEmpty;
    composer.state(expired ? "expired" : thread.running ? "running" : thread.isEmpty ? "first" : "follow-up");
    document.title = thread.running ? "Working … · Ask" : "Ask";
  };

  const api = new Api(config.ask, () => (expired ? null : token.value));
  const thread = new Thread({
    api, subject: token.subject, place: turns,
    onChange: () => change(),
    onReset: () => composer.focus(),
    onDraft: (text) => composer.draft(text),
    onSignedOut: expire,
  });

  fill(account, anew,
    el("span", { class: "person" }, token.name),
    el("button", { type: "button", class: "button quiet small", onclick: async () => {
      await thread.reset();
      session.token.write(null);
      clearInterval(clock);
      clear("expired");
      signedOut(config, null);
      main.focus();
      announce("You are signed out");
    } }, "Sign out"));
  fill(main, greeting, turns);
  fill(foot, composer.element);
  thread.restore();
  change();
  composer.focus();

  const clock = setInterval(() => {
    thread.tick();
    if (Date.now() > token.expiresAt) expire();
  }, 250);
  addEventListener("offline", () => thread.network(false));
  addEventListener("online", () => thread.network(true));
}
