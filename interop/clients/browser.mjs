// What a page gets of an ask, by `fetch` and by a native EventSource: node browser.mjs DOOR TICKET; prints JSON.
import { chromium } from "playwright-core";

const [door, ticket, executable] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox"] });
try {
  const page = await (await browser.newContext()).newPage();
  await page.goto(door);
  const url = `/ask/v1/asks/${ticket}/events`;
  const native = await page.evaluate((url) => new Promise((give) => {
    const seen = [];
    const source = window.follow(url, (event) => {
      seen.push(event);
      if (event.type === "done") {
        // It comes back by itself, is told 204, and gives up for good.
        const look = setInterval(() => {
          if (source.readyState === EventSource.CLOSED) { clearInterval(look); give(seen); }
        }, 50);
      }
    });
  }), url);
  const fetched = await page.evaluate(async (url) => {
    const seen = [];
    let rest = "";
    const reader = (await fetch(url)).body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return seen;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      seen.push(...lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6))));
    }
  }, url);
  const stranger = await page.evaluate(async (url) => (await fetch(url, { credentials: "omit" })).status, url);
  console.log(JSON.stringify({ native, fetched, stranger }));
} finally {
  await browser.close();
}
