"""The client against servers that others wrote: the reference server, and servers on the official SDKs."""

import urllib.request

import pytest

from conftest import HERE, VERSIONS
from tool_client import Fault

BEARER = "a-token-of-the-caller"
LEGACY = VERSIONS[:3]

# Each peer with the version it agrees on by itself, and the versions it can be held to.
PEERS = {
    "python": ("2026-07-28", VERSIONS),
    "typescript_sessions": ("2025-11-25", LEGACY),
    "typescript_stateless": ("2026-07-28", VERSIONS),
}
CASES = [(peer, version) for peer, (_, versions) in PEERS.items() for version in [None, *versions]]


@pytest.fixture(scope="session")
def peers(start, node, python):
    """The servers on the SDKs, each guarded by the bearer."""
    commands = {
        "python": [python, HERE / "peers/python_server.py", "PORT"],
        "typescript_sessions": [node, HERE / "peers/typescript_sessions.mjs", "PORT"],
        "typescript_stateless": [node, HERE / "peers/typescript_stateless.mjs", "PORT"],
    }
    return {name: start(name, command, {"BEARER": BEARER}) for name, command in commands.items()}


@pytest.fixture
def session(request, peers, connect):
    peer, version = request.param
    client = connect(f"{peers[peer].base}/mcp", bearer=BEARER, **({"version": version} if version else {}))
    assert client.version == (version or PEERS[peer][0])
    return client


each = pytest.mark.parametrize("session", CASES, ids=[f"{p}-{v or 'any'}" for p, v in CASES], indirect=True)


@each
def test_everything_a_tool_gives_arrives_in_every_version(session):
    # Three tools a page: all of them are there.
    assert {"add", "mixed", "slow", "fail", "break", "grow", "moody"} <= set(session.tools())
    added = session.call("add", a=19, b=23)
    assert (added["isError"], added["structured"]) == (False, {"sum": 42})
    assert added["text"] == '{"sum":42}\nIt is 42.'

    mixed = session.call("mixed")
    assert mixed["content"] == ["text", "image", "audio", "text resource", "blob resource", "link"]
    assert mixed["text"].splitlines() == [
        "so it is",
        "[image: image/png, 14 bytes, not shown]",
        "[audio: audio/wav, 14 bytes, not shown]",
        "[resource: memo://note, text/plain]",
        "a note",
        "[resource: memo://blob, application/zip, 14 bytes, not shown]",
        "[link to a resource: report, memo://report, text/csv, not fetched]",
    ]

    failed = session.call("fail")
    assert (failed["isError"], failed["text"]) == (True, "no such table")
    for name in ["break", "never_heard_of"]:
        with pytest.raises(Fault) as caught:
            session.call(name)
        assert caught.value.error["kind"] == "rpc"
    # None of that cost the session anything.
    assert session.call("add", a=1, b=1)["structured"] == {"sum": 2}
    session.close()


@each
def test_slow_tools_run_side_by_side_and_their_progress_is_no_answer(session):
    session.list()
    results = session.calls(*[("slow", {"steps": 4})] * 3, ("add", {"a": 1, "b": 2}))
    assert [result["text"] for result in results[:3]] == ["at last"] * 3
    assert results[3]["structured"] == {"sum": 3}
    assert all(result["ms"] >= 400 for result in results[:3])
    assert results[3]["ms"] < min(result["ms"] for result in results[:3])
    session.close()


@pytest.mark.parametrize("peer", PEERS)
def test_a_tool_that_takes_too_long_costs_its_call_alone(peers, connect, peer):
    client = connect(f"{peers[peer].base}/mcp", bearer=BEARER, call_ms=500)
    with pytest.raises(Fault) as caught:
        client.call("slow", steps=50)
    assert caught.value.error == {"kind": "timeout"}
    assert client.call("add", a=1, b=2)["structured"] == {"sum": 3}
    client.close()


