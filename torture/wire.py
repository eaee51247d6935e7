"""An HTTP/1.1 client on bare sockets: it can cut, freeze and vanish, and it sees every byte."""

import asyncio
import socket
import struct


class Closed(Exception):
    """The peer closed or reset the connection before what was awaited came."""


class Reply:
    """A response whose body may still be under way."""

    def __init__(self, wire, status, headers):
        self.wire, self.status, self.headers = wire, status, headers
        self.length = int(headers["content-length"]) if "content-length" in headers else None
        self.chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self.bodiless = status == 204
        self.whole = self.bodiless or self.length == 0

    async def some(self):
        """The next piece of the body, b"" at its proper end."""
        if self.whole:
            return b""
        reader = self.wire.reader
        try:
            if self.chunked:
                size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
                piece = await reader.readexactly(size)
                await reader.readexactly(2)
                if size == 0:
                    self.whole = True
                return piece
            if self.length is not None:
                piece = await reader.read(min(self.length, 65536))
                if not piece:
                    raise Closed("in mid-body")
                self.length -= len(piece)
                self.whole = self.length == 0
                return piece
            piece = await reader.read(65536)
            self.whole = not piece
            return piece
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as err:
            raise Closed(f"in mid-body: {err}") from err

    async def read(self):
        body = bytearray()
        while piece := await self.some():
            body += piece
        return bytes(body)


class Wire:
    """One connection."""

    def __init__(self, reader, writer, authority):
        self.reader, self.writer, self.authority = reader, writer, authority

    @classmethod
    async def connect(cls, authority, receive_buffer=None, source=None):
        host, port = authority.rsplit(":", 1)
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source:
            sock.bind((source, 0))
        try:
            await asyncio.get_running_loop().sock_connect(sock, (host, int(port)))
        except BaseException:
            sock.close()
            raise
        return cls(*await asyncio.open_connection(sock=sock, limit=1 << 20), authority)

    async def send(self, method, path, headers=None, body=None):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.authority}"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b""))
        await self.writer.drain()

    async def head(self):
        """The response's head, and its body to be read."""
        try:
            text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        except (asyncio.IncompleteReadError, ConnectionError) as err:
            raise Closed(f"before the head: {err}") from err
        first, *rest = text.rstrip("\r\n").split("\r\n")
        headers = {}
        for line in rest:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return Reply(self, int(first.split()[1]), headers)

    def close(self):
        """An orderly end: FIN."""
        self.writer.close()

    def reset(self):
        """An abrupt end: RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


async def call(authority, method, path, headers=None, body=None, timeout=60):
    """One request on a connection of its own: status, headers, body."""
    async def whole():
        wire = await Wire.connect(authority)
        try:
            await wire.send(method, path, {**(headers or {}), "Connection": "close"}, body)
            reply = await wire.head()
            return reply.status, reply.headers, await reply.read()
        finally:
            wire.close()
    return await asyncio.wait_for(whole(), timeout)
