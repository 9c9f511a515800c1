"""Findings: the sentence and the group of every reason, whatever the values are."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from harness.adapters import (
    ADAPTERS,
    Adapter,
    AdapterError,
    PlayedSession,
    RunOptions,
    user_adapter,
)
from harness.adapters.adapter import FACTS, Output
from harness.cassettes import Cassette
from harness.facts import (
    ACCEPTED,
    RUN,
    Call,
    Cancelled,
    Entry,
    Error,
    Fact,
    Finding,
    Finish,
    Interrupted,
    OutputTranscript,
    Place,
    Raised,
    Text,
    Transcript,
    Usage,
    WireFacts,
    call_value,
    detail,
    error_finding,
    json_of_fact,
    judge_answer,
    read_losses,
)
from harness.facts.detail import Fields, InvalidCall, Signature, StatedTwice
from harness.facts.finding import MAX_SIDE, REASONS
from harness.judging.aspect_run import without_unrequested
from harness.judging.aspects import compare_output, judge_exchange
from harness.judging.judge import Cell, judge
from harness.judging.laws import LAWS
from harness.judging.laws.judge import LawCell, judge_law
from harness.judging.questions.comparison import found
from harness.judging.reading import Reading
from harness.judging.rows import CaseRow, ExchangeRow, decode, encode
from harness.pipeline.replay import replay
from harness.providers.gemini.facts import read_messages
from harness.providers.second_turn import result_with_image
from harness.specs.models import Case
from harness.stream.exchange import Exchange, Origin, Request
from harness.stream.json_codec import Json
from harness.stream.websocket import Message, Side, write_message
from tests.support.facts_adapters import facts_adapter
from tests.support.second_turn import judge_second_turn
from tests.support.wire_answers import answer, call_part, facts_of_body, frame, made_facts, wire_of

SIGNED = "c2lnbmF0dXJlIG9mIHRoZSBmaXJzdCBjYWxs"
OF_TEXT = "c2lnbmF0dXJlIG9mIHRoZSB0ZXh0"
MADE = "bm90IG9mIHRoZSB3aXJl"
ERROR = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Overloaded."}}
BLOCK = {"promptFeedback": {"blockReason": "SAFETY"}}
RAISED = Raised("KeyError", "'args'")


def judged(
    wire: Sequence[dict[str, Any]],
    *facts: Fact,
    native: Json = None,
    raised: Raised | None = None,
    again: bool = False,
    asked_again: int = 0,
    skipped: str = "",
    **options: Any,
) -> Iterable[Finding]:
    """The findings of an adapter that states these facts, on an answer with these messages."""
    transcript = Transcript((Entry(native, facts),), raised, skipped, asked_again)
    return judge_answer(*answer(*wire, **options), transcript, again).values()


def stop(*parts: dict[str, Any], reason: str = "STOP") -> list[dict[str, Any]]:
    return [frame(*parts, finishReason=reason)]


def text(content: str = "Hello there.") -> dict[str, Any]:
    return {"text": content}


def counted(**counts: int) -> list[dict[str, Any]]:
    return [frame(text("a"), finishReason="STOP") | {"usageMetadata": counts}]


def wire_exchange(*messages: dict[str, Any]) -> Exchange:
    body = "".join(f"data: {json.dumps(message)}\n\n" for message in messages)
    return Exchange(
        None, 200, {}, ((None, body.encode()),), "complete", provider="gemini-api", generates=True
    )


STATED: list[Fact] = [
    *(Signature("call", SIGNED), InvalidCall("f", "{"), detail.Result(False, "done")),
    Fields(frozenset({"newField"})),
]
OF_MODEL = made_facts(*STATED)


def of_model(kind: type[Fact], *facts: Fact) -> Iterable[Finding]:
    """The findings of payloads of a known event model that have other facts of a kind."""
    stated = [*(fact for fact in STATED if not isinstance(fact, kind)), *facts]
    transcript = Transcript((Entry(SIGNED, tuple(stated)),), is_complete=True)
    return judge_answer(*wire_of(OF_MODEL, "complete"), transcript).values()


HELLO = wire_exchange(*stop(text()))
TWO_BLOCKS = wire_exchange(
    frame(text("Hello ")), frame(call_part("f", "a", x=1)), *stop(text("there."))
)


def exact(change: Callable[[list[Any]], object], exchange: Exchange = TWO_BLOCKS) -> list[Finding]:
    """The findings of a golden case whose payloads the adapter has changed."""
    expected = replay(exchange)
    given = json.loads(json.dumps(expected))
    change(given)
    return list(result_of_case(given, expected, exchange).findings)


def result_of_case(given: Json, expected: Json, exchange: Exchange) -> CaseRow:
    case = Case(
        case="c",
        requirement="r",
        features=("text.streaming",),
        source="https://s.example",
        cassette="x",
        provider="gemini-api",
        expect={"unified-llm": expected},
    )
    cassette = Cassette((exchange,), Origin("written"))
    adapter = user_adapter("mine", "unified-llm", lambda *_: Output(given))
    return judge(Cell(case, "s.yaml", "mine", "unified-llm"), lambda _: cassette, adapter).result


def of_adapter(adapter: Adapter, exchange: Exchange = HELLO) -> list[Finding]:
    return judge_exchange(Reading(exchange), adapter).findings


def hung() -> Adapter:
    def run(exchange: Exchange, options: RunOptions) -> Output:
        raise AdapterError("event 3: no fact", "no fact")

    return user_adapter("mine", FACTS, run)


def without_facts(transcript: Transcript) -> Transcript:
    return Transcript((Entry({}, (Finish("STOP"),)),))


def declared() -> list[Finding]:
    adapter = facts_adapter(without_facts)
    return of_adapter(replace(adapter, losses=read_losses("text")))


SIGNED_CALL = wire_exchange(*stop({**call_part("f", "a", x=1), "thoughtSignature": SIGNED}))


def without_session() -> Adapter:
    """A user's adapter that makes our payloads of anthropic. Our session has the signatures."""
    ours = ADAPTERS["anthropic"]
    return user_adapter(
        "mine", "anthropic", lambda exchange, _: Output(ours.output(exchange).items)
    )


def in_two_pieces(items: list[Any]) -> None:
    items[2:3] = [{**items[2], "delta": piece} for piece in ("Hel", "lo ")]


def broken_law() -> list[Finding]:
    """The findings of law 7: bad input is answered."""
    adapter = user_adapter("mine", "unified-llm", lambda *_: Output([]))
    law = LawCell(LAWS[6], "x", 1, HELLO, adapter, Origin("written"))
    return list(judge_law(law).result.findings)


