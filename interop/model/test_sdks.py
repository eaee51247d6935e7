"""The stub's wire, read by the providers' own Python clients: what it says must be what their parsers make of it."""

import json
import zlib

import anthropic
import openai
import pytest
from stub import Session

TOOLS = ["warehouse__run_sql", "catalog__search"]
CALLS = [
    {"name": TOOLS[0], "args": {"sql": "SELECT 1", "deep": {"list": [1, 2.5, None, "ü \u2028 \"q\""]}}},
    {"name": TOOLS[1], "args": {}},
]
USAGE = {"input": 120, "cache_read": 40, "cache_write": 0, "output": 17}
TEXT = "Grüße,\r\nin two lines: \u2028 data: {\"type\":\"message_stop\"}\n\n"


@pytest.fixture
def session(stub_stack, request):
    return Session(stub_stack, f"sdk{zlib.crc32(request.node.name.encode()):08x}")


class OpenAi:
    """Chat completions through `openai`."""

    error = openai.APIError
    statuses = {401: openai.AuthenticationError, 429: openai.RateLimitError, 500: openai.InternalServerError}

    def __init__(self, base):
        self.client = openai.OpenAI(base_url=f"{base}/v1", api_key="stub", max_retries=0, timeout=20)

    def ask(self):
        tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in TOOLS]
        with self.client.chat.completions.stream(
            model="m", messages=[{"role": "user", "content": "hello"}], tools=tools, stream_options={"include_usage": True},
        ) as stream:
            self.chunks = sum(event.type == "chunk" for event in stream)
            return stream.get_final_completion()

    def text(self, reply):
        return reply.choices[0].message.content or ""

    def calls(self, reply):
        return [(call.id, call.function.name, json.loads(call.function.arguments))
                for call in reply.choices[0].message.tool_calls or []]

    def stop(self, reply):
        return reply.choices[0].finish_reason

    def usage(self, reply):
        return reply.usage.prompt_tokens, reply.usage.prompt_tokens_details.cached_tokens, reply.usage.completion_tokens


class Anthropic:
    """Messages through `anthropic`."""

    error = anthropic.APIError
    statuses = {401: anthropic.AuthenticationError, 429: anthropic.RateLimitError, 529: anthropic.InternalServerError}

    def __init__(self, base):
        self.client = anthropic.Anthropic(base_url=base, api_key="stub", max_retries=0, timeout=20)

    def ask(self):
        tools = [{"name": name, "input_schema": {"type": "object"}} for name in TOOLS]
        with self.client.messages.stream(
            model="m", max_tokens=100, messages=[{"role": "user", "content": "hello"}], tools=tools,
        ) as stream:
            self.chunks = sum(1 for _ in stream)
            return stream.get_final_message()

    def text(self, reply):
        return "".join(block.text for block in reply.content if block.type == "text")

    def calls(self, reply):
        return [(block.id, block.name, block.input) for block in reply.content if block.type == "tool_use"]

    def stop(self, reply):
        return reply.stop_reason

    def usage(self, reply):
        return reply.usage.input_tokens, reply.usage.cache_read_input_tokens, reply.usage.output_tokens


@pytest.fixture(params=[OpenAi, Anthropic], ids=["openai", "anthropic"])
def sdk(request, session):
    return request.param(session.base)


def test_text_comes_in_pieces_and_whole(sdk, session):
    session.script({"text": TEXT, "usage": USAGE, "model": "stub-7"})
    reply = sdk.ask()
    assert sdk.text(reply) == TEXT
    assert sdk.stop(reply) in ("stop", "end_turn")
    assert reply.model == "stub-7"
    assert sdk.chunks > 3


def test_usage_is_what_was_told(sdk, session):
    session.script({"text": "x", "usage": USAGE})
    whole, cached, output = sdk.usage(sdk.ask())
    # One provider counts what came from its cache among the input, the other beside it.
    assert (whole, cached, output) in [(160, 40, 17), (120, 40, 17)]


def test_parallel_calls_keep_ids_names_and_arguments(sdk, session):
    session.script({"text": "both", "calls": [CALLS[0] | {"id": "call_a"}, CALLS[1] | {"id": "call_b"}]})
    reply = sdk.ask()
    assert sdk.text(reply) == "both"
    assert sdk.calls(reply) == [("call_a", TOOLS[0], CALLS[0]["args"]), ("call_b", TOOLS[1], {})]
    assert sdk.stop(reply) in ("tool_calls", "tool_use")


@pytest.mark.parametrize("stop, openai_word", [("max_tokens", "length"), ("refusal", "content_filter")])
def test_reasons_to_stop_are_the_protocols_own(sdk, session, stop, openai_word):
    session.script({"text": "so far", "stop": stop})
    # The one client raises where a completion is no whole one, and says why.
    try:
        said = sdk.stop(sdk.ask())
    except openai.LengthFinishReasonError:
        said = "length"
    except openai.ContentFilterFinishReasonError:
        said = "content_filter"
    assert said == (openai_word if isinstance(sdk, OpenAi) else stop)


def test_statuses_are_the_errors_that_the_client_knows(sdk, session):
    for status, error in sdk.statuses.items():
        session.script({"status": status})
        with pytest.raises(error) as raised:
            sdk.ask()
        assert raised.value.status_code == status
        assert raised.value.body, "the body is one that the client reads"


def test_an_error_in_mid_reply_is_raised(sdk, session):
    session.script({"text": "one two three four five six", "error": "overloaded_error", "error_after": 3})
    with pytest.raises(sdk.error):
        sdk.ask()


def test_a_cut_reply_is_never_whole(sdk, session):
    session.script({"text": "one two three four five six", "cut_after_bytes": 300})
    with pytest.raises(Exception) as raised:
        reply = sdk.ask()
        # A client that takes the end of a connection for the end of a reply has no reason to stop.
        assert sdk.stop(reply) is not None, "no reason to stop"
    assert "closed" in str(raised.value).lower() or "reason to stop" in str(raised.value) or "connection" in str(raised.value).lower()


def test_a_request_without_what_the_api_needs_is_refused(session):
    client = anthropic.Anthropic(base_url=session.base, api_key="stub", max_retries=0)
    with pytest.raises(anthropic.BadRequestError):
        client.messages.create(model="m", max_tokens=10, messages=[{"role": "assistant", "content": ""}, {"role": "robot", "content": 1}])
