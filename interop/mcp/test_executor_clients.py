"""The executor driven by clients that others wrote: the official SDKs in Python and TypeScript, and the inspector's command line."""

import asyncio
import contextlib
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

from conftest import HERE

WAREHOUSE = {"list_sources", "list_tables", "describe_table", "run_query"}
CATALOG = {"search_metadata", "get_entity_details"}
COUNT = "SELECT COUNT(*) AS n FROM support.tickets"
BACK = "http://127.0.0.1:9/back"


@pytest.fixture(scope="session")
def tickets(stack, executor):
    """How many tickets there are, by the REST mirror."""
    request = urllib.request.Request(f"{executor}/query", json.dumps({"sql": COUNT}).encode())
    request.add_header("Authorization", f"Bearer {stack.token('carol')}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=10) as reply:
        return json.load(reply)["rows"]


@contextlib.asynccontextmanager
async def python_client(url, mode, **http):
    async with httpx2.AsyncClient(timeout=20, **http) as carrier:
        async with Client(streamable_http_client(url, http_client=carrier), mode=mode) as client:
            yield client


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_python_client_lists_and_calls(stack, executor, tickets, mode):
    async def drive():
        headers = {"Authorization": f"Bearer {stack.token('carol')}"}
        async with python_client(f"{executor}/warehouse/mcp", mode, headers=headers) as client:
            expected = "2025-11-25" if mode == "legacy" else "2026-07-28"
            assert client.protocol_version == expected
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == WAREHOUSE
            assert tools["run_query"].annotations.read_only_hint is True
            counted = await client.call_tool("run_query", {"sql": COUNT})
            assert not counted.is_error
            assert counted.structured_content["rows"] == tickets
            assert json.loads(counted.content[0].text) == counted.structured_content
            refused = await client.call_tool("run_query", {"sql": "DELETE FROM support.tickets"})
            assert refused.is_error and refused.structured_content["error"]["code"] == "guard"
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("drop_everything", {})
            assert unknown.value.error.code == -32602
            many = await asyncio.gather(*[client.call_tool("run_query", {"sql": f"SELECT {n} AS n"}) for n in range(8)])
            assert [result.structured_content["rows"] for result in many] == [[[n]] for n in range(8)]
        async with python_client(f"{executor}/om/mcp", mode, headers=headers) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == CATALOG
            found = await client.call_tool("search_metadata", {"query": "resolution time"})
            assert found.structured_content["results"]

    asyncio.run(drive())


@pytest.mark.parametrize("sdk", ["v1", "v2"])
def test_the_typescript_clients_list_and_call(stack, executor, tickets, node, sdk):
    command = [node, HERE / "peers/typescript_client.mjs", sdk, f"{executor}/warehouse/mcp", COUNT]
    done = subprocess.run(command, env={"BEARER": stack.token("carol")}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["version"] == {"v1": "2025-11-25", "v2": "2026-07-28"}[sdk]
    assert set(said["tools"]) == WAREHOUSE
    assert said["counted"]["structuredContent"]["rows"] == tickets
    assert said["refused"]["isError"] is True and said["refused"]["structuredContent"]["error"]["code"] == "guard"
    assert said["unknown"] == -32602


def inspect(node, url, token, *options):
    launcher = HERE / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    command = [node, launcher, "--cli", url, "--transport", "http", *options]
    if token:
        command += ["--header", f"Authorization: Bearer {token}"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def test_the_inspector_lists_and_calls(stack, executor, tickets, node):
    url, token = f"{executor}/warehouse/mcp", stack.token("carol")
    # Strict: a fault of portability in any tool's schema fails it.
    listed = inspect(node, url, token, "--method", "tools/list", "--strict")
    assert listed.returncode == 0, listed.stderr
    assert {tool["name"] for tool in json.loads(listed.stdout)["tools"]} == WAREHOUSE
    counted = inspect(node, url, token, "--method", "tools/call", "--tool-name", "run_query", "--tool-arg", f"sql={COUNT}")
    assert counted.returncode == 0, counted.stderr
    assert json.loads(counted.stdout)["structuredContent"]["rows"] == tickets


def test_the_inspector_without_a_token_is_turned_away(executor, node):
    refused = inspect(node, f"{executor}/warehouse/mcp", None, "--method", "tools/list")
    assert refused.returncode != 0
    assert not any(name in refused.stdout for name in WAREHOUSE)
    assert re.search(r"401|[Uu]nauthori[sz]ed|auth_required", refused.stdout + refused.stderr)


class Memory:
    """Where the SDK keeps what it learns; it comes with the client that the issuer knows, as there is no registration."""

    def __init__(self):
        self.client = OAuthClientInformationFull(client_id="ask-cli", redirect_uris=[BACK], token_endpoint_auth_method="none")
        self.tokens = None

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def choose_person(address, person):
    """What a person does in the browser: opens the address, says who to be; returns where the browser is sent."""
    opener = urllib.request.build_opener(NoRedirect)
    with opener.open(address, timeout=10) as page:
        assert person in page.read().decode()
    try:
        opener.open(address, urllib.parse.urlencode({"username": person}).encode(), timeout=10).close()
    except urllib.error.HTTPError as answer:
        assert answer.code in (302, 303)
        return urllib.parse.urlsplit(answer.headers["Location"])
    raise AssertionError("the sign-in page led nowhere")


@pytest.mark.parametrize("path", ["warehouse/mcp", "om/mcp"])
def test_a_stock_client_finds_where_to_sign_in_and_does(stack, executor, path):
    asked = []

    async def open_browser(address):
        asked.append(address)

    async def come_back():
        back = choose_person(asked[-1], "carol")
        query = dict(urllib.parse.parse_qsl(back.query))
        return AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query.get("iss"))

    async def drive():
        memory = Memory()
        metadata = OAuthClientMetadata(redirect_uris=[BACK], token_endpoint_auth_method="none", client_name="stock client")
        provider = OAuthClientProvider(f"{executor}/{path}", metadata, memory, open_browser, come_back)
        async with python_client(f"{executor}/{path}", "auto", auth=provider) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            called = await client.call_tool("list_sources" if path.startswith("w") else "search_metadata",
                                            {} if path.startswith("w") else {"query": "tickets"})
            assert not called.is_error
        return memory, names

    memory, names = asyncio.run(drive())
    assert names == (WAREHOUSE if path.startswith("w") else CATALOG)
    assert memory.tokens.access_token
    # It went where the metadata led: the issuer, for the scope and the resource that they name.
    assert len(asked) == 1 and asked[0].startswith(stack.state["issuer"].removesuffix("/v2.0"))
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(asked[0]).query))
    assert query["scope"].split()[0] == stack.state["scope"]
    assert query["resource"] == f"{executor}/{path}"
    assert query["code_challenge_method"] == "S256"


def test_the_typescript_client_discovers_the_issuer_from_the_401(stack, executor, node):
    command = [node, HERE / "peers/typescript_discovery.mjs", f"{executor}/warehouse/mcp"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["resource"] == f"{executor}/warehouse/mcp"
    assert said["issuer"] == stack.state["issuer"]
    assert said["token_endpoint"] == stack.state["token_url"]


@pytest.mark.parametrize("token", [None, "nonsense", "e30.e30.e30"])
def test_the_challenge_says_the_same_whatever_is_wrong(stack, executor, token):
    request = urllib.request.Request(f"{executor}/warehouse/mcp", b"{}", {"Content-Type": "application/json"})
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=10)
    assert refused.value.code == 401
    metadata = f"{executor}/.well-known/oauth-protected-resource/warehouse/mcp"
    assert refused.value.headers["WWW-Authenticate"] == f'Bearer resource_metadata="{metadata}"'
    with urllib.request.urlopen(metadata, timeout=10) as reply:
        said = json.load(reply)
    assert said["resource"] == f"{executor}/warehouse/mcp"
    assert said["authorization_servers"] == [stack.state["issuer"]]
    assert said["scopes_supported"] == [stack.state["scope"]]
