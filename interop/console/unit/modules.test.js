import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const folder = fileURLToPath(new URL("../../../crates/console/static/js/", import.meta.url));

test("every module can be read", () => {
  const names = readdirSync(folder);
  assert.ok(names.length > 20);
  for (const name of names) execFileSync(process.execPath, ["--check", `${folder}${name}`], { stdio: "pipe" });
});
