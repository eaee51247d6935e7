// While a question is worked on: the live timeline, stopping, reloading, a cut connection, an expired sign-in; and how it breaks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ask, calls, consoleUrl, ending, look, open, script, signIn } from "./rig.js";

const SQL = "SELECT team, COUNT(*) AS tickets FROM support.tickets GROUP BY team ORDER BY tickets DESC";
const LOOK_UP = calls(["catalog__search_metadata", { query: "tickets" }]);
const QUERY = calls(["warehouse__run_query", { sql: SQL, source: "support" }]);
const CONCLUDE = calls(["conclude", { kind: "answer", text: "Frontline has the most tickets.", entities: [], headline: { value: "Frontline", label: "team with the most tickets" } }]);
/** A model turn that does not come before the run is over. */
const NEVER = { hang: "head" };
const slow = (turn, ms) => ({ ...turn, delay_head_ms: ms });
const QUESTION = "Which team has got the most tickets of all?";

test("the work is seen as it happens, and a stop cancels it", async (context) => {
  const page = await open(context);
  await signIn(page);
  await script(LOOK_UP, slow(QUERY, 300), NEVER);
  await ask(page, QUESTION);
  await page.getByText("Answering the question").waitFor();
  const milestones = page.locator(".stretch");
  await milestones.filter({ hasText: "Asking support" }).waitFor();
  await page.locator(".stretch.now").waitFor();
  await page.waitForFunction(() => document.querySelector(".clock").textContent === "1 s");
  await page.getByText("A question is being worked on.").waitFor();
  assert.equal(await page.locator(".step").count(), 0, "no step for who did not ask for it");
  await look(page, "asking");
  await page.getByRole("switch", { name: "Show the work" }).click();
  await page.locator(".step", { hasText: "run_query" }).waitFor();
  await look(page, "asking-work", { whole: true });
  const cancelled = page.waitForResponse((response) => response.url().endsWith("/cancel"));
  await page.getByRole("button", { name: "Stop" }).press("Enter");
  assert.equal((await cancelled).status(), 202);
  const stopped = await ending(page, "stopped");
  await stopped.getByText("You stopped this question").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), QUESTION, "who stopped it is left at the question");
  await look(page, "stopped");

  await script(QUERY, CONCLUDE);
  await page.getByRole("button", { name: "Ask it again" }).click();
  await page.locator(".answer").waitFor();
  assert.equal(await page.locator(".turn").count(), 2);
});

test("a screen reader is told of each milestone and of the end", async (context) => {
  const page = await open(context);
  await signIn(page);
  await page.evaluate(() => {
    globalThis.said = [];
    new MutationObserver(() => globalThis.said.push(document.getElementById("announcer").textContent))
      .observe(document.getElementById("announcer"), { childList: true, characterData: true, subtree: true });
  });
  await script(slow(QUERY, 600), slow(CONCLUDE, 600));
  await ask(page, QUESTION);
  await ending(page, "answer");
  await page.waitForFunction(() => globalThis.said.at(-1) === "Answered. Frontline has the most tickets.");
  const said = await page.evaluate(() => globalThis.said);
  assert.ok(said.some((sentence) => sentence.startsWith("Asking support")), said.join(" / "));
});