ANSWER = read_messages(
    stop(
        {"text": "I look. ", "thoughtSignature": OF_TEXT},
        {**call_part("f", "a", x=1), "thoughtSignature": SIGNED},
        call_part("g", None),
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH", "args": {}}},
    )
)
Parts = list[dict[str, Any]]


def after_signatures(fact: Fact) -> Fact:
    """The beginning of a call, as on a wire that keeps the signatures before it."""
    if isinstance(fact, detail.CallBegins):
        return detail.CallBegins(fact.id, fact.name, fact.signature, True)
    return fact


def sent(
    change: Callable[[Parts, Parts], object] = lambda model, results: None,
    facts: WireFacts = ANSWER,
    given: Sequence[bool] = (),
    exact: Sequence[str] | None = None,
    **members: Json,
) -> Iterable[Finding]:
    """The findings of a request after the answer, whose parts are changed."""
    model: Parts = [
        {"text": "I look. ", "thoughtSignature": OF_TEXT},
        {**call_part("f", "a", x=1), "thoughtSignature": SIGNED},
        call_part("g", "own"),
        {"toolCall": {"id": "t1", "toolType": "GOOGLE_SEARCH", "args": {}}},
    ]
    results: Parts = [
        {"functionResponse": {"id": "a", "name": "f", "response": {"output": "result 1"}}},
        {"functionResponse": {"id": "own", "name": "g", "response": {"output": "result 2"}}},
    ]
    change(model, results)
    contents = [{"role": "model", "parts": model}, {"role": "user", "parts": results}]
    body = {"contents": contents, **members}
    return judge_second_turn(facts, body, given=given, exact=exact).values()


def stored(**item: Json) -> Iterable[Finding]:
    call = {"type": "function_call", "name": "f", "id": "a", "arguments": {"x": 1}}
    return judge_second_turn(
        ANSWER, {"previous_interaction_id": "i", "input": [{**call, **item}]}
    ).values()


def chat(*messages: dict[str, Any]) -> Iterable[Finding]:
    """The findings of a request of Chat Completions, which names calls by their ids."""
    facts = read_messages(stop(call_part("f", None)))
    return judge_second_turn(facts, {"messages": list(messages)}, exact=()).values()


