"""A canary question, token and row value through the whole stack at trace level; then a search of all that was written."""

import asyncio
import http.server
import json
import threading
import urllib.request

from rig.process import free_port
from rig.stack import Stack

from ..people import Caller
from .tokens import mint

PROMISE = "no question, token or row value in anything that is written down"
REACH = "0 hits in logs at trace level, audit lines, metrics, traces, panics and problem bodies"
QUESTION = "Zanzibar marmalade octopus quarterly figures of the canary please"
CLAIM = "canary-claim-7f3a"


class Collector:
    """Takes whatever spans are sent to it, as text."""

    def __enter__(self):
        self.bodies = bodies = []

        class Takes(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode(errors="replace"))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Takes)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()


async def endings(caller):
    """Runs that answer, abstain, are refused, fail and are cancelled, each with the canary."""
    tickets = [await caller.ask(f"{QUESTION}: {what}") for what in (
        "How many support tickets are still open?", "What is our customer satisfaction score for support?",
        "List every support agent's email address", "Delete the resolved support tickets from last year")]
    seen = [await caller.follow(ticket) for ticket in tickets]
    cancelled = await caller.ask(QUESTION)
    await caller.cancel(cancelled)
    return seen, [cancelled, *tickets]


async def problems(caller, conversation):
    """Bodies of answers to calls that hold the canary in a wrong place."""
    bodies = []
    path = f"/v1/conversations/{conversation}/asks"
    for body in ({"question": QUESTION, "odd": QUESTION}, {"question": QUESTION, "effort": QUESTION}, {"question": [QUESTION]}, [QUESTION]):
        bodies.append(await caller.call("POST", path, body))
    bodies.append(await caller.call("GET", f"/v1/asks/{QUESTION.replace(' ', '%20')}"))
    bodies.append(await caller.call("GET", "/v1/asks/t_none", headers={"Last-Event-ID": QUESTION}))
    return bodies


async def run(row, scene):
    folder, metrics_port = scene.folder / "privacy", free_port()
    with Collector() as collector:
        settings = {
            "DAS_ASK_LOG": "trace", "RUST_LOG": "trace", "DAS_ASK_METRICS_PORT": str(metrics_port),
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_TRACES_SAMPLER": "always_on",
        }
        stories, bodies, token, written = await everything(folder, settings, metrics_port)
        written["traces"] = "\n".join(collector.bodies)
    judge(row, stories, bodies, token, written)


async def everything(folder, settings, metrics_port):
    """What was seen, what problems said, the token, and all that was written down, by name."""
    with Stack(folder, settings) as stack:
        token = mint(stack, claims={"name": CLAIM, "preferred_username": CLAIM})
        caller, alice = Caller(stack.state["base_url"], token), Caller(stack.state["base_url"], stack.token("alice"))
        conversation = await caller.converse()
        seen, _ = await endings(caller)
        await endings(alice)
        bodies = await problems(caller, conversation)
        # A question whose rows are known to come, since one with the canary in it may find none.
        seen.append(await caller.follow(await caller.ask("Which support team resolves tickets fastest?")))
        await asyncio.sleep(6)
        written = {}
        for file in folder.rglob("*.log"):
            written[file.name] = file.read_text(errors="replace")
        with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=5) as reply:
            written["metrics"] = reply.read().decode()
    return seen, bodies, token, written


def rows_of(stories):
    """The cells of all results that no other text holds by chance."""
    cells = set()
    for story in stories:
        for event in map(lambda event: json.loads(event[3]), story.events):
            if event["type"] == "answer" and event.get("result"):
                cells |= {str(cell) for row in event["result"]["rows"] for cell in row if isinstance(cell, float)}
    return {cell for cell in cells if len(cell) >= 6}


def judge(row, stories, bodies, token, written):
    values = rows_of(stories)
    # Search terms are written down by design; three words of a sentence are a term, four are the sentence.
    words = QUESTION.split()
    windows = [" ".join(words[at:at + 4]) for at in range(len(words) - 3)]
    needles = [*windows, *(window.lower() for window in windows), token, token.split(".")[1], token.split(".")[2], CLAIM]
    hits = [f"{name}: {needle[:12]}…" for name, text in written.items() for needle in needles if needle in text]
    hits += [f"{name}: a row value" for name, text in written.items() for value in values if value in text]
    hits += [f"problem {status}" for status, _, body in bodies if any(window.encode() in body for window in windows)]
    lines = sum(text.count("\n") for text in written.values())
    row.figure("lines written", f"{lines:,}", lines > 500)
    row.figure("kept in", ", ".join(sorted(written)), len(written) >= 5 and all(written.values()))
    row.figure("row values looked for", len(values), len(values) >= 3)
    row.figure("hits", hits or 0, not hits)
