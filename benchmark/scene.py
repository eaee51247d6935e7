"""What is measured, and where: the server on one core, everything else on the other."""

import contextlib
import json
import os
import socket
import subprocess
import time
import types
import urllib.request

from rig.process import Process, free_port, programs, wait_for
from rig.stack import Stack

SERVER_CORE, OTHER_CORE = 0, 1

# Limits that a load run would meet at once are raised; nothing that is promised is switched off.
ROOMY = {
    "DAS_ASK_MAX_CONVERSATIONS": "1000000", "DAS_ASK_MAX_TICKETS": "1000000", "DAS_ASK_MAX_RUNNING": "1000000",
    "DAS_ASK_MAX_RUNNING_TOTAL": "1000000", "DAS_ASK_RATE_ASKS": "1000000", "DAS_ASK_RATE_WINDOW_S": "1", "DAS_RATE_CALLS": "1000000",
    "DAS_RATE_WINDOW_S": "1",
    "DAS_MAX_STEPS": "1000", "DAS_ASK_MAX_EVENTS": "3000", "DAS_ASK_GROUNDING": "false", "DAS_ASK_LOG": "warn",
}

# On a machine that others use as well, what is measured runs first, in whichever way the scheduler groups.
FIRST = ["sh", "-c", 'echo -15 2>/dev/null >/proc/self/autogroup; exec nice -n -15 "$@"', "sh"]


def pinned(core, command):
    return ["taskset", "-c", core, *FIRST, *command]


class Service(Process):
    """`ask-service` alone on its core, with one worker and one arbiter."""

    def __init__(self, folder, stack, settings=None):
        self.port = free_port()
        state = stack.state
        env = {
            "PATH": os.environ.get("PATH", ""), "DAS_ENTRA_ISSUER": state["issuer"], "DAS_ENTRA_JWKS_URL": state["jwks_url"],
            "DAS_APIM_BASE": state["executor"]["url"], "DAS_LLM_BASE_URL": state["model"]["base_url"],
            "DAS_LLM_API_KEY": "stand-in", "DAS_MODEL": "stub", "DAS_ASK_WORKERS": "1", "DAS_ASK_ARBITERS": "1",
            **ROOMY, **(settings or {}), "DAS_ASK_PORT": str(self.port),
        }
        super().__init__("ask-service", pinned(SERVER_CORE, [programs() / "ask-service"]), folder / "ask-service.log", env)
        self.base = f"http://127.0.0.1:{self.port}"
        self.token = stack.token("carol")
        wait_for("the service takes a token", lambda: self.check() and self.takes_it())

    def takes_it(self):
        try:
            return load(self, "accept", "--seconds", "0.05", "--warm", "0", "--concurrency", "1")["errors"] == 0
        except RuntimeError:
            return False

    @property
    def pid(self):
        return self.child.pid


class Yardstick(Process):
    """The same routes on the same server library, with no work behind them."""

    token = None

    def __init__(self, folder, *args):
        self.port = free_port()
        command = [programs() / "ask-yardstick", "--port", self.port, *args]
        super().__init__("ask-yardstick", pinned(SERVER_CORE, command), folder / "ask-yardstick.log")
        self.base = f"http://127.0.0.1:{self.port}"
        wait_for("the yardstick answers", lambda: self.check() and answers(self.base))

    @property
    def pid(self):
        return self.child.pid


class FileServer(Process):
    """nginx with a file, one worker: what replaying the same bytes could cost at best."""

    token = None

    def __init__(self, folder, content):
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "replay.sse").write_bytes(content)
        temp = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        config = folder / "nginx.conf"
        config.write_text(
            f"daemon off; user root; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log;"
            " events { worker_connections 4096; } http { access_log off; sendfile on; tcp_nopush on; tcp_nodelay on;"
            f" keepalive_requests 100000000; open_file_cache max=100 inactive=600s; {temp}"
            f" server {{ listen 127.0.0.1:{self.port}; root {folder}; location = /health {{ return 200 '{{}}'; }} }} }}\n")
        super().__init__("nginx", pinned(SERVER_CORE, ["nginx", "-c", config]), folder / "nginx.log")
        self.base, self.pid = f"http://127.0.0.1:{self.port}", self.child.pid
        wait_for("nginx answers", lambda: self.check() and answers(self.base))