def messages(
    change: Callable[[Parts, Parts], object], given: Sequence[bool] = (True,)
) -> Iterable[Finding]:
    """The findings of a request of the Messages API that is changed in place."""
    blocks: Parts = [
        {"type": "thinking", "thinking": "Hm.", "signature": SIGNED},
        {"type": "text", "text": "I look."},
        {"type": "thinking", "thinking": "So.", "signature": OF_TEXT},
        {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
    ]
    answer = {"type": "message", "content": blocks, "stop_reason": "tool_use"}
    facts = facts_of_body(json.dumps(answer).encode(), "anthropic")
    results: Parts = [{"type": "tool_result", "tool_use_id": "a", "content": "result 1"}]
    change(blocks, results)
    turns = (("assistant", blocks), ("user", results))
    body = {"messages": [{"role": role, "content": content} for role, content in turns]}
    return judge_second_turn(facts, body, "anthropic", given=given).values()


def output(number: int, content: Json) -> Callable[[Parts, Parts], object]:
    return lambda model, results: results[number]["functionResponse"].update(response=content)


def image_at_another_result(model: Parts, results: Parts) -> None:
    text, image = result_with_image(1)
    data = base64.b64encode(image).decode()
    results[0]["functionResponse"]["response"] = {"output": text}
    results[1]["functionResponse"]["parts"] = [{"inlineData": {"data": data}}]


def text_signature_at_call(model: Parts, results: Parts) -> None:
    """The signature of the text is at a call too, and only then is it more than a lost one."""
    model[2]["thoughtSignature"] = OF_TEXT


def call_of(part: dict[str, Any]) -> dict[str, Any]:
    call: dict[str, Any] = part["functionCall"]
    return call


TWO_CALLS = stop(call_part("f", "a1", x=1), call_part("g", "b2"))
PIECE = {"jsonPath": "$.path", "stringValue": "notes.txt", "willContinue": False}
STREAMED = [
    frame({"functionCall": {"name": "read", "willContinue": True}}),
    frame({"functionCall": {"partialArgs": [PIECE], "willContinue": True}}),
    *stop({"functionCall": {}}),
]
STOP = Finish("STOP")
F, G = Call("a1", "f", {"x": 1}), Call("b2", "g")

REFUSALS: list[Json] = [
    {"rule": "a", "message": "No.", "refused": "A thing.", "source": "https://a.example/1"},
    {
        "rule": "b",
        "message": "Never.",
        "refused": "Another thing.",
        "source": "https://a.example/2",
    },
]
SESSION: list[tuple[Side, Json]] = [
    ("client", {"setup": {"model": "m"}}),
    ("server", {"serverContent": {"outputTranscription": {"text": "Hello."}}}),
    (
        "server",
        {"toolCall": {"functionCalls": [{"id": i, "name": "f", "args": {}} for i in "ab"]}},
    ),
    ("client", {"toolResponse": {"functionResponses": [{"id": "a", "name": "f"}]}}),
    ("server", {"toolCallCancellation": {"ids": ["b"]}}),
    ("server", {"serverContent": {"interrupted": True}}),
    ("server", {"serverContent": {"turnComplete": True}}),
]
"""The side and the content of each message."""
IN_SESSION: list[Fact] = [
    OutputTranscript("Hello."),
    Call("a", "f"),
    Call("b", "f"),
    Cancelled("b"),
    Interrupted(),
    Finish("turnComplete"),
]
"""The facts of a faithful adapter."""
RESULT = {"id": "a", "name": "f", "response": {"output": "result 1"}}


def in_session(
    *without: type[Fact],
    results: Sequence[Json] = (RESULT,),
    played: bool = True,
    late: str = "",
    unexpected: str = "",
    opened_again: bool = False,
    raised: bool = False,
) -> list[Finding]:
    """The findings of an adapter that gives the facts of the session without some."""
    reads = [
        (None, write_message(Message(side, json.dumps(content).encode())))
        for side, content in SESSION
    ]
    sent = {"toolResponse": {"functionResponses": [*results]}}
    session = PlayedSession(
        "/",
        (Message("client", json.dumps(sent).encode()),),
        played,
        late,
        unexpected,
        opened_again,
    )
    facts = [fact for fact in IN_SESSION if not isinstance(fact, without)]
    entries = [Entry(json_of_fact(fact), (fact,)) for fact in facts]
    error = Raised("ValueError", "No more.") if raised else None
    output = replace(Output.of_transcript(Transcript(tuple(entries), error)), played=session)
    reading = Reading(Exchange(None, 101, {}, tuple(reads), "complete", provider="live"))
    return [*compare_output(reading, ADAPTERS["unified-llm"], output).aspects.values()]


EXAMPLES: dict[str, tuple[Callable[[], Iterable[Finding]], str]] = {
    # an exact comparison, a law, a cell that was not judged
    "missing": (lambda: exact(lambda items: items.pop()), ""),
    "extra": (lambda: exact(lambda items: items.append({"type": "more"})), ""),
    "changed": (lambda: exact(lambda items: items[2].update(delta="Bye")), ""),
    "moved": (
        lambda: exact(lambda items: [item.update(text_id="text_3") for item in items[6:9]]),
        "text_ ids +1 from here",
    ),
    "recut": (
        lambda: exact(in_two_pieces),
        "same text, cut differently: 1 piece expected, 2 got",
    ),
    "law": (broken_law, f"with an emptied field, gives no payload; body {HELLO.body!r}"),
    "asked": (
        lambda: [found("settings", "lost", "temperature 0.0 is not sent", 0.0)],
        "temperature 0.0 is not sent",
    ),
    "unjudged": (lambda: of_adapter(hung()), "event 3: no fact"),
    # not asked or not carried
    "not-on-wire": (
        lambda: judged(stop(text()), Text("Hello"), STOP, unasked={"text": "not-on-wire"}),
        "the wire that the adapter asked does not have it",
    ),
    "not-requested": (
        lambda: judged(stop(text()), Text("Hello"), STOP, unasked={"text": "not-requested"}),
        "the recorded request asks for it, the adapter's does not",
    ),
    "undeclared": (
        lambda: without_unrequested(
            [Finding("server_tools", "lost")],
            replace(HELLO, request=Request("POST", "https://a.example", {}, b"{}")),
            b"{}",
        ),
        "the recorded request declares no such tool",
    ),
    "too-deep": (
        lambda: judged(stop(text()), Text("Hello"), STOP, unasked={"text": "too-deep"}),
        "a call's arguments nest too deeply to be compared",
    ),
    "in-header": (
        lambda: of_adapter(
            facts_adapter(lambda transcript: transcript),
            replace(HELLO, headers={"X-Gemini-Service-Tier": ["priority"]}),
        ),
        "it is in a header of the answer, and the adapter gets only the body",
    ),
    "default-tier": (
        lambda: judged(
            [*stop(text("a")), {"usageMetadata": {"serviceTier": "standard"}}], Text("a"), STOP
        ),
        "the answer has the default tier, which everybody pays",
    ),
    "skipped": (lambda: judged(stop(text()), skipped="only streams"), "only streams"),
    "thoughts-not-requested": (
        lambda: judged(stop({"text": "Hm", "thought": True}), STOP, asks_thoughts=False),
        "the adapter can't ask for thoughts",
    ),
    "asked-again": (
        lambda: judged(stop(text("a"), reason="CONTINUATION"), Text("a"), again=True),
        "the adapter asked again after an answer that is to be continued or is malformed",
    ),
    "variant": (
        lambda: [Finding("calls", "not_asked", "variant", ["arguments as text"])],
        "it depends on a form that no server documents: arguments as text",
    ),
    "left-unread": (
        lambda: [Finding("calls", "not_asked", "left-unread", ["output[].name"])],
        "the reader left output[].name unread",
    ),
    "declared": (declared, "declared as text"),
    "in-session": (
        lambda: of_adapter(without_session(), SIGNED_CALL),
        "the payloads of anthropic do not have it without their session",
    ),
    "nothing-recorded": (
        lambda: of_adapter(facts_adapter(), replace(HELLO, reads=(), streamed=True)),
        "nothing recorded",
    ),
    "unread": (
        lambda: of_adapter(
            facts_adapter(lambda transcript: Transcript()),
            replace(HELLO, reads=((1.0, b"<html>"),)),
        ),
        "nothing of this answer was read, and the adapter reports nothing",
    ),
    "nameless-call": (
        lambda: judged(stop(call_part("", None, x=1)), STOP),
        "the wire has a call without a name, which nobody can run",
    ),
    # text and calls
    "text-from-start": (
        lambda: judged(stop(text()), Text("there."), STOP),
        'at character 0 the wire has "Hello there.", the adapter "there."',
    ),
    "text": (
        lambda: judged(stop(text()), Text("Hello."), STOP),
        'at character 5 the wire has " there.", the adapter "."',
    ),
    "comes-late": (
        lambda: judge_answer(
            *wire_of(read_messages(stop(text(), call_part("f", None))), "complete"),
            Transcript((Entry(1, (Call(None, "f"),)), Entry(2, (Text("Hello there."), STOP)))),
        ).values(),
        '"Hello there." comes after call 1, but the wire has it before',
    ),
    "text-doubled": (
        lambda: judged(
            stop(text("Hello"), text(" there, you.")),
            Text("Hello"),
            Text("Hello there, you."),
            STOP,
        ),
        'at character 5 the adapter gives "Hello" a second time',
    ),
    "call-twice": (lambda: judged(TWO_CALLS, F, F, G, STOP), "the call of f is given twice"),
    "arguments-in-pieces": (
        lambda: judged(STREAMED, Call(None, "read"), STOP, native=[PIECE]),
        "the arguments of read are passed on in pieces, not joined",
    ),
    "calls-missing": (lambda: judged(TWO_CALLS, G, STOP), '1 of 2 calls lost: f({"x": 1})'),
    "arguments": (
        lambda: judged(
            stop(call_part("save", None, code="x" * 50 + "if (a < b) {")),
            *(Call(None, "save", {"code": "x" * 50 + "if (a < b"}), STOP),
        ),
        'the arguments of save differ: the wire has "xxxif (a < b) {\\"}", the adapter "xxxif (a < b'
        '\\"}"',
    ),
    "calls": (
        lambda: judged(stop(call_part("alpha", None, x=1)), Call(None, "beta"), STOP),
        'the wire calls alpha({"x": 1}), the adapter beta({})',
    ),
    "calls-unreported": (
        lambda: judged(TWO_CALLS, G, STOP, native={"tool": {"name": "f", "input": '{"x": 1}'}}),
        '1 of 2 calls lost: f({"x": 1}); the native events have it: does the shim report it?',
    ),
    "call-made-whole": (
        lambda: judged(
            [*stop(text("a")), frame({"functionCall": {"name": "save", "args": '{"a": "b'}})],
            *(Text("a"), Call(None, "save", {"a": "b"}), STOP),
        ),
        'the wire has no whole object of arguments for save, only "{\\"a\\": \\"b"; the adapter'
        ' calls save({"a": "b"})',
    ),
    "calls-merged": (
        lambda: judged(TWO_CALLS, Call("a", "fg", '{"x": 1}'), STOP),
        '2 calls are merged into one: fg({"x": 1})',
    ),
    "shared-id": (
        lambda: judged(
            stop(call_part("f", None, x=1), call_part("f", "c", x=2)),
            *(Call("c", "f", {"x": 1}), Call("c", "f", {"x": 2}), STOP),
        ),
        "several calls have the id c; the wire does not repeat it",
    ),
    "ids-missing": (lambda: judged(TWO_CALLS, Call(None, "g"), STOP), "2 of 2 ids lost: a1"),
    "id-missing": (
        lambda: judged(TWO_CALLS, F, Call(None, "g"), STOP),
        "the id b2 of call 2 is nowhere",
    ),
    "id-of-another-call": (
        lambda: judged(TWO_CALLS, Call("b2", "f", {"x": 1}), Call("a1", "g"), STOP),
        "call 1 has the id b2 of another call",
    ),
    "id": (
        lambda: judged(TWO_CALLS, Call("c3", "f", {"x": 1}), G, STOP),
        "the id of call 1 is c3; the wire's is a1",
    ),
    "repeated-id-missing": (
        lambda: judged(
            stop(call_part("f", "same"), call_part("g", "same")),
            *(Call("1", "f"), Call("2", "g"), STOP),
        ),
        "the id same, which the wire repeats, is nowhere",
    ),
    # the end
    "no-client-runs": (
        lambda: judged(stop(call_part("f", None)), Call(None, "f"), Finish("end_turn")),
        "the adapter gives a call and reports end_turn, so no client runs the tool; expected"
        " tool_use",
    ),
    "only-stop": (
        lambda: judged(
            stop(call_part("f", None), reason="MAX_TOKENS"), Call(None, "f"), Finish("tool_calls")
        ),
        "the wire ends with MAX_TOKENS; the adapter reports only tool_calls",
    ),
    "no-finish": (
        lambda: judged(stop(text("a")), Text("a")),
        "the wire ends with STOP; the adapter gives no reason",
    ),
    "finish": (
        lambda: judged(stop(text("a"), reason="MAX_TOKENS"), Text("a"), Finish("stop")),
        "the wire ends with MAX_TOKENS; the adapter reports stop",
    ),
    "own-word": (
        lambda: judged(stop(text("a"), reason="BRAND_NEW"), Text("a"), native=["BRAND_NEW"]),
        "as the wire's own word",
    ),
    "error-for-finish": (
        lambda: judged(stop(reason="SAFETY"), Error(None, "SAFETY")),
        "the adapter reports an error",
    ),
    "invented-end": (
        lambda: judged([frame(text("a"))], Text("a"), Finish("stop")),
        "the wire gives no reason to end; the adapter reports stop",
    ),
    "silent-end": (
        lambda: judged([frame(text("a"))], Text("a"), end="cut", interrupted=True),
        "the answer is cut in the middle; the adapter does not report it",
    ),
    # counts
    "counts-invented": (
        lambda: judged(stop(text("a")), Text("a"), STOP, Usage(input=8)),
        "the wire has no counts; the adapter reports input 8",
    ),
    "counts-unreported": (
        lambda: judged(
            counted(promptTokenCount=10, candidatesTokenCount=5, totalTokenCount=15),
            *(Text("a"), STOP),
            native={"usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}},
        ),
        "the wire has input 10, output 5, thoughts none, total 15; the adapter reports input none,"
        " output none, thoughts none, total none; the native events have them: does the shim report them?",
    ),
    "counts": (
        lambda: judged(
            counted(promptTokenCount=10, candidatesTokenCount=5, totalTokenCount=15),
            *(Text("a"), STOP, Usage(input=10, output=6, total=16)),
        ),
        "the wire has input 10, output 5, thoughts none, total 15; the adapter reports input 10,"
        " output 6, thoughts none, total 16",
    ),
    "cached-count": (
        lambda: judged(
            counted(promptTokenCount=900, cachedContentTokenCount=640, totalTokenCount=900),
            *(Text("a"), STOP, Usage(input=900, total=900)),
        ),
        "the wire has 640 cached tokens, which are nowhere",
    ),
    "tool-use-count": (
        lambda: judged(
            counted(
                promptTokenCount=30,
                candidatesTokenCount=100,
                toolUsePromptTokenCount=50,
                totalTokenCount=180,
            ),
            *(Text("a"), STOP, Usage(input=30, output=100)),
        ),
        "the wire has 50 tokens of tool use, which no count has",
    ),
    # errors and refusals
    "block-not-named": (
        lambda: judged([BLOCK], raised=RAISED),
        "the prompt is blocked (SAFETY); the adapter reports KeyError: 'args', which does not name"
        " the block",
    ),
    "block": (
        lambda: judged([BLOCK], Finish("stop")),
        "the prompt is blocked (SAFETY); the adapter reports stop",
    ),
    "no-error": (
        lambda: judged([ERROR]),
        "the wire reports 503 UNAVAILABLE Overloaded.; the adapter reports no error",
    ),
    "no-error-but-end": (
        lambda: judged([ERROR], STOP),
        "the wire reports 503 UNAVAILABLE Overloaded.; the adapter reports no error and ends with"
        " STOP",
    ),
    "other-error": (
        lambda: judged([ERROR], raised=RAISED),
        "the wire reports 503 UNAVAILABLE Overloaded.; the adapter reports KeyError: 'args'",
    ),
    "other-error-class": (
        lambda: judged([ERROR], Error("invalid_request_error", "Overloaded.")),
        "the wire reports 503 UNAVAILABLE Overloaded.; the adapter reports invalid_request_error"
        " Overloaded., an error of another class",
    ),
    "retried": (lambda: judged([ERROR], raised=RAISED, asked_again=2), "asked again 2×"),
    "needless": (
        lambda: judged(stop(text("a")), raised=RAISED),
        "the adapter reports an error: KeyError: 'args'",
    ),
    "needless-retried": (
        lambda: judged(stop(text("a")), raised=RAISED, asked_again=2),
        "asked again 2×, the adapter reports an error: KeyError: 'args'",
    ),
    "beside-fault": (
        lambda: judged([*counted(promptTokenCount=3), ERROR], Text("a"), Error(503, "")),
        "the answer has an error, a refusal, a fault or no end, beside which it is not asked",
    ),
    "thoughts-beside-output": (
        lambda: judged(
            counted(promptTokenCount=10, candidatesTokenCount=20, thoughtsTokenCount=99),
            *(Text("a"), STOP, Usage(input=10, output=20 - 99, thoughts=99)),
        ),
        "the adapter reports output 20 and thoughts 99, but the output of its wire includes the"
        " thoughts",
    ),
    "sum-as-total": (
        lambda: judged(
            counted(promptTokenCount=3, candidatesTokenCount=2, totalTokenCount=9),
            *(Text("a"), STOP, Usage(input=3, output=2, total=5)),
        ),
        "the wire's total has 4 more tokens, which no count has; the adapter's is the sum",
    ),
    "only-doubles": (
        lambda: judge_answer(
            *answer(*stop(call_part("f", None, x=2**53 + 1))),
            Transcript((Entry(None, (Call(None, "f", {"x": 2**53}), STOP)),), doubles=True),
        ).values(),
        "all numbers of the adapter's language are doubles, which can't hold an integer of the wire",
    ),
    "thoughts-in-text": (
        lambda: judge_answer(
            *wire_of(
                made_facts(text="a", thoughts="b", tagged="<t>b</t>a", finish="stop"), "complete"
            ),
            Transcript((Entry(None, (Text("<t>b</t>a"), STOP)),)),
        ).values(),
        "they are in the text, between their tags, as on the wire",
    ),
    "crash": (
        lambda: judged(stop(text("a")), raised=replace(RAISED, place="shim.py:7", crash=True)),
        "the adapter crashed: KeyError at shim.py:7: 'args'",
    ),
    "shim-crash": (
        lambda: judged(
            stop(text("a")), raised=replace(RAISED, place="shim.py:7", crash=True, in_shim=True)
        ),
        "the shim crashed: KeyError at shim.py:7: 'args'",
    ),
    # opaque values
    "values-missing": (
        lambda: judged(stop({"text": "a", "thoughtSignature": SIGNED}), Text("a"), STOP),
        f"1 of 1 values lost: {SIGNED}",
    ),
    "drafts-missing": (
        lambda: judged(stop({"inlineData": {"data": SIGNED}, "thought": True}), STOP),
        f"1 of 1 media of the thoughts lost: {SIGNED}",
    ),
    "only-raw": (
        lambda: judged(
            stop({"text": "a", "thoughtSignature": SIGNED}),
            *(Text("a"), STOP),
            native={"raw_response": SIGNED},
        ),
        "only in raw data",
    ),
    # the second turn
    "call-not-sent": (
        lambda: sent(lambda model, results: (model.pop(2), results.pop(1))),
        "the call g({}) is not sent back",
    ),
    "call-sent-twice": (
        lambda: sent(lambda model, results: model.append(model[2])),
        "the call g is sent back more often than the answer has it",
    ),
    "calls-in-other-order": (
        lambda: sent(lambda model, results: model.append(model.pop(1))),
        "the calls are sent back in another order: ['g', 'f']",
    ),
    "no-request": (lambda: [Finding(ACCEPTED, "not_asked", "no-request")], "no request was seen"),
    "refused": (
        lambda: [Finding(ACCEPTED, "wrong", "refused", REFUSALS)],
        "the API refuses the request: No. (rule a: A thing. https://a.example/1); Never. (rule b:"
        " Another thing. https://a.example/2)",
    ),
    "passed-on": (
        lambda: [Finding(ACCEPTED, "kept", "passed-on", REFUSALS[:1])],
        "the API refuses the request, which has only what the adapter was given: No. (rule a: A"
        " thing. https://a.example/1)",
    ),
    "call-after-result": (
        lambda: sent(lambda model, results: results.append(model.pop(2)), exact=()),
        "a call comes after the first result",
    ),
    "stored-call-sent": (stored, "the call f is sent although the server has it"),
    "id-not-sent": (
        lambda: sent(lambda model, results: call_of(model[1]).pop("id")),
        "the id a of call 1 is not sent back",
    ),
    "id-changed": (
        lambda: sent(lambda model, results: call_of(model[1]).update(id="b")),
        "the id a of call 1 is sent back as b",
    ),
    "id-made": (
        lambda: sent(exact=()),
        "call 2 is sent back with the id own, which it did not have",
    ),
    "no-id-for-result": (
        lambda: chat(
            {
                "role": "assistant",
                "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
            {"role": "tool", "content": "result 1"},
        ),
        "call 1 has no id, by which its result must name it",
    ),
    "result-id": (
        lambda: sent(lambda model, results: results[1]["functionResponse"].update(id="z")),
        "result 2 has the id z, its call own",
    ),
    "results": (
        lambda: sent(lambda model, results: results.pop()),
        "the calls are ['f', 'g'], the results are of ['f']",
    ),
    "result-text-not-sent": (
        lambda: sent(output(1, {}), given=(True, True)),
        "the text of result 2 is not sent back",
    ),
    "result-image-not-sent": (
        lambda: sent(output(0, {"output": "result 1, see the image"}), given=(True, True)),
        "the image of result 1 is not sent back",
    ),
    "result-image-of-another": (
        lambda: sent(image_at_another_result, given=(True, True)),
        "the image of result 1 is in the result of another call",
    ),
    "arguments-of-another-type": (
        lambda: messages(lambda blocks, results: blocks[3].update(input='{"x": 1}')),
        "the arguments of f are sent back as a JSON value of a type that this wire does not take",
    ),
    "result-failed": (
        lambda: messages(lambda blocks, results: results[0].update(is_error=True)),
        "result 1 is sent back as that of a tool that failed, which it did not",
    ),
    "results-not-given": (
        lambda: messages(lambda blocks, results: None, given=(False,)),
        "the adapter is not asked for the texts of the results",
    ),
    "signed-thought-changed": (
        lambda: messages(lambda blocks, results: blocks[0].update(thinking="hm")),
        'the thought "Hm." is sent back as "hm", with its signature, which is only right for its'
        " text",
    ),
    "signatures-in-other-order": (
        lambda: messages(lambda blocks, results: blocks.insert(0, blocks.pop(2))),
        "the signed thoughts are sent back in another order",
    ),
    "signature-beyond-text": (
        lambda: messages(lambda blocks, results: blocks.insert(1, blocks.pop(2))),
        "the signature of a thought is on another side of the text",
    ),
    "results-split": (
        lambda: judge_second_turn(
            read_messages(stop(call_part("f", None), call_part("g", None))),
            {
                "contents": [
                    {"role": "model", "parts": [call_part("f", None), call_part("g", None)]},
                    *(
                        {"role": "user", "parts": [{"functionResponse": {"name": name}}]}
                        for name in "fg"
                    ),
                ]
            },
            "vertex-ai",
        ).values(),
        "the results are in 2 contents; this provider refuses them unless they are in one",
    ),
    "results-in-other-order": (
        lambda: judge_second_turn(
            read_messages(stop(call_part("f", None), call_part("g", None))),
            {
                "contents": [
                    {"role": "model", "parts": [call_part("f", None), call_part("g", None)]},
                    {"role": "user", "parts": [{"functionResponse": {"name": n}} for n in "gf"]},
                ]
            },
        ).values(),
        "the results have no ids and are in another order: expected ['f', 'g'], sent ['g', 'f']",
    ),
    "result-text-changed": (
        lambda: sent(output(1, {"output": "result "}), given=(True, True)),
        'the text of result 2 is "result 2"; sent back is "result "',
    ),
    "result-text-of-another": (
        lambda: sent(output(1, {"output": "result 1"}), given=(True, True)),
        "result 2 has the text of another call's: result 1",
    ),
    "signature-not-sent": (
        lambda: sent(lambda model, results: model[1].pop("thoughtSignature")),
        f"the signature of call 1 is not sent back: {SIGNED}",
    ),
    "signature-moved": (
        lambda: sent(
            lambda model, results: model[2].update(
                thoughtSignature=model[1].pop("thoughtSignature")
            )
        ),
        "the signature of call 1 is at another part",
    ),
    "signature-twice": (
        lambda: sent(lambda model, results: model[2].update(thoughtSignature=SIGNED)),
        "the signature of call 1 is sent back more than once",
    ),
    "signature-made": (
        lambda: sent(lambda model, results: model[2].update(thoughtSignature=MADE)),
        "call 2 is sent back with a signature that it did not have",
    ),
    "other-not-sent": (
        lambda: sent(lambda model, results: model[0].pop("thoughtSignature")),
        f"not sent back: {OF_TEXT}",
    ),
    "other-twice": (
        lambda: sent(
            lambda model, results: model.append({"text": "", "thoughtSignature": OF_TEXT})
        ),
        f"sent back more than once: {OF_TEXT}",
    ),
    "other-made": (
        lambda: sent(lambda model, results: model.append({"text": "", "thoughtSignature": MADE})),
        f"the answer does not have it: {MADE}",
    ),
    "other-at-call": (lambda: sent(text_signature_at_call), f"sent back at a call: {OF_TEXT}"),
    "signature-beyond-call": (
        lambda: sent(
            lambda model, results: model.append(model.pop(0)),
            WireFacts([*map(after_signatures, ANSWER.facts)]),
        ),
        "a signature is on the other side of call 1",
    ),
    "tool-not-sent": (lambda: sent(lambda model, results: model.pop()), "lost: t1"),
    "more-text": (
        lambda: sent(lambda model, results: model.append({"text": "More."})),
        "more text is sent back than the answer has",
    ),
    "sent-text": (
        lambda: sent(lambda model, results: model[0].update(text="I l")),
        'the answer has the text "I look. ", sent back is "I l"',
    ),
    "text-beyond-call": (
        lambda: sent(lambda model, results: model.append(model.pop(0))),
        'the text "I look. " is sent back after call 1 (f); the answer has it on the other side',
    ),
    "damaged-text": (
        lambda: judge_answer(
            *wire_of(made_facts(text="H�", mended="Hé", finish="STOP"), "complete"),
            Transcript((Entry(None, (Text("H�"), Finish("STOP"))),)),
        ).values(),
        'the adapter passes on "H�", which is damaged; the wire also has "Hé"',
    ),
    "signed-part": (
        lambda: of_model(Signature, Signature("text", SIGNED)),
        f"a signature of text that the wire has at call: {SIGNED}",
    ),
    "invalid-call-missing": (
        lambda: of_model(InvalidCall),
        "the call f, whose arguments are not a JSON object, is neither shown nor reported",
    ),
    "invalid-call-made": (
        lambda: of_model(InvalidCall, InvalidCall("f", "{"), InvalidCall("g", "{")),
        "the wire has the call g not, or with other arguments",
    ),
    "number-of-results": (
        lambda: of_model(detail.Result),
        "the wire has 1 results, the adapter 0",
    ),
    "result-state": (
        lambda: of_model(detail.Result, detail.Result(True, "done")),
        "a result failed on one side only",
    ),
    "result-text": (
        lambda: of_model(detail.Result, detail.Result(False, "do")),
        'a result has the text "done", the adapter\'s "do"',
    ),
    # a session
    "turns": (lambda: in_session(Finish), "the wire ends 1 turns, the adapter 0"),
    "transcript": (
        lambda: in_session(OutputTranscript),
        'in turn 1: the wire has "Hello.", the adapter ""',
    ),
    "interrupted": (
        lambda: in_session(Interrupted),
        "the wire interrupts turns [1], the adapter []",
    ),
    "cancelled-calls": (
        lambda: in_session(Cancelled),
        "the wire cancels the calls b, the adapter reports none",
    ),
    "result-of-no-call": (
        lambda: in_session(results=[RESULT, {**RESULT, "id": "c"}]),
        "a result is sent for c, which is no open call",
    ),
    "result-of-cancelled-call": (
        lambda: in_session(
            results=[RESULT, {**RESULT, "id": "b", "response": {"output": "result 2"}}]
        ),
        "the result of call 2 is sent, although the call is cancelled",
    ),
    "result-not-sent": (lambda: in_session(results=[]), "the result of call 1 is not sent"),
    "result-twice": (
        lambda: in_session(results=[RESULT, RESULT]),
        "the result of call 1 is sent 2 times",
    ),
    "result-name": (
        lambda: in_session(results=[{**RESULT, "name": ""}]),
        'result 1 has the name "", its call f',
    ),
    "result-no-object": (
        lambda: in_session(results=[{**RESULT, "response": "result 1"}]),
        'the response of result 1 is "result 1", no object',
    ),
    "hangs": (
        lambda: in_session(late="audio"),
        "the adapter did not send audio within the time limit",
    ),
    "beside-hang": (lambda: in_session(late="audio"), "the session did not come to its end"),
    "sent": (
        lambda: in_session(unexpected="clientContent in place of setup"),
        "the adapter sent clientContent in place of setup",
    ),
    "opened-again": (
        lambda: in_session(Finish, raised=True, opened_again=True),
        "the adapter opened a second session, which is not recorded",
    ),
    "left": (lambda: in_session(played=False), "the adapter ended the session before its end"),
    "fields-missing": (lambda: of_model(Fields), "lost: newField"),
    "stated-twice": (
        lambda: of_model(StatedTwice, StatedTwice("finish", "stop", "length")),
        'the payloads state it as "stop" and as "length"',
    ),
}


@pytest.mark.parametrize(
    ("pieces", "given", "reason"),
    [
        (["One, ", "two, ", "three."], ["One, ", "two, ", "two, ", "three."], "text-doubled"),
        (
            ["One, ", "two, ", "three."],
            ["One, ", "One, ", "two, ", "two, ", "three.", "three."],
            "text-doubled",
        ),
        (["Hallo."], ["Halllo."], "text-doubled"),
        (["One, ", "two, ", "three."], ["One, ", "four, ", "two, ", "three."], "text"),
        (["One, ", "two."], ["One, ", "One, and a half, ", "two."], "text"),
        (["One, ", "two, ", "three."], ["One, ", "three."], "text"),
    ],
)
def test_a_piece_of_text_that_is_given_twice_is_called_doubled(
    pieces: list[str], given: list[str], reason: str
) -> None:
    findings = judged(stop(*map(text, pieces)), *map(Text, given), STOP)
    assert next(iter(findings)).reason == reason


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Call("a", "fg", "{}"), "calls-merged"),
        (Call("a", "f", '{"x": 1}{"y": 2}'), "calls-merged"),
        (Call("a", "f", '{"x": 1}\n{"y": 2}'), "calls-merged"),
        (Call("a", "f", '{"x": 1}{"y": 3}'), "calls"),
        (Call("a", "h", {}), "calls"),
    ],
)
def test_calls_that_an_adapter_merges_are_called_merged(call: Call, reason: str) -> None:
    wire = stop(call_part("f", "a", x=1), call_part("g", "b", y=2))
    assert next(iter(judged(wire, call, STOP))).reason == reason


