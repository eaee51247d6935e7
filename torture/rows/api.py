"""Schemathesis, an independent tester that makes its calls from the OpenAPI file, in all its phases."""

import asyncio
import json
import re

from rig import packages
from rig.process import ROOT, TARGET

PROMISE = "the service does what its OpenAPI file says, whatever it is sent"
REACH = "Schemathesis, stateful, at least 20,000 cases: 0 server errors, 0 schema breaks"


async def run(row, scene):
    home = TARGET / "torture"
    await asyncio.to_thread(packages.python, home, packages.lines_of(ROOT / "torture/requirements.txt"))
    report = scene.folder / "schemathesis.txt"
    # Tickets outlive the run: what the tool was given stays good to its end.
    async with scene.service("api", {"DAS_ASK_TTL_S": "86400"}) as service:
        caller = scene.caller(service.base)
        command = [
            home / "venv/bin/schemathesis", "run", ROOT / "ask.openapi.json", "--url", service.base, "-H",
            f"Authorization: {caller.auth['Authorization']}", "--checks", "all", "--max-examples", scene.size(300, 3000), "--seed", 20_261_201,
            "--no-color", "--workers", 2, "--request-timeout", 40,
        ]
        with report.open("wb") as out:
            child = await asyncio.create_subprocess_exec(*map(str, command), stdout=out, stderr=out, cwd=scene.folder)
            code = await child.wait()
        alive = (await caller.call("GET", "/health"))[0] == 200
    text = report.read_text(errors="replace")
    if code:
        print(text[-6000:])
    cases = re.search(r"([\d,]+) generated", text)
    generated = int(cases[1].replace(",", "")) if cases else 0
    row.figure("cases", f"{generated:,}", generated >= scene.size(2_000, 20_000))
    failures = re.findall(r"❌ (ST\d+ [^:\n]+): (\d+)", text)
    row.figure("failures:", json.dumps(dict(failures)) if failures else 0, not failures and code == 0)
    row.figure("alive after it:", alive, alive)
