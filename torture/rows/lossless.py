"""Streams cut at random places, direct and through each gateway; a judge compares what each reader saw with the whole."""

import asyncio
import collections
import random

from rig import gateway

from ..history import Frames, Seen, faults
from ..wire import Closed

PROMISE = "a stream that is cut anywhere, any number of times, loses nothing"
REACH = "10,000 random cuts, direct and through each gateway: 0 gaps, duplicates, reorders; one terminal each"
EVENTS, TICKETS, READERS = 120, 10, 25


async def read_with_cuts(caller, ticket, name, cuts, dice, counts):
    """Follows a ticket to its end, and cuts the connection `cuts` times after a random number of bytes, by FIN or RST."""
    seen, left = Seen(name, ticket), cuts
    for _ in range(cuts * 4 + 20):
        wire, reply = await caller.open(ticket, after=seen.last)
        if reply.status == 204 and seen.done:
            wire.close()
            return seen
        if reply.status != 200:
            raise RuntimeError(f"events: {reply.status}")
        frames, budget, got = Frames(), dice.choice([0, 1, 40, 300, 2000, 9000]) + dice.randrange(600), 0
        try:
            while piece := await asyncio.wait_for(reply.some(), 30):
                # Bytes beyond the cut count as never received.
                if left and got + len(piece) >= budget:
                    for fields in frames.feed(piece[:budget - got]):
                        seen.take(fields)
                    left -= 1
                    counts["cuts"] += 1
                    (wire.reset if dice.random() < 0.5 else wire.close)()
                    break
                got += len(piece)
                for fields in frames.feed(piece):
                    seen.take(fields)
            else:
                wire.close()
                if seen.done:
                    return seen
        except Closed:
            counts["cut by peer"] += 1
            wire.close()
    raise RuntimeError("the stream did not come to its end")


async def way(scene, base, name, cuts, counts, wrong, seed):
    """All readers of one way to the service."""
    caller, dice = scene.caller(base), random.Random(seed)
    running = [await caller.ask(f"bench n={EVENTS} size=200 hz=40 lead=200") for _ in range(TICKETS)]
    each = max(1, cuts // (TICKETS * READERS))
    jobs = [
        read_with_cuts(caller, ticket, f"{name} {number}", each, random.Random(dice.random()), counts)
        for ticket in running for number in range(READERS)
    ]
    stories = await asyncio.gather(*jobs)
    truths = {ticket: await caller.follow(ticket) for ticket in running}
    for story in stories:
        for fault in faults(story, truths[story.ticket]):
            wrong[fault] += 1
    for truth in truths.values():
        steps = sum(event[1] == "step" for event in truth.events)
        if steps != EVENTS or faults(truth, truth):
            wrong[f"whole with {steps} steps"] += 1
    return len(stories)


async def run(row, scene):
    cuts = scene.size(10_000, 100_000)
    counts, wrong = collections.Counter(), collections.Counter()
    async with scene.service("lossless") as service:
        histories = await way(scene, service.base, "direct", cuts // 4, counts, wrong, 1)
        for number, name in enumerate(gateway.NAMES):
            with scene.gateway(name, service, "lossless") as door:
                histories += await way(scene, door.base, name, cuts // 4, counts, wrong, 2 + number)
    row.figure("cuts", f"{counts['cuts']:,}", counts["cuts"] >= cuts)
    row.figure("histories", f"{histories:,}", histories == 4 * TICKETS * READERS)
    row.figure("faults", dict(wrong) or 0, not wrong)
