#!/usr/bin/env python3
"""Holds the service to its contract, directly and through nginx, Caddy and HAProxy as deploy/ configures them.

    scripts/conformance.py [--only-direct | --defaults] [options of ask-conformance]

Each address gets a sample stack of its own. `--behaviour` also judges the model behind the service: the demo analyst, or a
real one when ASK_LLM=real and the DAS_LLM_ settings name it. `--defaults` takes each gateway with nothing but a proxy rule
instead, to see what fails there. Exit code 0 when every check passed everywhere.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from rig import gateway
from rig.process import programs
from rig.stack import Stack

# A short life and a small log let the harness see expiry and dropped steps; its look-ups are many.
SETTINGS = {
    "DAS_ASK_TTL_S": "6", "DAS_ASK_MAX_EVENTS": "40", "DAS_RATE_CALLS": "100000", "DAS_ASK_RATE_ASKS": "100000",
}
AT_ONCE = 2
TIME_LIMIT_S = 600


def settings():
    chosen = dict(SETTINGS)
    if os.environ.get("ASK_LLM") == "real":
        names = [name for name in os.environ if name.startswith("DAS_LLM_") or name in ("DAS_MODEL", "DAS_EFFORT")]
        chosen.update({name: os.environ[name] for name in names})
    return chosen


def judge(target, args, folder, config):
    """Runs the harness against one address; its last lines and its verdict."""
    with contextlib.ExitStack() as running:
        stack = running.enter_context(Stack(folder / target / "stack", settings()))
        base = None
        if target != "direct":
            door = gateway.Gateway(target, stack, folder / target, config(target))
            base = running.enter_context(door).base
        env = {**os.environ, **stack.environment(base), "ASK_MAX_EVENTS": SETTINGS["DAS_ASK_MAX_EVENTS"]}
        command = [programs() / "ask-conformance", "--max-events", SETTINGS["DAS_ASK_MAX_EVENTS"], *args]
        ended = subprocess.run(
            [str(part) for part in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=TIME_LIMIT_S, check=False,
        )
        return ended.returncode, ended.stdout


def main():
    args = sys.argv[1:]
    targets, config = ["direct", *gateway.NAMES], gateway.deployed
    if "--defaults" in args:
        args.remove("--defaults")
        targets, config = gateway.NAMES, gateway.plain
    if "--only-direct" in args:
        args.remove("--only-direct")
        targets = ["direct"]
    if {"--list", "--help", "-h"} & set(args):
        return subprocess.run([str(programs() / "ask-conformance"), *args], check=False).returncode
    if len(targets) > 1:
        subprocess.run([pathlib.Path(__file__).with_name("install-gateways.sh")], check=True)
    with tempfile.TemporaryDirectory(prefix="ask-conformance-") as name:
        folder = pathlib.Path(name)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            verdicts = list(pool.map(lambda target: (target, *judge(target, args, folder, config)), targets))
    failed = False
    for target, code, said in verdicts:
        failed |= code != 0
        print(f"== {target}")
        print(said.rstrip())
    print("\n== summary")
    for target, code, said in verdicts:
        counted = re.findall(r"^\d+/\d+ contract checks passed.*$", said, re.MULTILINE)
        print(f"{target:8} {counted[-1] if counted else f'no verdict (exit code {code})'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
