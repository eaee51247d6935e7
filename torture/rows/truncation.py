"""Replies of the model and of tools, cut after every byte there is."""

import json

from ..peers.tools import Hostile

PROMISE = "a reply that is not whole is an error, however it was cut"
REACH = "cut at every byte offset: always error, never an answer, never a half tool call run"
CALL = {"calls": [{"name": "warehouse__list_sources", "args": {"padding": "é" * 8}}]}


async def ending(caller):
    ticket = await caller.ask("What is in there, please?")
    seen = await caller.follow(ticket)
    events = [json.loads(event[3]) for event in seen.events]
    return events[-2], [event for event in events if event["type"] == "step"]


async def model(row, scene, protocol):
    """Cuts until the reply is whole: then, and only then, its call runs."""
    session = f"cut-{protocol}"
    base = f"{scene.stub.state['model']['base_url']}/s/{session}"
    settings = {
        "DAS_LLM_PROTOCOL": protocol, "DAS_LLM_ACCEPT_DEGRADED": "true", "DAS_ASK_GROUNDING": "false",
        "DAS_LLM_BASE_URL": f"{base}/v1" if protocol == "openai" else base,
    }
    wrong, offset = [], 0
    async with scene.service(session, settings) as service:
        caller = scene.caller(service.base)
        while offset < 5000:
            # A reply that did not even begin is asked for again, so there are enough of them.
            scene.script(session, [{**CALL, "cut_after_bytes": offset}] * 5)
            terminal, steps = await ending(caller)
            if steps:
                break
            if terminal.get("kind") != "model":
                wrong.append((offset, terminal["type"]))
            offset += 1
    row.figure(f"{protocol} replies cut", f"{offset:,}, wrong {wrong or 0}", offset > 300 and not wrong)


async def tool(row, scene, form):
    session = f"cut-{form}"
    async with Hostile(f"cut_{form}", "127.0.0.1:9") as peer:
        servers = [{"name": "evil", "url": f"http://127.0.0.1:{peer.port}/mcp", "kind": "source"}]
        settings = {
            "DAS_MCP_SERVERS": json.dumps(servers), "DAS_ASK_GROUNDING": "false",
            "DAS_LLM_BASE_URL": f"{scene.stub.state['model']['base_url']}/s/{session}",
        }
        call = {"calls": [{"name": "evil__run_query", "args": {"sql": "SELECT 1"}}]}
        wrong, whole = [], None
        async with scene.service(session, settings) as service:
            caller = scene.caller(service.base)
            while whole is None or peer.cut < whole:
                scene.script(session, [call, {"text": "That is all."}])
                terminal, _ = await ending(caller)
                whole = peer.whole
                # A chunked body whose last line ends are missing holds all of the message, and may be taken.
                taken = form == "events" and terminal["type"] == "answer" and peer.cut >= whole - len("\r\n0\r\n\r\n")
                if terminal.get("kind") != "transport" and not taken:
                    wrong.append((peer.cut, terminal["type"]))
                peer.cut += 1
            cuts, peer.cut = peer.cut, whole
            scene.script(session, [call, {"text": "That is all."}])
            terminal, _ = await ending(caller)
    row.figure(f"tool replies as {form} cut", f"{cuts:,}, wrong {wrong or 0}", cuts > 200 and not wrong)
    row.figure("the whole one:", terminal["type"], terminal["type"] == "answer")


async def run(row, scene):
    for protocol in ("anthropic", "openai"):
        await model(row, scene, protocol)
    for form in ("json", "events"):
        await tool(row, scene, form)
