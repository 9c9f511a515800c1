"""Our own dialects are asked questions: each request keeps what its form says, or the loss is
declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from harness.adapters import ADAPTERS, Adapter, Asked
from harness.adapters.own_requests import ask_dialect
from harness.dialects import DIALECTS
from harness.dialects.dialect import RequestTranslator
from harness.judging.questions.question import own_questions
from harness.judging.questions.run import QuestionItem, plan_questions
from harness.judging.rows import Row
from harness.judging.run import run_plan
from harness.project.recordings import load_recording
from harness.project.suite import CASSETTES
from harness.providers import PROVIDERS
from harness.stream.prompt import Choice, Message, Prompt
from harness.stream.prompt import Result as ToolResult
from harness.stream.session import Session

QUESTIONS = {question.name: question for question in own_questions() if question.turns == 1}
LATER = [question for question in own_questions() if question.turns == 2]
ASKED = [name for name, dialect in DIALECTS.items() if dialect.request]
ANSWERS_ONLY = [name for name, dialect in DIALECTS.items() if not dialect.request]
Change = Callable[[Prompt], Prompt]


def rows(adapter: Adapter, provider: str, *names: str) -> Iterator[Row]:
    items = [
        QuestionItem(question, provider, True, 1)
        for name, question in QUESTIONS.items()
        if name in (names or QUESTIONS)
        and any(question.is_for(api.name) for api in PROVIDERS[provider].apis)
    ]
    return run_plan(items, [adapter])


def later_rows(adapter: Adapter, provider: str, *, stored: bool = True) -> list[Row]:
    """The rows of the questions with a second request."""
    questions = [replace(each, stored=each.stored and stored) for each in LATER]
    load = partial(load_recording, cassettes=CASSETTES)
    return [*run_plan(plan_questions(questions, [provider], load, adapter), [adapter])]


@pytest.mark.parametrize("dialect", ASKED)
def test_each_question_is_kept_or_its_loss_is_declared_and_shown(dialect: str) -> None:
    first = [*rows(ADAPTERS[dialect], "vertex-ai")]  # the ledger has all wires
    judged = [*first, *later_rows(ADAPTERS[dialect], "gemini-api")]

    findings = [(row.question, finding) for row in judged for finding in row.findings]
    assert [found for found in findings if found[1].red] == []
    assert sum(row.verdict == "passed" for row in first) >= 9
    assert {finding.wire for _, finding in findings if finding.verdict == "not_carried"} == {
        str(loss) for loss in ADAPTERS[dialect].request_losses
    }


@pytest.mark.parametrize("dialect", ["ag-ui", "anthropic", "mind", "unified-llm"])
def test_the_second_request_has_the_answer_and_the_results_of_its_calls(dialect: str) -> None:
    judged = later_rows(ADAPTERS[dialect], "gemini-api")

    kept = [row.aspects for row in judged if row.case.endswith("(gemini-api/signatures-calls:1)")]
    assert [(each["calls"], each["results"]) for each in kept] == [("kept", "kept")]


@pytest.mark.parametrize("provider", ["interactions", "openai-compat", "openai", "anthropic"])
@pytest.mark.parametrize("dialect", ["ag-ui", "anthropic", "unified-llm"])
def test_the_second_request_is_kept_on_every_wire(dialect: str, provider: str) -> None:
    judged = later_rows(ADAPTERS[dialect], provider)

    assert [finding for row in judged for finding in row.findings if finding.red] == []
    assert any(row.aspects.get("text") == "kept" for row in judged)


def test_a_dialect_without_calls_is_asked_only_after_texts() -> None:
    judged = later_rows(ADAPTERS["art"], "gemini-api")

    after_calls = [row for row in judged if "parallel-calls" in row.case]
    after_texts = [row for row in judged if "signatures-text" in row.case]
    assert {row.reason for row in after_calls} == {"art has no calls, so no result goes back"}
    assert {row.aspects["text"] for row in after_texts} == {"kept"}


@pytest.mark.parametrize("dialect", ANSWERS_ONLY)
def test_a_dialect_without_requests_is_not_asked(dialect: str) -> None:
    reason = f"{dialect}: its event model has no requests"
    [row] = rows(ADAPTERS[dialect], "gemini-api", "settings-zero")

    assert (row.verdict, row.reason) == ("not-run", reason)
    later = later_rows(ADAPTERS[dialect], "gemini-api")
    assert [(row.question, row.reason) for row in later] == [(each.name, reason) for each in LATER]


@pytest.mark.parametrize("dialect", ["ag-ui", "anthropic", "unified-llm"])
def test_the_same_prompt_is_kept_in_chat_completions(dialect: str) -> None:
    """A dialect chooses no API of OpenAI. Its prompt is the same, and the writer of the other API
    loses nothing of it.
    """
    own = DIALECTS[dialect]
    half = own.request
    assert half
    chat = {api.name: api.option for api in PROVIDERS["openai"].apis}["chat"]

    def translate(prompt: Any, options: Any, session: Session) -> Prompt:
        made = half.translate(prompt, options, session)
        return replace(made, options={chat: made.options.get("openai", {})})

    asked = replace(own, request=replace(half, translate=translate))
    adapter = replace(ADAPTERS[dialect], ask=partial(ask_dialect, asked))

    judged = [*rows(adapter, "openai")]
    assert [finding for row in judged for finding in row.findings if finding.red] == []
    assert sum(row.verdict == "passed" for row in judged) >= 9


def test_a_dialect_of_one_wire_is_not_asked_on_another() -> None:
    [row] = rows(ADAPTERS["art"], "interactions", "settings-zero")

    assert row.reason == "art is only sent over generateContent"


@pytest.mark.parametrize(
    ("dialect", "question", "reason"),
    [
        ("mind", "settings-values", "settings.temperature, "),
        ("art", "media-image", "art has no place for messages[0].user[1]"),
        ("anthropic", "system-later", "anthropic has no place for messages[2]"),
        (
            "unified-llm",
            "history-result-media",
            "unified-llm has no place for messages[2].results[1]",
        ),
    ],
)
def test_a_value_that_the_form_does_not_say_is_named(
    dialect: str, question: str, reason: str
) -> None:
    [row] = rows(ADAPTERS[dialect], "gemini-api", question)

    assert row.verdict == "not-run"
    assert row.reason.startswith(reason)


def without_results(prompt: Prompt) -> Prompt:
    def kept(message: Message) -> Message:
        parts = [part for part in message.parts if not isinstance(part, ToolResult)]
        return replace(message, parts=tuple(parts))

    return replace(prompt, messages=tuple(map(kept, prompt.messages)))


def test_an_exception_of_a_dialect_is_an_error_of_its_row() -> None:
    def translate(prompt: Any, options: Any, session: Session) -> Prompt:
        raise KeyError(prompt)

    own = DIALECTS["art"]
    assert own.request
    faulty = replace(own, request=replace(own.request, translate=translate))
    adapter = replace(ADAPTERS["art"], ask=partial(ask_dialect, faulty))

    [row] = rows(adapter, "gemini-api", "settings-zero")

    assert row.verdict == "error"
    assert "KeyError" in row.reason


def test_a_question_without_messages_is_asked() -> None:
    asked = Asked("empty", Prompt(messages=()), "gemini-api", streamed=True)

    assert all(ask_dialect(DIALECTS[name], asked) for name in DIALECTS)


@pytest.mark.parametrize(
    ("dialect", "question", "change", "expected"),
    [
        ("art", "settings-values", lambda prompt: replace(prompt, settings={}), "settings"),
        ("art", "tools-plain", lambda prompt: replace(prompt, tools=()), "tools"),
        ("mind", "messages-repeated-roles", lambda prompt: replace(prompt, messages=prompt.messages[:-1]), "messages"),
        ("mind", "history-calls", without_results, "results"),
        ("unified-llm", "system-parts", lambda prompt: replace(prompt, instructions=()), "system"),
        ("unified-llm", "choice-required", lambda prompt: replace(prompt, choice=Choice("auto")), "choice"),
        ("unified-llm", "google-tier", lambda prompt: replace(prompt, options={}), "google"),
        ("anthropic", "output-schema", lambda prompt: replace(prompt, format=None), "output"),
        ("anthropic", "thinking-budget", lambda prompt: replace(prompt, reasoning=None), "thinking"),
    ],
)  # fmt: skip
def test_a_loss_that_is_not_declared_is_red(
    dialect: str, question: str, change: Change, expected: str
) -> None:
    own = DIALECTS[dialect]
    half = own.request
    assert isinstance(half, RequestTranslator)

    def translate(prompt: Any, options: Any, session: Session) -> Prompt:
        return change(half.translate(prompt, options, session))

    faulty = replace(own, request=replace(half, translate=translate))
    adapter = replace(ADAPTERS[dialect], ask=partial(ask_dialect, faulty))

    [row] = rows(adapter, "gemini-api", question)

    assert expected in {finding.subject for finding in row.red_findings}


def with_request(dialect: str, **changes: Any) -> Adapter:
    """The adapter of a dialect with a changed request half."""
    own = DIALECTS[dialect]
    assert own.request
    faulty = replace(own, request=replace(own.request, **changes))
    return replace(ADAPTERS[dialect], ask=partial(ask_dialect, faulty))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda messages: messages[:-1], "results"),
        (lambda messages: [each for each in messages if each["role"] != "assistant"], "calls"),
        (lambda messages: [each for each in messages if each["role"] != "system"], "system"),
    ],
)
def test_a_value_that_the_second_request_loses_is_red(
    change: Callable[[list[Any]], list[Any]], expected: str
) -> None:
    half = DIALECTS["unified-llm"].request
    assert half

    def follow_up(prompt: Any, payloads: Any, then: Any) -> Any:
        following = half.follow_up(prompt, payloads, then)
        return {**following, "messages": change(following["messages"])}

    judged = later_rows(with_request("unified-llm", follow_up=follow_up), "gemini-api")
    assert expected in {finding.subject for row in judged for finding in row.red_findings}


def test_a_signature_that_only_the_session_has_is_lost_in_a_stored_history() -> None:
    adapter = replace(ADAPTERS["anthropic"], request_losses=())

    def signatures(*, stored: bool) -> set[tuple[str, str]]:
        judged = later_rows(adapter, "gemini-api", stored=stored)
        reds = [finding for row in judged for finding in row.red_findings]
        return {(each.verdict, each.word) for each in reds if each.subject == "signatures"}

    assert signatures(stored=True) == {("lost", "stored")}
    assert signatures(stored=False) == set()


@pytest.mark.parametrize(("strict", "verdict"), [(False, "kept"), (True, "wrong")])
def test_what_a_question_passes_on_is_red_if_it_is_judged_strictly(
    strict: bool, verdict: str
) -> None:
    [question] = [each.name for each in QUESTIONS.values() if each.conflict == "calls-first"]
    [row] = rows(replace(ADAPTERS["unified-llm"], strict=strict), "gemini-api", question)

    assert row.aspects["accepted"] == verdict
