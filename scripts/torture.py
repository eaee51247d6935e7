#!/usr/bin/env python3
"""Does to the sample stack what networks, clients, peers and people do, and prints what held."""

import argparse
import asyncio
import importlib
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from torture.row import Row, table  # noqa: E402
from torture.scene import Scene  # noqa: E402

# Rows of one group run at the same time: each of them mostly waits.
GROUPS = [
    ["lossless"], ["ending"], ["concurrency"], ["cancel"], ["truncation"], ["shutdown"], ["crash"], ["storm"], ["floods"], ["tools"],
    ["tokens"], ["model"], ["privacy"], ["frames"], ["api"], ["jwks", "clients"], ["soak"],
]
ROWS = [name for group in GROUPS for name in group]


def self_test():
    """The judge's own tests; figures of a judge that lets faults pass say nothing."""
    suite = unittest.defaultTestLoader.discover(str(ROOT / "torture"), "test_*.py", str(ROOT))
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    return result.wasSuccessful() and result.testsRun > 0


def room_for_connections():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft


async def one(name, scene):
    module = importlib.import_module(f"torture.rows.{name}")
    row = Row(name, module.PROMISE, module.REACH, 1 if scene.long else 3)
    await row.measure(module.run, scene)
    print(f"{row.verdict:8} {name:11} {row.seconds:5.0f} s  {row.text()}", flush=True)
    return row


async def play(names, long, minutes):
    rows = []
    with tempfile.TemporaryDirectory(prefix="ask-torture-") as folder:
        scene = Scene(pathlib.Path(folder), long, minutes)
        try:
            for group in GROUPS:
                rows += await asyncio.gather(*(one(name, scene) for name in group if name in names))
        finally:
            scene.close()
    return rows


def write(rows, long):
    page = ROOT / "docs/reliability.md"
    head, rest = page.read_text().split("<!-- torture -->\n", 1)
    _, tail = rest.split("<!-- /torture -->", 1)
    cores = os.cpu_count()
    form = f"Printed by `make torture ARGS=\"{'--long ' if long else ''}--write\"` on a shared machine of {cores} cores, servers and clients on the same ones:"
    page.write_text(f"{head}<!-- torture -->\n{form}\n\n{table(rows)}\n<!-- /torture -->{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"which of {', '.join(ROWS)}; all of them if none is named")
    parser.add_argument("--minutes", type=int, default=60, help="how long the long form's soak takes")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reliability.md; needs all rows")
    parser.add_argument("--long", action="store_true", help="the long form: more of everything, and the soak")
    asked = parser.parse_args()
    if unknown := set(asked.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    if not self_test():
        return 1
    subprocess.run([ROOT / "scripts/install-gateways.sh"], check=True)
    room_for_connections()
    begun = time.monotonic()
    rows = asyncio.run(play(asked.rows or ROWS, asked.long, asked.minutes))
    print(f"\n{table(rows)}\n")
    if asked.write and len(rows) == len(ROWS):
        write(rows, asked.long)
    count = {verdict: sum(row.verdict == verdict for row in rows) for verdict in ("held", "BROKEN", "NOT RUN")}
    print(f"torture, {'long' if asked.long else 'quick'} form, {time.monotonic() - begun:.0f} s: "
          f"{count['held']} held, {count['BROKEN']} broken, {count['NOT RUN']} not run")
    return 1 if count["BROKEN"] else 0


if __name__ == "__main__":
    sys.exit(main())
