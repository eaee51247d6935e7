#!/usr/bin/env python3
"""Runs the parts of interop/, each with what it needs installed under the build folder, and sums up."""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree

from rig import packages
from rig.process import ROOT, TARGET, programs

PARTS = ROOT / "interop"
COMMON = ["pytest==9.0.2", "pytest-timeout==2.4.0"]


def parts():
    return sorted(path.name for path in PARTS.iterdir() if any(path.glob("test_*.py")))


def run(part, extra):
    """Runs one part; returns (passed, failed, skipped)."""
    home = TARGET / "interop" / part
    packages.debian(packages.lines_of(PARTS / part / "packages.txt"))
    packages.node(home, PARTS / part)
    python = packages.python(home, COMMON + packages.lines_of(PARTS / part / "requirements.txt"))
    report = home / "report.xml"
    report.unlink(missing_ok=True)
    print(f"\n== interop: {part}", flush=True)
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-m", "pytest", "-c", PARTS / "pytest.ini", "--rootdir", PARTS, f"--junitxml={report}", ".", *extra]
    status = subprocess.run(command, cwd=PARTS / part, env=env).returncode
    if not report.exists():
        return 0, 1, 0
    suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
    count = {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - count["skipped"]
    # A run that ended badly with no failed test, as one that collected none, is a failure too.
    return passed, failed or int(status != 0), count["skipped"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which of {', '.join(parts())}; all of them if none is named")
    parser.add_argument("-k", dest="keyword", help="only the tests that match, as pytest has it")
    parser.add_argument("-x", dest="stop", action="store_true", help="stop at the first failure")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(parts()):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if not (programs() / "ask-devstack").exists():
        parser.error(f"the programs are not built in {programs()}: run `make build`, or set ASK_PROFILE=debug")
    extra = (["-k", asked.keyword] if asked.keyword else []) + (["-x"] if asked.stop else [])
    total = [0, 0, 0]
    for part in asked.parts or parts():
        result = run(part, extra)
        print(f"interop {part}: {result[0]} passed, {result[1]} failed, {result[2]} skipped", flush=True)
        total = [before + more for before, more in zip(total, result)]
    print(f"\ninterop: {total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if total[1] else 0)


if __name__ == "__main__":
    main()
