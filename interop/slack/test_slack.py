"""The Slack app against a workspace of one's own, with the sample stack behind it; signatures and blocks by Slack's own SDK."""

import json
import os
import re
import time
import urllib.parse
import urllib.request

import pytest
from workspace import Slack, Workspace, button, eventually, words

from rig.process import Process, accepts, free_port, programs, wait_for

SECRET, BOT = "signing-secret-canary", "xoxb-canary"
FASTEST = "Which support team resolves tickets fastest?"
COUNT = "How many support tickets are there?"
UNKNOWN = "What is our customer satisfaction score for support?"


class App:
    """The app in front of a stack, in a workspace."""

    def __init__(self, folder, stack):
        self.stack, self.workspace = stack, Workspace(BOT, SECRET)
        port = free_port()
        env = {
            "PATH": os.environ["PATH"], "ASK_BASE_URL": stack.state["base_url"], "ASK_ISSUER": stack.state["issuer"],
            "SLACK_SIGNING_SECRET": SECRET, "SLACK_BOT_TOKEN": BOT, "SLACK_API_URL": self.workspace.url, "ASK_SLACK_PORT": str(port),
        }
        folder.mkdir(parents=True, exist_ok=True)
        self.process = Process("ask-slack", [programs() / "ask-slack"], folder / "slack.log", env)
        wait_for("the app listens", lambda: self.process.check() and accepts(port))
        self.slack = Slack(f"http://127.0.0.1:{port}", self.workspace)
        self.threads = iter(range(1, 1000))

    def stop(self):
        self.process.stop()
        self.workspace.stop()

    def thread(self):
        return f"{next(self.threads)}.500000"

    def sign_in(self, user, person):
        """The person opens the page that they were told of, and signs in there."""
        thread, before = self.thread(), len(self.workspace.told(user))
        assert self.slack.write(user, thread, COUNT) == 200
        asked = eventually("the way to sign in", lambda: self.workspace.told(user)[before:])[0]
        page, code = re.search(r"<(\S+?)\|open this page>", words(asked))[1], re.search(r"enter \*(\S+?)\*", words(asked))[1]
        form = urllib.parse.urlencode({"user_code": code, "username": person}).encode()
        with urllib.request.urlopen(urllib.request.Request(page.split("?")[0], form), timeout=10) as reply:
            assert reply.status == 200
        eventually("it is noticed", lambda: [told for told in self.workspace.told(user)[before:] if "You are signed in" in words(told)])
        assert self.workspace.in_thread(thread) == {}, "something ran before anybody had signed in"

    def ask(self, user, question, thread=None):
        """The last state of the message in which an ask ended."""
        thread = thread or self.thread()
        before = set(self.workspace.in_thread(thread))
        assert self.slack.write(user, thread, question) == 200

        def ended():
            new = {name: body for name, body in self.workspace.in_thread(thread).items() if name not in before}
            return next(((name, body) for name, body in new.items() if button(body) is None), None)

        return eventually("the ending", ended)


@pytest.fixture(scope="module")
def app(tmp_path_factory, stack):
    running = App(tmp_path_factory.mktemp("slack"), stack)
    running.sign_in("UCAROL", "carol")
    running.sign_in("UBOB", "bob")
    yield running
    running.stop()
    assert running.workspace.wrong == [], "blocks that Slack does not take"
    said = running.process.log.read_text()
    for canary in (SECRET, BOT, FASTEST, COUNT, UNKNOWN, "Billing", "eyJ"):
        assert canary not in said, "the log says too much"


def test_an_answer_takes_the_place_of_its_progress(app):
    name, body = app.ask("UCAROL", FASTEST)
    shown = words(body)
    assert [block["type"] for block in body["blocks"]][:3] == ["header", "context", "section"]
    assert body["blocks"][0]["text"]["text"] == "Billing"
    assert "Average Resolution Time" in shown and ":warning:" in shown and ":book:" in shown and "```" in shown
    first = app.workspace.edits[name][0]
    assert button(first)["action_id"] == "ask_stop" and "Working on it" in words(first)
    for ending in ("No answer", "Refused", "It failed"):
        assert ending not in shown


def test_what_is_no_answer_is_shown_as_what_it_is(app):
    abstention = words(app.ask("UCAROL", UNKNOWN)[1])
    assert "*No answer*" in abstention and "Searched the catalog" in abstention
    refusal = app.ask("UBOB", COUNT)[1]
    assert "*Refused" in words(refusal) and "you may not see this" in words(refusal)
    assert not any(block["type"] == "header" for block in refusal["blocks"]), "a refusal must not look like an answer"


def test_a_thread_is_a_conversation_and_another_is_not(app):
    thread = app.thread()
    app.ask("UCAROL", "Which team closes the most tickets?", thread)
    follow_up = words(app.ask("UCAROL", "And how long does that team take?", thread)[1])
    assert "Frontline" in follow_up
    assert "Frontline" not in words(app.ask("UCAROL", "And how long does that team take?")[1])


