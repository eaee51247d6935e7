"""What threads share, under a scheduler that chooses who goes next; see `checks/concurrency`."""

import os
import re

from rig.process import ROOT, TARGET

from .frames import output_of

PROMISE = "no schedule of threads loses an event, an ending, a key or an idempotent answer"
REACH = "log, subscribe against append, cancel against finish, idempotency, key refresh: 10,000 schedules each, 0 failures"
CHECKS = 6


async def run(row, scene):
    command = [os.environ.get("CARGO", "cargo"), "test", "--quiet", "--lib"]
    env = {**os.environ, "CARGO_TARGET_DIR": str(TARGET / "concurrency")}
    text = await output_of(*command, cwd=ROOT / "checks/concurrency", env=env)
    passed = re.search(r"test result: ok\. (\d+) passed; 0 failed", text)
    row.figure("checks of 10,000 schedules", passed[1] if passed else 0, passed and int(passed[1]) == CHECKS)
