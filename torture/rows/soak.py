"""Constant asks under open streams, one in a hundred with a fault; memory, descriptors and threads over time."""

import asyncio
import random
import time

from .. import watch

PROMISE = "a service that runs for long is as it was at the start"
REACH = "1 hour (quick form: 1 minute), 500 streams, constant asks, 1 % faults: at most 1 MiB an hour; descriptors and threads flat"
STREAMS, HOLDERS, HOLD_S, ASKERS, TTL_S = 500, 10, 40, 4, 20


async def stay(caller, ticket, counts):
    """Follows one quiet ask to its end."""
    seen = await caller.follow(ticket)
    counts["followed"] += 1
    counts["not ended"] += not seen.done


async def hold(caller, counts, end):
    """Keeps streams open on one quiet ask after the other, so that nothing of the load itself grows."""
    while time.monotonic() < end:
        ticket = await caller.ask(f"bench hold={HOLD_S}")
        await asyncio.gather(*(stay(caller, ticket, counts) for _ in range(STREAMS // HOLDERS)))


async def ask_on(caller, dice, counts, end):
    while time.monotonic() < end:
        ticket = await caller.ask("bench n=6 size=300")
        fault = dice.random() < 0.01
        if fault and dice.random() < 0.5:
            await caller.cancel(ticket)
        elif fault:
            wire, reply = await caller.open(ticket)
            await reply.some()
            wire.reset()
        counts["faults"] += fault
        seen = await caller.follow(ticket)
        counts["asks"] += 1
        counts["not ended"] += not seen.done
        await asyncio.sleep(0.2)


def slope(samples):
    """Least squares: units a second."""
    mean_x = sum(x for x, _ in samples) / len(samples)
    mean_y = sum(y for _, y in samples) / len(samples)
    over = sum((x - mean_x) * (y - mean_y) for x, y in samples)
    return over / sum((x - mean_x) ** 2 for x, _ in samples)


async def run(row, scene):
    seconds = scene.size(60, scene.minutes * 60)
    counts = {"followed": 0, "asks": 0, "faults": 0, "not ended": 0}
    settings = {"DAS_ASK_TTL_S": str(TTL_S), "DAS_ASK_KEEP_ALIVE_S": "1"}
    async with scene.service("soak", settings) as service:
        caller = scene.caller(service.base)
        end = time.monotonic() + seconds
        holders = [asyncio.create_task(hold(caller, counts, end)) for _ in range(HOLDERS)]
        askers = [asyncio.create_task(ask_on(caller, random.Random(n), counts, end)) for n in range(ASKERS)]
        samples, fds, threads = [], [], []
        # What expires has begun to expire, and the allocator has what the highest of many random peaks needs.
        await asyncio.sleep(min(seconds / 2, max(seconds / 6, TTL_S * 6)))
        while time.monotonic() < end:
            samples.append((time.monotonic(), watch.resident_mib(service.pid)))
            fds.append(watch.descriptors(service.pid))
            threads.append(watch.threads(service.pid))
            await asyncio.sleep(seconds / 200)
        await asyncio.gather(*askers, *holders)
    growth = slope(samples) * 3600
    row.figure("asks", f"{counts['asks']:,}, {counts['faults']} with a fault, not ended {counts['not ended']}",
               counts["asks"] > seconds * 2 and counts["not ended"] == 0)
    row.figure("streams followed to their end", f"{counts['followed']:,}", counts["followed"] >= STREAMS)
    # Between two quiet asks a holder's streams are closed and opened again.
    row.figure("descriptors at most", f"{max(fds)}", max(fds) <= STREAMS + 150)
    row.figure("threads", f"{min(threads)} to {max(threads)}", max(threads) == min(threads))
    if scene.long:
        row.figure("minutes", scene.minutes, scene.minutes >= 30)
        row.at_most("MiB an hour", growth, 1, f"{growth:.2f}")
    else:
        half = len(samples) // 2
        first, second = max(mib for _, mib in samples[:half]), max(mib for _, mib in samples[half:])
        row.figure("MiB more in the second half", f"{second - first:.1f}", second - first <= 4)
