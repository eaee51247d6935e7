"""A fault at every await of a run, inside the process (`crates/service/src/actors/faults.rs`), and its peers killed from outside."""

import asyncio
import json
import os
import re
import time

from rig.process import ROOT
from rig.stack import Stack

from ..scene import ROOMY, Service
from .frames import output_of

PROMISE = "whatever fails in a run, and wherever, its ticket ends, soon, once and alone"
REACH = ("panic, lost peer, full mailbox, lost thread, time limit, shutdown, cancel at every await: "
         "terminal and done within 1 s; no other ticket notices")


async def peers_killed(row, scene):
    """Model and executor die by -9 while runs wait for the one and call the other."""
    doomed = Stack(scene.folder / "doomed", ROOMY, "stub")
    try:
        settings = {"DAS_APIM_BASE": doomed.state["executor"]["url"], "DAS_LLM_BASE_URL": doomed.state["model"]["base_url"],
                    "DAS_ENTRA_ISSUER": doomed.state["issuer"], "DAS_ENTRA_JWKS_URL": doomed.state["jwks_url"]}
        with Service(scene.folder / "peers", doomed, settings) as service:
            token = doomed.token("carol")
            await asyncio.to_thread(service.ready, token)
            caller = scene.caller(service.base)
            caller.auth = {"Authorization": f"Bearer {token}"}
            waiting = [await caller.ask("bench hold=60") for _ in range(10)]
            working = [await caller.ask("bench n=900 size=50 hz=100") for _ in range(10)]
            ends = {}

            async def follow(ticket):
                seen = await asyncio.wait_for(caller.follow(ticket), 60)
                terminal = json.loads(seen.events[-2][3])
                ends[ticket] = time.monotonic(), terminal.get("kind", terminal["type"])

            following = [asyncio.create_task(follow(ticket)) for ticket in waiting + working]
            await asyncio.sleep(1)
            doomed.crash()
            killed = time.monotonic()
            await asyncio.gather(*following)
    finally:
        doomed.stop()
    kinds = {kind for _, kind in ends.values()}
    row.figure("runs whose peers were killed", len(ends), len(ends) == 20 and kinds <= {"model", "transport"})
    waited = max(ends[ticket][0] for ticket in waiting) - killed
    row.at_most("those waiting for the model ended within s", waited, 1, f"{waited:.2f}")
    # A model that can't be reached is asked up to four times, within the second, before the run ends.
    worked = max(ends[ticket][0] for ticket in working) - killed
    row.at_most("those that asked it again, within s", worked, 1, f"{worked:.2f}")


async def run(row, scene):
    command = [os.environ.get("CARGO", "cargo"), "test", "--quiet", "-p", "ask-service", "--lib", "faults", "--", "--nocapture"]
    text = await output_of(*command, cwd=ROOT, stderr=-3)
    figure = re.search(r"figure: (\d+) faults, (\d+) runs, slowest ending (\d+) ms", text)
    if not figure:
        raise RuntimeError("the test said no figure")
    faults, runs, slowest = map(int, figure.groups())
    row.figure("faults", faults, faults == 7)
    row.figure("runs", runs, runs > 100)
    row.at_most("slowest ending ms", slowest, 1000, f"{slowest}")
    await peers_killed(row, scene)
