"""The examples of docs/write-a-client.md, as they stand there, each through full asks; and what a browser makes of a stream."""

import json
import os
import shutil
import subprocess
import sys
import urllib.request

import pytest
from door import Door
from rig.page import blocks
from rig.process import ROOT, TARGET

ANSWERED = "Which support team resolves tickets fastest?"
ABSTAINED = "What is our customer satisfaction score for support?"


def run(command, cwd=None, **env):
    done = subprocess.run(command, cwd=cwd, env=os.environ | env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="session")
def description(stack, tmp_path_factory):
    """The description, as the service gives it."""
    file = tmp_path_factory.mktemp("api") / "openapi.json"
    with urllib.request.urlopen(f"{stack.state['base_url']}/openapi.json", timeout=10) as reply:
        file.write_bytes(reply.read())
    return file


@pytest.fixture(scope="session")
def curl(tmp_path_factory):
    file = tmp_path_factory.mktemp("curl") / "ask.sh"
    file.write_text(blocks()["ask.sh"])
    return ["bash", file]


@pytest.fixture(scope="session")
def python(tmp_path_factory, description):
    home = tmp_path_factory.mktemp("python")
    generate = shutil.which("openapi-python-client", path=os.path.dirname(sys.executable))
    made = run([generate, "generate", "--path", description, "--meta", "none", "--output-path", home / "ask_api"])
    assert "Unable to" not in made.stdout + made.stderr, made.stdout + made.stderr
    (home / "ask.py").write_text(blocks()["ask.py"])
    return [sys.executable, home / "ask.py"]


@pytest.fixture(scope="session")
def typescript(tmp_path_factory, description, node_modules):
    home = tmp_path_factory.mktemp("typescript")
    (home / "node_modules").symlink_to(node_modules)
    (home / "package.json").write_text('{"type": "module"}')
    (home / "ask.ts").write_text(blocks()["ask.ts"])
    run(["node", node_modules / "openapi-typescript/bin/cli.js", description, "--output", home / "ask-api.ts"], cwd=home)
    options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2023,dom,dom.iterable", "--types", "node"]
    run(["node", node_modules / "typescript/bin/tsc", *options, "ask.ts"], cwd=home)
    return ["node", home / "ask.js"]


@pytest.fixture(scope="session")
def rust():
    text = (ROOT / "crates/client/examples/ask.rs").read_text()
    assert blocks()["ask.rs"] == text, "the page and crates/client/examples/ask.rs differ"
    release = [] if os.environ.get("ASK_PROFILE") == "debug" else ["--release"]
    run([os.environ.get("CARGO", "cargo"), "build", "--quiet", "-p", "ask-client", "--example", "ask", *release], cwd=ROOT)
    return [TARGET / ("release" if release else "debug") / "examples/ask"]


@pytest.fixture(params=["curl", "python", "typescript", "rust"])
def client(request):
    return request.getfixturevalue(request.param)


def ask(client, base, token, question):
    return run([*client, question], ASK_BASE_URL=base, ASK_TOKEN=token)


@pytest.fixture(scope="session")
def answer(built, stack):
    """What the command line says, which other tests hold to plain SQL."""
    env = {"ASK_BASE_URL": stack.state["base_url"], "ASK_TOKEN": stack.token("carol")}
    return json.loads(run([built / "ask", "--format", "json", "--", ANSWERED], **env).stdout)


def test_an_answer_is_shown_with_its_caveats(client, stack, answer):
    done = ask(client, stack.state["base_url"], stack.token("carol"), ANSWERED)
    assert done.stdout.splitlines() == [answer["text"], *(f"Note: {caveat}" for caveat in answer["caveats"])]
    assert "... " in done.stderr, "no progress was shown"


def test_what_is_no_answer_is_not_shown_as_one(client, stack):
    assert ask(client, stack.state["base_url"], stack.token("carol"), ABSTAINED).stdout.startswith("No answer: ")
    assert ask(client, stack.state["base_url"], stack.token("bob"), "How many support tickets are there?").stdout.startswith("Refused: ")


def test_a_cut_stream_is_picked_up_where_it_was(client, stack, answer):
    door = Door(stack.state["base_url"], stack.token("carol"), b"")
    # The examples know no cookies, so the door takes its own for given.
    door.RequestHandlerClass = type("Open", (door.RequestHandlerClass,), {"parse_request": let_in})
    try:
        # A cut, a gateway that has nobody behind it for a moment, another cut.
        door.cut_after, door.turn_away = [700, 3000], [None, 502]
        done = ask(client, f"{door.base}/ask", "none", ANSWERED)
    finally:
        door.stop()
    assert done.stdout.splitlines()[0] == answer["text"]
    first, away, second, third = door.asked
    assert (first[1], away[1], second[1], third[1]) == (200, 502, 200, 200)
    assert first[0] in (None, "0") and 0 < int(second[0]) < int(third[0]), door.asked
    assert away[0] == second[0], door.asked


