#!/usr/bin/env python3
"""Runs the parts of interop/, each with what it needs installed under the build folder, and sums up."""

import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from rig.process import ROOT, TARGET, programs

PARTS = ROOT / "interop"
COMMON = ["pytest==9.0.2", "pytest-timeout==2.4.0"]


def parts():
    return sorted(path.name for path in PARTS.iterdir() if any(path.glob("test_*.py")))


def stale(stamp, *inputs):
    """Whether what `stamp` stands for was made from other inputs than these."""
    digest = hashlib.sha256(repr(inputs).encode()).hexdigest()
    fresh = stamp.exists() and stamp.read_text() == digest
    return None if fresh else digest


def install_python(part, home):
    """A virtual environment of the part's own; returns its interpreter."""
    listed = PARTS / part / "requirements.txt"
    wanted = COMMON + (listed.read_text().splitlines() if listed.exists() else [])
    wanted = [line for line in wanted if line.strip() and not line.startswith("#")]
    venv, stamp = home / "venv", home / "venv.stamp"
    if digest := stale(stamp, wanted, sys.version):
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        subprocess.run(pip, check=True)
        stamp.write_text(digest)
    return venv / "bin/python"


def install_node(part, home):
    folder, stamp = PARTS / part, home / "node.stamp"
    lock = folder / "package-lock.json"
    if not lock.exists():
        return
    if not shutil.which("npm"):
        subprocess.run([ROOT / "scripts/install-packages.sh", "nodejs", "npm"], check=True)
    digest = stale(stamp, lock.read_text())
    if digest or not (folder / "node_modules").exists():
        npm = ["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(npm, cwd=folder, check=True)
        stamp.write_text(digest or hashlib.sha256(repr((lock.read_text(),)).encode()).hexdigest())


def install_debian(part):
    listed = PARTS / part / "packages.txt"
    if not listed.exists():
        return
    rows = [line.split() for line in listed.read_text().splitlines() if line.strip() and not line.startswith("#")]
    missing = [package for command, package in rows if not shutil.which(command)]
    if missing:
        subprocess.run([ROOT / "scripts/install-packages.sh", *missing], check=True)


def run(part, extra):
    """Runs one part; returns (passed, failed, skipped)."""
    home = TARGET / "interop" / part
    home.mkdir(parents=True, exist_ok=True)
    install_debian(part)
    install_node(part, home)
    python = install_python(part, home)
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
