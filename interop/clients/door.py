"""A gateway that turns a session's cookie into the token, serves a page, and cuts streams when it is told to."""

import http.client
import http.server
import threading
import urllib.parse


class Door(http.server.ThreadingHTTPServer):
    """Serves `page` at / and passes everything below /ask on to the service, as the person of the session."""

    daemon_threads = True

    def __init__(self, service, token, page):
        self.service, self.token, self.page = service, token, page
        self.cut_after, self.turn_away, self.asked = [], [], []
        super().__init__(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/":
            self.reply(200, [("Content-Type", "text/html"), ("Set-Cookie", "session=carol; HttpOnly; SameSite=Strict")], self.server.page)
        elif not self.path.startswith("/ask/"):
            self.reply(404, [], b"")
        elif "session=carol" not in self.headers.get("Cookie", ""):
            self.reply(401, [], b"")
        else:
            self.pass_on("GET", None)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.pass_on("POST", body) if "session=carol" in self.headers.get("Cookie", "") else self.reply(401, [], b"")

    def reply(self, status, headers, body):
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def pass_on(self, method, body):
        kept = {name: self.headers[name] for name in ("Content-Type", "Last-Event-ID") if self.headers.get(name)}
        stream = self.path.endswith("/events")
        if stream and self.server.turn_away and (status := self.server.turn_away.pop(0)):
            self.server.asked.append((kept.get("Last-Event-ID"), status))
            return self.reply(status, [("Content-Type", "text/html")], b"<h1>Not now</h1>")
        upstream = http.client.HTTPConnection(urllib.parse.urlsplit(self.server.service).netloc, timeout=60)
        upstream.request(method, self.path.removeprefix("/ask"), body, kept | {"Authorization": f"Bearer {self.server.token}"})
        answer = upstream.getresponse()
        if stream:
            self.server.asked.append((kept.get("Last-Event-ID"), answer.status))
        self.send_response(answer.status)
        for name in ("Content-Type", "Cache-Control"):
            if answer.getheader(name):
                self.send_header(name, answer.getheader(name))
        self.send_header("Connection", "close")
        self.end_headers()
        left = self.server.cut_after.pop(0) if stream and self.server.cut_after else None
        while piece := answer.read1(65536 if left is None else min(left, 65536)):
            self.wfile.write(piece)
            self.wfile.flush()
            if left is not None and (left := left - len(piece)) <= 0:
                break
        upstream.close()
        self.close_connection = True
