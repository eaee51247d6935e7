#!/usr/bin/env python3
"""Streams through nginx, Caddy and HAProxy: quiet ones, cut ones, floods, and each gateway at its defaults.

What a contract check can't show, since it takes a gateway's own timeouts and restarts. Prints a line for each thing seen and
ends with `N passed, N failed`.
"""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from rig import gateway
from rig.process import free_port, programs
from rig.stack import Stack

QUIET_S = 8
KEEP_ALIVE_S = 1


class Client:
    """Calls as one person at one base."""

    def __init__(self, base, token):
        self.authority, _, path = base.removeprefix("http://").partition("/")
        self.prefix = f"/{path}" if path else ""
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.authority, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, self.prefix + path, body, {**self.headers, **(headers or {})})
            reply = connection.getresponse()
            return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()

    def begin(self, question):
        conversation = json.loads(self.call("POST", "/v1/conversations")[2])["conversation_id"]
        status, _, body = self.call("POST", f"/v1/conversations/{conversation}/asks", json.dumps({"question": question}))
        assert status == 202, (status, body)
        return json.loads(body)["ticket"]

    @contextlib.contextmanager
    def stream(self, ticket, after=None, timeout=30):
        connection = http.client.HTTPConnection(self.authority, timeout=timeout)
        with contextlib.closing(connection):
            headers = dict(self.headers, **({"Last-Event-ID": str(after)} if after else {}))
            connection.request("GET", f"{self.prefix}/v1/asks/{ticket}/events", headers=headers)
            yield connection.getresponse()


def lines(reply):
    while line := reply.readline():
        yield line.decode().rstrip("\n")


def events(text):
    return [json.loads(line.removeprefix("data: ")) for line in text if line.startswith("data: ")]


class Seen:
    """What was seen of one gateway."""

    def __init__(self, name):
        self.name, self.rows = name, []

    def check(self, what, is_so, detail=""):
        self.rows.append((what, bool(is_so), detail))


def with_timeouts(name, text, seconds):
    """The deployed configuration with another idle timeout; Caddy has none."""
    if name == "nginx":
        return text.replace("proxy_read_timeout 60s", f"proxy_read_timeout {seconds}s")
    if name == "haproxy":
        return text.replace("timeout server 60s", f"timeout server {seconds}s").replace(
            "timeout client 60s", f"timeout client {seconds}s")
    return text


def quiet_stream_lives(name, stack, token, folder, seen):
    text = with_timeouts(name, gateway.deployed(name), 3)
    with gateway.Gateway(name, stack, folder, text) as door:
        client = Client(door.base, token)
        ticket = client.begin(f"bench hold={QUIET_S}")
        begun = time.monotonic()
        with client.stream(ticket) as reply:
            text = list(lines(reply))
        took = time.monotonic() - begun
        kept = events(text)
        comments = sum(line.startswith(":") for line in text)
        seen.check(
            "a stream that is quiet for longer than the idle timeout lives on through keep-alives",
            took >= QUIET_S - 1 and comments >= 4 and kept[-1]["type"] == "done",
            f"{took:.1f} s, {comments} keep-alives, idle timeout {'3 s' if name != 'caddy' else 'none'}",
        )


def cut_stream_costs_nothing(name, stack, token, folder, seen):
    """The command line follows a run while the gateway cuts it: by its timeout, and by crashing and coming back."""
    port = free_port()
    text = with_timeouts(name, gateway.deployed(name), 1)
    door = gateway.Gateway(name, stack, folder, text, port=port)
    try:
        direct = Client(stack.state["base_url"], token)
        ticket = direct.begin(f"bench hold={QUIET_S}")
        command = [str(programs() / "ask"), "watch", "--json", "--trace", ticket]
        env = {**os.environ, "ASK_BASE_URL": door.base, "ASK_TOKEN": token}
        watching = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        door.crash()
        time.sleep(0.5)
        door = gateway.Gateway(name, stack, folder, text, port=port)
        out, err = watching.communicate(timeout=60)
        followed = [json.loads(line) for line in out.splitlines()]
        with direct.stream(ticket) as reply:
            replayed = events(list(lines(reply)))
        seen.check(
            "a gateway that cuts, crashes and comes back costs the client nothing",
            followed == replayed and followed[-1]["type"] == "done" and "connect" in err.lower(),
            f"{len(followed)} of {len(replayed)} events, {err.lower().count('connect')} connection lines in the trace",
        )
    finally:
        door.stop()


