"""What the service tells its operators, read by software of others: Prometheus' parser and promtool, OpenTelemetry's types."""

import json
import re
import subprocess
import time

import pytest
from asking import FASTEST, SATISFACTION, Observed, call, eventually
from collector import Collector
from prometheus_client.parser import text_string_to_metric_families

from rig.gateway import NAMES, Gateway, deployed
from rig.process import Process, free_port, wait_for

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALLER = {"traceparent": f"00-{TRACE}-{SPAN}-01", "X-Request-Id": "caller-1"}


@pytest.fixture(scope="module")
def collector():
    with Collector() as running:
        yield running


@pytest.fixture(scope="module")
def observed(tmp_path_factory, collector):
    with Observed(tmp_path_factory.mktemp("observed") / "stack", collector.url) as running:
        yield running


def samples(text):
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text) for sample in family.samples
    }


def value(text, name, **labels):
    return samples(text)[name, tuple(sorted(labels.items()))]


def grown(before, after, name, **labels):
    return value(after, name, **labels) - value(before, name, **labels)


def trace_of(collector, trace):
    """The spans of a trace once its ask has ended and all were sent."""
    def whole():
        spans = [span for span in collector.spans if span.trace == trace]
        names = {span.name for span in spans}
        return spans if "invoke_agent ask-service" in names and any(name.startswith("POST ") for name in names) else None

    return eventually("the trace is exported", whole)


def test_counts_are_those_of_the_asks(observed):
    before = observed.metrics()
    answered, _ = observed.ask(FASTEST)
    abstained, _ = observed.ask(SATISFACTION)
    refused, _ = observed.ask("How many support tickets are there?", user="bob")
    after = observed.metrics()
    asks = [answered, abstained, refused]
    assert [events[-1]["outcome"] for events in asks] == ["answer", "abstention", "refusal"]
    for outcome in ("answer", "abstention", "refusal"):
        assert grown(before, after, "ask_asks_ended_total", outcome=outcome) == 1
    assert grown(before, after, "ask_asks_accepted_total") == 3
    assert grown(before, after, "ask_asks_duration_seconds_count") == 3
    assert grown(before, after, "ask_streams_opened_total") == 3
    assert grown(before, after, "ask_events_emitted_total") == sum(events[-1]["seq"] for events in asks)
    dones = [events[-1] for events in asks]
    hops = sum(done["hops"] for done in dones)
    assert grown(before, after, "ask_model_turns_total", result="ok") == hops > 0
    assert grown(before, after, "ask_model_turn_duration_seconds_count") == hops
    kinds = {"input": "tokens_in", "output": "tokens_out", "cache_read": "cache_read_tokens", "cache_write": "cache_write_tokens"}
    for kind, member in kinds.items():
        assert grown(before, after, "ask_model_tokens_total", type=kind) == sum(done[member] for done in dones)
    calls = [grown(before, after, "ask_tool_calls_total", kind=kind, result=result)
             for kind in ("catalog", "source") for result in ("ok", "error", "abandoned")]
    assert sum(calls) == sum(done["steps"] for done in dones) > 0
    failed = sum(event["type"] == "step" and event["is_error"] for events in asks for event in events)
    assert calls[1] + calls[4] == failed > 0
    timed = sum(grown(before, after, "ask_tool_call_duration_seconds_count", kind=kind) for kind in ("catalog", "source"))
    assert timed == sum(calls)
    assert (value(after, "ask_ready"), value(after, "ask_asks_running")) == (1, 0)


def test_promtool_finds_nothing_to_complain_of(observed, root):
    found = subprocess.run(["promtool", "check", "metrics"], input=observed.metrics(), text=True, capture_output=True)
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
    rules = subprocess.run(["promtool", "check", "rules", root / "deploy/prometheus/ask-alerts.yaml"], text=True, capture_output=True)
    assert rules.returncode == 0 and "SUCCESS" in rules.stdout, rules.stdout + rules.stderr