def test_the_event_of_another_call_of_the_same_tool_is_not_that_of_a_lost_call() -> None:
    wire = stop(call_part("f", "a", x=1), call_part("f", "b"))
    given = Call("a", "f", {"x": 1})
    native = {"name": "f", "args": {"x": 1}}
    (lost,) = [one for one in judged(wire, given, STOP, native=native) if one.subject == "calls"]
    assert lost.reason == "calls-missing"
    both: Json = [native, {"name": "f", "args": {}}]
    (lost,) = [one for one in judged(wire, given, STOP, native=both) if one.subject == "calls"]
    assert lost.reason == "calls-unreported"


@pytest.mark.parametrize(
    ("native", "reason"),
    [
        ({"name": "f", "args": {"x": 1, "on": True}}, "calls-unreported"),
        ({"name": "f", "args": '{"x": 1, "on": true}'}, "calls-unreported"),
        ({"name": "f", "args": {"x": 2}}, "calls-missing"),
        ({"text": "f"}, "calls-missing"),
    ],
)
def test_a_lost_call_that_the_native_events_have_is_said_to_be_there(
    native: Json, reason: str
) -> None:
    wire = stop(call_part("f", "a", x=1, on=True))
    findings = {finding.subject: finding for finding in judged(wire, STOP, native=native)}
    assert findings["calls"].reason == reason