def test_a_token_that_is_none_ends_with_the_reason_and_no_answer(client, stack):
    env = os.environ | {"ASK_BASE_URL": stack.state["base_url"], "ASK_TOKEN": "none"}
    done = subprocess.run([*client, ANSWERED], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and done.stdout == "", done.stdout
    assert "401" in done.stderr and "TypeError" not in done.stderr and "AttributeError" not in done.stderr, done.stderr


def test_a_stream_that_never_comes_back_is_no_answer(curl, stack):
    door = Door(stack.state["base_url"], stack.token("carol"), b"")
    door.RequestHandlerClass = type("Open", (door.RequestHandlerClass,), {"parse_request": let_in})
    # The example's pauses, without their length.
    script = curl[1].read_text().replace("sleep $((", ": $((")
    assert script != curl[1].read_text()
    try:
        door.turn_away = [503] * 20
        env = os.environ | {"ASK_BASE_URL": f"{door.base}/ask", "ASK_TOKEN": "none"}
        done = subprocess.run(["bash", "-c", script, "ask.sh", ANSWERED], env=env, capture_output=True, text=True, timeout=60)
    finally:
        door.stop()
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "does not come back" in done.stderr and len(door.asked) == 6, (done.stderr, door.asked)


def test_a_client_without_streams_waits_for_the_ending(stack, answer, tmp_path):
    file = tmp_path / "poll.sh"
    file.write_text(blocks()["poll.sh"])
    base, token = stack.state["base_url"], stack.token("carol")
    done = run(["bash", file, begin(base, token)], ASK_BASE_URL=base, ASK_TOKEN=token)
    assert (json.loads(done.stdout)["type"], json.loads(done.stdout)["text"]) == ("answer", answer["text"])
    env = os.environ | {"ASK_BASE_URL": base, "ASK_TOKEN": "none"}
    refused = subprocess.run(["bash", file, "t_none"], env=env, capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0 and refused.stdout == "" and "401" in refused.stderr, refused


def let_in(handler):
    ok = type(handler).__mro__[1].parse_request(handler)
    if ok:
        handler.headers["Cookie"] = "session=carol"
    return ok


def test_a_browser_gets_every_event_once_natively_and_by_fetch(stack, node_modules):
    token, base = stack.token("carol"), stack.state["base_url"]
    page = f"<!doctype html><title>ask</title><script>{blocks()['eventsource.js']}</script>".encode()
    door = Door(base, token, page)
    try:
        ticket = begin(base, token)
        door.cut_after = [900]
        here = os.path.dirname(__file__)
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        seen = json.loads(run(["node", os.path.join(here, "browser.mjs"), door.base, ticket, program], cwd=here).stdout)
    finally:
        door.stop()
    for way in ("native", "fetched"):
        events = seen[way]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), way
        assert [event["type"] for event in events[-2:]] == ["answer", "done"], way
    assert seen["native"] == seen["fetched"]
    assert seen["stranger"] == 401
    last = str(len(seen["native"]))
    # Cut, resumed, told that there is nothing more; then the fetch.
    (start, cut), (resumed, rest), (end, nothing), (again, whole) = door.asked
    assert (start, cut, rest, end, nothing, again, whole) == (None, 200, 200, last, 204, None, 200), door.asked
    assert 0 < int(resumed) < int(last)


def begin(base, token):
    def post(path, body):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(base + path, json.dumps(body).encode(), headers), timeout=30) as reply:
            return json.load(reply)

    conversation = post("/v1/conversations", {})["conversation_id"]
    return post(f"/v1/conversations/{conversation}/asks", {"question": ANSWERED})["ticket"]


def test_frames_come_with_curl_as_they_are_made(stack):
    token, base = stack.token("carol"), stack.state["base_url"]
    command = ["curl", "-sN", "-H", f"Authorization: Bearer {token}", f"{base}/v1/asks/{begin(base, token)}/events"]
    frames = [frame for frame in run(command).stdout.split("\n\n") if frame.startswith("id: ")]
    first = frames[0].split("\n")
    assert first[:2] == ["id: 1", "event: accepted"] and first[2].startswith('data: {"seq":1,')
    assert frames[-1].split("\n")[1] == "event: done"
