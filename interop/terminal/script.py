"""A service that tells a fixed story for each question, so that a screen is the same in every run but for its times."""

import http.server
import json
import threading

WHEN = "2026-12-01T10:00:00.000Z"
EVIL = "\u001b[2J\u001b]0;owned\u0007\u202etxt.exe\u202c"


def branch(name, state, role="source", source=None):
    return {"type": "branch", "branch_id": name, "state": state, "role": role, **({"source": source} if source else {})}


def milestone(name, phase, subject=None, source=None):
    told = {"type": "milestone", "branch_id": name, "phase": phase}
    return told | ({"subject": subject} if subject else {}) | ({"source": source} if source else {})


def answer(text, columns, rows, **more):
    return {
        "type": "answer", "text": text, "path": {"speed": "full", "detail": "warehouse"},
        "provenance": [{
            "term": "Resolution Time", "kind": "glossary_term", "source": "Support.ResolutionTime",
            "statement": "The minutes that a team itself took, without the time spent waiting on the customer.",
        }],
        "sources": ["support"], "tables": ["support.tickets"], "sql": ["SELECT team, AVG(minutes) FROM support.tickets GROUP BY team"],
        "caveats": ["Tickets opened before 1 June 2024 have no resolution time and are left out of it."],
        "result": {"columns": columns, "rows": rows, "truncated": False}, **more,
    }


def done(outcome):
    return {
        "type": "done", "outcome": outcome, "hops": 2, "steps": 3, "tokens_in": 10, "tokens_out": 5, "cache_read_tokens": 7,
        "cache_write_tokens": 2, "ms": 2149, "model": "demo-analyst", "effort": "high", "degraded": [],
    }


TEAMS = answer(
    "Billing is fastest, then Frontline.", ["team", "average_minutes"],
    [["Billing", 390.44], ["Frontline", 568.4], ["Onboarding", 1001], ["Enterprise", None]],
    headline={"value": "Billing", "label": "Fastest team"},
)
MONTHS = answer(
    "Revenue went up.", ["month", "revenue"],
    [[f"2025-{month:02}", revenue] for month, revenue in enumerate([10, 14, 9, 20, 26, 31, 28, 35, 33, 41, 48, 47], 1)],
)
HOSTILE = answer(f"Text {EVIL} here.", ["team", EVIL], [[EVIL, 1], ["=HYPERLINK(\"http://evil\")", 2]])
WORK = [
    branch("b0", "opened", "supervisor"), milestone("b0", "grounding", "Resolution Time"),
    branch("b1", "opened", "source", "support"), branch("b2", "opened", "source", "sales"),
    milestone("b1", "querying", "Resolution Time", "support"), milestone("b2", "discovering", "teams", "sales"),
    branch("b2", "closed", "source", "sales"),
]
# What is told for a question, by a word in it. `hold` waits for the test, `cut` drops the connection once.
STORIES = {
    "branches": [*WORK, "hold", branch("b1", "closed", "source", "support"), TEAMS, done("answer")],
    "fastest": [*WORK, TEAMS, done("answer")],
    "months": [*WORK, MONTHS, done("answer")],
    "hostile": [milestone("b0", "grounding", EVIL), HOSTILE, done("answer")],
    "cut": [*WORK[:4], "cut", *WORK[4:], TEAMS, done("answer")],
    "email": [
        {"type": "refusal", "what": "access", "detail": "You may not see support.agents.email.", "source": "support"},
        done("refusal"),
    ],
    "satisfaction": [
        {"type": "abstention", "text": "The catalog has nothing on it.", "searched_terms": ["customer satisfaction", "CSAT"]},
        done("abstention"),
    ],
}


class Service(http.server.ThreadingHTTPServer):
    """It, on a free loopback port."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.cut, self.go_on = [], set(), threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def tell(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.endswith("/conversations"):
            return self.tell(201, {"conversation_id": "c1", "expires_at": WHEN})
        if self.path.endswith("/asks"):
            self.server.asked.append(json.loads(body))
            number = len(self.server.asked)
            return self.tell(202, {"ticket": f"t{number}", "conversation_id": "c1", "turn": number, "seq": 0, "expires_at": WHEN})
        return self.tell(202, {"ticket": "t1", "finished": True})

    def do_GET(self):
        if not self.path.endswith("/events"):
            found = self.path == "/health"
            body = {"status": "ok", "contract": "1"} if found else {
                "type": "urn:ask:problem:not_found", "code": "not_found", "title": "not found", "status": 404}
            return self.tell(200 if found else 404, body)
        number = int(self.path.split("/")[-2][1:])
        question = self.server.asked[number - 1]["question"]
        story = next(story for word, story in STORIES.items() if word in question)
        after = int(self.headers.get("last-event-id") or 0)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        events = [{"type": "accepted", "question": question, "turn": number, "contract_version": "1"}, *story]
        seq = 0
        for event in events:
            if event == "hold":
                self.server.go_on.wait(20)
            elif event == "cut":
                if number not in self.server.cut:
                    self.server.cut.add(number)
                    return None
            else:
                seq += 1
                if seq > after:
                    whole = {"seq": seq, "ticket": f"t{number}", "conversation_id": "c1", "ts": WHEN, **event}
                    frame = f"id: {seq}\nevent: {event['type']}\ndata: {json.dumps(whole)}\n\n".encode()
                    self.wfile.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")
        return None
