#!/usr/bin/env python3
"""Asks the sample questions of a model server of your own, and judges structure, limits and errors, never wording.

    ASK_SMOKE_BASE_URL=http://127.0.0.1:11434/v1 ASK_SMOKE_MODEL=<model> scripts/smoke.py

ASK_SMOKE_PROTOCOL is `openai` unless it says `anthropic`; ASK_SMOKE_API_KEY is sent if there is one.
"""

import json
import os
import pathlib
import sys
import tempfile
import time
import urllib.error
import urllib.request

from rig.process import free_port
from rig.stack import Stack

QUESTIONS = [
    "Which support team resolves tickets fastest?",
    "What does average resolution time mean?",
    "What is our customer satisfaction score for support?",
]
ENDINGS = {"answer", "abstention", "refusal", "error"}
STEPS = 6


class Wrong(Exception):
    """What was found does not hold."""


def settings(base, model, **more):
    named = {
        "DAS_LLM_BASE_URL": base, "DAS_MODEL": model, "DAS_LLM_PROTOCOL": os.environ.get("ASK_SMOKE_PROTOCOL", "openai"),
        "DAS_LLM_ACCEPT_DEGRADED": "true", "DAS_LLM_API_KEY": os.environ.get("ASK_SMOKE_API_KEY") or "none",
        "DAS_LLM_MAX_TOKENS_FIELD": "max_tokens", "DAS_MAX_STEPS": str(STEPS),
    }
    return named | more


def call(url, token, method="GET", body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=600) as reply:
            return reply.read().decode()
    except urllib.error.HTTPError as err:
        raise Wrong(f"{method} {url}: {err.code} {err.read(500).decode(errors='replace')}") from err


def ask(stack, question):
    """Every event of an ask."""
    base, token = stack.state["base_url"], stack.token("carol")
    conversation = json.loads(call(f"{base}/v1/conversations", token, "POST"))["conversation_id"]
    ticket = json.loads(call(f"{base}/v1/conversations/{conversation}/asks", token, "POST", {"question": question}))["ticket"]
    text = call(f"{base}/v1/asks/{ticket}/events", token)
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def hold(so, what):
    if not so:
        raise Wrong(what)


def ending(events, turns=STEPS):
    """The terminal event of a stream that has the form it must have."""
    hold([event["seq"] for event in events] == list(range(1, len(events) + 1)), "the seqs are not 1, 2, 3 …")
    hold(events and events[0]["type"] == "accepted" and events[-1]["type"] == "done", "it does not go from accepted to done")
    terminal = [event for event in events if event["type"] in ENDINGS]
    hold(len(terminal) == 1 and terminal[0] is events[-2], f"{len(terminal)} endings, or one in the wrong place")
    done = events[-1]
    hold(done["outcome"] == terminal[0]["type"], "done tells of another outcome")
    hold(done["hops"] <= turns, f"{done['hops']} model calls with a ceiling of {turns}")
    hold(all(done[count] >= 0 for count in ("steps", "tokens_in", "tokens_out", "ms")), "done counts below nothing")
    if terminal[0]["type"] == "answer":
        hold(terminal[0]["sql"] or terminal[0]["provenance"], "an answer with neither a statement nor a definition behind it")
    return terminal[0]


def told(what, terminal):
    kind = f" ({terminal['kind']})" if terminal["type"] == "error" else ""
    print(f"ok   {what}: {terminal['type']}{kind}", flush=True)


def run(folder, base, model):
    with Stack(folder / "asked", settings(base, model)) as stack:
        for question in QUESTIONS:
            told(question, ending(ask(stack, question)))
    with Stack(folder / "short", settings(base, model, DAS_MAX_STEPS="1", DAS_ASK_GROUNDING="false")) as stack:
        told("with one turn alone", ending(ask(stack, QUESTIONS[0]), 1))
    with Stack(folder / "hurried", settings(base, model, DAS_ASK_RUN_TIMEOUT_S="1")) as stack:
        begun = time.monotonic()
        terminal = ending(ask(stack, QUESTIONS[0]))
        hold(time.monotonic() - begun < 15, "a limit of one second was not kept")
        told("within a second", terminal)
    with Stack(folder / "gone", settings(f"http://127.0.0.1:{free_port()}/v1", model)) as stack:
        terminal = ending(ask(stack, QUESTIONS[0]))
        hold((terminal["type"], terminal.get("kind")) == ("error", "model"), f"a server that is not there ends in {terminal['type']}")
        told("a server that is not there", terminal)


def main():
    base, model = os.environ.get("ASK_SMOKE_BASE_URL"), os.environ.get("ASK_SMOKE_MODEL")
    if not base or not model:
        sys.exit("smoke: set ASK_SMOKE_BASE_URL and ASK_SMOKE_MODEL to a model server of yours and a model that it has")
    with tempfile.TemporaryDirectory(prefix="ask-smoke-") as folder:
        try:
            run(pathlib.Path(folder), base, model)
        except Wrong as wrong:
            sys.exit(f"FAIL {wrong}")
    print("smoke: held")


if __name__ == "__main__":
    main()
