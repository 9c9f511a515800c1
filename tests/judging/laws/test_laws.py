"""The laws hold for our own adapters on small answers of every kind, and each law finds the faults
that it is made for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from harness import Exchange
from harness.adapters import ADAPTERS, EVENTS, Adapter, Subject
from harness.judging.laws import LAWS, check
from harness.judging.metamorphic.catalogue import SPELLINGS, WireVariant
from harness.judging.metamorphic.reads import cuts_of
from harness.judging.metamorphic.spelling import snake_case
from harness.pipeline.replay import replay as our_replay
from harness.providers import PROVIDERS
from tests.readers.gemini import gather_body
from tests.support.adapters import events_of, payloads_of

Items = list[dict[str, Any]]

ANSWER = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "H\xc3\xa9 ","thought": true}],"role": "model"},"index": 0}],'
    b'"usageMetadata": {"promptTokenCount": 7},"modelVersion": "m","responseId": "r"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hello"}],"role": "model"},"index": 0}],"modelVersion": "m"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f","args": {"userKey": 1}},"thoughtSignature": "QQ=="}]},'
    b'"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 2}}\r\n\r\n'
)
THOUGHT = b'data: {"candidates":[{"content":{"parts":[{"text":"So, ","thought":true}]}}]}\n\n'
TEXT = b'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}\n\n'
STREAMED_ARGUMENTS = (
    b'data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true},"thoughtSignature":"QQ=="}]}}]}\n\n'
    b'data: {"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x"}],'
    b'"willContinue":true}}]}}]}\n\n'
    b'data: {"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}]}\n\n'
)
BODIES = {
    "sse": ANSWER,
    "streamed arguments": STREAMED_ARGUMENTS,
    "json array": b'[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\r\n,\r\n{"candidates":[{"finishReason":"STOP"}]}]',
    "unary": b'{\n  "candidates": [{"content": {"parts": [{"inlineData": {"data": "QQ=="}}]}, "finishReason": "STOP"}]\n}\n',
    "blocked": b'data: {"promptFeedback": {"blockReason": "SAFETY"}}\n\n',
    "blocked, then a reason": b'[{"promptFeedback": {"blockReason": "SAFETY"}}, {"candidates": [{"finishReason": "STOP"}]}]',
    "a piece without a call": b'[{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","numberValue":1}]},'
    b'"thoughtSignature":"QQ=="}]},"finishReason":"STOP"}]}]',
    "unknown part in snake_case": b'data: {"candidates":[{"content":{"parts":[{"hologram":{"x":1},"thought_signature":"QQ=="}]}}]}\n\n',
    "error in mid-stream": ANSWER
    + b'{\n  "error": {\n    "code": 503,\n    "message": "overloaded"\n  }\n}\n',
    "error inside a call": STREAMED_ARGUMENTS[:280]
    + b'data: {"error":{"code":500,"message":"m"}}\n\n',
    "error, then more": b'data: {"error":{"code":500,"message":"m"}}\n\n' + ANSWER,
    "unknown part": b'data: {"candidates":[{"content":{"parts":[{"hologram":{"x":1},"thoughtSignature":"QQ=="}]}}],"newField":1}\n\n',
    "no json": b"<html>\n<body>gateway</body>\n</html>\n",
    "json of no use": b"data: null\n\ndata: 7\n\ndata: []\n\ndata: {}\n\ndata: [DONE]\n\n",
    "several data lines": b'data: {"candidates":\ndata: [{"content":{"parts":[{"text":"a"}]}}]}\n\n',
    "comments and fields": b"\xef\xbb\xbf: ping\n\nevent: x\nid: 1\nretry: 5\ndata:" + ANSWER[6:],
    "several candidates": b'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}},{"index":1,"content":{"parts":[{"text":"b"},'
    b'{"functionCall":{"name":"f"}}]},"finishReason":"STOP"}]}\n\n',
    "nulls and snake_case": b'{"candidates":[{"content":{"parts":[{"text":null,"function_call":{"name":"f","args":"{\\"a\\":1}"},'
    b'"thought_signature":"QQ=="}]},"finish_reason":2,"safety_ratings":null}],"usage_metadata":{"prompt_token_count":3}}',
    "calls at the top": b'{"functionCalls":[{"name":"f","args":{"a":1}},{"name":"f","args":{"a":1}}]}',
    "result of a tool": b'data: {"candidates":[{"content":{"parts":[{"functionResponse":{"name":"f","response":{"a":1}},'
    b'"thoughtSignature":"QQ=="},'
    b'{"executableCode":{"code":"1"}},{"codeExecutionResult":{"output":"1"}},{"toolCall":{"id":"t"}}]}}]}\n\n',
    "odd characters": 'data: {"candidates":[{"content":{"parts":[{"text":"\u2028\u0085\U0001f600\\ud83d \\u0000"}]}}]}\r\n\r\n'.encode(),
    "large numbers": b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":12345678901234567890123,"x":1e3}}}]}}]}',
    "tool code left alone": b'data: {"candidates":[{"content":{"parts":[{"text":"a<tool_code>{}</tool_code>"}]}}]}\n\n',
    "late text": b'data: {"candidates":[{"finishReason":"STOP"}]}\n\ndata: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\n\n',
    "nothing": b"",
}


def exchange(body: bytes, status: int = 200, **fields: Any) -> Exchange:
    given = {"end": "complete", "provider": "gemini-api", "generates": True, **fields}
    return Exchange(None, status, {}, ((None, body),), **given)


TOOL_CODES = ("{}", "print(f(a=1))", '{"todos":[]}', "no call", '<tool_code>{"name":"f","args":{}}')


def leaking(inside: str, end: str = "</tool_code>z") -> bytes:
    """A stream whose text has a block with a cut inside its tag."""
    texts = ("a<tool_co", f"de>{inside}", end)
    messages = (
        {"response": {"candidates": [{"content": {"parts": [{"text": text}]}}]}} for text in texts
    )
    return "".join(f"data: {json.dumps(message)}\n\n" for message in messages).encode()


EXCHANGES = {
    **{name: exchange(body) for name, body in BODIES.items()},
    **{
        f"tool code {inside}": exchange(leaking(inside), provider="code-assist")
        for inside in TOOL_CODES
    },
    "tool code without an end": exchange(leaking("{}", "<"), provider="code-assist"),
    "http error": exchange(
        b'[{\n  "error": {\n    "code": 429,\n    "message": "quota"\n  }\n}\n]', 429
    ),
    "http error that is no json": exchange(b"<html>bad gateway</html>", 502),
    "http error without a body": exchange(b"", 500),
    "cut": exchange(ANSWER[:300], end="cut"),
    "cut inside a call": exchange(STREAMED_ARGUMENTS[:300], end="reset"),
    "cut inside tool code": exchange(leaking("{}")[:200], end="aborted", provider="code-assist"),
    "more calls than a session remembers": exchange(
        b'data: {"candidates":[{"content":{"parts":['
        + b",".join(
            b'{"functionCall":{"id":"c%d","name":"f"},"thoughtSignature":"QQ=="}' % number
            for number in range(1001)
        )
        + b']},"finishReason":"STOP"}]}\n\n'
    ),
    "large": exchange(
        b"".join(
            b'data: {"candidates":[{"content":{"parts":[{"text":"%d"}]}}]}\r\n\r\n' % n
            for n in range(60)
        )
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("adapter", [EVENTS, *ADAPTERS.values()], ids=lambda adapter: adapter.name)
@pytest.mark.parametrize("name", EXCHANGES)
def test_every_law_holds_for_our_own_adapters(name: str, adapter: Adapter) -> None:
    assert check(EXCHANGES[name], adapter) == []


Fault = Callable[[Items, Exchange], Items]


def faulty(fault: Fault) -> tuple[Adapter, Adapter]:
    """Our events and payloads, each changed by one fault."""

    def replay(recorded: Exchange, **options: Any) -> Items:
        return fault(our_replay(recorded, **options), recorded)

    return events_of(replay), payloads_of(replay)


def findings(number: int, recorded: Exchange, fault: Fault) -> list[str]:
    law = LAWS[number - 1]
    return [
        breach.sentence
        for adapter in faulty(fault)
        if adapter.layer in law.layers and not law.not_run(recorded, Subject(adapter))
        for breach in law.findings(recorded, Subject(adapter))
    ]


def without(items: Items, kind: str) -> Items:
    return [item for item in items if kind not in (item.get("kind"), item.get("type"))]


def otherwise_signed(items: Items) -> Items:
    return json.loads(json.dumps(items).replace("QQ==", "Qw=="))  # type: ignore[no-any-return]  # the same items


def signed_texts(items: Items) -> Items:
    """The payloads with the signature of the call copied to the text."""
    text = '{"kind": "text", '
    return json.loads(json.dumps(items).replace(text, f'{text}"signature": "QQ==", '))  # type: ignore[no-any-return]  # the same items


def stopped(items: Items) -> Items:
    """The payloads with a natural stop at their end."""
    end = {"type": "FINISH", "finish_reason": {"reason": "stop", "raw": "STOP"}}
    return [*without(without(items, "FINISH"), "ERROR"), end]


def renamed(items: Items) -> Items:
    return json.loads(json.dumps(items).replace('"name": "f"', '"name": "g"'))  # type: ignore[no-any-return]  # the same items


def has_cut(recorded: Exchange, places: set[int]) -> bool:
    return not places.isdisjoint(cuts_of(recorded)) and len(recorded.reads) < len(recorded.body)


counted = count()

FAULTS: dict[str, tuple[int, str, Fault]] = {
    "a character split over reads is lost": (
        1,
        "byte 60",
        lambda items, cut: items[:-1] if has_cut(cut, {60}) else items,
    ),
    "a whole body is read otherwise": (
        1,
        "as a whole",
        lambda items, cut: items[1:] if len(cut.reads) == 1 else items,
    ),
    "single bytes are read otherwise": (
        1,
        "more, ",
        lambda items, cut: items[1:] if len(cut.reads) == len(cut.body) else items,
    ),
    "text without a start": (2, "payload", lambda items, _: without(items, "TEXT_START")),
    "no end": (2, "end in the state", lambda items, _: without(items, "FINISH")),
    "text before the start": (2, "event 0", lambda items, _: without(items, "start")),
    "a call is dropped": (
        3,
        "calls lost",
        lambda items, _: without(without(items, "TOOL_CALL_START"), "TOOL_CALL_END"),
    ),
    "thoughts are dropped": (3, "thoughts lost", lambda items, _: without(items, "reasoning")),
    "a cut is not told": (4, "not incomplete", lambda items, _: without(items, "incomplete")),
    "a cut changes what came before": (
        4,
        "in the whole answer it is",
        lambda items, cut: [*items[1:-1], items[-1]] if cut.end == "cut" else items,
    ),
    "something is counted over replays": (
        5,
        "second time",
        lambda items, _: [*items, {"kind": "x", "n": next(counted)}],
    ),
    "snake_case signatures are not known": (
        6,
        "snake-case: signatures",
        lambda items, spelled: (
            [{**item, "signature": None} for item in items]
            if b"thought_signature" in spelled.body
            else items
        ),
    ),
    "an array is not read": (
        6,
        "json-array",
        lambda items, spelled: [] if spelled.body.startswith(b"[") else items,
    ),
    "a call is signed otherwise": (
        8,
        "signatures lost: the signature of call 1 is not sent back",
        lambda items, _: otherwise_signed(items),
    ),
    "a signature is sent back twice": (
        8,
        "signatures wrong: the signature of call 1 is sent back more than once",
        lambda items, _: signed_texts(items),
    ),
    "a web page is an answer that ended well": (
        9,
        "a web page ends like a good answer, although nothing in it was understood",
        lambda items, given: stopped(items) if b"<html" in given.body else items,
    ),
    "no reason is a natural stop": (
        9,
        "the answer without its finish reason ends like a good answer, although it has no finish reason",
        lambda items, _: stopped(items),
    ),
    "a malformed call is a natural stop": (
        9,
        "the answer with a malformed call ends like a good answer, although its finish reason is"
        " MALFORMED_FUNCTION_CALL",
        lambda items, _: stopped(items),
    ),
    "a call is told under another name": (
        8,
        'calls wrong: the call f({"userKey": 1}) is not sent back',
        lambda items, _: renamed(items),
    ),
    "garbage is passed over": (
        7,
        "no event",
        lambda items, damaged: [] if len(damaged.body) != len(ANSWER) else items,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_found_by_its_law(name: str) -> None:
    number, sentence, fault = FAULTS[name]
    sentences = findings(number, exchange(ANSWER if number != 9 else TEXT), fault)
    assert any(sentence in finding for finding in sentences), sentences


def test_law_8_needs_an_answer_whose_calls_can_be_run() -> None:
    for unsent in (
        exchange(ANSWER, end="cut"),
        exchange(b"{}", 500),
        exchange(BODIES["error in mid-stream"]),
        EXCHANGES["tool code {}"],
    ):
        assert findings(8, unsent, lambda items, _: otherwise_signed(items)) == []


def test_law_8_is_not_asked_of_a_provider_that_is_sent_no_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    silent = replace(PROVIDERS["gemini-api"], write=None, places=None)
    monkeypatch.setitem(PROVIDERS, "gemini-api", silent)
    answer = exchange(BODIES["calls at the top"])
    assert (
        LAWS[7].unasked(answer, Subject(ADAPTERS["mind"]))
        == "the harness builds no request for the provider"
    )


def test_law_7_names_the_exception() -> None:
    def crash(items: Items, damaged: Exchange) -> Items:
        json.loads(damaged.body[-1:] + b"]")
        return items

    assert any(
        "raised JSONDecodeError" in finding for finding in findings(7, exchange(ANSWER), crash)
    )


@pytest.mark.slow
def test_many_cuts_are_reduced_to_the_one_that_matters() -> None:
    def fault(items: Items, recorded: Exchange) -> Items:
        return items[:-1] if has_cut(recorded, set(range(2000, 8000))) else items

    finding, _ = findings(1, exchange(ANSWER * 20), fault)
    assert finding.count("byte ") == 1
    assert "there is no event 140; read as a whole it is {'kind': 'finish'" in finding


@pytest.mark.slow
def test_the_findings_of_a_fault_are_the_same_every_time() -> None:
    def run() -> list[str]:
        cuts = set(range(0, 9000, 2))
        return findings(
            1,
            exchange(ANSWER * 20),
            lambda items, recorded: items[:-1] if has_cut(recorded, cuts) else items,
        )

    assert run() == run() != []


@pytest.mark.parametrize("variant", SPELLINGS, ids=lambda variant: variant.name)
def test_the_oracle_reads_every_spelling_the_same(variant: WireVariant) -> None:
    body = THOUGHT + ANSWER
    original = gather_body(body)
    respelled = variant.change(exchange(body))
    assert respelled is not None
    facts = gather_body(respelled.body)
    facts.others = original.others
    assert facts == original


def test_snake_case_leaves_the_keys_of_users_alone() -> None:
    message = {
        "modelVersion": "m",
        "parts": [
            {"functionCall": {"args": {"userKey": {"innerKey": 1}}}},
            {"functionResponse": {"response": {"userKey": 1}}},
        ],
        "response": {"finishReason": "STOP"},
    }
    assert snake_case(message) == {
        "model_version": "m",
        "parts": [
            {"function_call": {"args": {"userKey": {"innerKey": 1}}}},
            {"function_response": {"response": {"userKey": 1}}},
        ],
        "response": {"finish_reason": "STOP"},
    }


@pytest.mark.slow
def test_compressed_bodies_are_cut_while_compressed() -> None:
    import gzip

    packed = replace(
        exchange(gzip.compress(ANSWER, mtime=0)), headers={"Content-Encoding": ["gzip"]}
    )
    assert check(packed) == []
    assert check(replace(packed, reads=((None, ANSWER),))) == []


def test_payloads_of_another_shape_break_law_3() -> None:
    adapter = payloads_of(lambda exchange, **options: [{"type": "TEXT_DELTA"}])
    (breach,) = LAWS[2].findings(exchange(ANSWER), Subject(adapter))
    assert breach.sentence == "the payloads are not of the dialect's shape: KeyError 'delta'"
