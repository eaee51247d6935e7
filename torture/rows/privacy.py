"""A canary question, token and row value through the whole stack at trace level; then a search of all that was written."""

import json

from rig.stack import Stack

from ..people import Caller
from .tokens import mint

PROMISE = "no question, token or row value in anything that is written down"
REACH = "0 hits in logs at trace level, audit lines, panics and problem bodies"
QUESTION = "Zanzibar marmalade octopus quarterly figures of the canary please"
CLAIM = "canary-claim-7f3a"


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
    folder = scene.folder / "privacy"
    settings = {"DAS_ASK_LOG": "trace", "RUST_LOG": "trace"}
    with Stack(folder, settings) as stack:
        token = mint(stack, claims={"name": CLAIM, "preferred_username": CLAIM})
        caller, alice = Caller(stack.state["base_url"], token), Caller(stack.state["base_url"], stack.token("alice"))
        conversation = await caller.converse()
        seen, _ = await endings(caller)
        await endings(alice)
        bodies = await problems(caller, conversation)
        values = set()
        for story in seen:
            for event in map(lambda event: json.loads(event[3]), story.events):
                if event["type"] == "answer" and event.get("result"):
                    values |= {str(cell) for cells in event["result"]["rows"] for cell in cells if len(str(cell)) >= 4}
        written = {}
        for file in folder.rglob("*.log"):
            written[file.name] = file.read_text(errors="replace")
    # Search terms are written down by design; three words of a sentence are a term, four are the sentence.
    words = QUESTION.split()
    windows = [" ".join(words[at:at + 4]) for at in range(len(words) - 3)]
    needles = [*windows, *(window.lower() for window in windows), token, token.split(".")[1], token.split(".")[2], CLAIM]
    hits = [f"{name}: {needle[:12]}…" for name, text in written.items() if text for needle in needles if needle in text]
    # A row value is looked for where rows are at home, in the lines about them; figures as short as a count are everywhere.
    hits += [f"{name}: a row value" for name, text in written.items() if text for value in values if len(value) >= 7 and value in text]
    hits += [f"problem {status}" for status, _, body in bodies if any(window.encode() in body for window in windows)]
    lines = sum(text.count("\n") for text in written.values() if text)
    row.figure("lines written", f"{lines:,}", lines > 500)
    row.figure("kept in", ", ".join(sorted(written)), len(written) >= 3)
    row.figure("hits", hits or 0, not hits)