def test_an_event_that_is_told_again_asks_once(app):
    thread = app.thread()
    for _ in range(3):
        assert app.slack.write("UCAROL", thread, FASTEST, event_id="EvTwice") == 200
    eventually("the answer", lambda: [body for body in app.workspace.in_thread(thread).values() if button(body) is None])
    assert len(app.workspace.in_thread(thread)) == 1


def test_only_what_slack_signed_just_now_is_let_in(app):
    thread, body = app.thread(), json.dumps({"type": "url_verification", "challenge": "c-1"})
    assert app.slack.send("/slack/events", body) == (200, "c-1")
    now = int(time.time())
    old = app.workspace.signer.generate_signature(timestamp=str(now - 301), body=body)
    good = app.workspace.signer.generate_signature(timestamp=str(now), body=body)
    for at, signature in [(now, "v0=" + "0" * 64), (now, "nonsense"), (now - 301, old), (now + 301, good), (now - 10, good)]:
        assert app.slack.send("/slack/events", body, at, signature)[0] == 401
    assert app.slack.send("/slack/interactivity", "payload=%7B%7D", now, "v0=00")[0] == 401
    assert app.slack.send("/slack/events", "no json")[0] == 400
    assert app.slack.write("UCAROL", thread, FASTEST, bot_id="B1") == 200
    assert app.workspace.in_thread(thread) == {}, "a bot's message was answered"


def test_a_stranger_is_asked_to_sign_in_and_nothing_runs(app):
    thread = app.thread()
    app.slack.write("UNEW", thread, FASTEST)
    eventually("the way to sign in", lambda: app.workspace.told("UNEW"))
    assert app.workspace.in_thread(thread) == {}
    app.slack.write("UNEW", thread, FASTEST)
    eventually("a reminder", lambda: len(app.workspace.told("UNEW")) == 2)
    assert "still waiting" in words(app.workspace.told("UNEW")[1])


def test_slack_that_asks_for_a_pause_gets_it(app):
    app.workspace.busy = 1
    assert "Billing" in words(app.ask("UCAROL", FASTEST)[1])


def test_stop_ends_it_for_the_one_who_asked_alone(tmp_path, stub_stack):
    app = App(tmp_path, stub_stack)
    try:
        app.sign_in("UCAROL", "carol")
        app.sign_in("UALICE", "alice")
        thread = app.thread()
        app.slack.write("UCAROL", thread, "bench hold=60")
        name, body = eventually("the placeholder", lambda: next(iter(app.workspace.in_thread(thread).items()), None))
        assert app.slack.press("UALICE", thread, name, button(body)) == 200
        eventually("a word", lambda: [told for told in app.workspace.told("UALICE") if "Only the person who asked" in words(told)])
        app.slack.write("UCAROL", thread, "bench hold=60")
        eventually("another word", lambda: [body for body in app.workspace.in_thread(thread).values() if "One question at a time" in words(body)])
        assert button(app.workspace.in_thread(thread)[name]), "a stranger stopped it"
        assert app.slack.press("UCAROL", thread, name, button(body)) == 200
        ended = eventually("the ending", lambda: [body for one, body in app.workspace.in_thread(thread).items() if one == name and button(body) is None])
        assert "It failed; there is no answer" in words(ended[0]) and "cancelled" in words(ended[0])
        app.slack.press("UCAROL", thread, name, button(body))
        eventually("the last word", lambda: [told for told in app.workspace.told("UCAROL") if "ended already" in words(told)])
    finally:
        app.stop()


def test_what_a_peer_says_makes_no_mention_and_no_link(tmp_path, stub_stack):
    app = App(tmp_path, stub_stack)
    try:
        app.sign_in("UCAROL", "carol")
        hostile = "<!channel> <@UBOSS> <https://evil.example|here> *bold* `x`"
        script = [{"calls": [{"name": "warehouse__run_query", "args": {"sql": "SELECT '```<!here>' AS \"<@U1>\" FROM support.tickets LIMIT 1"}}]},
                  {"calls": [{"name": "conclude", "args": {"kind": "answer", "text": hostile, "entities": []}}]}]
        request = urllib.request.Request(f"{stub_stack.model_control}/script", json.dumps(script).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=10).close()
        shown = words(app.ask("UCAROL", "Anything?")[1])
    finally:
        app.stop()
    assert "&lt;!channel&gt;" in shown and "&lt;!here&gt;" in shown, shown
    # A plain text, as a header is, knows no mentions.
    for text in re.findall(r'"type": "mrkdwn", "text": "(.*?)", "verbatim"', shown):
        assert "<" not in text and ">" not in text, text