def answers(base):
    return subprocess.run(["curl", "-sf", "-o", "/dev/null", f"{base}/health"]).returncode == 0


def load(server, *args, timeout=900, core=OTHER_CORE):
    """One run of `ask-loadgen`; what it measured."""
    env = {"PATH": os.environ.get("PATH", ""), **({"ASK_TOKEN": server.token} if server.token else {})}
    command = pinned(core, [programs() / "ask-loadgen", *args, "--base", server.base, "--pid", server.pid, "--json"])
    done = subprocess.run([str(part) for part in command], env=env, capture_output=True, text=True, timeout=timeout,
                          start_new_session=True)
    if done.returncode:
        raise RuntimeError(f"{args}: {done.stderr.strip()}")
    figures = json.loads(done.stdout)
    if figures.get("first_error"):
        print(f"    {args[0]}: {figures.get('errors')} errors: {figures['first_error']}", flush=True)
    return figures


class Scene:
    """The peers of the service, on the other core, for as long as a run takes."""

    def __init__(self, folder, small):
        self.folder, self.small = folder, small
        self.seconds = "2" if small else "5"
        os.sched_setaffinity(0, {OTHER_CORE})
        self.stack = Stack(folder / "stack", ROOMY, "stub")
        self.count = 0

    def close(self):
        self.stack.stop()

    def place(self):
        self.count += 1
        return self.folder / f"{self.count:03}"

    def service(self, **settings):
        return Service(self.place(), self.stack, settings)

    def yardstick(self, *args):
        return Yardstick(self.place(), *args)

    def model(self):
        """The model stand-in, to be called without the service."""
        state = self.stack.state
        return types.SimpleNamespace(base=state["model"]["base_url"], token=None, pid=self.stack.child.pid)

    def recorded(self):
        """A file with the last request that the stand-in got, as it was sent."""
        with urllib.request.urlopen(f"{self.stack.model_control}/requests", timeout=10) as reply:
            body = json.load(reply)[-1]["body"]
        file = self.folder / "request.json"
        file.write_text(json.dumps(body))
        return file

    @contextlib.contextmanager
    def analyst(self, turn_ms):
        """Two services before the demo analyst, one without look-ups: their addresses and tokens by whether they look up."""
        settings = {**ROOMY, "ASK_DEVSTACK_TURN_DELAY_MS": str(turn_ms)}
        with Stack(self.place(), settings, "analyst") as stack:
            grounded = Service(self.place(), stack, {"DAS_ASK_GROUNDING": "true"})
            with grounded, Service(self.place(), stack) as bare:
                yield {True: (grounded.base, grounded.token), False: (bare.base, bare.token)}

    def started(self):
        """Milliseconds from the start of the process until a connection is taken, and its memory in MiB when idle."""
        port = free_port()
        folder = self.place()
        settings = {"DAS_ENTRA_ISSUER": self.stack.state["issuer"], "DAS_ENTRA_JWKS_URL": self.stack.state["jwks_url"],
                    "DAS_APIM_BASE": "http://127.0.0.1:1", "DAS_LLM_BASE_URL": "http://127.0.0.1:1", "DAS_LLM_API_KEY": "x",
                    "DAS_MODEL": "stub", "DAS_ASK_PORT": str(port)}
        begun = time.perf_counter()
        with Process("ask-service", [programs() / "ask-service"], folder / "ask-service.log", settings) as service:
            while not connects(port):
                service.check()
            took = (time.perf_counter() - begun) * 1000
            time.sleep(1)
            status = open(f"/proc/{service.child.pid}/status").read()
            return took, int(status.split("VmRSS:")[1].split()[0]) / 1024


def connects(port):
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