test("a reload in mid-run picks the stream up, and the run with it", async (context) => {
  const page = await open(context);
  await signIn(page);
  await script(QUERY, slow(CONCLUDE, 3000));
  await ask(page, QUESTION);
  await page.locator(".stretch", { hasText: "Asking support" }).waitFor();
  const again = page.waitForRequest((request) => request.url().endsWith("/events"));
  await page.reload();
  assert.equal((await again).headers()["last-event-id"], "0");
  await page.getByRole("heading", { name: QUESTION }).waitFor();
  await page.locator(".stretch", { hasText: "Asking support" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await look(page, "reloaded");
  await ending(page, "answer");
  await page.reload();
  await ending(page, "answer");
  assert.equal(await page.locator(".turn").count(), 1);
  await page.getByPlaceholder("Ask a follow-up").waitFor();
});

test("a connection that is lost costs nothing: the stream goes on behind the last event", async (context) => {
  const page = await open(context, { expected: [/ERR_INTERNET_DISCONNECTED/, /ERR_FAILED/, /ERR_NETWORK/] });
  await signIn(page);
  const asked = [];
  page.on("request", (request) => request.url().endsWith("/events") && asked.push(Number(request.headers()["last-event-id"])));
  await script(QUERY, slow(CONCLUDE, 2500));
  await ask(page, QUESTION);
  await page.locator(".stretch", { hasText: "Asking support" }).waitFor();
  await page.context().setOffline(true);
  await page.getByText("The connection is gone.").waitFor();
  await look(page, "offline");
  await page.context().setOffline(false);
  await ending(page, "answer");
  await page.getByText("The connection is gone.").waitFor({ state: "detached" });
  assert.equal(await page.locator(".turn").count(), 1);
});

test("a stream that is cut in the middle is taken up behind the last event that came", async (context) => {
  const page = await open(context, { expected: [/ERR_/] });
  await signIn(page);
  const asked = [];
  let cut = false;
  await page.route("**/events", async (route) => {
    asked.push(Number(route.request().headers()["last-event-id"]));
    if (cut) return route.continue();
    cut = true;
    const whole = await route.fetch();
    const text = await whole.text();
    const half = text.slice(0, text.indexOf("id: 4") + 9);
    return route.fulfill({ response: whole, body: half });
  });
  await script(QUERY, CONCLUDE);
  await ask(page, QUESTION);
  await ending(page, "answer");
  assert.deepEqual(asked, [0, 3]);
});

test("a question that is asked without a network is asked once, when there is one", async (context) => {
  const page = await open(context, { expected: [/ERR_INTERNET_DISCONNECTED/] });
  await signIn(page);
  await script(QUERY, CONCLUDE);
  await page.context().setOffline(true);
  await ask(page, QUESTION);
  await page.getByText("The connection is gone.").waitFor();
  await page.context().setOffline(false);
  await ending(page, "answer");
  assert.equal(await page.locator(".turn").count(), 1);
});

test("an ask whose answer was lost is sent again, and is the same ask", async (context) => {
  const page = await open(context, { expected: [/ERR_/] });
  await signIn(page);
  const sent = [];
  await page.route(/\/asks$/, async (route) => {
    const answer = await route.fetch();
    sent.push([route.request().headers()["idempotency-key"], answer.headers()["idempotency-replayed"] ?? null, (await answer.json()).ticket]);
    if (sent.length === 1) return route.abort();
    return route.fulfill({ response: answer });
  });
  await script(QUERY, CONCLUDE);
  await ask(page, QUESTION);
  await ending(page, "answer");
  const [[key, fresh, ticket], again] = sent;
  assert.deepEqual([sent.length, fresh, again], [2, null, [key, "true", ticket]]);
});

test("a question withdrawn before it was taken goes back to where it was written", async (context) => {
  const page = await open(context, { expected: [/ERR_INTERNET_DISCONNECTED/] });
  await signIn(page);
  await page.context().setOffline(true);
  await ask(page, QUESTION);
  await page.getByText("The connection is gone.").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  assert.equal(await page.getByLabel("Your question").inputValue(), QUESTION);
  assert.equal(await page.locator(".turn").count(), 0);
});

test("a question withdrawn while its conversation is opened is not asked, and one withdrawn a moment later is cancelled", async (context) => {
  const page = await open(context);
  await signIn(page);
  const posts = [];
  page.on("request", (request) => request.method() === "POST" && posts.push(new URL(request.url()).pathname.replace(/[ct]_[^/]+/, "*")));
  for (const [held, expected] of [
    ["/v1/conversations", ["/ask/v1/conversations"]],
    ["/asks", ["/ask/v1/conversations/*/asks", "/ask/v1/asks/*/cancel"]],
  ]) {
    posts.length = 0;
    await script({ hang: "head" });
    let release;
    const released = new Promise((resolve) => (release = resolve));
    await page.route((url) => url.pathname.endsWith(held), async (route) => {
      const response = await route.fetch();
      await released;
      await route.fulfill({ response });
    });
    const answered = page.waitForResponse((response) => response.url().endsWith(held));
    const begun = page.waitForRequest((request) => request.url().endsWith(held));
    await ask(page, QUESTION);
    await begun;
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".turn").waitFor({ state: "detached" });
    release();
    await answered;
    await page.unrouteAll({ behavior: "wait" });
    if (expected.length > 1) await page.waitForFunction(() => performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/cancel")));
    // Whatever would follow has had its turn by then.
    await page.evaluate(() => fetch("config.json"));
    assert.deepEqual(posts, expected);
    await page.getByLabel("Your question").fill("");
  }
});

test("a sign-in that expires says so, keeps the thread, and goes on after another", async (context) => {
  const page = await open(context, { expected: [/401 \(Unauthorized\)/] });
  await page.route("**/oauth2/v2.0/token", (route) => route.continue({ postData: `${route.request().postData()}&x_expires_in=4` }));
  await signIn(page);
  await page.unroute("**/oauth2/v2.0/token");
  await script(QUERY, CONCLUDE);
  await ask(page, QUESTION);
  await ending(page, "answer");
  await page.getByText("Your sign-in has expired. The thread stays as it is.").waitFor();
  await page.getByText("Sign in again to go on.").waitFor();
  await look(page, "expired");
  await ask(page, "What else?");
  assert.equal(await page.locator(".turn").count(), 1, "nothing is asked");
  await page.getByRole("button", { name: "Sign in again" }).click();
  await page.getByRole("button", { name: "Sign in as Carol Finance" }).click();
  await ending(page, "answer");
  await page.getByRole("heading", { name: QUESTION }).waitFor();
  await page.getByPlaceholder("Ask a follow-up").waitFor();
});

test("a token that the service no longer takes is an expired sign-in", async (context) => {
  const page = await open(context, { expected: [/401 \(Unauthorized\)/] });
  await signIn(page);
  await page.evaluate(() => {
    const token = JSON.parse(sessionStorage.getItem("ask.token"));
    sessionStorage.setItem("ask.token", JSON.stringify({ ...token, value: `${token.value}x` }));
  });
  await page.reload();
  await ask(page, QUESTION);
  await page.getByText("Your sign-in has expired.").waitFor();
  assert.equal(await page.getByLabel("Your question").inputValue(), QUESTION, "the question is not lost");
});

test("a sign-in that expired while the tab was away is asked for anew, and the thread is there again", async (context) => {
  const page = await open(context);
  await signIn(page);
  await script(QUERY, CONCLUDE);
  await ask(page, QUESTION);
  await ending(page, "answer");
  await page.evaluate(() => {
    const token = JSON.parse(sessionStorage.getItem("ask.token"));
    sessionStorage.setItem("ask.token", JSON.stringify({ ...token, expiresAt: 1 }));
  });
  await page.reload();
  await page.getByText("Your sign-in has expired. Sign in to go on where you were.").waitFor();
  await look(page, "expired-reload");
  await signIn(page);
  await ending(page, "answer");
});

test("a failure is an error and says what it was", async (context) => {
  const page = await open(context);
  await signIn(page);
  await script({ status: 400 });
  await ask(page, QUESTION);
  const failed = await ending(page, "error");
  await failed.getByText("The model failed").waitFor();
  await failed.getByRole("button", { name: "Ask it again" }).waitFor();
  assert.equal(await page.locator(".answer").count(), 0);
  await look(page, "error");
});

test("a service that is away is waited for, and one that is busy is not pressed", async (context) => {
  const page = await open(context, { expected: [/429/, /503/] });
  await signIn(page);
  await page.route("**/v1/conversations", (route) => route.fulfill({
    status: 429, headers: { "retry-after": "12", "content-type": "application/problem+json" },
    body: JSON.stringify({ type: "urn:ask:problem:too_many_requests", title: "Too many requests", status: 429, code: "too_many_requests" }),
  }));
  await ask(page, QUESTION);
  await page.getByText("The question was not taken. Too many requests. Try again in 12 s.").waitFor();
  assert.equal(await page.getByLabel("Your question").inputValue(), QUESTION);
  await look(page, "busy");
  await page.unroute("**/v1/conversations");
  await script(QUERY, CONCLUDE);
  await page.keyboard.press("Enter");
  await ending(page, "answer");
});

test("a conversation that the service has forgotten is said to be over", async (context) => {
  const page = await open(context, { expected: [/404/] });
  await signIn(page);
  await script(QUERY, CONCLUDE, QUERY, CONCLUDE);
  await ask(page, QUESTION);
  await ending(page, "answer");
  await page.evaluate(() => {
    const thread = JSON.parse(sessionStorage.getItem("ask.thread"));
    sessionStorage.setItem("ask.thread", JSON.stringify({ ...thread, conversation: "gone", tickets: [...thread.tickets, "gone"] }));
  });
  await page.reload();
  await page.getByText("The service has forgotten this turn").waitFor();
  await ask(page, "And the fewest?");
  await page.getByText("This conversation has ended").waitFor();
  await look(page, "forgotten", { whole: true });
  await page.getByRole("button", { name: "Begin a new one" }).click();
  assert.equal(await page.getByLabel("Your question").inputValue(), "And the fewest?");
  await page.keyboard.press("Enter");
  await ending(page, "answer");
});

test("leaving for a new conversation cancels what runs", async (context) => {
  const page = await open(context);
  await signIn(page);
  await script(QUERY, NEVER);
  await ask(page, QUESTION);
  await page.locator(".stretch", { hasText: "Asking support" }).waitFor();
  const cancelled = page.waitForResponse((response) => response.url().endsWith("/cancel"));
  await page.getByRole("button", { name: "New conversation" }).click();
  assert.equal((await cancelled).status(), 202);
  assert.equal(await page.locator(".turn").count(), 0);
});

test("text that a peer sent stays text", async (context) => {
  const page = await open(context);
  await signIn(page);
  const evil = '<img src="https://evil.example/x" onerror="document.title=1"><script>document.title=2</script>\u202eabc';
  const sql = "SELECT '<b>bold</b><img src=x onerror=alert(1)>' AS \"<i>name</i>\", COUNT(*) AS n FROM support.tickets";
  const conclude = calls(["conclude", { kind: "answer", text: evil, entities: [], headline: { value: evil, label: evil } }]);
  await script(calls(["warehouse__run_query", { sql, source: "support" }]), conclude);
  await ask(page, "<em>What</em> is it, then? <script>document.title=3</script>");
  const answer = await ending(page, "answer");
  assert.ok((await answer.textContent()).includes('<img src="https://evil.example/x" onerror="document.title=1">'));
  assert.ok((await answer.textContent()).includes("<b>bold</b>"));
  assert.ok(!(await answer.textContent()).includes("\u202e"));
  assert.equal(await page.locator("main img, main script, main b, main i, main em").count(), 0);
  assert.equal(await page.title(), "Ask");
  await look(page, "hostile");
});

test("the policy holds: no inline script, no inline style, no text as HTML, no call elsewhere", async (context) => {
  const page = await open(context, { expected: [/Content Security Policy/, /violates/, /Trusted(HTML|Script)/] });
  await signIn(page);
  const broken = await page.evaluate(async () => {
    const seen = [];
    document.addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
    const script = document.createElement("script");
    script.append("globalThis.ran = true");
    const caught = [];
    try { document.head.append(script); } catch (err) { caught.push(err.name); }
    document.body.setAttribute("style", "color: red");
    try { document.body.innerHTML = "<p>x</p>"; } catch (err) { caught.push(err.name); }
    try { await fetch("http://127.0.0.1:9/"); } catch (err) { caught.push(err.name); }
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { seen: [...new Set(seen)].sort(), caught, ran: globalThis.ran, colour: getComputedStyle(document.body).color };
  });
  assert.equal(broken.ran, undefined);
  assert.deepEqual(broken.caught, ["TypeError", "TypeError"]);
  assert.notEqual(broken.colour, "rgb(255, 0, 0)");
  assert.deepEqual(broken.seen, ["connect-src", "require-trusted-types-for", "style-src-attr"]);
  assert.equal(new URL(consoleUrl).origin, new URL(page.url()).origin);
});

const at = (seconds) => new Date(Date.now() - 12_000 + seconds * 1000).toISOString();
const frames = (events) => events.map((event, place) => {
  const whole = { seq: place + 1, ticket: "t", conversation_id: "c", ts: at(place / 2), ...event };
  return `id: ${whole.seq}\nevent: ${whole.type}\ndata: ${JSON.stringify(whole)}\n\n`;
}).join("");
const BRANCHES = [
  { type: "accepted", question: QUESTION, turn: 1, contract_version: "1" },
  { type: "branch", branch_id: "a", state: "opened", role: "supervisor" },
  { type: "branch", branch_id: "g", state: "opened", role: "grounding" },
  { type: "milestone", branch_id: "g", phase: "grounding", subject: "Net Revenue" },
  { type: "milestone", branch_id: "g", phase: "grounding", subject: "Fiscal Year" },
  { type: "branch", branch_id: "g", state: "closed", role: "grounding" },
  { type: "branch", branch_id: "s1", state: "opened", role: "source", source: "sales" },
  { type: "branch", branch_id: "s2", state: "opened", role: "source", source: "support" },
  { type: "milestone", branch_id: "s1", phase: "querying", subject: "Net Revenue", source: "sales" },
  { type: "a_type_of_tomorrow", branch_id: "s1" },
  { type: "step", branch_id: "s1", tool: "warehouse__run_query", args: { sql: "SELECT 1", source: "sales" }, ms: 1840, is_error: true },
  { type: "milestone", branch_id: "s2", phase: "discovering", subject: null, source: "support" },
  { type: "branch", branch_id: "s1", state: "closed", role: "source", source: "sales" },
];

test("branches that work side by side are each shown with their own work", async (context) => {
  const page = await open(context);
  await signIn(page);
  await script({ hang: "head" });
  let first = true;
  await page.route("**/events", async (route) => {
    // Once the beginning of a stream; then one that has nothing to say yet.
    if (!first) return;
    first = false;
    await route.fulfill({ contentType: "text/event-stream", body: frames(BRANCHES) });
  });
  await ask(page, QUESTION);
  await page.locator(".branch-name", { hasText: "Asking sales" }).waitFor();
  await page.getByRole("switch", { name: "Show the work" }).click();
  const names = await page.locator(".branch-name").evaluateAll((all) => all.map((it) => it.firstChild.textContent));
  assert.deepEqual(names, ["Answering the question", "Looking up meanings", "Asking sales", "Asking support"]);
  await page.locator(".branch", { hasText: "Asking sales" }).locator(".step", { hasText: "failed" }).waitFor();
  assert.equal(await page.locator(".stretch.now").count(), 1, "only what still goes on is now");
  await look(page, "branches");
});

test("many wide rows stay in their frame, and what was left out is said", async (context) => {
  for (const phone of [false, true]) {
    const page = await open(context, { phone });
    await signIn(page);
    await script(calls(["warehouse__run_query", { sql: "SELECT * FROM support.tickets", source: "support" }]),
      calls(["conclude", { kind: "answer", text: "These are the tickets.\n\nThey are many.", entities: [] }]));
    await ask(page, `Show me everything there is. ${"long".repeat(60)}`);
    const answer = await ending(page, "answer");
    await answer.getByText("First 500 rows; the source has more").waitFor();
    assert.equal(await answer.locator("tbody tr").count(), 500);
    assert.equal(await answer.locator("canvas").count(), 0);
    const beyond = await answer.locator("th").evaluateAll((all) => all.filter((it) => it.getBoundingClientRect().height > 60).length);
    assert.equal(beyond, 0, "no column is squeezed until its letters stand below each other");
    await look(page, phone ? "phone-wide" : "wide");
  }
});
