"""Where a row plays: the sample stack's programs, a service of the row's own, gateways in front of it."""

import asyncio
import contextlib
import json
import os
import time
import urllib.error
import urllib.request

from rig.gateway import Gateway, deployed
from rig.process import Process, free_port, programs, wait_for
from rig.stack import Stack

from .people import Caller

# Limits that a flood of this size would hit are for the row about limits.
ROOMY = {
    "DAS_ASK_MAX_CONVERSATIONS": "200000", "DAS_ASK_MAX_TICKETS": "200000", "DAS_ASK_MAX_RUNNING": "4000",
    "DAS_ASK_MAX_RUNNING_TOTAL": "4000", "DAS_ASK_RATE_ASKS": "1000000", "DAS_RATE_CALLS": "1000000", "DAS_MAX_STEPS": "1000",
    "DAS_ASK_GROUNDING": "false", "DAS_ASK_LOG": "warn",
}


class Service(Process):
    """`ask-service` alone, on a port that it keeps over restarts, with the peers of a stack."""

    def __init__(self, folder, stack, settings=None, port=None):
        self.port = port or free_port()
        state = stack.state
        env = {
            "PATH": os.environ.get("PATH", ""), "RUST_BACKTRACE": "1", "DAS_ENTRA_ISSUER": state["issuer"],
            "DAS_ENTRA_JWKS_URL": state["jwks_url"], "DAS_APIM_BASE": state["executor"]["url"],
            "DAS_LLM_BASE_URL": state["model"]["base_url"], "DAS_LLM_API_KEY": "stand-in", "DAS_MODEL": "stub",
            **ROOMY, **(settings or {}), "DAS_ASK_PORT": str(self.port),
        }
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__("ask-service", [programs() / "ask-service"], folder / "ask-service.log", env)
        self.base = f"http://127.0.0.1:{self.port}"

    def ready(self, token, seconds=20):
        """Waits until it takes a token; returns the seconds that took."""
        begun = time.monotonic()
        wait_for("the service takes a token", lambda: self.check() and knows(self.base, token), seconds)
        return time.monotonic() - begun

    @property
    def pid(self):
        return self.child.pid


def knows(base, token):
    request = urllib.request.Request(f"{base}/v1/asks/t_none", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=1) as reply:
            return reply.status == 200
    except urllib.error.HTTPError as err:
        return err.code == 404
    except OSError:
        return False


class Scene:
    """What all rows share."""

    def __init__(self, folder, long, minutes=60):
        self.folder, self.long, self.minutes = folder, long, minutes
        self.stub = Stack(folder / "stub", ROOMY, "stub")

    def close(self):
        self.stub.stop()

    def size(self, quick, long):
        return long if self.long else quick

    @contextlib.asynccontextmanager
    async def service(self, name, settings=None):
        """A service of the row's own that is ready."""
        with Service(self.folder / name, self.stub, settings) as service:
            # Peers of the row's own answer on this very loop while it starts.
            await asyncio.to_thread(service.ready, self.stub.token("carol"))
            yield service

    def caller(self, base, person="carol"):
        return Caller(base, self.stub.token(person))

    def gateway(self, name, service, folder):
        """A gateway of `deploy/` in front of a service; a context."""
        here = type("Here", (), {"service": f"127.0.0.1:{service.port}", "executor": self.stub.executor})
        text = deployed(name)
        return Gateway(name, here, self.folder / folder / name, without_rate(name, text))

    def stub_state(self, session=None):
        """What the stub model has in flight, and what was closed on it."""
        where = f"{self.stub.state['model']['base_url']}{f'/s/{session}' if session else ''}/control/state"
        with urllib.request.urlopen(where, timeout=10) as reply:
            return json.load(reply)

    def script(self, session, script):
        where = f"{self.stub.state['model']['base_url']}/s/{session}/control/script"
        request = urllib.request.Request(where, json.dumps(script).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.load(reply)


def without_rate(name, text):
    """The deployed configuration with a rate that a thousand streams from one address do not reach."""
    return text.replace("rate=200r/s", "rate=100000r/s").replace("burst=400", "burst=100000").replace(
        "sc_http_req_rate(0) gt 400", "sc_http_req_rate(0) gt 100000")
