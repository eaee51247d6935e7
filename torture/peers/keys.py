"""A key endpoint between the service and the issuer, which counts what is fetched and can be out of order."""

import asyncio
import time
import urllib.request


class Keys:
    """Serves what the issuer serves; `up = False` makes it answer 500."""

    def __init__(self, jwks_url):
        self.jwks_url, self.fetches, self.up = jwks_url, [], True

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/keys"
        return self

    async def __aexit__(self, *_):
        self.server.close()

    async def serve(self, reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.fetches.append(time.monotonic())
            if self.up:
                body = await asyncio.to_thread(lambda: urllib.request.urlopen(self.jwks_url, timeout=5).read())
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            else:
                body, head = b"", "HTTP/1.1 500 Out of order\r\nContent-Length: 0\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def most_in(self, seconds, after=0):
        """The most fetches in any stretch of that many seconds, without the first `after` of all."""
        fetches = self.fetches[after:]
        return max((sum(at <= other < at + seconds for other in fetches) for at in fetches), default=0)
