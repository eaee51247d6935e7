// Signing in and out: the code flow, what comes back wrong, what a reload keeps, and what the tab is left with.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ask, consoleUrl, ending, look, open, signIn } from "./rig.js";

const kept = (page) => page.evaluate(() => ({ ...sessionStorage }));

test("signed out, then in by the code flow, then out again", async (context) => {
  const page = await open(context);
  await page.getByRole("heading", { name: "Ask your data a question" }).waitFor();
  await look(page, "signed-out");
  const asked = page.waitForRequest((request) => request.url().includes("/authorize?"));
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  const sent = new URL((await asked).url()).searchParams;
  assert.equal(sent.get("code_challenge_method"), "S256");
  assert.equal(sent.get("redirect_uri"), consoleUrl);
  await page.getByRole("button", { name: "Sign in as Carol Finance" }).waitFor();
  await look(page, "sign-in-page");
  const redeemed = page.waitForRequest((request) => request.url().endsWith("/token"));
  await page.getByRole("button", { name: "Sign in as Carol Finance" }).click();
  const form = new URLSearchParams((await redeemed).postData());
  assert.equal(form.get("grant_type"), "authorization_code");
  assert.equal(form.get("client_secret"), null);
  await page.getByText("Carol Finance").waitFor();
  await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
  assert.equal(page.url(), consoleUrl, "the code is not in the address");
  await look(page, "signed-in");

  assert.deepEqual(Object.keys(await kept(page)), ["ask.token"]);
  assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0);

  await ask(page, "What does Resolution Time mean?");
  await ending(page, "answer");
  const session = await kept(page);
  assert.deepEqual(Object.keys(session).sort(), ["ask.thread", "ask.token"]);
  assert.deepEqual(Object.keys(JSON.parse(session["ask.thread"])).sort(), ["conversation", "subject", "tickets"]);
  assert.ok(!JSON.stringify(session).includes("Resolution"), "neither question nor answer is kept");

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Ask your data a question" }).waitFor();
  assert.deepEqual(await kept(page), {});
  await page.reload();
  await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
});

test("a sign-in that is declined, forged or from nowhere says so and signs nobody in", async (context) => {
  const page = await open(context);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Decline" }).click();
  await page.getByText("The sign-in was declined.").waitFor();
  await look(page, "sign-in-declined");

  await page.goto(`${consoleUrl}?code=stolen&state=guessed`);
  await page.getByText("This sign-in was not begun here.").waitFor();
  assert.equal(page.url(), consoleUrl);

  const attempt = () => page.evaluate(() => sessionStorage.setItem("ask.sign-in", JSON.stringify({ verifier: "v", state: "s", nonce: "n" })));
  await attempt();
  await page.goto(`${consoleUrl}?code=stolen&state=guessed`);
  await page.getByText("This sign-in was not begun here.").waitFor();
  assert.deepEqual(await kept(page), {}, "and the attempt is spent");

  await attempt();
  await page.goto(`${consoleUrl}?code=c&state=s&iss=${encodeURIComponent("https://another.example")}`);
  await page.getByText("The answer to the sign-in came from somebody else.").waitFor();
  assert.deepEqual(await kept(page), {});
});

test("a code that the issuer does not know buys nothing", async (context) => {
  const page = await open(context, { expected: [/400 \(Bad Request\)/] });
  await page.evaluate(() => sessionStorage.setItem("ask.sign-in", JSON.stringify({ verifier: "v".repeat(43), state: "s", nonce: "n" })));
  await page.goto(`${consoleUrl}?code=unknown&state=s`);
  await page.getByText("The sign-in provider gave no token.").waitFor();
  assert.deepEqual(await kept(page), {});
});

test("an issuer that is away is said to be away", async (context) => {
  const page = await open(context, { expected: [/ERR_FAILED/] });
  await page.route("**/.well-known/openid-configuration", (route) => route.abort());
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("The sign-in provider can't be reached.").waitFor();
  await look(page, "issuer-away");
});

test("another person who signs in does not see the thread of the one before", async (context) => {
  const page = await open(context);
  await signIn(page);
  await ask(page, "What does Resolution Time mean?");
  await ending(page, "answer");
  await page.evaluate(() => sessionStorage.removeItem("ask.token"));
  await page.reload();
  await signIn(page, "Alice Analyst");
  await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
  assert.equal(await page.locator(".turn").count(), 0);
});
