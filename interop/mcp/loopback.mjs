// Loaded before a peer: what names a port and no address is bound to the loopback address instead of to all of them.
import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (first, ...rest) {
  const isPort = typeof first === "number" || /^\d+$/.test(first);
  if (!isPort || typeof rest[0] === "string") return listen.call(this, first, ...rest);
  const listening = rest.find((argument) => typeof argument === "function");
  if (listening) this.once("listening", listening);
  // With an address, `listen` would look it up first, and the port would not be known at once as without one.
  this._listen2("127.0.0.1", Number(first), 4, 511);
  return this;
};
