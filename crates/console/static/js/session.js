// What outlives a reload, in this tab alone: the token, the ids of the thread, and a sign-in that is under way.
//
// Never a question, an answer or a row: the page reads those from the service again. `sessionStorage` ends with the tab, and no
// other origin sees it. A token in it could be read by a script of this origin, which is why the policy lets none in.

const TOKEN = "ask.token";
const THREAD = "ask.thread";
const SIGN_IN = "ask.sign-in";

const isText = (value) => typeof value === "string" && value !== "";

function read(name, isGood) {
  try {
    const value = JSON.parse(sessionStorage.getItem(name));
    return value !== null && typeof value === "object" && isGood(value) ? value : null;
  } catch {
    return null;
  }
}

function write(name, value) {
  if (value === null) sessionStorage.removeItem(name);
  else sessionStorage.setItem(name, JSON.stringify(value));
}

/** The token: `{value, expiresAt, subject, name}`. */
export const token = {
  read: () => read(TOKEN, (it) => isText(it.value) && Number.isFinite(it.expiresAt) && isText(it.subject)),
  write: (value) => write(TOKEN, value),
};

/** The thread: `{subject, conversation, tickets}`. */
export const thread = {
  read: () => read(THREAD, (it) => isText(it.subject) && Array.isArray(it.tickets) && it.tickets.every(isText)),
  write: (value) => write(THREAD, value),
};

/** A sign-in that is under way: `{verifier, state, nonce}`. */
export const signIn = {
  read: () => read(SIGN_IN, (it) => isText(it.verifier) && isText(it.state) && isText(it.nonce)),
  write: (value) => write(SIGN_IN, value),
};
