// Dark, phone width, and the keyboard alone.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ask, ending, look, open, signIn } from "./rig.js";

const FASTEST = "Which support team resolves tickets fastest?";
const QUESTIONS = [
  [FASTEST, "answer"],
  ["What is our customer satisfaction score for support?", "abstention"],
  ["List every support agent's email address", "refusal"],
];

for (const [name, options] of [["dark", { scheme: "dark" }], ["phone", { phone: true }], ["phone-dark", { phone: true, scheme: "dark" }]]) {
  test(`every ending is good to look at: ${name}`, async (context) => {
    const page = await open(context, options);
    await look(page, `${name}-signed-out`);
    await signIn(page, "Alice Analyst");
    await look(page, `${name}-signed-in`);
    for (const [question, kind] of QUESTIONS) {
      await ask(page, question);
      const found = await ending(page, kind);
      if (kind === "answer") await found.locator("canvas").waitFor();
      await look(page, `${name}-${kind}`, { whole: true });
    }
    if (options.phone) {
      // The narrowest that has to do (WCAG 1.4.10).
      await page.setViewportSize({ width: 320, height: 640 });
      await look(page, `${name}-narrow`);
      const small = await page.locator("button:visible, summary:visible").evaluateAll((all) =>
        all.map((it) => [it.textContent, it.getBoundingClientRect().height]).filter(([, height]) => height < 24));
      assert.deepEqual(small, [], "each thing to press is large enough to be pressed");
    }
  });
}

test("a chart takes the colours of the page when the scheme changes", async (context) => {
  const page = await open(context);
  await signIn(page);
  await ask(page, FASTEST);
  const answer = await ending(page, "answer");
  await answer.locator("canvas").waitFor();
  // Waits until this is the colour that most of the canvas has.
  const becomes = (expected) => page.waitForFunction((wanted) => {
    const canvas = document.querySelector(".answer canvas");
    if (canvas === null) return false;
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const counts = new Map();
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] < 255) continue;
      const colour = `${data[at]},${data[at + 1]},${data[at + 2]}`;
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] === wanted;
  }, expected);
  // What --muted is in each scheme: the bars that did not win.
  await becomes("169,194,189");
  await page.emulateMedia({ colorScheme: "dark" });
  await becomes("63,106,102");
});

test("with the system's own colours, and on paper, all is still there", async (context) => {
  const page = await open(context);
  await signIn(page);
  await ask(page, FASTEST);
  const answer = await ending(page, "answer");
  await answer.locator("canvas").waitFor();
  await page.getByText("How it came about").click();
  await page.emulateMedia({ forcedColors: "active" });
  await look(page, "forced-colours", { whole: true });
  await page.emulateMedia({ forcedColors: "none", media: "print" });
  await look(page, "paper", { whole: true });
  assert.ok(!(await page.getByLabel("Your question").isVisible()));
  assert.ok(await answer.getByRole("table").isVisible());
});

test("everything is done with the keyboard alone", async (context) => {
  const page = await open(context);
  const focused = () => page.evaluate(() => {
    const it = document.activeElement;
    return it.getAttribute("aria-label") ?? it.labels?.[0]?.textContent ?? it.textContent.trim();
  });
  const press = async (key, times = 1) => {
    for (let done = 0; done < times; done += 1) await page.keyboard.press(key);
  };
  const tabTo = async (name, key = "Tab") => {
    for (let tries = 0; tries < 40; tries += 1) {
      await press(key);
      if ((await focused()) === name) return;
    }
    assert.fail(`${name} can't be reached with ${key}`);
  };
  await press("Tab");
  assert.equal(await focused(), "Skip to the conversation");
  await tabTo("Sign in");
  await press("Enter");
  await page.getByRole("button", { name: "Sign in as Carol Finance" }).waitFor();
  await tabTo("Sign in as Carol Finance");
  await press("Enter");
  await page.getByLabel("Your question").waitFor();
  assert.equal(await focused(), "Your question", "where one begins to write");
  await page.keyboard.type(FASTEST);
  await press("Enter");
  const answer = await ending(page, "answer");
  assert.equal(await focused(), "Your question", "the answer takes nothing away from who writes");
  await tabTo("Average resolution time", "Shift+Tab");
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(ring, "none", "where one is can be seen");
  await press("Enter");
  assert.equal(await answer.locator("th").nth(1).getAttribute("aria-sort"), "ascending");
  await tabTo("Copy as CSV", "Shift+Tab");
  await press("Space");
  await answer.getByRole("button", { name: "Copied" }).waitFor();
  await tabTo("The SQL that ran");
  await press("Enter");
  await answer.getByText(/SELECT team/).waitFor();
  await look(page, "keyboard", { whole: true });
  await tabTo("Sign out", "Shift+Tab");
  await press("Enter");
  await page.getByRole("heading", { name: "Ask your data a question" }).waitFor();
});
