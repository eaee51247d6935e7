// Loaded before a peer: what it does not bind to an address itself is bound to the loopback one, and to no other.
import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (first, second, ...rest) {
  const isPort = typeof first === "number" || /^\d+$/.test(first);
  if (isPort && typeof second !== "string") return listen.call(this, first, "127.0.0.1", ...[second, ...rest].filter(Boolean));
  return listen.call(this, first, second, ...rest);
};