def test_dashboard_and_alerts_ask_for_metrics_that_exist(observed, root):
    there = {name for name, _ in samples(observed.metrics())}
    dashboard = json.loads((root / "deploy/grafana/ask-service.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries += [variable["query"]["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    rules = (root / "deploy/prometheus/ask-alerts.yaml").read_text()
    queries += re.findall(r"expr: (.*)", rules)
    assert len(queries) > 25
    for query in queries:
        named = set(re.findall(r"\bask_\w+", query))
        assert named and named <= there, f"{query} names {named - there}"
    page = (root / "docs/operations.md").read_text()
    for alert in re.findall(r"alert: (\w+)", rules):
        assert f"| `{alert}` |" in page, f"{alert} has no line that says what to do"


def test_a_cancel_and_refusals_are_counted(tmp_path):
    settings = {"ASK_DEVSTACK_TURN_DELAY_MS": "30000", "DAS_ASK_RATE_ASKS": "2"}
    with Observed(tmp_path / "slow", settings=settings) as slow:
        token = slow.stack.token("carol")
        ticket, _ = slow.begin(FASTEST, token)
        eventually("the model is asked", slow.model_requests)
        assert value(slow.metrics(), "ask_asks_running") == 1
        conversation = json.loads(call(f"{slow.base}/v1/asks/{ticket}", token=token)[2])["conversation_id"]
        again = f"{slow.base}/v1/conversations/{conversation}/asks"
        assert call(again, "POST", {"question": FASTEST}, token)[0] == 409
        assert call(f"{slow.base}/v1/asks/{ticket}/cancel", "POST", token=token)[0] == 202
        assert call(again, "POST", {"question": FASTEST}, token)[0] == 202
        other = json.loads(call(f"{slow.base}/v1/conversations", "POST", token=token)[2])["conversation_id"]
        assert call(f"{slow.base}/v1/conversations/{other}/asks", "POST", {"question": FASTEST}, token)[0] == 429
        eventually("the turn is over", lambda: value(slow.metrics(), "ask_model_turns_total", result="abandoned") == 1)
        text = slow.metrics()
        assert value(text, "ask_cancels_received_total") == 1
        assert value(text, "ask_asks_failed_total", kind="cancelled") == 1
        assert value(text, "ask_limits_refusals_total", limit="ask_running") == 1
        assert value(text, "ask_limits_refusals_total", limit="rate") == 1


def test_an_ask_is_one_trace_in_its_callers(observed, collector):
    events, answered = observed.ask(FASTEST, headers=CALLER)
    done, ticket = events[-1], events[0]["ticket"]
    spans = trace_of(collector, TRACE)
    assert answered["x-request-id"] == "caller-1"
    by_name = lambda start: [span for span in spans if span.name.startswith(start)]
    (accept,), (ask,), (branch,) = by_name("POST /v1/"), by_name("invoke_agent"), by_name("branch ")
    chats, tools = by_name("chat "), by_name("tools/call ")
    assert (accept.parent, ask.parent, branch.parent) == (SPAN, accept.id, ask.id)
    assert {span.parent for span in chats + tools} == {branch.id}
    assert (len(chats), len(tools)) == (done["hops"], done["steps"])
    assert len(spans) == len({span.id for span in spans}) == 4 + len(chats) + len(tools)
    assert [span.kind for span in (accept, ask, branch, chats[0], tools[0])] == [2, 1, 1, 3, 3]
    assert all(span.began <= span.ended and not span.error for span in spans)
    assert all(branch.began <= span.began and span.ended <= branch.ended for span in chats + tools)
    assert accept.began <= ask.began <= accept.ended
    assert abs(ask.began / 1e9 - time.time()) < 120
    assert ask.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert (ask.attributes["ask.ticket.id"], ask.attributes["ask.outcome"]) == (ticket, "answer")
    assert ask.attributes["ask.request.id"] == "caller-1"
    assert ask.resource["service.name"] == "ask-service"
    for chat in chats:
        assert chat.attributes["gen_ai.operation.name"] == "chat"
        assert chat.attributes["gen_ai.request.model"] == done["model"]
        assert chat.attributes["gen_ai.provider.name"] == "anthropic"
    total = lambda name: sum(chat.attributes[f"gen_ai.usage.{name}"] for chat in chats)
    assert total("output_tokens") == done["tokens_out"]
    assert total("input_tokens") == done["tokens_in"] + done["cache_read_tokens"] + done["cache_write_tokens"]
    steps = sorted(event["tool"].split("__")[1] for event in events if event["type"] == "step")
    assert sorted(tool.attributes["gen_ai.tool.name"] for tool in tools) == steps
    assert {(tool.attributes["mcp.method.name"], tool.attributes["gen_ai.operation.name"]) for tool in tools} == {("tools/call", "execute_tool")}
    # The peers show what they were sent.
    ours = [request["headers"] for request in observed.model_requests() if TRACE in request["headers"].get("traceparent", "")]
    assert sorted(headers["traceparent"] for headers in ours) == sorted(f"00-{TRACE}-{chat.id}-01" for chat in chats)
    assert {headers["x-request-id"] for headers in ours} == {"caller-1"}
    called = [line for line in observed.audit("executor") if line.get("trace_id") == TRACE]
    assert len(called) == len(tools) and {line["request_id"] for line in called} == {"caller-1"}
    (line,) = eventually("the audit line", lambda: [line for line in observed.audit("service") if line["ticket"] == ticket])
    assert (line["request_id"], line["trace_id"]) == ("caller-1", TRACE)


def test_a_refused_call_is_an_error_by_a_word(observed, collector):
    trace = "11" * 16
    events, _ = observed.ask("How many support tickets are there?", user="bob", headers={"traceparent": f"00-{trace}-{SPAN}-01"})
    assert events[-1]["outcome"] == "refusal"
    failed = [span for span in trace_of(collector, trace) if span.error]
    assert failed and {span.attributes["error.type"] for span in failed} == {"refused"}


def test_a_caller_that_does_not_sample_is_followed_but_not_exported(observed, collector):
    trace = "22" * 16
    observed.ask(FASTEST, headers={"traceparent": f"00-{trace}-{SPAN}-00"})
    sent = [request["headers"].get("traceparent", "") for request in observed.model_requests()]
    assert any(trace in header and header.endswith("-00") for header in sent)
    observed.ask(FASTEST, headers={"traceparent": f"00-{'33' * 16}-{SPAN}-01"})
    trace_of(collector, "33" * 16)
    assert not [span for span in collector.spans if span.trace == trace]


def test_request_ids_reach_every_answer(observed):
    token = observed.stack.token("carol")
    health = f"{observed.base}/health"
    assert call(health, headers={"X-Request-Id": "a-b_c.d:1"})[1]["x-request-id"] == "a-b_c.d:1"
    made = {call(health, headers={"X-Request-Id": bad})[1]["x-request-id"] for bad in ("", "a b", 'x"y', "a" * 129)}
    assert len(made) == 4 and all(re.fullmatch("[0-9a-f]{32}", one) for one in made)
    conversation = json.loads(call(f"{observed.base}/v1/conversations", "POST", token=token)[2])["conversation_id"]
    asks = f"{observed.base}/v1/conversations/{conversation}/asks"
    status, headers, body = call(asks, "POST", {"question": ""}, token, {"X-Request-Id": "bad-1"})
    assert (status, headers["x-request-id"], json.loads(body)["request_id"]) == (422, "bad-1", "bad-1")
    # Answers that must be alike for everyone are alike to the byte.
    for path, expected in (("/v1/conversations", 401), ("/v1/nothing", 404)):
        replies = [call(observed.base + path, "POST", headers={"X-Request-Id": name}) for name in ("one", "two")]
        assert [reply[1]["x-request-id"] for reply in replies] == ["one", "two"]
        assert {(reply[0], reply[2]) for reply in replies} == {(expected, replies[0][2])}


def test_probes_say_a_word(observed, built, tmp_path):
    assert call(f"{observed.base}/health/live")[::2] == (200, '{"status":"live"}')
    assert call(f"{observed.base}/health/ready")[::2] == (200, '{"status":"ready"}')
    assert call(f"{observed.base}/metrics")[0] == 404
    port, nowhere = free_port(), f"http://127.0.0.1:{free_port()}"
    settings = {"DAS_ENTRA_ISSUER": f"{nowhere}/t/v2.0", "DAS_APIM_BASE": nowhere, "DAS_LLM_BASE_URL": nowhere,
                "DAS_MODEL": "none", "DAS_ASK_PORT": str(port)}
    with Process("ask-service", [built / "ask-service"], tmp_path / "log", settings) as service:
        base = f"http://127.0.0.1:{port}"
        wait_for("it listens", lambda: service.check() and "listening on" in service.log.read_text())
        assert call(f"{base}/health/live")[0] == 200
        status, _, body = call(f"{base}/health/ready")
        assert status == 503 and "detail" not in json.loads(body) and nowhere not in body


def test_a_collector_that_is_down_or_busy_holds_up_no_ask(tmp_path):
    with Observed(tmp_path / "down", f"http://127.0.0.1:{free_port()}") as down:
        began = time.monotonic()
        assert down.ask(FASTEST)[0][-1]["outcome"] == "answer"
        assert time.monotonic() - began < 10
        eventually("lost spans are counted", lambda: value(down.metrics(), "ask_trace_spans_total", result="failed") > 0)
    with Collector(statuses=[503]) as busy, Observed(tmp_path / "busy", busy.url, {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=abc"}) as service:
        assert service.ask(FASTEST)[0][-1]["outcome"] == "answer"
        eventually("the second attempt is taken", lambda: busy.spans)
        assert {(path, headers["x-key"]) for path, headers in busy.headers} == {("/v1/traces", "abc")}


def test_nothing_shows_a_question_a_token_or_a_row(observed, collector):
    token = observed.stack.token("carol")
    trace = "44" * 16
    ticket, _ = observed.begin(FASTEST, token, {"traceparent": f"00-{trace}-{SPAN}-01"})
    _, _, stream = call(f"{observed.base}/v1/asks/{ticket}/events", token=token)
    events = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: ")]
    answer = next(event for event in events if event["type"] == "answer")
    cells = {cell for row in answer["result"]["rows"] for cell in row if isinstance(cell, str) and len(cell) > 4}
    assert cells
    trace_of(collector, trace)
    secrets = {FASTEST, FASTEST.rstrip("?"), token, token.split(".")[2], *cells}
    shown = {
        "metrics": observed.metrics(),
        "spans": "".join(body.decode() for body in collector.bodies),
        "the service's log": observed.log("service"),
        "the executor's log": observed.log("executor"),
    }
    for place, text in shown.items():
        assert len(text) > 1000
        for secret in secrets:
            assert secret not in text, f"{place} shows {secret[:12]}"


@pytest.mark.parametrize("name", NAMES)
def test_a_request_id_passes_through_a_gateway_to_every_party_and_back(name, observed, tmp_path):
    token, given = observed.stack.token("carol"), f"through-{name}-1"
    with Gateway(name, observed.stack, tmp_path, deployed(name)) as gateway:
        conversation = json.loads(call(f"{gateway.base}/v1/conversations", "POST", token=token)[2])["conversation_id"]
        asks = f"{gateway.base}/v1/conversations/{conversation}/asks"
        status, headers, body = call(asks, "POST", {"question": FASTEST}, token, {"X-Request-Id": given})
        assert (status, headers["x-request-id"]) == (202, given)
        ticket = json.loads(body)["ticket"]
        assert call(f"{gateway.base}/v1/asks/{ticket}/events", token=token)[0] == 200
        status, headers, body = call(asks, "POST", {"question": ""}, token, {"X-Request-Id": f"{given}.bad"})
        assert (status, headers["x-request-id"], json.loads(body)["request_id"]) == (422, f"{given}.bad", f"{given}.bad")
        # What the gateway makes for a caller who has none is what the service takes.
        status, headers, body = call(asks, "POST", {"question": ""}, token)
        assert status == 422 and headers["x-request-id"] == json.loads(body)["request_id"]
        status, headers, _ = call(f"{gateway.root}/warehouse/mcp", "POST", {}, headers={"X-Request-Id": f"{given}.mcp"})
        assert (status, headers["x-request-id"]) == (401, f"{given}.mcp")
    (line,) = eventually("the audit line", lambda: [line for line in observed.audit("service") if line["ticket"] == ticket])
    assert line["request_id"] == given
    called = [line for line in observed.audit("executor") if line.get("request_id") == given]
    assert called, "the executor's audit does not name the request"
