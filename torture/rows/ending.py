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
            tickets = [await caller.ask(question) for question in ["bench hold=60", "bench n=900 size=50 hz=100"] * 10]
            following = [asyncio.create_task(caller.follow(ticket)) for ticket in tickets]
            await asyncio.sleep(1)
            doomed.crash()
            killed, ends, kinds = time.monotonic(), [], []
            for task in asyncio.as_completed(following):
                seen = await asyncio.wait_for(task, 60)
                ends.append(time.monotonic() - killed)
                terminal = json.loads(seen.events[-2][3])
                kinds.append(terminal.get("kind", terminal["type"]))
    finally:
        doomed.stop()
    row.figure("runs whose peers were killed", len(ends), len(ends) == 20 and set(kinds) <= {"model", "transport"})
    row.figure("slowest ending s", f"{max(ends):.2f}", max(ends) <= 1)


async def run(row, scene):
    command = [os.environ.get("CARGO", "cargo"), "test", "--quiet", "-p", "ask-service", "--lib", "faults", "--", "--nocapture"]
    text = await output_of(*command, cwd=ROOT, stderr=-3)
    figure = re.search(r"figure: (\d+) faults, (\d+) runs, slowest ending (\d+) ms", text)
    if not figure:
        raise RuntimeError("the test said no figure")
    faults, runs, slowest = map(int, figure.groups())
    row.figure("faults", faults, faults == 7)
    row.figure("runs", runs, runs > 100)
    row.figure("slowest ending ms", slowest, slowest <= 1000)
    await peers_killed(row, scene)
