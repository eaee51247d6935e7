"""Runs the protocol's conformance suite and tells its verdict check by check."""

import json
import os
import pathlib
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
# The suite's own servers bind to every address of the machine unless they are told otherwise.
LOOPBACK = {"NODE_OPTIONS": f"--import={(pathlib.Path(__file__).parent / 'loopback.mjs').as_uri()}"}
# What the suite says of a check that does not fail it.
GOOD = {"SUCCESS", "INFO", "SKIPPED", "WARNING"}


def listed(node, side):
    """The scenarios of one side that the suite has, each with the revisions it applies to."""
    said = subprocess.run([node, SUITE, "list"], capture_output=True, text=True, check=True).stdout
    headings = re.split(r"^(\w[\w ]*) scenarios \(.*\):$", said, flags=re.MULTILINE)
    sections = dict(zip(headings[1::2], headings[2::2]))
    rows = re.findall(r"^  - (\S+) \[([^\]]*)\]$", sections[side], flags=re.MULTILINE)
    return {name: revisions.split(",") for name, revisions in rows}


def run(node, side, folder, *options):
    """Runs scenarios; returns for each what failed and what passed in it."""
    command = [node, SUITE, side, "-o", folder, "--timeout", "20000", *options]
    done = subprocess.run(command, env=os.environ | LOOPBACK, capture_output=True, text=True, timeout=280)
    results = {}
    for path in sorted(folder.rglob("checks.json")):
        name = str(path.parent.relative_to(folder)).removeprefix("server-" if side == "server" else "")
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name)
        checks = json.loads(path.read_text())
        failed = sorted({check["id"] for check in checks if check["status"] not in GOOD})
        passed = sorted({check["id"] for check in checks if check["status"] == "SUCCESS"} - set(failed))
        results[name] = {"failed": failed, "passed": passed, "log": path.parent}
    assert results, done.stdout[-2000:] + done.stderr[-2000:]
    return results


def run_each(node, side, folder, names, *options):
    """Runs scenarios two at a time; a whole suite at once starts so many processes that time limits decide the verdicts."""

    def one(name):
        return run(node, side, folder / name, "--scenario", name, *options)

    with ThreadPoolExecutor(2) as pool:
        return {name: result for results in pool.map(one, names) for name, result in results.items()}
