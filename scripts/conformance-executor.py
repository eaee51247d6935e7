#!/usr/bin/env python3
"""Holds the reference executor to its own contract, over MCP and the REST mirror, on the sample data.

    scripts/conformance-executor.py [options of ask-executor-conformance]
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from rig.process import programs
from rig.stack import Stack

# A known rate and a short statement limit let the harness see both being reached.
SETTINGS = {"DAS_SQL_TIMEOUT_S": "2", "DAS_RATE_CALLS": "3000", "DAS_RATE_WINDOW_S": "60"}


def main():
    program = str(programs() / "ask-executor-conformance")
    with tempfile.TemporaryDirectory(prefix="ask-executor-") as name:
        with Stack(pathlib.Path(name), SETTINGS) as stack:
            env = {**os.environ, **stack.environment(), **SETTINGS}
            return subprocess.run([program, *sys.argv[1:]], env=env, timeout=300, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
