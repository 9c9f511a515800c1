"""A client may ask again or report an error; each other reaction to a failing service is one
finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from harness import At
from harness.adapters import Adapter, FaultReaction
from harness.adapters.named import adapter_of_target
from harness.facts import Transcript, WireFacts, read_losses
from harness.judging.aspect_run import JudgedExchange
from harness.judging.questions.service_faults import (
    SERVICE_FAULTS,
    FaultItem,
    answers_of,
    plan_faults,
)
from harness.judging.rows import Row
from harness.judging.run import run_plan, unused
from harness.providers import Answer, Provider
from harness.stream.events import End
from harness.stream.exchange import Exchange, Request
from tests.faulty import attempts
from tests.faulty.faults import CASSETTE, ROOT

PROVIDERS_ASKED = ("gemini-api", "anthropic", "openai")


def planned(adapter: Adapter, provider: str, *names: str) -> list[FaultItem]:
    items = answers_of([provider], CASSETTE)
    faults = [fault for fault in SERVICE_FAULTS if not names or fault.name in names]
    return plan_faults(faults, items, adapter)


@contextmanager
def client(name: str, timeout: float = 30, *, guest: bool = False) -> Iterator[Adapter]:
    target = f"serve: tests.faulty.attempts:{name}"
    adapter = adapter_of_target(target, ROOT, {}, timeout=timeout, guest=guest)
    yield adapter
    adapter.close()
    while attempts.OPEN:
        with suppress(OSError):
            attempts.OPEN.pop().close()


def rows(name: str, provider: str, *names: str) -> list[Row]:
    with client(name) as adapter:
        return [*run_plan(planned(adapter, provider, *names), [adapter])]


def words(cells: list[Row]) -> set[tuple[str, str, str]]:
    return {
        (cell.question, finding.word, finding.subject)
        for cell in cells
        for finding in cell.red_findings
    }


@pytest.mark.parametrize("provider", PROVIDERS_ASKED)
@pytest.mark.parametrize("name", attempts.FAITHFUL)
@pytest.mark.slow  # a second of Retry-After is no part of it, but each connection is reset
def test_a_client_may_ask_again_or_report_the_error(name: str, provider: str) -> None:
    cells = rows(name, provider)

    assert {cell.verdict for cell in cells} == {"passed"}, [cell.reason for cell in cells]
    assert {cell.question for cell in cells} == {fault.name for fault in SERVICE_FAULTS}


@pytest.mark.parametrize("name", attempts.EXPECTED)
@pytest.mark.parametrize("provider", PROVIDERS_ASKED)
@pytest.mark.slow  # the connection that stays open takes seconds
def test_each_fault_is_seen_by_its_own_word(name: str, provider: str) -> None:
    expected = attempts.EXPECTED[name]
    cells = rows(name, provider)

    aspects = {fault.name: fault.aspect for fault in SERVICE_FAULTS}
    assert words(cells) == {(each, expected[each], aspects[each]) for each in expected}
    assert all(cell.verdict != "error" for cell in cells)


def test_the_sentences_say_what_happened() -> None:
    cells = rows("asks_for_ever", "gemini-api", "overloaded")
    cells += rows("changes_the_request", "gemini-api", "rate-limited")

    assert [finding.sentence for cell in cells for finding in cell.red_findings][::2] == [
        "attempts wrong: the same request is sent more than 20 times",
        "attempts wrong: the request of attempt 2 differs from the first at temperature",
    ]


def test_an_adapter_that_pauses_needs_more_time_and_one_that_hangs_is_an_error() -> None:
    cells: list[Row] = []
    for name in ("pauses", "hangs"):
        with client(name, 3, guest=True) as adapter:
            items = [each for each in planned(adapter, "gemini-api", "overloaded") if each.streamed]
            cells += run_plan(items, [adapter])
    paused, hung = cells

    assert (paused.verdict, paused.aspects) == ("not-run", {"attempts": "not_asked"})
    assert "it pauses between its attempts" in paused.reason
    assert hung.verdict == "error"
    assert "did not return within 3 s" in hung.reason


def test_only_a_shim_that_reads_it_is_asked_to_cancel() -> None:
    target = "serve: tests.judging.questions.test_service_faults:reads_nothing"
    adapter = adapter_of_target(target, ROOT, {})
    [row] = run_plan(planned(adapter, "gemini-api", "cancelled"), [adapter])
    adapter.close()

    assert row.aspects == {"cancelled": "not_asked"}
    assert row.reason == "the adapter does not read at.cancel"


def reads_nothing(at: At) -> Iterator[attempts.Given]:
    with attempts.opened(at) as answer:
        yield from ((event, attempts.facts(event)) for event in attempts.events(at, answer))


def test_a_declared_loss_is_not_carried_and_an_unused_declaration_is_named() -> None:
    with client("gives_text_twice") as adapter:
        adapter = replace(adapter, losses=read_losses("attempts[twice], cancelled[open]"))
        cells = [*run_plan(planned(adapter, "gemini-api"), [adapter])]

    assert {cell.question for cell in cells if "not_carried" in cell.aspects.values()} == {
        "reset-in-the-answer"
    }
    uses = [("", cell.declared) for cell in cells]
    assert {loss for _, use in uses for loss in use} == {"attempts[twice]", "cancelled[open]"}
    assert [loss for _, loss, _ in unused(uses)] == ["cancelled[open]"]


def test_each_wire_has_one_answer_as_a_stream_and_one_unary() -> None:
    with client("asks_again") as adapter:
        items = planned(adapter, "openai")
    chosen = {(each.recorded.cassette, each.streamed) for each in items}

    assert chosen == {
        ("openai/text", True),
        ("openai/responses-whole", False),
        ("openai/chat-text", True),
        ("openai/chat-whole", False),
    }
    assert all(each.begun for each in items if each.streamed)


def test_an_adapter_that_hangs_before_its_request_is_an_error() -> None:
    with client("asks_again") as adapter:
        hung = replace(
            adapter, ask_failing=lambda service: FaultReaction((), Transcript(), "it hung for 1 s")
        )
        cells = [*run_plan(planned(hung, "openai", "rate-limited"), [hung])]

    assert {cell.verdict for cell in cells} == {"error"}
    assert {cell.reason for cell in cells} == {"it hung for 1 s"}


def test_a_long_stream_is_read_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    event = b'data: {"candidates": [{"content": {"parts": [{"text": "%d "}]}%s}]}\n\n'
    events = [
        event % (number, b', "finishReason": "STOP"' * (number == 4_999)) for number in range(5_000)
    ]
    request = Request(
        "POST", "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent"
    )
    exchange = Exchange(
        request,
        200,
        {},
        ((None, b"".join(events)),),
        "complete",
        provider="gemini-api",
        streamed=True,
    )
    read, readings = Provider.read_facts, []

    def read_facts(self: Provider, body: bytes, answer: Answer, end: End) -> WireFacts:
        readings.append(len(body))
        return read(self, body, answer, end)

    monkeypatch.setattr(Provider, "read_facts", read_facts)
    with client("asks_again") as adapter:
        first, *_ = plan_faults(SERVICE_FAULTS, [JudgedExchange("long", 1, exchange)], adapter)

    assert len(readings) < 20
    assert 0 < len(first.begun) < len(first.text)
    assert abs(2 * len(first.begun) - len(first.text)) < 20
