"""Too much of everything: a body without end, conversations without number, model streams, headers by drops."""

import asyncio
import json
import time

from .. import watch
from ..row import percentile
from ..wire import Closed, Wire

PROMISE = "a flood is answered clearly and harms nobody else"
REACH = ("1 GB body 413; 10,000 conversations of one owner 429; 200 parallel model streams; 1,000 slow headers; Retry-After; "
         "at most 32 MiB more; others unharmed")


class Bystander:
    """Another person who asks for a ticket's state all the while."""

    def __init__(self, caller):
        self.caller, self.took, self.failed = caller, [], 0

    async def __aenter__(self):
        self.ticket = await self.caller.ask("bench n=1 size=10")
        self.task = asyncio.create_task(self.go())
        return self

    async def go(self):
        while True:
            begun = time.monotonic()
            try:
                await asyncio.wait_for(self.caller.state(self.ticket), 10)
                self.took.append((time.monotonic() - begun) * 1000)
            except Exception:
                self.failed += 1
            await asyncio.sleep(0.02)

    async def __aexit__(self, *_):
        self.task.cancel()


async def gigabyte(caller, conversation):
    """Announces and sends up to 1 GB; returns the status and how much was taken before it."""
    wire = await Wire.connect(caller.authority)
    size, piece, sent = 1 << 30, b"x" * (1 << 20), 0
    head = asyncio.create_task(wire.head())
    try:
        lines = f"POST {caller.prefix}/v1/conversations/{conversation}/asks HTTP/1.1\r\nHost: x\r\n"
        auth = caller.auth["Authorization"]
        wire.writer.write(f"{lines}Authorization: {auth}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode())
        while sent < size and not head.done():
            wire.writer.write(piece)
            await wire.writer.drain()
            sent += len(piece)
            await asyncio.sleep(0)
        reply = await asyncio.wait_for(head, 10)
        return reply.status, sent / (1 << 20)
    finally:
        head.cancel()
        wire.close()


async def drops(caller, count, seconds):
    """Opens connections whose headers come a byte at a time; returns how many are still open after `seconds`."""
    wires = [await Wire.connect(caller.authority) for _ in range(count)]
    text = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "
    end, closed, at = time.monotonic() + seconds, set(), 0
    while time.monotonic() < end and len(closed) < count:
        for number, wire in enumerate(wires):
            if number in closed:
                continue
            if wire.reader.at_eof() or wire.writer.is_closing():
                closed.add(number)
                continue
            wire.writer.write(text[at:at + 1] or b"a")
        at += 1
        await asyncio.sleep(0.25)
        for number, wire in enumerate(wires):
            if number not in closed:
                try:
                    if await asyncio.wait_for(wire.reader.read(4096), 0.0005) == b"":
                        closed.add(number)
                except asyncio.TimeoutError:
                    pass
                except ConnectionError:
                    closed.add(number)
    for wire in wires:
        wire.close()
    return count - len(closed)


async def run(row, scene):
    settings = {"DAS_ASK_MAX_CONVERSATIONS": "1000", "DAS_ASK_RATE_ASKS": "100000", "DAS_ASK_MAX_RUNNING": "256", "DAS_ASK_MAX_RUNNING_TOTAL": "210"}
    async with scene.service("floods", settings) as service:
        caller, other = scene.caller(service.base), scene.caller(service.base, "alice")
        conversation = await caller.converse()
        await asyncio.sleep(0.3)
        memory = watch.resident_mib(service.pid)
        async with Bystander(other) as bystander:
            status, taken = await gigabyte(caller, conversation)
            grown = watch.resident_mib(service.pid) - memory
            row.figure("1 GB body:", f"{status} after {taken:.0f} MiB", status == 413)
            row.at_most("MiB more", grown, 32, f"{grown:.1f}")

            replies, gate = [], asyncio.Semaphore(64)

            async def one_more():
                async with gate:
                    replies.append(await caller.call("POST", "/v1/conversations"))

            await asyncio.gather(*(one_more() for _ in range(10_000)))
            limited = [reply for reply in replies if reply[0] == 429]
            proper = all("retry-after" in headers and b"too_many_requests" in body for _, headers, body in limited)
            made = sum(reply[0] == 201 for reply in replies)
            row.figure("of 10,000 conversations", f"{made:,} made, {len(limited):,} are 429",
                       made == 999 and len(limited) == 9001 and proper)
            grown = watch.resident_mib(service.pid) - memory
            row.at_most("MiB more", grown, 32, f"{grown:.1f}")

            # The limit is one of conversations: what is there can still be asked in.
            rows = [reply for reply in replies if reply[0] == 201][:200]
            ids = [json.loads(body)["conversation_id"] for _, _, body in rows]
            memory = watch.resident_mib(service.pid)
            tickets = await asyncio.gather(*(caller.ask("bench hold=8", one) for one in ids))
            while scene.stub_state()["in_flight"] < len(tickets):
                await asyncio.sleep(0.05)
            grown = watch.resident_mib(service.pid) - memory
            row.figure("model streams at once", scene.stub_state()["in_flight"], scene.stub_state()["in_flight"] >= 200)
            row.at_most("MiB more", grown, 32, f"{grown:.1f}")
            # The house is full for everybody: a few more asks fit, then 503.
            path = "/v1/conversations/{}/asks"
            more = [await other.call("POST", path.format(await other.converse()), {"question": "bench hold=8"}) for _ in range(20)]
            full = [reply for reply in more if reply[0] == 503]
            proper = all("retry-after" in headers and b"unavailable" in body for _, headers, body in full)
            row.figure("asks beyond the ceiling of all:", f"{len(full)} are 503", len(full) == 10 and proper)
            await asyncio.gather(*(caller.cancel(ticket) for ticket in tickets))

            memory = watch.resident_mib(service.pid)
            left = await drops(other, 1000, 20)
            grown = watch.resident_mib(service.pid) - memory
            row.figure("slow headers still open after 20 s:", left, left == 0)
            row.at_most("MiB more", grown, 32, f"{grown:.1f}")
        worst = percentile(bystander.took, 0.99)
        row.figure("bystander's calls, failed, p99 ms", f"{len(bystander.took):,}, {bystander.failed}, {worst:.0f}",
                   bystander.failed == 0 and len(bystander.took) > 100)
