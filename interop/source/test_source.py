"""docs/adding-a-source.md as it stands there: a public tool server over someone's own files, and answers from it."""

import csv
import io
import json
import os
import statistics
import subprocess
import sys
import urllib.request

import duckdb
import pytest
from rig.page import blocks
from rig.process import Process, accepts, free_port, wait_for
from rig.stack import Stack

BLOCKS = blocks("docs/adding-a-source.md")
QUESTION = "Which team takes longest to resolve tickets?"
SQL = "SELECT team, AVG(minutes) AS minutes FROM tickets WHERE minutes IS NOT NULL GROUP BY team ORDER BY minutes DESC"
ENV = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"}


def expected():
    """The same figures, by hand."""
    minutes = {}
    for row in csv.DictReader(io.StringIO(BLOCKS["tickets.csv"])):
        if row["minutes"]:
            minutes.setdefault(row["team"], []).append(int(row["minutes"]))
    means = [[team, statistics.mean(values)] for team, values in minutes.items()]
    return sorted(means, key=lambda pair: -pair[1])


class Desk:
    """The page's server on a free port, and a stack that knows no other source."""

    def __init__(self, folder, load, **more):
        for name in ("tickets.csv", "load.sh", "serve.sh", "servers.json"):
            (folder / name).write_text(BLOCKS[name])
        if "parquet" in load:
            duckdb.sql(f"COPY (FROM '{folder / 'tickets.csv'}') TO '{folder / 'tickets.parquet'}'")
            (folder / "tickets.csv").unlink()
        (folder / "load.sh").write_text(load)
        subprocess.run(["bash", "load.sh"], cwd=folder, env=ENV, check=True, timeout=60)
        port = free_port()
        command = ["bash", "-c", f"cd '{folder}' && . ./serve.sh"]
        self.server = Process("desk", command, folder / "server.log", ENV | {"DESK_PORT": str(port)})
        wait_for("the server listens", lambda: self.server.check() and accepts(port), 60)
        servers = json.loads((folder / "servers.json").read_text().replace("8095", str(port)))
        servers[0] |= more
        self.stack = Stack(folder / "stack", {"DAS_MCP_SERVERS": json.dumps(servers)}, stand_in="stub")

    def stop(self):
        self.stack.stop()
        self.server.stop()

    def ask(self, *turns):
        """All events of an ask whose model says these turns."""
        script = [{"calls": [{"name": name, "args": args}]} for name, args in turns]
        self.call(f"{self.stack.model_control}/script", script)
        base = self.stack.state["base_url"]
        conversation = self.call(f"{base}/v1/conversations", {})["conversation_id"]
        ticket = self.call(f"{base}/v1/conversations/{conversation}/asks", {"question": QUESTION})["ticket"]
        frames = self.read(f"{base}/v1/asks/{ticket}/events").splitlines()
        return [json.loads(line[6:]) for line in frames if line.startswith("data: ")]

    def call(self, url, body=None):
        return json.loads(self.read(url, body))

    def read(self, url, body=None):
        headers = {"Authorization": f"Bearer {self.stack.token('carol')}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as reply:
            return reply.read().decode()

    def request(self, at):
        """What the model was sent, the newest last."""
        return self.call(f"{self.stack.model_control}/requests")[at]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    running = Desk(tmp_path_factory.mktemp("desk"), BLOCKS["load.sh"])
    yield running
    running.stop()


def query(sql):
    return "desk__execute_query", {"sql": sql}


def conclude(text):
    return "conclude", {"kind": "answer", "text": text, "entities": []}


def steps(events):
    return {event["tool"]: event for event in events if event["type"] == "step"}


def test_an_answer_has_the_rows_of_the_files_and_nothing_made_up(desk):
    events = desk.ask(query(SQL), conclude("Escalation takes longest."))
    answer = events[-2]
    assert answer["type"] == "answer", answer
    assert answer["result"] == {"columns": ["team", "minutes"], "rows": expected(), "truncated": False}
    assert answer["sql"] == [SQL]
    assert (answer["tables"], answer["sources"], answer["provenance"]) == ([], [], []), "the server names none"
    assert 0 <= steps(events)["desk__execute_query"]["ms"] < 60_000


def test_tables_are_listed_and_described_before_the_first_model_turn(desk):
    events = desk.ask(conclude("Nothing."))
    made = steps(events)
    assert not made["desk__list_tables"]["is_error"]
    assert made["desk__list_columns"]["args"] == {"table": "tickets"} and not made["desk__list_columns"]["is_error"]
    sent = json.dumps(desk.request(-1))
    assert "opened" in sent and "minutes" in sent, "the columns were not told to the model"


def test_only_the_named_tools_are_offered(desk):
    desk.ask(conclude("Nothing."))
    names = {tool.get("name") or tool["function"]["name"] for tool in desk.request(-1)["body"]["tools"]}
    assert names == {"desk__execute_query", "desk__list_tables", "desk__list_columns", "conclude"}
    events = desk.ask(("desk__list_databases", {}), conclude("Nothing."))
    assert "desk__list_databases" not in steps(events), "a tool that was not offered ran"


def test_a_mistake_goes_back_to_the_model_and_is_corrected(desk):
    events = desk.ask(query("SELECT nope FROM tickets"), query(SQL), conclude("Escalation takes longest."))
    assert events[-2]["type"] == "answer" and events[-2]["sql"] == [SQL]
    failed = [event for event in events if event["type"] == "step" and event["is_error"]]
    assert [event["args"]["sql"] for event in failed] == ["SELECT nope FROM tickets"]
    assert desk.ask(query("SELECT nope FROM tickets"), conclude("There are 7."))[-2]["type"] == "abstention"


def test_the_server_cannot_be_made_to_write(desk):
    events = desk.ask(query("DELETE FROM tickets"), query(SQL), conclude("Escalation takes longest."))
    assert events[-2]["result"]["rows"] == expected()
    assert steps(events), "nothing ran"


def test_parquet_files_do_as_well(tmp_path):
    desk = Desk(tmp_path, BLOCKS["load.sh"].replace("tickets.csv", "tickets.parquet"))
    try:
        assert desk.ask(query(SQL), conclude("Escalation takes longest."))[-2]["result"]["rows"] == expected()
    finally:
        desk.stop()


def test_without_that_setting_an_error_without_a_code_is_a_refusal(tmp_path):
    desk = Desk(tmp_path, BLOCKS["load.sh"], errors_without_code="refusal")
    try:
        ending = desk.ask(query("SELECT nope FROM tickets"), query(SQL), conclude("Escalation."))[-2]
    finally:
        desk.stop()
    assert ending["type"] == "refusal", ending
