// The endings with the demo analyst: each is what it is, reads like it, and can be worked with.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ask, ending, look, open, signIn } from "./rig.js";

const FASTEST = "Which support team resolves tickets fastest?";

test("an answer has its figure, picture, table, meanings, sources, SQL and caveat", async (context) => {
  const page = await open(context);
  await signIn(page);
  await page.getByRole("button", { name: FASTEST }).click();
  const answer = await ending(page, "answer");
  await answer.getByText("Billing", { exact: true }).first().waitFor();
  await answer.getByRole("img", { name: /^Bar chart: Average resolution time by team/ }).locator("canvas").waitFor();
  const drawn = await answer.locator("canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, at) => at % 4 === 3 && value > 0).length;
  });
  assert.ok(drawn > 10_000, "the chart is drawn");
  assert.equal(await answer.locator("tbody tr").count(), 5);
  const beside = answer.getByRole("complementary");
  await beside.getByText(/migrated from the previous desk/).waitFor();
  await beside.getByText("Support.ResolutionTime").waitFor();
  await beside.getByText("support.tickets", { exact: true }).waitFor();
  await beside.getByText("The SQL that ran").click();
  await beside.getByText(/SELECT team, ROUND\(AVG/).waitFor();
  await look(page, "answer", { whole: true });

  const heads = answer.locator("thead button");
  const teams = () => answer.locator("tbody tr td:first-child").allTextContents();
  const before = await teams();
  await heads.nth(1).click();
  assert.equal(await answer.locator("th").nth(1).getAttribute("aria-sort"), "ascending");
  await heads.nth(1).click();
  assert.deepEqual((await teams())[0], "Technical");
  await answer.getByRole("button", { name: "Copy as CSV" }).click();
  await answer.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied.replaceAll("\r", ""), /^team,average_resolution_time\nTechnical,1436\.78\n/);
  await heads.nth(1).click();
  assert.deepEqual(await teams(), before, "the third time it is as it came");
  assert.equal(await answer.locator("th[aria-sort]").count(), 0);
});

test("the work behind an answer is folded away, and its steps are shown to those alone who ask", async (context) => {
  const page = await open(context);
  await signIn(page);
  await ask(page, FASTEST);
  await ending(page, "answer");
  await page.getByText(/2 model turns · \d+ calls/).click();
  await page.getByText("Answering the question").waitFor();
  await page.getByText(/^Asking support/).first().waitFor();
  assert.equal(await page.locator(".step").count(), 0);
  await page.getByRole("switch", { name: "Show the work" }).click();
  await page.locator(".step summary", { hasText: "run_query" }).click();
  await page.locator(".args", { hasText: "SELECT team" }).waitFor();
  await page.locator(".work").scrollIntoViewIfNeeded();
  await look(page, "work", { whole: true });
});

test("a definition comes from the catalog alone", async (context) => {
  const page = await open(context);
  await signIn(page);
  await ask(page, "What does Resolution Time mean?");
  const answer = await ending(page, "answer");
  await answer.getByText("From the catalog alone; no data was queried.").waitFor();
  assert.equal(await answer.getByRole("table").count(), 0);
  await look(page, "definition", { whole: true });
});

test("one figure is a headline, and months are a line", async (context) => {
  const page = await open(context);
  await signIn(page);
  await ask(page, "How many support tickets are still open?");
  const figure = await ending(page, "answer");
  assert.match(await figure.locator(".headline-value").textContent(), /^[\d,]+/);
  await ask(page, "How many support tickets were opened each month?");
  const months = await ending(page, "answer");
  await months.getByRole("img", { name: /^Line chart/ }).locator("canvas").waitFor();
  await look(page, "line", { whole: true });
});

test("an abstention is no answer, and names what was looked for", async (context) => {
  const page = await open(context);
  await signIn(page);
  await ask(page, "What is our customer satisfaction score for support?");
  const abstention = await ending(page, "abstention");
  await abstention.getByText("No answer", { exact: true }).waitFor();
  await abstention.getByText("This is a gap in the catalog, not a result of zero.").waitFor();
  assert.ok((await abstention.locator(".terms li").count()) > 0);
  assert.equal(await page.locator(".answer").count(), 0);
  await look(page, "abstention");
});

test("a refusal is no answer, names who refused, and says what was refused", async (context) => {
  const page = await open(context);
  await signIn(page, "Alice Analyst");
  await ask(page, "List every support agent's email address");
  const refusal = await ending(page, "refusal");
  await refusal.getByText("Refused", { exact: true }).waitFor();
  await refusal.getByRole("heading", { name: "You may not see this" }).waitFor();
  await refusal.getByText("This is not an empty result.").waitFor();
  assert.equal(await page.locator(".answer, table").count(), 0);
  await look(page, "refusal");
});

test("a follow-up knows what it is about, and a new conversation does not", async (context) => {
  const page = await open(context);
  await signIn(page);
  await ask(page, "Which support team has the most tickets?");
  const first = await ending(page, "answer");
  const team = (await first.locator(".headline-value").textContent()).trim();
  await page.getByPlaceholder("Ask a follow-up").waitFor();
  await ask(page, "And what is that team's average resolution time?");
  const second = await ending(page, "answer");
  assert.match(await second.textContent(), new RegExp(team));
  assert.equal(await page.locator(".turn").count(), 2);
  await look(page, "follow-up", { whole: true });
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.getByRole("heading", { name: "What would you like to know?" }).waitFor();
  assert.equal(await page.locator(".turn").count(), 0);
});