def test_the_native_event_of_an_equal_call_that_is_kept_is_not_that_of_the_lost_one() -> None:
    wire = stop(call_part("f", "a", x=1), call_part("f", "b", x=1))
    native = {"name": "f", "args": {"x": 1}}
    findings = judged(wire, Call("a", "f", {"x": 1}), STOP, native=native)
    (lost,) = [finding for finding in findings if finding.subject == "calls"]
    assert lost.sentence == 'calls lost: 1 of 2 calls lost: f({"x": 1})'


@pytest.mark.parametrize("reason", EXAMPLES)
def test_each_reason_has_its_sentence(reason: str) -> None:
    maker, sentence = EXAMPLES[reason]
    findings = {finding.reason: finding for finding in maker()}
    assert reason in findings, [*findings]
    assert findings[reason].note == sentence


def test_every_reason_of_the_table_has_an_example() -> None:
    assert {*EXAMPLES} == {*REASONS} - {""}


def test_a_kept_value_has_no_sentence_of_its_own() -> None:
    finding = Finding("needless_error", "kept")
    assert (finding.note, finding.sentence) == ("", "needless error kept")


def test_a_reason_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown reason 'because'"):
        Finding("text", "lost", "because")
    document = encode([ExchangeRow("failed", findings=(Finding("text", "lost", "text"),))])
    with pytest.raises(ValueError, match="unknown reason 'because'"):
        decode(document.replace(b'"reason":"text"', b'"reason":"because"'))


