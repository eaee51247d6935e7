// The tools that both TypeScript peers offer, the same as those of the Python one.
const BYTES = Buffer.from("\x89PNG not shown", "latin1").toString("base64");
const PAGE = 3;
let grown = false;

function tool(name, description, properties = {}, required = []) {
  return { name, description, inputSchema: { type: "object", properties, required } };
}

function tools() {
  const number = { type: "number" };
  return [
    tool("add", "Adds two numbers.", { a: number, b: number }, ["a", "b"]),
    tool("mixed", "Gives one block of each kind."),
    tool("slow", "Takes its time and tells how far it is.", { steps: { type: "integer" } }, ["steps"]),
    tool("fail", "Fails."),
    tool("break", "Ends in an error of the protocol."),
    tool("grow", "Makes another tool appear, and says so."),
    tool("moody", grown ? "Is described otherwise now." : "Was described so."),
    ...(grown ? [tool("late", "Was not there before.")] : []),
  ];
}

export function listTools(request) {
  const at = Number(request.params?.cursor ?? 0);
  const listed = tools();
  const nextCursor = at + PAGE < listed.length ? String(at + PAGE) : undefined;
  return { tools: listed.slice(at, at + PAGE), nextCursor };
}

const said = (text) => ({ content: [{ type: "text", text }] });

function mixed() {
  return {
    content: [
      { type: "text", text: "so it is" },
      { type: "image", data: BYTES, mimeType: "image/png" },
      { type: "audio", data: BYTES, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "memo://note", mimeType: "text/plain", text: "a note" } },
      { type: "resource", resource: { uri: "memo://blob", mimeType: "application/zip", blob: BYTES } },
      { type: "resource_link", uri: "memo://report", name: "report", mimeType: "text/csv" },
    ],
  };
}

// `notify` sends a notification along with the reply; `changed` tells whoever listens that the list has changed.
export async function callTool({ params }, notify, changed) {
  const given = params.arguments ?? {};
  switch (params.name) {
    case "add": {
      const sum = given.a + given.b;
      return { content: [{ type: "text", text: `It is ${sum}.` }], structuredContent: { sum } };
    }
    case "mixed":
      return mixed();
    case "slow":
      for (let step = 0; step < given.steps; step += 1) {
        await notify({ method: "notifications/progress", params: { progressToken: "1", progress: step, total: given.steps } });
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      return said("at last");
    case "fail":
      return { ...said("no such table"), isError: true };
    case "grow":
      grown = true;
      await changed();
      return said("grown");
    case "late":
    case "moody":
      return said(params.name);
    default:
      throw new Error("this tool ends in an error");
  }
}

export function isAllowed(request, response) {
  const wanted = process.env.BEARER;
  if (!wanted || request.headers.authorization === `Bearer ${wanted}`) return true;
  response.writeHead(401, { "WWW-Authenticate": "Bearer" }).end();
  return false;
}
