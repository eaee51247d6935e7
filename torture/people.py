"""A caller of the contract."""

import json
import urllib.parse

from .history import Frames, Seen
from .wire import Wire, call


class Caller:
    """Calls as one person at one base, `http://host:port/prefix`."""

    def __init__(self, base, token):
        parts = urllib.parse.urlsplit(base)
        self.authority, self.prefix = parts.netloc, parts.path.rstrip("/")
        self.auth = {"Authorization": f"Bearer {token}"}

    async def call(self, method, path, body=None, headers=None, timeout=60):
        body = None if body is None else json.dumps(body).encode()
        return await call(self.authority, method, self.prefix + path, {**self.auth, **(headers or {})}, body, timeout)

    async def json(self, method, path, body=None, expect=(200,), headers=None):
        status, _, text = await self.call(method, path, body, headers)
        if status not in expect:
            raise RuntimeError(f"{method} {path.split('/')[2]}: {status} {text[:300]}")
        return json.loads(text)

    async def converse(self):
        return (await self.json("POST", "/v1/conversations", expect=(201,)))["conversation_id"]

    async def ask(self, question, conversation=None, **more):
        """A ticket."""
        conversation = conversation or await self.converse()
        path = f"/v1/conversations/{conversation}/asks"
        return (await self.json("POST", path, {"question": question, **more}, expect=(202,)))["ticket"]

    async def state(self, ticket):
        return await self.json("GET", f"/v1/asks/{ticket}")

    async def cancel(self, ticket):
        return await self.json("POST", f"/v1/asks/{ticket}/cancel", expect=(202,))

    async def open(self, ticket, after=0, **how):
        """A stream that has begun: its wire and its reply."""
        wire = await Wire.connect(self.authority, **how)
        try:
            headers = {**self.auth, **({"Last-Event-ID": after} if after else {})}
            await wire.send("GET", f"{self.prefix}/v1/asks/{ticket}/events", headers)
            return wire, await wire.head()
        except BaseException:
            wire.close()
            raise

    async def follow(self, ticket, after=0, reader="whole"):
        """Everything from `after` to the stream's end, on one connection."""
        wire, reply = await self.open(ticket, after)
        seen, frames = Seen(reader, ticket), Frames()
        try:
            if reply.status != 200:
                raise RuntimeError(f"events: {reply.status}")
            while piece := await reply.some():
                for fields in frames.feed(piece):
                    seen.take(fields)
            return seen
        finally:
            wire.close()