NAMES = ["alpha", "the adapter", "{name}", "", "None", "f(", '"', "7", "a; a later call has its id"]
EVENTS: list[Json] = [
    None,
    True,
    0,
    -1.5,
    10**40,
    "",
    "plain",
    "a {wire} b {0} {adapter[name]!r:>9} } {",
    "quotes \" and ' and `",
    "two\nlines\r\n\ttab \x00\x1b",
    "half \ud83d",
    [],
    [None, "a", 1],
    {},
    {"name": "f", "arguments": {"a": [1, {"b": None}]}},
    {"missing": 1, "of": 2, "first": {"name": None, "arguments": "x"}},
    {"words": None, "again": [], "type": 3},
    [{"name": "f"}, {"arguments": 1}, "x"],
    {"input": {"deep": {}}},
]
LARGE: list[Json] = [
    "x" * 100_000,
    ["y" * 1000] * 1000,
    [[]] * 100_000,
    {f"key {number}": number for number in range(10_000)},
    {"k" * 50_000: "v" * 50_000},
    call_value("f", {"file": "z" * 1_000_000, "n": 1}),
    [call_value("f", {"n": "z" * 1000})] * 500,
    10**4000,
    {"missing": 1, "of": 2, "first": call_value("f", {"a": ["b" * 9000]})},
    {"words": "w" * 9000, "type": "KeyError"},
]


