// Signing in at the issuer: authorization code with PKCE, by a redirect of the whole page. No secret, no refresh token.

import { challenge, secret } from "./pkce.js";
import * as session from "./session.js";

/** Something that went wrong with the sign-in, in words for a person. */
export class SignInFailed extends Error {}

const REASONS = {
  access_denied: "The sign-in was declined.",
  login_required: "The sign-in provider wants you to sign in again.",
  temporarily_unavailable: "The sign-in provider is busy. Try again in a moment.",
};

/** The issuer's own account of where things are. */
export async function discover(issuer) {
  const address = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  let document;
  try {
    const response = await fetch(address, { credentials: "omit", cache: "no-store" });
    document = await response.json();
  } catch (err) {
    throw new SignInFailed("The sign-in provider can't be reached.", { cause: err });
  }
  if (document.issuer !== issuer) throw new SignInFailed("The sign-in provider says that it is another one.");
  for (const name of ["authorization_endpoint", "token_endpoint"]) {
    if (!/^https?:\/\//.test(document[name] ?? "")) throw new SignInFailed("The sign-in provider offers no sign-in for a page.");
  }
  return document;
}

/** The page's own address, without query: where the issuer sends the browser back to. */
export function redirectUri(base = document.baseURI) {
  return new URL("./", base).href;
}

/** The address of the issuer's sign-in page. */
export function authorizationUrl(document, config, attempt, codeChallenge, redirect) {
  const url = new URL(document.authorization_endpoint);
  const parameters = {
    response_type: "code",
    client_id: config.client_id,
    redirect_uri: redirect,
    scope: `openid profile ${config.scope}`,
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Leaves for the issuer's sign-in page. */
export async function begin(config) {
  if (!globalThis.isSecureContext) throw new SignInFailed("Signing in needs this page to be served over https.");
  const document = await discover(config.issuer);
  const attempt = { verifier: secret(), state: secret(), nonce: secret() };
  session.signIn.write(attempt);
  location.assign(authorizationUrl(document, config, attempt, await challenge(attempt.verifier), redirectUri()));
}

/** Whether this address is one that the issuer sent the browser back to. */
export function isReturn(parameters) {
  return parameters.has("state") && (parameters.has("code") || parameters.has("error"));
}

/** Redeems what the browser came back with for a token. */
export async function finish(config, parameters) {
  const attempt = session.signIn.read();
  session.signIn.write(null);
  if (attempt === null || parameters.get("state") !== attempt.state) {
    throw new SignInFailed("This sign-in was not begun here. Try again.");
  }
  if (parameters.has("iss") && parameters.get("iss") !== config.issuer) {
    throw new SignInFailed("The answer to the sign-in came from somebody else.");
  }
  if (parameters.has("error")) {
    throw new SignInFailed(REASONS[parameters.get("error")] ?? "The sign-in provider did not sign you in.");
  }
  const document = await discover(config.issuer);
  const form = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: config.client_id,
    redirect_uri: redirectUri(),
    code: parameters.get("code"),
    code_verifier: attempt.verifier,
  });
  let answer;
  try {
    const response = await fetch(document.token_endpoint, { method: "POST", body: form, credentials: "omit", cache: "no-store" });
    answer = await response.json();
    if (!response.ok) throw new Error(`the token endpoint answered ${response.status}`);
  } catch (err) {
    throw new SignInFailed("The sign-in provider gave no token. Try again.", { cause: err });
  }
  return tokenFrom(answer, attempt, config, Date.now());
}

/** The token in an answer of the token endpoint, with what is shown of whom it is. */
export function tokenFrom(answer, attempt, config, now) {
  if (typeof answer.access_token !== "string" || !/^bearer$/i.test(answer.token_type ?? "")) {
    throw new SignInFailed("The sign-in provider gave no bearer token.");
  }
  const person = claims(answer.id_token);
  const audience = [person.aud].flat();
  if (person.nonce !== attempt.nonce || !audience.includes(config.client_id) || typeof person.sub !== "string") {
    throw new SignInFailed("The sign-in provider's answer belongs to another sign-in.");
  }
  const lives = Number(answer.expires_in);
  return {
    value: answer.access_token,
    expiresAt: now + (Number.isFinite(lives) ? lives : 3600) * 1000,
    subject: person.sub,
    name: String(person.name ?? person.preferred_username ?? "Signed in"),
  };
}

/** The claims of an id token. It came from the issuer itself, so its signature adds nothing; it opens no door here. */
function claims(idToken) {
  try {
    const part = idToken.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new SignInFailed("The sign-in provider did not say who you are.");
  }
}
