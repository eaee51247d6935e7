"""Single asks by the plainest client there is, for what is no matter of load."""

import json
import urllib.request

SAMPLE = [
    ("fastest team", "Which support team resolves tickets fastest?"),
    ("open tickets", "How many support tickets are still open?"),
    ("net revenue", "What was net revenue in fiscal year 2025?"),
    ("a definition", "What does Resolution Time mean?"),
]


class Caller:
    """One person at one service."""

    def __init__(self, base, token):
        self.base, self.token = base, token

    def call(self, path, body=None, method="GET"):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.base}{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=300) as reply:
            return reply.read()

    def ask(self, question):
        conversation = json.loads(self.call("/v1/conversations", method="POST"))["conversation_id"]
        asked = self.call(f"/v1/conversations/{conversation}/asks", {"question": question}, "POST")
        return json.loads(asked)["ticket"]

    def raw(self, ticket):
        return self.call(f"/v1/asks/{ticket}/events")

    def events(self, ticket):
        lines = self.raw(ticket).decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def turns_of(services, question, grounded):
    """The `done` of one ask at the service with or without look-ups before the first turn."""
    caller = Caller(*services[grounded])
    return caller.events(caller.ask(question))[-1]