def deep(levels: int, kind: type) -> Json:
    value: Json = "end"
    for _ in range(levels):
        value = [value] if kind is list else {"a": value}
    return value


def test_values_of_any_shape_give_a_sentence_of_limited_length() -> None:
    values = [*EVENTS, *LARGE, *(deep(n, kind) for n in (90, 5000) for kind in (list, dict))]
    sides = [Finding("text", "wrong", "calls", value).wire for value in values]
    for reason in REASONS:
        for value in sides:
            for wire, adapter in ((value, None), (None, value), (value, value)):
                finding = Finding("text", "wrong", reason, wire, adapter)
                assert len(finding.sentence) < 3 * MAX_SIDE
                assert all(isinstance(part, str) for part in finding.group)
                assert all(isinstance(text, str) for text in finding.values())


@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_texts_of_any_length_are_read_back_with_their_values(size: int) -> None:
    finding = Finding("text", "wrong", "finish", "é" * size, ["{" * size, size], Place(call=size))
    result = ExchangeRow("failed", findings=(finding,))
    assert decode(encode([result])) == [result]


@pytest.mark.parametrize("value", [*LARGE, deep(5000, list), deep(5000, dict)])
def test_a_side_of_a_finding_is_never_large(value: Json) -> None:
    shortened = Finding("text", "wrong", "calls", value).wire
    assert shortened == Finding("text", "wrong", "calls", shortened).wire
    for finding in (
        Finding("text", "wrong", "calls", value),
        Finding("text", "wrong", "calls", adapter=value),
        msgspec.structs.replace(Finding("text", "wrong", "calls"), wire=value),
    ):
        assert len(msgspec.json.encode(finding)) < 3 * MAX_SIDE


