"""Clients with the manners of a browser's EventSource, all of them cut at once by a crash, and all coming back."""

import asyncio
import collections
import random
import signal
import time

from ..history import Frames
from ..people import Caller
from ..row import percentile
from ..scene import Service
from ..wire import Closed

PROMISE = "after a restart clients come back spread out, and are served"
REACH = "5,000 clients: spread over at least 5 s; no 5xx on streams"
TICKETS = 50


class Browser:
    """Follows a stream; after a cut it waits as long as the last `retry:` said, as often as it takes."""

    def __init__(self, caller, ticket):
        self.caller, self.ticket, self.retry, self.back, self.status, self.took = caller, ticket, 3.0, None, None, None

    async def go(self, opened, cut):
        await self.attempt(opened)
        await cut.wait()
        for _ in range(100):
            await asyncio.sleep(self.retry)
            at = time.monotonic()
            try:
                wire, reply = await self.caller.open(self.ticket)
            except (OSError, Closed):
                continue
            self.back, self.status, self.took = time.monotonic(), reply.status, (time.monotonic() - at) * 1000
            wire.close()
            return

    async def attempt(self, opened):
        wire, reply = await self.caller.open(self.ticket)
        frames, first = Frames(), True
        try:
            while piece := await reply.some():
                for fields in frames.feed(piece):
                    if "retry" in fields:
                        self.retry = int(fields["retry"]) / 1000
                if first:
                    opened.append(self)
                    first = False
        except Closed:
            pass
        finally:
            wire.close()


async def run(row, scene):
    count, token = 5000, scene.stub.token("carol")
    settings = {"DAS_ASK_ID_KEY": "kept", "DAS_ASK_KEEP_ALIVE_S": "5"}
    service = Service(scene.folder / "storm", scene.stub, settings)
    try:
        await asyncio.to_thread(service.ready, token)
        caller, port = Caller(service.base, token), service.port
        tickets = [await caller.ask("bench hold=300") for _ in range(TICKETS)]
        opened, cut = [], asyncio.Event()
        browsers, tasks = [], []
        for n in range(count):
            browsers.append(Browser(caller, tickets[n % TICKETS]))
            tasks.append(asyncio.create_task(browsers[-1].go(opened, cut)))
            if n % 100 == 0:
                await asyncio.sleep(0.01)
        while len(opened) < count:
            await asyncio.sleep(0.05)
        # Each gets a keep-alive when all are there.
        await asyncio.sleep(6)
        service.child.send_signal(signal.SIGKILL)
        service.child.wait()
        cut.set()
        begun = time.monotonic()
        service = Service(scene.folder / "storm", scene.stub, settings, port)
        await asyncio.to_thread(service.ready, token)
        up = time.monotonic()
        await asyncio.wait_for(asyncio.gather(*tasks), 120)
    finally:
        service.stop()
    back = sorted(browser.back - begun for browser in browsers if browser.back)
    statuses = collections.Counter(browser.status for browser in browsers)
    seconds = collections.Counter(int(at) for at in back)
    took = percentile([browser.took for browser in browsers if browser.took], 0.99)
    row.figure("clients", f"{len(back):,}", len(back) == count)
    row.figure("up again after s", f"{up - begun:.2f}", True)
    row.figure("90 % of them came over s", f"{percentile(back, 0.95) - percentile(back, 0.05):.1f}", True)
    row.figure("all of them over s", f"{back[-1] - back[0]:.1f}", back[-1] - back[0] >= 5)
    row.figure("most in one second", seconds.most_common(1)[0][1], seconds.most_common(1)[0][1] < count / 2)
    row.figure("answers:", dict(statuses), not any(status is None or status >= 500 for status in statuses))
    row.figure("p99 ms", f"{took:.0f}", True)
