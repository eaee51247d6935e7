"""Tool servers that mean harm, each behind a service of its own so that memory can be told apart."""

import asyncio
import contextlib
import json
import time

from .. import watch
from ..peers.tools import Hostile, OffList

PROMISE = "a tool server that means harm costs one ask its limits, and nothing else"
REACH = "each ask ends within its limits, at most 5 reconnects, at most 32 MiB more, no connection off the list"
WAYS = [
    "plain", "retry_zero", "huge_json", "huge_events", "endless_events", "silence", "redirect", "sign_in_elsewhere", "many_tools",
    "endless_pages", "deep_schema", "deep_result", "changed_description", "crossed_ids",
]
LIMIT_S = 12


async def one(scene, way, off_list):
    """Seconds to the end, MiB more, connections, kind of ending, and the tools that the model was shown."""
    session = f"torture-{way}"
    async with Hostile(way, off_list.authority) as peer:
        servers = [{"name": "evil", "url": f"http://127.0.0.1:{peer.port}/mcp", "kind": "source", "forward_bearer": True}]
        settings = {
            "DAS_MCP_SERVERS": json.dumps(servers), "DAS_ASK_TOOL_TIMEOUT_S": "3", "DAS_ASK_RUN_TIMEOUT_S": str(LIMIT_S - 2),
            "DAS_LLM_BASE_URL": f"{scene.stub.state['model']['base_url']}/s/{session}",
        }
        call = {"calls": [{"name": "evil__run_query", "args": {"sql": "SELECT 1"}}]}
        scene.script(session, [call, call, {"text": "That is all."}])
        async with scene.service(way, settings) as service:
            caller = scene.caller(service.base)
            memory = most = watch.resident_mib(service.pid)
            begun = time.monotonic()
            ticket = await caller.ask("What is in there, please?")
            following = asyncio.create_task(caller.follow(ticket))
            while not following.done() and time.monotonic() - begun < 60:
                most = max(most, watch.resident_mib(service.pid))
                await asyncio.sleep(0.02)
            seen = await asyncio.wait_for(following, 5)
            took = time.monotonic() - begun
            terminal = json.loads(seen.events[-2][3])
        return took, most - memory, peer, terminal


async def run(row, scene):
    async with OffList() as off_list:
        results = []
        for at in range(0, len(WAYS), 4):
            results += await asyncio.gather(*(one(scene, way, off_list) for way in WAYS[at:at + 4]))
        # A call is at most one request of its own and five more; there are two calls, a handshake and a listing.
        busy = {way: peer.requests for way, (_, _, peer, _) in zip(WAYS, results) if way != "endless_pages" and peer.requests > 2 * 6 + 8}
        kinds = {way: terminal.get("kind") or terminal["type"] for way, (*_, terminal) in zip(WAYS, results)}
        row.figure("ways", len(WAYS), kinds["plain"] == "answer")
        row.at_most("slowest end in s", max(took for took, *_ in results), LIMIT_S)
        row.at_most("MiB more at most", max(more for _, more, *_ in results), 32)
        row.figure("too many requests:", busy or 0, not busy)
        row.figure("connections off the list:", off_list.connections, off_list.connections == 0)
        wrong = {way: kind for way, kind in kinds.items()
                 if kind == "answer" and way not in ("plain", "changed_description", "many_tools", "endless_pages", "deep_schema")}
        row.figure("answers without a result behind them:", wrong or 0, not wrong)
