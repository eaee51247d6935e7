"""What the conformance suite runs as "the client": connects, lists the tools, calls each of them, ends the session.

Usage: conformance_driver.py PROGRAM URL. The suite names calls with their arguments in the environment, if a scenario wants some.
"""

import json
import os
import sys

from tool_client import Fault, ToolClient

SAMPLES = {"number": 2, "integer": 2, "string": "x", "boolean": True, "array": [], "object": {}}


def sample_arguments(schema):
    properties = schema.get("properties", {})
    return {name: SAMPLES.get(properties.get(name, {}).get("type"), "x") for name in schema.get("required", [])}


def main():
    program, url = sys.argv[1:]
    asked = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls")
    # One scenario never answers its call, since it waits for a person; that is not worth the service's whole minute.
    with ToolClient(program, url, call_ms=5000) as client:
        tools = client.tools()
        calls = [(call["name"], call["arguments"]) for call in asked or []]
        calls = calls or [(name, sample_arguments(tool["inputSchema"])) for name, tool in tools.items()]
        if os.environ["MCP_CONFORMANCE_SCENARIO"] == "json-schema-2020-12-preservation":
            # The suite compares the schema that the client was told with the one that it hands on.
            calls = [("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})]
        print(client.version, sorted(tools))
        for call in calls:
            print(call[0], client.calls(call)[0])
        client.close()


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"the client was refused: {fault.error}")
