"""A tool server whose one tool takes a set time, for how calls run beside each other."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class SlowTools:
    """A context: serves `list_sources` on a free loopback port."""

    def __init__(self, seconds):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                result = reply(message, seconds)
                body = b"" if result is None else json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
                self.send_response(202 if result is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.send_error(405)

            do_DELETE = do_GET

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        url = f"http://127.0.0.1:{self.server.server_port}/mcp"
        self.setting = json.dumps([{"name": "warehouse", "url": url, "kind": "source"}])

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def reply(message, seconds):
    """What is answered; None to what wants no answer."""
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}
    if message["method"] == "tools/list":
        return {"tools": [{"name": "list_sources", "description": "Lists.", "inputSchema": {"type": "object"}}]}
    if message["method"] == "tools/call":
        time.sleep(seconds)
        return {"content": [{"type": "text", "text": "[]"}]}
    return None
