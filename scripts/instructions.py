#!/usr/bin/env python3
"""Counts the instructions of the hot paths by callgrind, and fails when one takes more than it may.

    scripts/instructions.py            compares with checks/instructions.json
    scripts/instructions.py --write    makes what is counted now the new measure

A count hardly depends on the machine or on what else it does, so that a path that became slower shows although no clock could tell. Each
case runs twice, once for more times than the other: the difference is the path alone, without the start of the process. Needs valgrind.
"""

import json
import re
import subprocess
import sys
import tempfile

from rig.process import ROOT, TARGET

STORED = ROOT / "checks/instructions.json"
# What another compiler or library of the same kind may add.
TOLERANCE = 1.10
CASES = {
    "frame-encode": "ask-core", "log-append": "ask-core", "log-read-live": "ask-core", "log-read-sealed": "ask-core",
    "sse-parse": "ask-client",
}
FEW, MANY = 200, 1200


def built(package):
    """The example of one package; each is built into a name of its own, since cargo gives both the same."""
    subprocess.run(["cargo", "build", "--quiet", "--release", "--example", "hot_paths", "-p", package], cwd=ROOT, check=True)
    program = TARGET / f"release/examples/hot_paths-{package}"
    program.write_bytes((TARGET / "release/examples/hot_paths").read_bytes())
    program.chmod(0o755)
    return program


def counted(program, case, times):
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program, case, str(times)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{case} failed:\n{done.stderr[-2000:]}")
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def main():
    programs = {package: built(package) for package in dict.fromkeys(CASES.values())}
    counts = {}
    for case, package in CASES.items():
        few, many = counted(programs[package], case, FEW), counted(programs[package], case, MANY)
        counts[case] = round((many - few) / (MANY - FEW))
    if "--write" in sys.argv[1:]:
        STORED.write_text(json.dumps(counts, indent=2) + "\n")
    stored, slower = json.loads(STORED.read_text()), []
    for case, count in counts.items():
        may = stored[case] * TOLERANCE
        slower += [case] if count > may else []
        print(f"{'slower' if count > may else 'held':8} {case:18} {count:>8,} instructions, stored {stored[case]:,}")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
