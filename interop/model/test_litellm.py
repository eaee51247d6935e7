"""Both protocols through an independent proxy for models, LiteLLM, in all four ways of speaking in front of it and behind it."""

import json
import urllib.request

import pytest
from proxied import UPSTREAM, Proxy, Service, ask

FASTEST = "Which support team resolves tickets fastest?"
UNKNOWN = "What is our customer satisfaction score for support?"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory, stack):
    with Proxy(tmp_path_factory.mktemp("proxy"), stack) as running:
        yield running


@pytest.fixture(params=[(front, name) for front in ("openai", "anthropic") for name in UPSTREAM], ids="-".join)
def service(request, tmp_path, stack, proxy):
    front, name = request.param
    base = f"{proxy.base}/v1" if front == "openai" else proxy.base
    with Service(tmp_path / "service", stack, front, base, name, proxy.key) as running:
        yield running


def asked_of_the_model(stack):
    with urllib.request.urlopen(f"{stack.model_control}/requests", timeout=10) as reply:
        return json.load(reply)


def test_a_question_is_answered_as_without_the_proxy(service, stack):
    token = stack.token("carol")
    code, direct, _ = ask(stack.state["base_url"], token, FASTEST)
    assert code == 0
    before = len(asked_of_the_model(stack))
    code, answer, said = ask(service.base, token, FASTEST)
    assert code == 0, said
    for member in ("headline", "text", "result", "provenance", "sources", "tables", "sql", "caveats"):
        assert answer[member] == direct[member], member
    assert len(asked_of_the_model(stack)) > before, "the proxy did not ask the model"


def test_an_abstention_stays_one(service, stack):
    token = stack.token("carol")
    direct, _, _ = ask(stack.state["base_url"], token, UNKNOWN)
    assert direct != 0
    code, _, said = ask(service.base, token, UNKNOWN)
    assert code == direct, said


def test_a_model_that_the_proxy_does_not_know_is_an_error_of_the_model(tmp_path, stack, proxy):
    with Service(tmp_path / "service", stack, "openai", f"{proxy.base}/v1", "nobody", proxy.key) as running:
        code, _, said = ask(running.base, stack.token("carol"), FASTEST)
    assert code != 0 and "model" in said.lower(), said


def test_a_key_that_the_proxy_does_not_take_is_an_error_of_the_model(tmp_path, stack, proxy):
    with Service(tmp_path / "service", stack, "anthropic", proxy.base, "over-anthropic", "sk-wrong") as running:
        code, _, said = ask(running.base, stack.token("carol"), FASTEST)
    assert code != 0 and "sk-wrong" not in said, said
