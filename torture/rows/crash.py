"""The service killed with -9 again and again under clients that ask and follow."""

import asyncio
import collections
import random
import signal
import time

from ..history import Frames, Seen
from ..scene import Service
from ..wire import Closed

PROMISE = "a crash costs what was running, and nobody hangs or is told something wrong"
REACH = "200 kills with -9 under 200 clients: none hangs; ready again within 1 s; old tickets 410 to their owner, 404 to others"
CLIENTS = 200
KEY = "a key that outlives the process"


class Tally(collections.Counter):
    stop = False


async def client(caller, dice, tally, lost):
    """Asks and follows for ever; whatever happens, each ticket comes to a definite end for it."""
    while not tally.stop:
        try:
            await asyncio.sleep(dice.random())
            question = dice.choice(["bench n=1 size=10", f"bench n=5 size=100 hz=50 lead={dice.randrange(400)}"])
            ticket = await asyncio.wait_for(caller.ask(question), 20)
        except (OSError, Closed):
            await asyncio.sleep(0.05 + dice.random() * 0.2)
            continue
        except RuntimeError:
            tally["asks refused"] += 1
            await asyncio.sleep(0.2)
            continue
        seen, pause = Seen("client", ticket), 0.05
        while not seen.done:
            try:
                wire, reply = await asyncio.wait_for(caller.open(ticket, seen.last), 20)
            except (OSError, Closed):
                if tally.stop:
                    break
                pause = min(1, pause * 2)
                await asyncio.sleep(pause * (0.5 + dice.random() / 2))
                continue
            try:
                if reply.status == 410 or reply.status == 204:
                    tally["lost"] += reply.status == 410
                    lost.append(ticket)
                    break
                if reply.status != 200:
                    tally[f"status {reply.status}"] += 1
                    break
                frames = Frames()
                while piece := await asyncio.wait_for(reply.some(), 30):
                    for fields in frames.feed(piece):
                        seen.take(fields)
            except Closed:
                tally["cut"] += 1
            finally:
                wire.close()
        tally["ended"] += seen.done
        tally["came to an end"] += 1


async def run(row, scene):
    kills = scene.size(40, 200)
    token, port, settings = scene.stub.token("carol"), None, {"DAS_ASK_ID_KEY": KEY}
    tally, lost, ready = Tally(), [], []
    service = Service(scene.folder / "crash", scene.stub, settings)
    service.ready(token)
    port, dice = service.port, random.Random(3)
    caller, other = scene.caller(service.base), scene.caller(service.base, "alice")
    clients = [asyncio.create_task(client(caller, random.Random(n), tally, lost)) for n in range(CLIENTS)]
    try:
        for _ in range(kills):
            await asyncio.sleep(0.2 + dice.random() * 0.8)
            service.child.send_signal(signal.SIGKILL)
            service.child.wait()
            begun = time.monotonic()
            service = Service(scene.folder / "crash", scene.stub, settings, port)
            await asyncio.to_thread(service.ready, token)
            ready.append(time.monotonic() - begun)
        tally.stop = True
        done, hanging = await asyncio.wait(clients, timeout=60)
        for task in done:
            task.result()
        old = lost[-1]
        mine = await caller.call("GET", f"/v1/asks/{old}")
        theirs = await other.call("GET", f"/v1/asks/{old}")
        never = await other.call("GET", "/v1/asks/t_never")
    finally:
        for task in clients:
            task.cancel()
        service.stop()
    row.figure("kills", kills, len(ready) == kills)
    row.figure("clients that hang:", len(hanging), not hanging)
    row.figure("asks that came to an end", f"{tally['came to an end']:,}", tally["came to an end"] > kills)
    row.figure("of them to their own", f"{tally['ended']:,}", tally["ended"] > 0)
    row.figure("of them lost in a crash", f"{tally['lost']:,}", tally["lost"] > 0)
    row.figure("other answers:", {k: v for k, v in tally.items() if k.startswith(("status", "asks"))} or 0,
               not any(k.startswith("status") for k in tally))
    row.at_most("ready again in at most s", max(ready), 1, f"{max(ready):.2f}")
    strip = lambda body: body.replace(old.encode(), b"").replace(b"t_never", b"")  # noqa: E731
    same = theirs[0] == never[0] == 404 and strip(theirs[2]) == strip(never[2])
    row.figure("old ticket, owner and other:", f"{mine[0]} and {theirs[0]}", mine[0] == 410 and same)
