#!/usr/bin/env python3
"""Prints how long the command line takes to start: for its help, for who is signed in, and to a first, refused call.

A benchmark and no test: it says what it measured on the machine at hand. ASK_PROFILE=debug measures the debug build.
"""

import os
import statistics
import subprocess
import tempfile
import time

from rig.process import free_port, programs

RUNS = 100


def measure(args, env):
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run([programs() / "ask", *args], env=env, capture_output=True)
        times.append((time.perf_counter() - begin) * 1000)
    times.sort()
    return statistics.median(times), times[RUNS * 95 // 100]


def main():
    with tempfile.TemporaryDirectory() as home:
        env = {"HOME": home, "PATH": os.environ["PATH"], "ASK_TOKEN": "e30.eyJzdWIiOiJjYXJvbCJ9.x"}
        cases = {
            "ask --help": ["--help"],
            "ask whoami": ["whoami"],
            "ask status, to a port where nobody listens": ["status", "t", "--base", f"http://127.0.0.1:{free_port()}"],
        }
        print(f"{RUNS} runs each of {programs() / 'ask'}, with the start of the process, in ms: median, 95th percentile")
        for name, args in cases.items():
            print("{:8.1f} {:8.1f}  {}".format(*measure(args, env), name))


if __name__ == "__main__":
    main()
