// The console as a gateway serves it, from plain files: signing in, asking, a reload, the chart.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ask, consoleUrl, ending, open, signIn } from "./rig.js";

test("the page works from a gateway's own files", async (context) => {
  const page = await open(context, { url: consoleUrl.replace(/\/$/, "") });
  assert.equal(page.url(), consoleUrl, "the folder is where everything is relative to");
  await signIn(page);
  await ask(page, "Which support team resolves tickets fastest?");
  const answer = await ending(page, "answer");
  await answer.locator("canvas").waitFor();
  await ask(page, "And what is the average resolution time of Frontline?");
  await ending(page, "answer");
  await page.reload();
  await ending(page, "answer");
  assert.equal(await page.locator(".turn").count(), 2);
});
