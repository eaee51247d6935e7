"""A tool server written with the official Python SDK. Usage: python_server.py PORT; the bearer it wants in BEARER, if any."""

import asyncio
import base64
import os
import sys

import uvicorn
from mcp import types
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server

BYTES = base64.b64encode(b"\x89PNG not shown").decode()
PAGE = 3
grown = False


def tool(name, description, properties=None, required=()):
    schema = {"type": "object", "properties": properties or {}, "required": list(required)}
    return types.Tool(name=name, description=description, input_schema=schema)


def tools():
    number = {"type": "number"}
    listed = [
        tool("add", "Adds two numbers.", {"a": number, "b": number}, ["a", "b"]),
        tool("mixed", "Gives one block of each kind."),
        tool("slow", "Takes its time and tells how far it is.", {"steps": {"type": "integer"}}, ["steps"]),
        tool("fail", "Fails."),
        tool("break", "Ends in an error of the protocol."),
        tool("grow", "Makes another tool appear, and says so."),
        tool("moody", "Was described so." if not grown else "Is described otherwise now."),
    ]
    return listed + ([tool("late", "Was not there before.")] if grown else [])


async def list_tools(_, params):
    at = int(params.cursor) if params and params.cursor else 0
    listed = tools()
    rest = str(at + PAGE) if at + PAGE < len(listed) else None
    return types.ListToolsResult(tools=listed[at:at + PAGE], next_cursor=rest)


def said(text):
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def mixed():
    return types.CallToolResult(content=[
        types.TextContent(type="text", text="so it is"),
        types.ImageContent(type="image", data=BYTES, mime_type="image/png"),
        types.AudioContent(type="audio", data=BYTES, mime_type="audio/wav"),
        types.EmbeddedResource(
            type="resource", resource=types.TextResourceContents(uri="memo://note", mime_type="text/plain", text="a note")),
        types.EmbeddedResource(
            type="resource", resource=types.BlobResourceContents(uri="memo://blob", mime_type="application/zip", blob=BYTES)),
        types.ResourceLink(type="resource_link", uri="memo://report", name="report", mime_type="text/csv"),
    ])


async def call_tool(context, params):
    global grown
    arguments = params.arguments or {}
    match params.name:
        case "add":
            total = arguments["a"] + arguments["b"]
            text = types.TextContent(type="text", text=f"It is {total}.")
            return types.CallToolResult(content=[text], structured_content={"sum": total})
        case "mixed":
            return mixed()
        case "slow":
            for step in range(arguments["steps"]):
                await context.session.send_progress_notification("1", step, arguments["steps"], related_request_id=context.request_id)
                await asyncio.sleep(0.1)
            return said("at last")
        case "fail":
            return said("no such table").model_copy(update={"is_error": True})
        case "break":
            raise ValueError("this is not for clients")
        case "grow":
            grown = True
            await context.session.send_tool_list_changed()
            return said("grown")
        case "late" | "moody":
            return said(params.name)
    raise ValueError(f"unknown tool: {params.name}")


class OneToken:
    async def verify_token(self, token):
        return AccessToken(token=token, client_id="ask", scopes=[]) if token == os.environ["BEARER"] else None


def main():
    port = int(sys.argv[1])
    base = f"http://127.0.0.1:{port}"
    app = Server("python-peer", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    guarded = {}
    if "BEARER" in os.environ:
        auth = AuthSettings(issuer_url=f"{base}/issuer", resource_server_url=f"{base}/mcp")
        guarded = {"auth": auth, "token_verifier": OneToken()}
    uvicorn.run(app.streamable_http_app(**guarded), host="127.0.0.1", port=port, log_level="warning")


main()
