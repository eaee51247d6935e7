"""SIGTERM with a thousand open streams on running asks."""

import asyncio
import time

from ..history import ENDINGS, Frames, Seen
from ..wire import Closed

PROMISE = "a service that is told to stop ends every stream properly and is gone"
REACH = "1,000 streams: whole frames, error, done, the body's own end; exit within 2 s"
ASKS, STREAMS = 50, 20


async def follow(caller, ticket, opened):
    wire, reply = await caller.open(ticket)
    seen, frames = Seen("reader", ticket), Frames()
    try:
        first = True
        while piece := await reply.some():
            for fields in frames.feed(piece):
                seen.take(fields)
            if first:
                opened.append(1)
                first = False
    except Closed:
        return seen, False
    finally:
        wire.close()
    return seen, frames.rest == b""


async def run(row, scene):
    async with scene.service("shutdown") as service:
        caller = scene.caller(service.base)
        tickets = [await caller.ask("bench hold=120") for _ in range(ASKS)]
        opened = []
        streams = [asyncio.create_task(follow(caller, ticket, opened)) for ticket in tickets for _ in range(STREAMS)]
        while len(opened) < len(streams):
            await asyncio.sleep(0.05)
        service.child.terminate()
        begun = time.monotonic()
        await asyncio.to_thread(service.child.wait)
        took = time.monotonic() - begun
        ends = await asyncio.wait_for(asyncio.gather(*streams), 10)
        code = service.child.returncode
    whole = sum(
        proper and seen.events[-1][1] == "done" and sum(event[1] in ENDINGS for event in seen.events) == 1
        for seen, proper in ends)
    row.figure("streams ended whole", f"{whole:,} of {len(ends):,}", whole == len(ends) == ASKS * STREAMS)
    row.figure("exit code", code, code == 0)
    row.at_most("gone in s", took, 2, f"{took:.2f}")
