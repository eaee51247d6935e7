"""A Slack workspace of one's own: its Web API, and people who write to the app."""

import http.server
import itertools
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from slack_sdk.models.blocks import Block
from slack_sdk.signature import SignatureVerifier

from rig.process import wait_for


class Workspace(http.server.ThreadingHTTPServer):
    """Takes the app's calls as Slack does, checks each block by Slack's own models, and keeps what is shown."""

    daemon_threads = True

    def __init__(self, bot_token, secret):
        self.bot_token, self.signer = bot_token, SignatureVerifier(secret)
        self.messages, self.whispers, self.edits, self.calls, self.wrong, self.busy = {}, [], {}, [], [], 0
        self.names, self.events = itertools.count(100), itertools.count(1)
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Calls)
        self.url = f"http://127.0.0.1:{self.server_port}/api"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()

    def take(self, method, token, body):
        """What Slack answers, as a status, headers and a body."""
        with self.lock:
            self.calls.append((time.monotonic(), method))
            if self.busy:
                self.busy -= 1
                return 429, {"Retry-After": "1"}, {"ok": False, "error": "ratelimited"}
            if token != f"Bearer {self.bot_token}":
                return 200, {}, {"ok": False, "error": "invalid_auth"}
            try:
                assert body["blocks"] and len(body["blocks"]) <= 50 and body["text"] and len(body["text"]) <= 4000
                for block in Block.parse_all(body["blocks"]):
                    block.validate_json()
            except Exception as wrong:  # noqa: BLE001
                self.wrong.append(f"{method}: {wrong}")
                return 200, {}, {"ok": False, "error": "invalid_blocks"}
            place = body["channel"], body["thread_ts"]
            if method == "chat.postMessage":
                name = f"{next(self.names)}.000001"
                self.messages[name] = (place, body)
                self.edits[name] = [body]
                return 200, {}, {"ok": True, "ts": name}
            if method == "chat.update":
                if body["ts"] not in self.messages:
                    return 200, {}, {"ok": False, "error": "message_not_found"}
                self.messages[body["ts"]] = (place, body)
                self.edits[body["ts"]].append(body)
                return 200, {}, {"ok": True, "ts": body["ts"]}
            if method == "chat.postEphemeral":
                self.whispers.append((body["user"], body))
                return 200, {}, {"ok": True}
            return 200, {}, {"ok": False, "error": "unknown_method"}

    def in_thread(self, thread):
        """The messages of the app in a thread, by name."""
        with self.lock:
            return {name: body for name, ((_, place), body) in self.messages.items() if place == thread}

    def told(self, user):
        with self.lock:
            return [body for one, body in self.whispers if one == user]


class Calls(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, headers, answer = self.server.take(self.path.removeprefix("/api/"), self.headers.get("Authorization"), body)
        text = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)


class Slack:
    """Slack's side of the app: events and presses, signed."""

    def __init__(self, app, workspace):
        self.app, self.workspace = app, workspace

    def send(self, path, body, at=None, signature=None, content="application/json"):
        at = str(int(time.time()) if at is None else at)
        signed = signature or self.workspace.signer.generate_signature(timestamp=at, body=body)
        headers = {"Content-Type": content, "X-Slack-Request-Timestamp": at, "X-Slack-Signature": signed}
        request = urllib.request.Request(self.app + path, body.encode(), headers)
        begun = time.monotonic()
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                status, text = reply.status, reply.read().decode()
        except urllib.error.HTTPError as err:
            status, text = err.code, ""
        assert time.monotonic() - begun < 3, "Slack gives up after three seconds"
        return status, text

    def write(self, user, thread, text, event_id=None, **more):
        """Somebody mentions the app in a thread."""
        event = {"type": "app_mention", "user": user, "channel": "C1", "ts": f"{thread}", "text": f"<@UAPP> {text}", **more}
        body = {"type": "event_callback", "team_id": "T1", "event_id": event_id or f"Ev{next(self.workspace.events)}", "event": event}
        return self.send("/slack/events", json.dumps(body))[0]

    def press(self, user, thread, message, button):
        payload = {
            "type": "block_actions", "team": {"id": "T1"}, "user": {"id": user}, "channel": {"id": "C1"},
            "container": {"message_ts": message}, "message": {"ts": message, "thread_ts": thread},
            "actions": [{"action_id": button["action_id"], "value": button["value"]}],
        }
        body = urllib.parse.urlencode({"payload": json.dumps(payload)})
        return self.send("/slack/interactivity", body, content="application/x-www-form-urlencoded")[0]


def words(body):
    """Everything that a message shows."""
    return json.dumps(body["blocks"], ensure_ascii=False)


def button(body):
    """The stop button of a message, if it has one."""
    elements = [element for block in body["blocks"] if block["type"] == "actions" for element in block["elements"]]
    return elements[0] if elements else None


def eventually(what, find, seconds=40):
    found = []

    def so():
        found[:] = [find()]
        return bool(found[0])

    wait_for(what, so, seconds)
    return found[0]