@pytest.mark.parametrize("value", EVENTS)
def test_a_small_value_is_not_changed(value: Json) -> None:
    finding = Finding("text", "wrong", "finish", value, value)
    assert (finding.wire, finding.adapter) == (value, value)


def test_a_shortened_call_keeps_its_name_and_its_members() -> None:
    call = call_value("upload", {"file": "z" * 1_000_000, "size": 4})
    finding = Finding("calls", "lost", "call-not-sent", call)
    assert finding.wire["name"] == "upload"
    assert [*finding.wire["arguments"]] == ["file", "size"]
    assert finding.wire["arguments"]["size"] == 4
    assert "(1,000,000 characters)" in finding.wire["arguments"]["file"]
    assert finding.note.startswith('the call upload({"file": "zzz')
    assert finding.note.endswith("…) is not sent back")


def test_a_shortened_message_keeps_its_end() -> None:
    finding = error_finding("begin " + "x" * 9000 + " end")
    assert finding.note.startswith("begin xxx")
    assert finding.note.endswith("xxx end")
    assert len(finding.note) < MAX_SIDE + 40


PAIRS: list[tuple[str, Json, Json]] = [
    ("calls", [call_value(name, {"x": name})], [call_value(other, {})])
    for name in NAMES
    for other in reversed(NAMES)
]


def test_losses_that_differ_only_in_values_have_one_group() -> None:
    wrong = {Finding("calls", "wrong", *pair).group for pair in PAIRS}
    assert wrong == {("calls", "wrong", "calls", "")}
    for reason, row in REASONS.items():
        if not row.key:
            groups = {
                Finding("calls", "lost", reason, wire, adapter, Place(n, n, "a" * n, "b")).group
                for n, wire in enumerate(EVENTS)
                for adapter in EVENTS
            }
            assert groups == {("calls", "lost", reason, "")}


@pytest.mark.parametrize("name", NAMES)
def test_a_repeated_call_keeps_its_own_group(name: str) -> None:
    twice = Finding("calls", "wrong", "call-twice", adapter=call_value(name, {}))
    assert twice.group == ("calls", "wrong", "call-twice", "")
    assert twice.note == f"the call of {name} is given twice"
    other = Finding("calls", "wrong", "calls", [], [call_value(name, {})])
    assert twice.group != other.group


@pytest.mark.parametrize(
    ("reason", "one", "other"),
    [
        ("needless", {"words": "a", "type": "KeyError"}, {"words": "a", "type": "IndexError"}),
        (
            "needless-retried",
            {"words": "a", "type": "KeyError", "again": 1},
            {"words": "a", "type": "", "again": 1},
        ),
        (
            "crash",
            {"words": "a", "type": "KeyError", "place": "shim.py:7"},
            {"words": "a", "type": "KeyError", "place": "shim.py:9"},
        ),
        (
            "shim-crash",
            {"words": "a", "type": "KeyError", "place": "shim.py:7"},
            {"words": "a", "type": "KeyError", "place": "shim.py:9"},
        ),
        ("skipped", "only streams", "only text"),
    ],
)
def test_values_of_the_key_divide_a_reason(reason: str, one: Json, other: Json) -> None:
    groups = {Finding("text", "raised", reason, adapter=value).group for value in (one, other)}
    assert len(groups) == 2


def test_subject_verdict_and_cuts_divide_a_reason() -> None:
    findings = [
        Finding("text", "lost", "text"),
        Finding("thoughts", "lost", "text"),
        Finding("text", "wrong", "text"),
        Finding("text", "lost", "text", place=Place(cuts="whole")),
        Finding("text", "lost", "text", place=Place(cuts="pieces")),
    ]
    assert len({finding.group for finding in findings}) == len(findings)
    assert findings[-1].note.startswith("with --cuts pieces: at character ")


def test_errors_are_grouped_by_the_message_without_values() -> None:
    one, two = error_finding("event 3: int", "int"), error_finding("event 12: int", "int")
    alone = error_finding("event 3: int")
    assert (one.subject, one.verdict, one.group) == (RUN, "raised", two.group)
    assert alone.group != one.group
    assert alone.note == one.note == "event 3: int"


def test_the_values_of_a_finding_are_its_texts_and_numbers() -> None:
    finding = Finding(
        "calls", "lost", "calls-missing", {"of": 2, "first": call_value("f", {"a": [True, None]})}
    )
    assert [*finding.values()] == ["2", "f"]
    assert [*Finding("id", "wrong", "id", "a", "b").values()] == ["a", "b"]
