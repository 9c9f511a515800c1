"""The second request of a conversation is asked for on each wire that has recordings for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from harness.adapters import Adapter, Asked, Output, Reaction, RunOptions, SentRequest
from harness.adapters.at import Question as AskedExchange
from harness.adapters.at import at_of, question_words
from harness.adapters.gateway import GATEWAY_WIRES
from harness.adapters.next_request import next_request
from harness.cassettes import Cassette
from harness.facts import Skipped
from harness.judging.explain import evidence_lines
from harness.judging.questions.question import Question, own_questions
from harness.judging.questions.run import plan_questions
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.pipeline.replay import frames_of
from harness.project.recordings import load_recording
from harness.project.suite import CASSETTES
from harness.stream.prompt import Function

Body = dict[str, Any]
QUESTIONS: Final = {question.name: question for question in own_questions() if question.turns == 2}
ADDRESS: Final = "http://127.0.0.1:1"
PATHS: Final = {
    "anthropic": ("anthropic", "/v1/messages"),
    "openai/chat": ("openai-chat", "/v1/chat/completions"),
    "openai/responses": ("openai-responses", "/v1/responses"),
    "openai-compat": ("openai-chat", "/v1beta/openai/chat/completions"),
}
WIRES: Final = {
    "anthropic/agent": "anthropic",
    "openai/chat-agent": "openai/chat",
    "openai/responses-agent": "openai/responses",
    "openai-compat/turns": "openai-compat",
}


def load(name: str) -> Cassette:
    return load_recording(name, cassettes=CASSETTES)


def rows(
    question: Question, cassette: str, change: Callable[[Body], object] = lambda body: None
) -> list[Row]:
    """The rows of an adapter that sends both requests as the writer of the wire writes them. Its
    second request is changed.
    """
    word, path = PATHS[WIRES.get(cassette, cassette.partition("/")[0])]

    def ask(asked: Asked) -> Reaction:
        assert asked.exchange is not None
        options = RunOptions(provider=asked.provider)
        words = question_words(asked, ADDRESS)
        at = at_of(AskedExchange(asked.exchange, options, ADDRESS, 2, asked.prompt, words))
        _, first = GATEWAY_WIRES[word].write(asked.prompt, at.model, streamed=at.stream)
        answer = [frame.json for frame in frames_of(asked.exchange)]
        try:
            second = next_request(GATEWAY_WIRES[word].word, first, answer, at)
        except Skipped as skipped:
            return Reaction(skipped=str(skipped))
        change(second)
        sent = (SentRequest(path, json.dumps(body).encode()) for body in (first, second))
        return Reaction(tuple(sent), base_url=ADDRESS)

    adapter = Adapter(
        name="faithful",
        model="facts",
        run=lambda exchange, options: Output([]),
        ask=ask,
        second_request=lambda exchange, options: b"",
    )
    question = replace(question, recordings=(cassette,))
    items = plan_questions([question], [cassette.partition("/")[0]], load, adapter)
    return list(run_plan(items, [adapter]))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("cassette", WIRES)
def test_each_wire_has_a_recording_after_which_a_faithful_adapter_is_green(
    question: str, cassette: str
) -> None:
    cells = rows(QUESTIONS[question], cassette)

    assert cassette in QUESTIONS[question].recordings
    assert {cell.verdict for cell in cells} == {"passed"}, [cell.findings for cell in cells]
    assert {"messages", "accepted"} <= set.intersection(*(set(cell.aspects) for cell in cells))
    assert any("calls" in cell.aspects for cell in cells)


def test_a_faithful_adapter_is_green_after_calls_in_pieces_without_an_index() -> None:
    cells = rows(QUESTIONS["stored-history"], "openai-compat/signatures")

    reasons = {cell.exchange: cell.reason for cell in cells if cell.verdict != "passed"}
    assert reasons == {
        8: "the gateway gave the call of read_clock no id, so it can't have a result"
    }


@pytest.mark.parametrize("cassette", WIRES)
def test_a_conversation_begins_with_the_recorded_request(cassette: str) -> None:
    asked = {cell.case for cell in rows(QUESTIONS["stored-history"], cassette)}
    later = [name for name in asked if name.endswith(f"{cassette}:2)")]  # the request after calls

    assert asked
    assert not later


def test_the_schemas_of_a_recorded_request_are_json_schemas() -> None:
    question = replace(QUESTIONS["stored-history"], recordings=("gemini-api/parallel-calls",))
    adapter = Adapter(name="faithful", model="facts", run=lambda exchange, options: Output([]))
    item, *_ = plan_questions([question], ["gemini-api"], load, adapter)
    [recorded] = [tool for tool in item.asked.prompt.tools if isinstance(tool, Function)]
    [tool] = question_words(item.asked, ADDRESS)["tools"]

    assert recorded.schema is not None
    assert recorded.schema.value["type"] == "OBJECT"
    assert tool["parameters"]["type"] == "object"


def no_temperature(body: Body) -> None:
    del body["temperature"]


def test_a_setting_that_is_missing_in_the_second_request_is_lost() -> None:
    [cell] = rows(QUESTIONS["settings-in-second-turn"], "anthropic/agent", no_temperature)

    assert [finding.sentence for finding in cell.red_findings] == [
        "settings lost: temperature 0.0 is not sent, in the second request"
    ]


def test_what_the_wire_has_no_place_for_is_not_asked_in_the_second_request() -> None:
    question = QUESTIONS["settings-in-second-turn"]
    prompt = replace(question.prompt, settings={**question.prompt.settings, "seed": 1789})
    [cell] = rows(replace(question, prompt=prompt), "anthropic/agent")

    assert cell.verdict == "passed"
    assert [finding.note for finding in cell.findings if finding.verdict == "not_asked"] == [
        "Anthropic Messages has no place for it: seed 1789 is not sent"
    ]


def no_call(body: Body) -> None:
    body["messages"][1].get("tool_calls", [{}]).pop()


def other_id(body: Body) -> None:
    body["messages"][1].get("tool_calls", [{}])[0]["id"] = "other"


def other_result(body: Body) -> None:
    body["messages"][2]["content"] = "other"


@pytest.mark.parametrize(
    ("change", "aspect", "asked", "sent"),
    [
        (no_call, "calls", 'answer.calls = {"name": ', 'messages[1] = {"role": "assistant", '),
        (other_id, "ids", 'answer.ids[0] = "call_O"', 'messages[1].tool_calls[0] = "other"'),
        (other_result, "results", 'answer.results[0] = "result 1"', 'messages[2] = "other"'),
    ],
)
def test_a_finding_about_the_answer_has_what_was_asked_and_sent_at_its_place(
    change: Callable[[Body], None], aspect: str, asked: str, sent: str
) -> None:
    cell, *_ = rows(QUESTIONS["stored-history"], "openai/chat-agent", change)

    [finding] = [each for each in cell.red_findings if each.subject == aspect]
    lines = evidence_lines(cell, finding, "serve: shim:replay")
    assert lines[0].startswith(f"  asked    {asked}")
    assert lines[1].startswith(f"  sent     {sent}")
    assert lines[2].startswith("  question stored-history: ")
    assert lines[-1].endswith("--questions stored-history")
