// What the browser tests share: one Chromium, pages that complain of what they must not do, and the people who use them.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before } from "node:test";

import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ARGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

/** The console, and the control routes of its model when that is the stub. */
export const consoleUrl = process.env.CONSOLE_URL;
const control = process.env.MODEL_CONTROL;
const screens = process.env.CONSOLE_SCREENS;

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ARGS });
});
after(() => browser.close());

/** A page in a browser of its own. It fails its test for a script error, a breach of the policy, or a call off this machine. */
export async function open(context, { scheme = "light", phone = false, url = consoleUrl, expected = [] } = {}) {
  const size = phone ? { width: 375, height: 740 } : { width: 1280, height: 860 };
  const session = await browser.newContext({
    viewport: size, colorScheme: scheme, reducedMotion: "reduce", locale: "en-GB", timezoneId: "America/New_York",
    deviceScaleFactor: 1, hasTouch: phone, permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await session.newPage();
  const wrong = [];
  page.on("pageerror", (err) => wrong.push(`script: ${err.message}`));
  page.on("console", (said) => {
    const text = said.text();
    if (said.type() === "error" && !expected.some((known) => known.test(text))) wrong.push(`console: ${text}`);
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (hostname !== "127.0.0.1" && !["data:", "blob:"].includes(protocol)) wrong.push(`outside: ${request.url()}`);
  });
  page.setDefaultTimeout(Number(process.env.PATIENCE ?? 15_000));
  context.after(async () => {
    if (wrong.length > 0) console.error(wrong);
    await session.close();
    assert.deepEqual(wrong, []);
  });
  await page.goto(url);
  return page;
}

/** Signs in at the issuer's own page. */
export async function signIn(page, name = "Carol Finance") {
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: `Sign in as ${name}` }).click();
  await page.getByLabel("Your question").waitFor();
}

/** Types a question and asks it with the Enter key. */
export async function ask(page, question) {
  await page.getByLabel("Your question").fill(question);
  await page.keyboard.press("Enter");
}

/** The newest turn's ending, once it is there, which must be of this kind. */
export async function ending(page, kind) {
  const turn = page.locator(".turn").last();
  await turn.locator(".turn-end .ending").waitFor();
  const found = turn.locator("[data-ending]");
  assert.equal(await found.getAttribute("data-ending"), kind);
  return found;
}

/** Tells the stub model what to answer next, in order. */
export async function script(...turns) {
  const response = await fetch(`${control}/script`, { method: "POST", body: JSON.stringify(turns) });
  assert.equal(response.status, 200, await response.text());
}

/** A model turn that calls tools: `[name, args]` each. */
export function calls(...list) {
  return { calls: list.map(([name, args]) => ({ name, args })) };
}

/** Looks at the page as axe does: no finding that is serious or critical. Keeps a picture under this name. */
export async function look(page, name, options = {}) {
  await page.evaluate(() => document.fonts.ready);
  if (screens) {
    mkdirSync(screens, { recursive: true });
    const size = page.viewportSize();
    if (options.whole) {
      // Taller rather than scrolled: what sticks to an edge stays at the edge.
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      await page.setViewportSize({ ...size, height: Math.max(size.height, height) });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    }
    await page.screenshot({ path: `${screens}/${name}.png` });
    await page.setViewportSize(size);
  }
  // The policy lets no such script into the page, so it is put in the way the debugger does.
  await page.evaluate(`${axe}; undefined`);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const grave = found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" | ")}`);
  assert.deepEqual(grave, [], name);
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(beyond <= 0, `${name} is ${beyond} pixels too wide`);
}
