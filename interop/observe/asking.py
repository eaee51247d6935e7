"""Asks a stack and reads what it shows, with nothing but the standard library."""

import json
import urllib.error
import urllib.request
from contextlib import suppress

from rig.process import free_port, wait_for
from rig.stack import Stack

FASTEST = "Which support team resolves tickets fastest?"
SATISFACTION = "What is our customer satisfaction score for support?"


def call(url, method="GET", body=None, token=None, headers=None):
    """The status, the headers in lower case, and the body."""
    sent = {"Content-Type": "application/json", **(headers or {})}
    if token:
        sent["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    try:
        reply = urllib.request.urlopen(urllib.request.Request(url, data, sent, method=method), timeout=60)
    except urllib.error.HTTPError as err:
        reply = err
    with reply:
        return reply.status, {name.lower(): value for name, value in reply.headers.items()}, reply.read().decode()


class Observed:
    """A stack whose service serves metrics, and sends its traces to a collector if one is named."""

    def __init__(self, folder, collector=None, settings=None):
        port = free_port()
        chosen = {"DAS_ASK_METRICS_PORT": str(port), "DAS_ASK_LOG": "trace", "RUST_LOG": "trace", **(settings or {})}
        if collector:
            chosen["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector
        self.stack, self.metrics_url = Stack(folder, chosen), f"http://127.0.0.1:{port}/metrics"
        self.base = self.stack.state["base_url"]

    def ask(self, question, user="carol", headers=None, **more):
        """All events of an ask, and the ticket's response headers."""
        token = self.stack.token(user)
        ticket, answered = self.begin(question, token, headers, **more)
        status, _, text = call(f"{self.base}/v1/asks/{ticket}/events", token=token)
        assert status == 200, text
        return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")], answered

    def begin(self, question, token, headers=None, **more):
        status, _, text = call(f"{self.base}/v1/conversations", "POST", token=token)
        assert status == 201, text
        url = f"{self.base}/v1/conversations/{json.loads(text)['conversation_id']}/asks"
        status, answered, text = call(url, "POST", {"question": question, **more}, token, headers)
        assert status == 202, text
        return json.loads(text)["ticket"], answered

    def metrics(self):
        status, headers, text = call(self.metrics_url)
        assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4"), headers
        return text

    def log(self, of):
        with open(self.stack.state[of]["log"], errors="replace") as file:
            return file.read()

    def audit(self, of):
        lines = [line[6:] for line in self.log(of).splitlines() if line.startswith("audit ")]
        return [json.loads(line) for line in lines]

    def model_requests(self):
        return json.loads(call(f"{self.stack.model_control}/requests")[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.stop()


def eventually(what, find, seconds=15):
    """What `find` gives once it gives something."""
    found = []

    def so():
        with suppress(IndexError, KeyError):
            found[:] = [find()]
        return bool(found and found[0])

    wait_for(what, so, seconds)
    return found[0]
