"""A flood of tokens with unknown keys, then a true rotation, then an outage of the key endpoint."""

import asyncio
import time
import urllib.request

from ..peers.keys import Keys
from ..people import Caller
from ..row import percentile
from .tokens import mint

PROMISE = "unknown keys cost nearly nothing, a true rotation is seen, an outage is survived"
REACH = "a minute's flood: at most 2 fetches a minute; rotation seen within 35 s; valid callers unharmed"


async def run(row, scene):
    stack, seconds = scene.stub, 62
    async with Keys(stack.state["jwks_url"]) as keys:
        async with scene.service("jwks", {"DAS_ENTRA_JWKS_URL": keys.url}) as service:
            begun_with = len(keys.fetches)
            good = Caller(service.base, stack.token("carol"))
            strangers = [mint(stack, header={"kid": f"stranger-{n}"}, key="unpublished") for n in range(200)]
            took, failed, knocks, end = [], 0, 0, time.monotonic() + seconds

            async def knock(n):
                nonlocal knocks
                wrong = 0
                while time.monotonic() < end:
                    caller = Caller(service.base, strangers[(n * 7 + knocks) % len(strangers)])
                    status, _, _ = await caller.call("GET", "/v1/asks/t_none")
                    knocks += 1
                    wrong += status != 401
                    await asyncio.sleep(0.05)
                return wrong

            async def stay():
                nonlocal failed
                while time.monotonic() < end:
                    at = time.monotonic()
                    status, _, _ = await good.call("GET", "/v1/asks/t_none")
                    took.append((time.monotonic() - at) * 1000)
                    failed += status != 404
                    await asyncio.sleep(0.05)

            wrong = sum((await asyncio.gather(*(knock(n) for n in range(8)), stay()))[:8])
            fetched = len(keys.fetches) - begun_with
            # The fetch at the start is nobody's doing.
            most = keys.most_in(60, begun_with)
            # A true rotation in the middle of it all: the old key goes at once.
            rotate = stack.state["mint_url"].replace("/admin/mint", "/admin/rotate")
            urllib.request.urlopen(urllib.request.Request(rotate, b"", method="POST"), timeout=10).close()
            rotated, fresh = time.monotonic(), Caller(service.base, stack.token("carol"))
            while (await fresh.call("GET", "/v1/asks/t_none"))[0] != 404:
                if time.monotonic() - rotated > 60:
                    raise RuntimeError("the rotation was not seen within 60 s")
                await asyncio.sleep(0.1)
            seen = time.monotonic() - rotated
            keys.up = False
            statuses = set()
            for n in range(20):
                statuses.add((await fresh.call("GET", "/v1/asks/t_none"))[0])
                await Caller(service.base, strangers[n]).call("GET", "/v1/asks/t_none")
                await asyncio.sleep(0.05)
    row.figure("tokens of unknown keys", f"{knocks:,}", knocks > 1000 and wrong == 0)
    row.figure("fetches in that minute:", f"{most} ({fetched} in {seconds} s)", most <= 2)
    row.at_most("rotation seen in s", seen, 35, f"{seen:.1f}")
    row.figure("valid callers: failed, p99 ms", f"{failed}, {percentile(took, 0.99):.0f}", failed == 0)
    row.figure("in the outage:", sorted(statuses), statuses == {404})
