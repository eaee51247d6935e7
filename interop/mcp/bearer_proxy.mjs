// Passes requests on to a server with a bearer added, since the conformance suite has no way to send one.
// Usage: bearer_proxy.mjs PORT TARGET_HOST TARGET_PORT, the token in the environment variable BEARER.
import http from "node:http";

const [port, host, targetPort] = process.argv.slice(2);

http
  .createServer((request, response) => {
    const headers = [...request.rawHeaders, "Authorization", `Bearer ${process.env.BEARER}`];
    const options = { host, port: targetPort, method: request.method, path: request.url, headers };
    const upstream = http.request(options, (reply) => {
      response.writeHead(reply.statusCode, reply.rawHeaders);
      response.flushHeaders();
      reply.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    // A client that goes away before its answer has come must be seen to go.
    response.on("close", () => upstream.destroy());
    request.pipe(upstream);
  })
  .listen(Number(port), "127.0.0.1");
