"""The client `openai` for Python is answered from recordings of Gemini."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import pytest

from harness.server import Server, serve
from tests.server.test_dialect_proxy import CODE_ASSIST, GEMINI, MODEL
from tests.server.test_dialect_proxy import conversation as recorded_conversation
from tests.server.test_openai_apis import DECLARED, outputs
from tests.support.need import need

pytestmark = pytest.mark.slow  # the import of the client takes seconds

QUESTION: Final = {"role": "user", "content": "Oslo and Rome?"}
RESPONSE: Final = {
    "model": MODEL,
    "max_output_tokens": 100,
    "tools": [{"type": "function", **DECLARED}],
}
COMPLETION: Final = {
    "model": MODEL,
    "max_completion_tokens": 100,
    "tools": [{"type": "function", "function": DECLARED}],
}
SECOND: Final = "Oslo 4, Röm 19."


def sdk() -> Any:
    need("clients", find_spec("openai"), "openai is not installed")
    return import_module("openai")


@pytest.fixture(name="server", params=[GEMINI, CODE_ASSIST], ids=["gemini-api", "code-assist"])
def _server(request: pytest.FixtureRequest) -> Iterator[Server]:
    tape = recorded_conversation(request.param)
    with serve(tape, pace="step", dialect="unified-llm") as server:
        yield server


@pytest.fixture(name="client")
def _client(server: Server) -> Iterator[Any]:
    url = f"{server.base_url}/v1"
    with sdk().OpenAI(api_key="none", base_url=url, max_retries=0) as client:
        yield client


def respond(client: Any, given: Any, *, streamed: bool) -> Any:
    if not streamed:
        return client.responses.create(input=given, **RESPONSE)
    with client.responses.stream(input=given, **RESPONSE) as stream:
        return stream.get_final_response()


def complete(client: Any, messages: list[Any], *, streamed: bool) -> Any:
    if not streamed:
        return client.chat.completions.create(messages=messages, **COMPLETION)
    with client.chat.completions.stream(messages=messages, **COMPLETION) as stream:
        return stream.get_final_completion()


@pytest.mark.parametrize("streamed", [True, False])
def test_two_responses_with_calls(streamed: bool, client: Any, server: Server) -> None:
    first = respond(client, [QUESTION], streamed=streamed)
    reasoning, message, *calls = first.output
    assert reasoning.summary[0].text == "**Plan**"
    assert message.content[0].text == "Let me look."
    assert [(call.call_id, call.name, call.arguments) for call in calls] == [
        ("c1", "weather", '{"city":"Oslo"}'),
        ("c2", "weather", '{"city":"Rome"}'),
    ]
    assert (first.status, first.usage.output_tokens_details.reasoning_tokens) == ("completed", 4)
    # The field is the client's own and not one of the API.
    items = [
        {k: v for k, v in item.to_dict().items() if k != "parsed_arguments"}
        for item in first.output
    ]
    second = respond(client, [QUESTION, *items, *outputs()], streamed=streamed)
    assert (second.output_text, server.misses) == (SECOND, [])
    continued = client.responses.create(input=outputs(), previous_response_id=first.id, **RESPONSE)
    assert continued.output_text == SECOND


@pytest.mark.parametrize("streamed", [True, False])
def test_two_completions_with_calls(streamed: bool, client: Any, server: Server) -> None:
    first = complete(client, [QUESTION], streamed=streamed)
    (choice,) = first.choices
    assert choice.message.content == "Let me look."
    assert [(call.id, call.function.arguments) for call in choice.message.tool_calls] == [
        ("c1", '{"city":"Oslo"}'),
        ("c2", '{"city":"Rome"}'),
    ]
    assert choice.finish_reason == "tool_calls"
    results = [
        {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
        for item in outputs()
    ]
    message = {
        "role": "assistant",
        "content": choice.message.content,
        "tool_calls": [call.to_dict() for call in choice.message.tool_calls],
    }
    second = complete(client, [QUESTION, message, *results], streamed=streamed)
    assert (second.choices[0].message.content, server.misses) == (SECOND, [])


@pytest.mark.parametrize(
    ("text", "streamed", "error", "words"),
    [
        ("quota", True, "RateLimitError", "Slow down."),
        ("quota", False, "RateLimitError", "Slow down."),
        ("broken", True, "APIError", "The model is overloaded."),
        ("broken", False, "InternalServerError", "The model is overloaded."),
        ("cut", True, "APIError", "before it was complete"),
        ("cut", False, "InternalServerError", "before it was complete"),
        ("nobody recorded this", True, "NotFoundError", "No recorded exchange answers POST"),
    ],
)
def test_errors_are_those_of_the_client(
    text: str, streamed: bool, error: str, words: str, client: Any
) -> None:
    raised = getattr(sdk(), error)
    with pytest.raises(raised, match=words):
        list(client.responses.create(input=text, stream=streamed, **RESPONSE))
    messages = [{"role": "user", "content": text}]
    with pytest.raises(raised, match=words):
        list(client.chat.completions.create(messages=messages, stream=streamed, **COMPLETION))


def test_a_fault_cuts_the_translated_stream(server: Server) -> None:
    server.behave(pace="step", dialect="unified-llm", fault="cut:1")
    errors, url = sdk(), f"{server.base_url}/v1"
    with (
        errors.OpenAI(api_key="none", base_url=url, max_retries=0) as client,
        pytest.raises(errors.APIConnectionError),
    ):
        list(client.responses.create(input=[QUESTION], stream=True, **RESPONSE))
