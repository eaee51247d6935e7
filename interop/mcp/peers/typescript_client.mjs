// Drives a server with one of the official TypeScript clients. Usage: typescript_client.mjs v1|v2 URL SQL, the token in BEARER.
const [sdk, url, sql] = process.argv.slice(2);

const requestInit = { headers: { Authorization: `Bearer ${process.env.BEARER}` } };
const info = { name: "stock-client", version: "1" };

async function connect() {
  if (sdk === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(info);
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
    await client.connect(transport);
    return [client, transport.protocolVersion];
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(info, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return [client, client.getNegotiatedProtocolVersion()];
}

const [client, version] = await connect();
const { tools } = await client.listTools();
const counted = await client.callTool({ name: "run_query", arguments: { sql } });
const refused = await client.callTool({ name: "run_query", arguments: { sql: "DELETE FROM support.tickets" } });
const unknown = await client.callTool({ name: "drop_everything", arguments: {} }).then(() => null, (err) => err.code);
await client.close();
console.log(JSON.stringify({ version, tools: tools.map((tool) => tool.name), counted, refused, unknown }));
