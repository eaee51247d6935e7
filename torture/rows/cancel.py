"""Cancels at random moments of a run, with a subscriber watching and the model looking at its own sockets."""

import asyncio
import json
import random
import time

from ..history import ENDINGS, Frames, Seen
from ..row import percentile

PROMISE = "a cancel that is acknowledged has happened"
REACH = "1,000 cancels: ending in the log before the 202; model socket closed within 1 s (p99 20 ms); nothing after it"
AT_ONCE = 8


async def watch(caller, ticket):
    wire, reply = await caller.open(ticket)
    seen, frames = Seen("watch", ticket), Frames()
    try:
        while piece := await asyncio.wait_for(reply.some(), 30):
            for fields in frames.feed(piece):
                seen.take(fields)
    finally:
        wire.close()
    return seen


async def one(caller, dice, notes):
    """One run with a subscriber, cancelled somewhere."""
    ticket = await caller.ask(dice.choice(["bench n=40 size=100 hz=200", "bench hold=20", "bench n=5 size=100 hz=100 lead=300"]))
    watching = asyncio.create_task(watch(caller, ticket))
    await asyncio.sleep(dice.random() * 0.25)
    before = time.monotonic()
    status, _, body = await caller.call("POST", f"/v1/asks/{ticket}/cancel")
    acknowledged = time.monotonic()
    notes["ms"].append((acknowledged - before) * 1000)
    state = await caller.state(ticket)
    ended = state["status"] == "finished" and state["terminal"] and state["done"]
    if status != 202 or not ended:
        notes["not ended at the 202"] += 1
    seen = await watching
    kinds = [event[1] for event in seen.events]
    terminal = [json.loads(event[3]) for event in seen.events if event[1] in ENDINGS]
    if kinds[-1:] != ["done"] or len(terminal) != 1 or seen.last != state["seq"]:
        notes["more than the ending after it"] += 1
    if terminal and terminal[0].get("kind") != "cancelled":
        notes["ended by itself"] += 1


async def sockets(scene, caller, count):
    """How long after the 202 the model sees its connection closed, one run at a time; returns milliseconds."""
    took = []
    for _ in range(count):
        closed = scene.stub_state()["closed_early"]
        ticket = await caller.ask("bench hold=30")
        while scene.stub_state()["in_flight"] == 0:
            await asyncio.sleep(0.002)
        await caller.cancel(ticket)
        at = time.monotonic()
        while scene.stub_state()["closed_early"] == closed:
            if time.monotonic() - at > 5:
                raise RuntimeError("the model's connection was left open")
            await asyncio.sleep(0)
        took.append((time.monotonic() - at) * 1000)
    return took


async def run(row, scene):
    count, dice = scene.size(1000, 10_000), random.Random(7)
    notes = {"ms": [], "not ended at the 202": 0, "more than the ending after it": 0, "ended by itself": 0}
    async with scene.service("cancel") as service:
        caller = scene.caller(service.base)
        gate = asyncio.Semaphore(AT_ONCE)

        async def gated():
            async with gate:
                await one(caller, dice, notes)

        await asyncio.gather(*(gated() for _ in range(count)))
        received = scene.stub_state()["received"]
        await asyncio.sleep(0.5)
        late = scene.stub_state()["received"] - received
        took = await sockets(scene, caller, scene.size(200, 1000))
    row.figure("cancels", f"{len(notes['ms']):,}", len(notes["ms"]) == count and notes["ended by itself"] < count / 2)
    row.figure("not ended at the 202:", notes["not ended at the 202"], notes["not ended at the 202"] == 0)
    after = notes["more than the ending after it"]
    row.figure("anything after the ending:", after, after == 0)
    row.figure("model calls after all were cancelled:", late, late == 0)
    row.figure("202 p99 ms", f"{percentile(notes['ms'], 0.99):.1f}", True)
    row.at_most("socket closed p99 ms", percentile(took, 0.99), 20, f"{percentile(took, 0.99):.1f}")
    row.at_most("at most ms", max(took), 1000, f"{max(took):.1f}")
