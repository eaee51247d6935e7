import assert from "node:assert/strict";
import { test } from "node:test";

import { challenge, secret } from "../../../crates/console/static/js/pkce.js";
import { authorizationUrl, discover, isReturn, redirectUri, tokenFrom } from "../../../crates/console/static/js/sign-in.js";

const CONFIG = { issuer: "https://issuer", client_id: "console", scope: "api://x/y" };
const ATTEMPT = { verifier: "v", state: "s", nonce: "n" };

test("a challenge is the verifier's hash, by the pair of RFC 7636", async () => {
  assert.equal(await challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
});

test("a secret is 256 bits, and never the same", () => {
  assert.match(secret(), /^[\w-]{43}$/);
  assert.notEqual(secret(), secret());
});

test("the way to the issuer says all that is needed, and keeps what its address had", () => {
  const url = new URL(authorizationUrl({ authorization_endpoint: "https://issuer/a?p=1" }, CONFIG, ATTEMPT, "c", "https://page/console/"));
  assert.deepEqual(Object.fromEntries(url.searchParams), {
    p: "1", response_type: "code", client_id: "console", redirect_uri: "https://page/console/", scope: "openid profile api://x/y",
    state: "s", nonce: "n", code_challenge: "c", code_challenge_method: "S256",
  });
});

test("the way back is the page's own folder", () => {
  assert.equal(redirectUri("https://page/console/?code=1#x"), "https://page/console/");
  assert.equal(redirectUri("https://page/a/index.html"), "https://page/a/");
  assert.ok(isReturn(new URLSearchParams("code=1&state=2")) && isReturn(new URLSearchParams("error=x&state=2")));
  assert.ok(!isReturn(new URLSearchParams("code=1")) && !isReturn(new URLSearchParams("state=1")));
});

test("an issuer that calls itself another is not believed", async (context) => {
  const told = { issuer: "https://issuer", authorization_endpoint: "https://issuer/a", token_endpoint: "https://issuer/t" };
  const answers = (document) => context.mock.method(globalThis, "fetch", async () => Response.json(document));
  answers(told);
  assert.equal((await discover("https://issuer")).token_endpoint, "https://issuer/t");
  answers({ ...told, issuer: "https://other" });
  await assert.rejects(discover("https://issuer"), /another/);
  answers({ ...told, authorization_endpoint: "javascript:alert(1)" });
  await assert.rejects(discover("https://issuer"), /no sign-in/);
  context.mock.method(globalThis, "fetch", async () => Promise.reject(new TypeError("x")));
  await assert.rejects(discover("https://issuer"), /reached/);
});

const idToken = (claims) => `h.${btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(claims)))).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_")}.s`;
const CLAIMS = { aud: "console", nonce: "n", sub: "p1", name: "Zoë Müller" };
const answer = (claims) => ({ access_token: "t", token_type: "bearer", expires_in: 60, id_token: idToken({ ...CLAIMS, ...claims }) });

test("a token is taken with its end and its person", () => {
  assert.deepEqual(tokenFrom(answer({}), ATTEMPT, CONFIG, 1000), { value: "t", expiresAt: 61_000, subject: "p1", name: "Zoë Müller" });
  assert.equal(tokenFrom(answer({ aud: ["x", "console"], name: undefined, preferred_username: "zoe" }), ATTEMPT, CONFIG, 0).name, "zoe");
});

test("an answer to another sign-in, or to none, is refused", () => {
  for (const claims of [{ nonce: "other" }, { aud: "other" }, { sub: 5 }]) assert.throws(() => tokenFrom(answer(claims), ATTEMPT, CONFIG, 0), /another/);
  for (const bad of [{ access_token: 1 }, { token_type: "mac" }]) assert.throws(() => tokenFrom({ ...answer({}), ...bad }, ATTEMPT, CONFIG, 0), /bearer/);
  assert.throws(() => tokenFrom({ ...answer({}), id_token: undefined }, ATTEMPT, CONFIG, 0), /who you are/);
});
