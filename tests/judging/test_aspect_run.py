"""Judges many exchanges: the cuts of each, and whether it has a second turn."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from harness.adapters import AdapterError, RunOptions
from harness.adapters.adapter import Output
from harness.facts import Entry, Finish, Raised, Text, Transcript, read_losses
from harness.judging.aspect_run import (
    JudgedCuts,
    JudgedExchange,
    plan_answers,
    plan_second_turns,
)
from harness.judging.judge_results import AdapterResults, JudgeResults
from harness.judging.run import run_plan, unused
from harness.report import render_index
from harness.report.aspect_text import results_text
from harness.report.judge_run import run_of
from harness.stream.exchange import Exchange
from tests.security.samples import exchange
from tests.support.facts_adapters import facts_adapter

CALL = (
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {%b"args": {"a": 1}}}]},'
    b' "finishReason": "STOP"}]}\n\n'
)
STREAMED = (
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "partialArgs":'
    b' [{"jsonPath": "$.a", "stringValue": "b"}], "willContinue": true}},'
    b' {"functionCall": {"name": "f"}}]}, "finishReason": "STOP"}]}\n\n'
)


@pytest.mark.parametrize(
    ("name", "asked", "verdict"), [(b"", [], "not_asked"), (b'"name": "f", ', ["f"], "lost")]
)
def test_an_answer_with_a_nameless_call_has_no_second_turn(
    name: bytes, asked: list[str], verdict: str
) -> None:
    requests: list[str] = []

    def ask_again(answer: Exchange, options: RunOptions) -> bytes:
        requests.append("f")
        return b'{"contents": []}'

    adapter = replace(facts_adapter(), second_request=ask_again)
    [cell] = run_plan(
        plan_second_turns([JudgedExchange("calls", 1, exchange(CALL % name))]), [adapter]
    )
    assert (cell.aspects["calls"], requests) == (verdict, asked)


@pytest.mark.parametrize(
    ("sent", "doubles", "verdict"),
    [
        (2**53 + 1, True, "kept"),
        (2**53, True, "not_asked"),
        (2**53, False, "wrong"),
        (2**53 + 2, True, "wrong"),
    ],
)
def test_a_language_with_only_doubles_may_round_what_it_sends_back(
    sent: int, doubles: bool, verdict: str
) -> None:
    body = CALL.replace(b'{"a": 1}', b'{"a": %d}' % (2**53 + 1)) % b'"name": "f", '
    parts = [
        {"functionCall": {"name": "f", "args": {"a": sent}}},
        {"functionResponse": {"name": "f", "response": {"output": "result 1"}}},
    ]
    roles = zip(("model", "user"), parts, strict=True)
    contents = [{"role": role, "parts": [part]} for role, part in roles]
    second = json.dumps({"contents": contents}).encode()
    adapter = facts_adapter(lambda transcript: replace(transcript, doubles=doubles))
    adapter = replace(adapter, second_request=lambda answer, options: second)
    [cell] = run_plan(plan_second_turns([JudgedExchange("calls", 1, exchange(body))]), [adapter])
    assert cell.aspects["calls"] == verdict
    assert ("results" in cell.aspects) is (verdict != "wrong")


@pytest.mark.parametrize(
    ("losses", "verdict", "unshown"),
    [
        ("", "lost", ()),
        ("other signatures", "not_carried", ()),
        ("other_signatures", "not_carried", ()),
        ("text", "lost", ("text",)),
    ],
)
def test_a_loss_of_the_second_turn_may_be_declared(
    losses: str, verdict: str, unshown: tuple[str, ...]
) -> None:
    part = b'{"text": "Hi", "thoughtSignature": "QUJD"}'
    body = b'{"candidates": [{"content": {"parts": [%s]}, "finishReason": "STOP"}]}'
    content = b"data: " + body % part + b"\n\n"
    turns = (("model", "Hi"), ("user", "Go on."))
    contents = [{"role": role, "parts": [{"text": text}]} for role, text in turns]
    second = json.dumps({"contents": contents}).encode()
    adapter = replace(
        facts_adapter(), losses=read_losses(losses), second_request=lambda answer, options: second
    )
    item = JudgedExchange("signed", 1, exchange(content))
    [cell] = run_plan(plan_second_turns([item]), [adapter])
    assert cell.aspects["other_signatures"] == verdict
    assert tuple(loss for _, loss, _ in unused([("", cell.declared)])) == unshown


@pytest.mark.parametrize(("declared", "verdict"), [("f", "lost"), ("g", "not_asked")])
def test_an_adapter_may_answer_the_call_of_an_unknown_tool(declared: str, verdict: str) -> None:
    tools = [{"functionDeclarations": [{"name": declared}]}]
    recorded = exchange(CALL % b'"name": "f", ')
    assert recorded.request is not None
    request = replace(recorded.request, body=json.dumps({"tools": tools}).encode())
    parts = [
        {"functionCall": {"name": "f", "args": {"a": 1}}},
        {"functionResponse": {"name": "f", "response": {"error": "there is no such tool"}}},
    ]
    roles = zip(("model", "user"), parts, strict=True)
    contents = [{"role": role, "parts": [part]} for role, part in roles]
    second = json.dumps({"contents": contents}).encode()
    adapter = replace(facts_adapter(), second_request=lambda answer, options: second)
    [cell] = run_plan(
        plan_second_turns([JudgedExchange("calls", 1, replace(recorded, request=request))]),
        [adapter],
    )
    assert cell.aspects["results"] == verdict


def test_an_error_of_the_first_turn_is_no_error_of_the_second() -> None:
    def fail(answer: Exchange, options: RunOptions) -> Output:
        raise AdapterError("no fact")

    adapter = replace(
        facts_adapter(), run=fail, second_request=lambda answer, options: "it has no second turn"
    )
    [cell] = run_plan(
        plan_second_turns([JudgedExchange("calls", 1, exchange(STREAMED))]), [adapter]
    )
    assert (cell.verdict, cell.reason) == ("not-run", "the first turn is an error")
    assert cell.aspects == {"calls": "not_asked"}


@pytest.mark.parametrize(
    ("raised", "error"), [(None, "no second request"), (Raised("KeyError", "'args'"), "")]
)
def test_an_adapter_that_sends_no_second_request_is_an_error(
    raised: Raised | None, error: str
) -> None:
    def sends_none(answer: Exchange, options: RunOptions) -> bytes | str:
        raise AdapterError("no second request")

    adapter = facts_adapter(lambda transcript: replace(transcript, raised=raised))
    adapter = replace(adapter, second_request=sends_none)
    [cell] = run_plan(
        plan_second_turns([JudgedExchange("calls", 1, exchange(CALL % b'"name": "f", '))]),
        [adapter],
    )
    shown = cell.reason if cell.verdict == "error" else ""
    assert shown == error, "an error of the first turn is none of the second"
    assert cell.verdict == ("error" if error else "not-run")


@pytest.mark.parametrize(
    ("sizes", "asked"),
    [((40, 40, 40), [3, 1, 60]), ((120,), [1, 60]), ((120, 0), [2, 60]), ((2,) * 60, [60, 1])],
)
def test_cuts_in_the_same_places_are_asked_for_once(
    sizes: tuple[int, ...], asked: list[int]
) -> None:
    reads: list[int] = []

    def run(answer: Exchange, options: RunOptions) -> Output:
        reads.append(len(answer.reads))
        return facts_adapter().run(answer, options)

    body = (CALL.replace(b'{"a": 1}', b"{}") % b'"name": "f", ').ljust(120, b"\n")
    assert len(body) == 120
    whole = exchange(body)
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    cut = replace(
        whole,
        reads=tuple((None, body[end - size : end]) for size, end in zip(sizes, ends, strict=True)),
    )
    adapter = replace(facts_adapter(), run=run)
    [cell] = run_plan(
        plan_answers([JudgedExchange("calls", 1, cut)], ("recorded", "whole", "pieces")), [adapter]
    )
    assert (cell.verdict, reads) == ("passed", asked)


@pytest.mark.parametrize(("is_at_border", "cuts"), [(True, "recorded"), (False, "")])
def test_a_fault_at_a_border_of_reads_is_told_from_one_of_the_answer(
    is_at_border: bool, cuts: str
) -> None:
    silent = facts_adapter(lambda transcript: replace(transcript, entries=()))

    def run(answer: Exchange, options: RunOptions) -> Output:
        is_right = is_at_border and len(answer.reads) == 1
        return (facts_adapter() if is_right else silent).run(answer, options)

    body = CALL % b'"name": "f", '
    read = exchange(body)
    cut = replace(read, reads=((None, body[:9]), (None, body[9:])))
    [cell] = run_plan(
        plan_answers([JudgedExchange("calls", 1, cut)]), [replace(facts_adapter(), run=run)]
    )
    assert {finding.place.cuts for finding in cell.red_findings} == {cuts}
    (lost,) = [finding for finding in cell.red_findings if finding.subject == "calls"]
    assert lost.sentence.endswith("the fault is at a border of reads") is is_at_border


def test_one_stream_of_each_shape_is_judged_in_pieces() -> None:
    """Only if no recorded read ends inside a message."""
    asked: dict[bytes, list[int]] = {}

    def run(answer: Exchange, options: RunOptions) -> Output:
        asked.setdefault(answer.body, []).append(len(answer.reads))
        return facts_adapter().run(answer, options)

    body = CALL % b'"name": "f", '
    other, unary = body.replace(b"{", b"{ "), body.replace(b"{", b"{  ")
    accented = body.replace(b'"f"', '"é"'.encode())
    inside = replace(exchange(b" " + body), reads=((None, b" "), (None, body)))
    items = [
        exchange(body),
        exchange(other),
        replace(exchange(unary), streamed=False),
        exchange(accented),
        inside,
    ]
    cells = run_plan(
        plan_answers(
            [JudgedExchange("calls", number, item) for number, item in enumerate(items, 1)]
        ),
        [replace(facts_adapter(), run=run)],
    )
    assert len([*cells]) == 5
    assert {len(reads) for reads in asked.values()} == {1}
    counts = [asked[item.body][0] for item in items]
    assert (counts[0] > 2, counts[1:3], counts[3] > 2, counts[4]) == (True, [1, 1], True, 2)


def test_a_fault_at_a_border_is_found_in_a_stream_without_one() -> None:
    silent = facts_adapter(lambda transcript: replace(transcript, entries=()))

    def run(answer: Exchange, options: RunOptions) -> Output:
        return (facts_adapter() if len(answer.reads) == 1 else silent).run(answer, options)

    item = JudgedExchange("calls", 1, exchange(CALL % b'"name": "f", '))
    [cell] = run_plan(plan_answers([item]), [replace(facts_adapter(), run=run)])
    (lost,) = [finding for finding in cell.red_findings if finding.subject == "calls"]
    assert lost.sentence.startswith("calls lost: with --cuts pieces: ")


def test_an_answer_that_could_not_be_judged_is_not_judged_again() -> None:
    asked: list[int] = []

    def run(answer: Exchange, options: RunOptions) -> Output:
        asked.append(len(answer.reads))
        raise AdapterError("did not return within 60 s")

    body = CALL % b'"name": "f", '
    cut = replace(exchange(body), reads=((None, body[:9]), (None, body[9:])))
    [cell] = run_plan(
        plan_answers([JudgedExchange("calls", 1, cut)]), [replace(facts_adapter(), run=run)]
    )
    assert (cell.verdict, asked) == ("error", [2])


@pytest.mark.parametrize(("streamed", "unary"), [(True, False), (False, True), (None, False)])
def test_the_cells_of_a_unary_answer_are_marked(streamed: bool | None, unary: bool) -> None:
    adapter = replace(facts_adapter(), second_request=lambda answer, options: "no second turn")
    item = JudgedExchange("calls", 1, replace(exchange(CALL % b'"name": "f", '), streamed=streamed))
    [first] = run_plan(plan_answers([item]), [adapter])
    [second] = run_plan(plan_second_turns([item]), [adapter])
    assert (first.unary, second.unary) == (unary, unary)


def test_a_cell_has_a_note_about_the_requests_of_its_adapter() -> None:
    def asks_again(transcript: Transcript) -> Transcript:
        conflict = Raised("HTTPError", "Conflict", 409)
        return replace(transcript, raised=conflict, asked_again=2, notes=("alt sse",))

    item = JudgedExchange("calls", 1, exchange(CALL % b'"name": "f", '))
    [cell] = run_plan(plan_answers([item]), [facts_adapter(asks_again)])
    assert cell.requests == "asked again 2×; alt sse"
    sentences = {finding.subject: finding.sentence for finding in cell.findings}
    assert sentences["needless_error"] == (
        "needless error raised: asked again 2×, the adapter reports an error: 409 HTTPError:"
        " Conflict; the next message of the wire is the first with the field candidates"
    )
    results = AdapterResults("shop", "shop:replay", "1", cells=(cell,))
    assert "  requests: asked again 2×; alt sse\n" in results_text(results)
    assert "Requests: asked again 2×; alt sse." in render_index(run_of(JudgeResults((results,))))
    [quiet] = run_plan(plan_answers([item]), [facts_adapter()])
    assert quiet.requests == ""


MALFORMED = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "I look."}]}}]}\n\n'
    b'data: {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "f(x=1"}],'
    b' "usageMetadata": {"promptTokenCount": 7, "totalTokenCount": 7}}\n\n'
)


@pytest.mark.parametrize(
    ("body", "times", "text", "red"),
    [
        (MALFORMED, 1, "I look.", set()),
        (MALFORMED, 1, "I", {"text"}),
        (MALFORMED, 1, "", set()),  # it gives its events only after the last answer
        (MALFORMED, 1, "I look. And more.", {"text"}),
        (MALFORMED, 2, "I look.", {"needless_error", "finish", "finish_message"}),
        (MALFORMED.replace(b"MALFORMED_FUNCTION_CALL", b"STOP"), 1, "I look.", {"needless_error"}),
    ],
)
def test_asking_again_once_after_a_malformed_answer_is_free(
    body: bytes, times: int, text: str, red: set[str]
) -> None:
    def asks_again(transcript: Transcript) -> Transcript:
        conflict = Raised("HTTPError", "Conflict", 409)
        entries = (Entry(None, (Text(text),)), Entry(None, (Text("Only one request"),)))
        return Transcript(entries, conflict, asked_again=times, entries_of_first_request=1)

    [cell] = run_plan(
        plan_answers([JudgedExchange("calls", 1, exchange(body))]), [facts_adapter(asks_again)]
    )
    failed = {finding.subject for finding in cell.red_findings}
    assert failed >= red
    assert bool(failed) == bool(red)


def test_a_row_has_the_declared_losses_that_concern_it_whatever_the_cuts() -> None:
    def in_pieces(answer: Exchange, options: RunOptions) -> Output:
        end = (Finish("stop"),) if len(answer.reads) > 1 else ()
        return Output.of_transcript(Transcript((Entry(None, (Text("Hi"), *end)),)))

    body = (
        b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]}'
    )
    losses = read_losses("text, media, finish")
    adapter = replace(facts_adapter(), run=in_pieces, losses=losses)
    item = JudgedExchange("text", 1, exchange(body + b"\n\n"))
    both: list[list[JudgedCuts]] = [["pieces", "whole"], ["whole", "pieces"]]
    for cuts in both:
        [row] = run_plan(plan_answers([item], cuts), [adapter])
        assert row.declared == {"text": False, "finish": True}
