// A tool server without sessions, written with version 2 of the official TypeScript SDK. Usage: typescript_stateless.mjs PORT
import http from "node:http";

import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";

import { callTool, isAllowed, listTools } from "./tools.mjs";

const handler = createMcpHandler(() => {
  const server = new Server({ name: "typescript-peer", version: "2" }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler("tools/list", listTools);
  server.setRequestHandler("tools/call", (request, context) =>
    callTool(request, (message) => context.mcpReq.notify(message), async () => handler.notify.toolsChanged()),
  );
  return server;
});
const answer = toNodeHandler(handler);

http
  .createServer((request, response) => {
    if (isAllowed(request, response)) answer(request, response);
  })
  .listen(Number(process.argv[2]), "127.0.0.1");