def flood_is_limited(name, stack, token, folder, seen):
    with gateway.Gateway(name, stack, folder, gateway.deployed(name)) as door:
        client = Client(door.base, token)
        statuses, limited = [], []
        guard = threading.Lock()

        def knock(_):
            for _ in range(100):
                status, headers, body = client.call("GET", "/v1/asks/t_nothing")
                with guard:
                    statuses.append(status)
                    if status == 429:
                        limited.append((headers, body))

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            list(pool.map(knock, range(12)))
        if name == "caddy":
            seen.check("the packaged Caddy limits nothing, as the page says", not limited)
            return
        problems = all(
            headers.get("content-type") == "application/problem+json" and headers.get("retry-after")
            and json.loads(body)["code"] == "too_many_requests" for headers, body in limited)
        seen.check("a caller beyond the rate gets 429, a problem and Retry-After", limited and problems,
                   f"{len(limited)} of {len(statuses)} calls")
        other = Client(door.base, stack.token("alice"))
        seen.check("another caller is not held up by it", other.call("GET", "/v1/asks/t_nothing")[0] == 404)
        status, headers, _ = other.call("GET", "/health", headers={"X-Request-Id": "given-1"})
        seen.check("a request id is kept", status == 200 and headers.get("x-request-id") == "given-1")
        _, headers, _ = other.call("GET", "/health", headers={"X-Request-Id": "no good one"})
        seen.check("a bad one is replaced", headers.get("x-request-id", "") not in ("", "no good one"))


def at_its_defaults(name, stack, token, folder, seen):
    with gateway.Gateway(name, stack, folder, gateway.plain(name)) as door:
        client = Client(door.base, token)
        ticket = client.begin("bench hold=3")
        begun = time.monotonic()
        with client.stream(ticket) as reply:
            first = next(line for line in lines(reply) if line.startswith("data: "))
            prompt = time.monotonic() - begun
        seen.check("defaults: frames arrive as they are emitted", prompt < 2 and "accepted" in first, f"{prompt:.2f} s")
        latest = json.loads(client.call("GET", f"/v1/asks/{ticket}")[2])["seq"]
        begun = time.monotonic()
        with client.stream(ticket, after=latest) as reply:
            resumed = time.monotonic() - begun
        seen.check("defaults: a resumed stream begins at once", resumed < 1 and reply.status == 200, f"{resumed:.2f} s")
        status, headers, _ = client.call("POST", "/v1/conversations/c_nothing/asks", b"x" * 2_000_000)
        kind = headers.get("content-type", "")
        expected = (status, kind) == (413, "text/html") if name == "nginx" else status == 404
        seen.check("defaults: a body over 1 MB does what the page says", expected, f"{status} {kind}")
    # A stack of its own address that nothing listens at.
    gone = type("Gone", (), {"service": f"127.0.0.1:{free_port()}", "executor": "127.0.0.1:9"})
    with gateway.Gateway(name, gone, folder / "gone", gateway.plain(name)) as door:
        status, headers, body = Client(door.base, token).call("GET", "/health")
        kind = headers.get("content-type", "")
        expected = {"nginx": (502, True), "caddy": (502, False), "haproxy": (503, True)}[name]
        seen.check("defaults: a service that is down does what the page says",
                   (status, "html" in kind) == expected, f"{status} {kind or 'empty'} {len(body)} bytes")
    with gateway.Gateway(name, gone, folder / "gone-deployed", gateway.deployed(name)) as door:
        status, headers, body = Client(door.base, token).call("GET", "/health")
        seen.check("as deployed: a service that is down is 503 or 502", status in (502, 503), f"{status}")


def look_at(name, folder):
    seen = Seen(name)
    # Without look-ups the stand-in sees the bare question, which tells it how long to be quiet.
    settings = {"DAS_ASK_KEEP_ALIVE_S": str(KEEP_ALIVE_S), "DAS_ASK_GROUNDING": "false"}
    slow = {"DAS_ASK_KEEP_ALIVE_S": "15", "DAS_ASK_GROUNDING": "false"}
    with Stack(folder / name / "stack", settings, "stub") as stack:
        token = stack.token("carol")
        quiet_stream_lives(name, stack, token, folder / name / "quiet", seen)
        flood_is_limited(name, stack, token, folder / name / "flood", seen)
        at_its_defaults(name, stack, token, folder / name / "plain", seen)
    with Stack(folder / name / "slow", slow, "stub") as stack:
        cut_stream_costs_nothing(name, stack, stack.token("carol"), folder / name / "cut", seen)
    return seen


def main():
    subprocess.run([pathlib.Path(__file__).with_name("install-gateways.sh")], check=True)
    with tempfile.TemporaryDirectory(prefix="ask-gateways-") as name:
        folder = pathlib.Path(name)
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            all_seen = list(pool.map(lambda which: look_at(which, folder), gateway.NAMES))
    passed = failed = 0
    for seen in all_seen:
        for what, is_so, detail in seen.rows:
            passed, failed = passed + is_so, failed + (not is_so)
            print(f"{'ok  ' if is_so else 'FAIL'} {seen.name:8} {what}{f': {detail}' if detail else ''}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
