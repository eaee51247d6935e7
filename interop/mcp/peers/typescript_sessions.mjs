// A tool server with sessions and SSE replies, written with version 1 of the official TypeScript SDK. Usage: typescript_sessions.mjs PORT
import { randomUUID } from "node:crypto";
import http from "node:http";

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

import { callTool, isAllowed, listTools } from "./tools.mjs";

const sessions = new Map();

async function open() {
  const server = new Server({ name: "typescript-peer", version: "1" }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler(ListToolsRequestSchema, listTools);
  server.setRequestHandler(CallToolRequestSchema, (request, extra) =>
    callTool(request, extra.sendNotification, () => extra.sendNotification({ method: "notifications/tools/list_changed" })),
  );
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await server.connect(transport);
  return transport;
}

http
  .createServer(async (request, response) => {
    if (request.url === "/sessions") return response.end(String(sessions.size));
    if (!isAllowed(request, response)) return undefined;
    const id = request.headers["mcp-session-id"];
    if (id && !sessions.has(id)) return response.writeHead(404).end();
    return (sessions.get(id) ?? (await open())).handleRequest(request, response);
  })
  .listen(Number(process.argv[2]), "127.0.0.1");