@pytest.mark.parametrize("bearer", [None, "someone-elses"])
@pytest.mark.parametrize("peer", PEERS)
def test_a_bearer_that_is_not_taken_is_a_401(peers, connect, peer, bearer):
    with pytest.raises(Fault) as caught:
        connect(f"{peers[peer].base}/mcp", **({"bearer": bearer} if bearer else {}))
    assert caught.value.error == {"kind": "status", "status": 401}


@pytest.mark.parametrize("name", PEERS)
def test_tools_that_change_are_seen_by_the_next_list_and_noted(start, node, python, connect, name):
    script = "python_server.py" if name == "python" else f"{name}.mjs"
    # A server of its own, since the change stays.
    peer = start(f"{name}-changing", [python if name == "python" else node, HERE / "peers" / script, "PORT"])
    client = connect(f"{peer.base}/mcp")
    before = client.list()
    assert "late" not in {tool["name"] for tool in before["tools"]} and before["notes"] == []
    # The server says so on whatever stream it has; the call's own reply is still its reply.
    assert client.call("grow")["text"] == "grown"
    after = client.list()
    assert {tool["name"] for tool in after["tools"]} - {tool["name"] for tool in before["tools"]} == {"late"}
    assert after["notes"] == [["moody", "Changed"]]
    assert client.call("late")["text"] == "late"
    client.close()


def test_a_session_is_opened_once_kept_and_ended(peers, connect):
    peer = peers["typescript_sessions"]

    def sessions():
        with urllib.request.urlopen(f"{peer.base}/sessions", timeout=5) as reply:
            return int(reply.read())

    before = sessions()
    client = connect(f"{peer.base}/mcp", bearer=BEARER)
    assert sessions() == before + 1
    client.list()
    client.calls(*[("add", {"a": 1, "b": 2})] * 5)
    assert sessions() == before + 1
    client.close()
    assert sessions() == before


@pytest.fixture(scope="session")
def everything(start, node):
    """The reference server that has everything, over Streamable HTTP, on the loopback address alone."""
    package = HERE / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    return start("everything", [node, "--import", HERE / "loopback.mjs", package, "streamableHttp"], {"PORT": "PORT"})


@pytest.mark.parametrize("version", [None, *LEGACY])
def test_the_reference_server_gives_all_its_kinds_of_result(everything, connect, version):
    client = connect(f"{everything.base}/mcp", **({"version": version} if version else {}))
    assert client.version == (version or "2025-11-25")
    tools = client.tools()
    assert {"echo", "get-sum", "get-structured-content", "get-tiny-image", "get-resource-links"} <= set(tools)
    assert client.call("echo", message="größe\n2")["text"] == "Echo: größe\n2"
    assert "42" in client.call("get-sum", a=19, b=23)["text"]

    weather = client.call("get-structured-content", location="Chicago")
    assert set(weather["structured"]) == {"temperature", "conditions", "humidity"}
    # The server says the same as text and as structure; the model reads it once.
    assert weather["text"].count("humidity") == 1

    image = client.call("get-tiny-image")
    assert image["content"] == ["text", "image", "text"]
    assert "[image: image/png, " in image["text"] and "bytes, not shown]" in image["text"]

    links = client.call("get-resource-links", count=3)
    assert links["content"] == ["text", "link", "link", "link"]
    assert links["text"].count("[link to a resource: ") == 3

    text = client.call("get-resource-reference", resourceType="Text", resourceId=1)
    assert "text resource" in text["content"] and "[resource: demo://resource/dynamic/text/1, text/plain]" in text["text"]
    blob = client.call("get-resource-reference", resourceType="Blob", resourceId=2)
    assert "blob resource" in blob["content"] and "[resource: demo://resource/dynamic/blob/2, " in blob["text"]
    annotated = client.call("get-annotated-message", messageType="success", includeImage=True)
    assert annotated["content"] == ["text", "image"]

    slow = client.call("trigger-long-running-operation", duration=1, steps=4)
    assert slow["ms"] >= 1000 and "completed" in slow["text"]
    wrong = client.call("get-sum", a="one", b=2)
    assert wrong["isError"] is True
    client.close()
