"""A fault at every await of a run, inside the process; see `crates/service/src/actors/faults.rs`."""

import os
import re

from rig.process import ROOT

from .frames import output_of

PROMISE = "whatever fails in a run, and wherever, its ticket ends, soon, once and alone"
REACH = ("panic, lost peer, full mailbox, lost thread, time limit, shutdown, cancel at every await: "
         "terminal and done within 1 s; no other ticket notices")


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
