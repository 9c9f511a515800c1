"""The reader of the Interactions API, beyond the cases of specs/interactions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

import harness
from harness.cassettes import Exchange, Request
from harness.cassettes.yaml import parse
from harness.facts import Call, Entry, Transcript, View
from harness.judging.aspects import judge_exchange
from harness.judging.reading import Reading
from harness.pipeline.replay import frames_of
from harness.providers import PROVIDERS, Answer, Identity, detect_provider
from harness.providers.interactions.messages import FINISHES, WAITING
from harness.providers.interactions.normalizer import InteractionsNormalizer
from harness.providers.interactions.order import ORDER, OUT_OF_ORDER
from harness.providers.interactions.steps import STEPS
from harness.providers.interactions.usual import decode_text
from harness.providers.plain_events import gather_events
from harness.stream.framing import Frame
from tests.readers.interactions import gather_interactions
from tests.support.event_order import out_of_order
from tests.support.facts_adapters import facts_adapter
from tests.support.wire_answers import facts_of_body

ROOT = Path(__file__).parents[2]
CASSETTES = sorted((ROOT / "cassettes" / "interactions").glob("*.yaml"))
HOST = "https://generativelanguage.googleapis.com"
VERTEX = "https://aiplatform.googleapis.com/v1/projects/p/locations/global"
Json = Any


def read(*messages: Json, status: int = 200, end: Any = "complete") -> list[Json]:
    """The events of messages; bytes are a frame that is not JSON."""
    normalizer = PROVIDERS["interactions"].normalizer(Answer(status, {}, "asked"))
    events = []
    for message in messages:
        frame = Frame(0, None, message) if isinstance(message, str) else Frame(0, message)
        events += normalizer.feed(frame)
    return [to_builtins(event) for event in [*events, *normalizer.close(end)]]


def kinds(events: list[Json]) -> list[str]:
    names = [event["kind"] for event in events]
    assert out_of_order(names) is None
    return names


def start(index: int, kind: str, **step: Json) -> Json:
    return {"event_type": "step.start", "index": index, "step": {"type": kind, **step}}


def delta(index: int, kind: str, **fields: Json) -> Json:
    return {"event_type": "step.delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> Json:
    return {"event_type": "step.stop", "index": index}


CALL = start(0, "function_call", id="i", name="f", arguments={})


@pytest.mark.parametrize(
    ("method", "url", "identity"),
    [
        ("POST", f"{HOST}/v1/interactions", Identity("interactions", True, True, "m")),
        ("POST", f"{HOST}/v1beta/interactions?alt=sse", Identity("interactions", True, True, "m")),
        ("POST", f"{VERTEX}/interactions", Identity("interactions", True, True, "m")),
        (
            "POST",
            "http://127.0.0.1/proxy/v1/interactions",
            Identity("interactions", True, True, "m"),
        ),
        ("POST", f"{HOST}/v1/interactions/v1_a/cancel", Identity("interactions", True, True, "m")),
        ("GET", f"{HOST}/v1/interactions/v1_a", Identity("interactions", True, True, "m")),
        ("POST", f"{HOST}/v1/interactions/v1_a", Identity(None, False)),
        ("GET", f"{HOST}/v1/interactions", Identity(None, False)),
        ("DELETE", f"{HOST}/v1/interactions/v1_a", Identity(None, False)),
        ("GET", "wss://h/v1beta/interactions/live", Identity("interactions", True, True, "m")),
        ("POST", f"{HOST}/v1/interactions/v1_a/auth_tokens", Identity(None, False)),
        ("POST", f"{HOST}/v1beta/environments", Identity(None, False)),
        ("POST", f"{HOST}/v1beta/environments/e:start", Identity(None, False)),
        ("POST", f"{HOST}/v1beta/decisions", Identity(None, False)),
    ],
)
def test_the_path_and_the_method_show_the_provider(
    method: str, url: str, identity: Identity
) -> None:
    assert detect_provider(method, url, b'{"model": "m", "stream": true}', b"") == identity


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"event_type": "step.delta", "index": 3, "delta": {"type": "text", "text": "x"}}\n\n',
        b'{"event_type": "interaction.created"}\n{"event_type": "step.stop", "index": 0}\n',
        b'{"id": "v1_a", "object": "interaction", "status": "queued"}',
        b'data: {"event_type": "content.delta", "index": 0}\n\n',
    ],
)
def test_any_message_of_a_body_shows_the_provider(body: bytes) -> None:
    assert detect_provider("", "", b"", body).provider == "interactions"


CREATED = {"event_type": "interaction.created", "interaction": {"id": "v1_a", "model": "m"}}
ARGUMENTS = delta(0, "arguments_delta", arguments='{"a":1}')


@pytest.mark.parametrize("path", ["/v1beta/decisions", "/proxy/decide"])
def test_a_refused_decision_is_no_blocked_answer(path: str) -> None:
    refused = b'{"prompt_feedback": {"block_reason": "safety"}}'
    assert not detect_provider("POST", f"{HOST}{path}", b"{}", refused).generates
    blocked = refused.replace(b"safety", b"SAFETY")
    assert detect_provider("POST", f"{HOST}/proxy/ask", b"{}", blocked).generates


@pytest.mark.parametrize(
    "path", ["/v1beta/decisions", "/v1/environments", "/v1/interactions/v1_a/auth_tokens"]
)
def test_a_path_that_does_not_generate_decides_over_the_body(path: str) -> None:
    assert detect_provider("POST", HOST + path, b"{}", b'{"candidates": []}') == Identity(
        None, False
    )


def test_content_of_another_step_waits_for_the_end_of_the_open_call() -> None:
    late = delta(0, "arguments_delta", arguments=" ")
    events = read(CALL, ARGUMENTS, delta(1, "text", text="Hi"), late, stop(0))
    assert kinds(events)[2:] == [
        "call_start",
        "call_text",
        "call_text",
        "call_end",
        "block_end",
        "text",
    ]


def test_each_piece_belongs_to_the_call_of_its_index() -> None:
    second = start(1, "function_call", name="g")
    pieces = [
        delta(index, "arguments_delta", arguments=text)
        for text in ('{"n": ', "7}")
        for index in (0, 1)
    ]
    messages = [CREATED, CALL, second, *pieces, stop(1), stop(0)]
    events = read(*messages)
    assert kinds(events)[1:] == 2 * [
        "block_start",
        "call_start",
        "call_text",
        "call_text",
        "call_end",
        "block_end",
    ]
    assert [event["arguments"] for event in events if event["kind"] == "call_end"] == 2 * [{"n": 7}]
    body = b"".join(b"data: %s\n\n" % json.dumps(message).encode() for message in messages)
    assert gather_interactions(body).calls == [("f", {"n": 7}), ("g", {"n": 7})]
    assert read({"events": messages}) == events


@pytest.mark.parametrize(
    "message",
    [
        delta(7, "text", text="x"),
        delta(7, "thought_signature", signature="QQ=="),
        stop(7),
        {"event_type": "step.delta", "index": -1, "delta": {"type": "text", "text": "x"}},
    ],
)
def test_an_event_of_no_step_is_unknown(message: Json) -> None:
    events = read(CREATED, start(0, "model_output"), message, stop(0))
    assert kinds(events)[2:] == ["unknown", "block_end"]
    assert not gather_interactions(json.dumps([CREATED, message]).encode()).text


@pytest.mark.parametrize(
    "odd",
    [
        delta(7, "arguments_delta", arguments='{"a":1}'),
        delta(0, "arguments_delta", arguments={"a": 1}),
        delta(0, "arguments_in_another_form", value=1),
    ],
)
def test_a_call_whose_pieces_were_not_all_understood_is_never_complete(odd: Json) -> None:
    messages = [CREATED, CALL, odd, stop(0)]
    events = read(*messages)
    assert kinds(events)[2:] == ["call_start", "unknown", "call_invalid", "block_end"]
    facts = gather_interactions(json.dumps(messages).encode())
    assert (facts.calls, facts.invalid_calls) == ([], [("f", events[-2]["text"])])


def test_steps_that_wait_at_a_cut_are_the_rest_of_the_stream() -> None:
    waiting = start(1, "model_output"), delta(1, "text", text="Hi")
    events = read(CREATED, CALL, ARGUMENTS, *waiting, end="cut")
    assert kinds(events)[-2:] == ["call_text", "incomplete"]
    assert '"text": "Hi"' in events[-1]["rest"]
    failed = read(
        CREATED, CALL, ARGUMENTS, *waiting, {"event_type": "error", "error": {"code": "x"}}
    )
    assert kinds(failed)[-4:] == ["error", "call_end", "block_start", "text"]


def test_a_step_without_an_index_is_the_next_one() -> None:
    events = read(
        {"event_type": "step.start", "step": {"type": "model_output"}},
        {"event_type": "step.delta", "delta": {"type": "text", "text": "a"}},
        {"event_type": "step.stop"},
        {"event_type": "step.start", "step": {"type": "thought"}},
    )
    assert [event.get("index") for event in events[1:]] == [0, None, 0, 1]


def test_an_error_leaves_the_open_call_open() -> None:
    events = read(CALL, {"error": {"code": "aborted", "message": "m"}})
    assert kinds(events)[2:] == ["call_start", "error"]


def test_an_interrupted_stream_leaves_the_open_call_open() -> None:
    events = read(CALL, delta(0, "arguments_delta", arguments='{"a":1}'), end="cut")
    assert kinds(events)[2:] == ["call_start", "call_text", "incomplete"]


def test_arguments_in_the_start_and_in_deltas_are_both_kept() -> None:
    full = start(0, "function_call", name="f", arguments={"a": 1})
    events = read(full, delta(0, "arguments_delta", arguments='{"b":2}'), stop(0))
    assert [event for event in events if event["kind"] in ("unknown", "call_end")] == [
        {
            "kind": "unknown",
            "where": "field function_call.arguments",
            "raw": {"arguments": {"a": 1}},
        },
        {"kind": "call_end", "call": 1, "arguments": {"b": 2}},
    ]


@pytest.mark.parametrize("value", [True, 7, {"a": 1}])
@pytest.mark.parametrize("field", ["id", "signature", "name"])
def test_a_field_of_another_type_is_judged_like_no_field(field: str, value: Json) -> None:
    step = {"name": "f", "arguments": {}, field: value}
    messages = [start(0, "function_call", **step), stop(0)]
    body = b"".join(b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages)
    exchange = Exchange(None, 200, {}, ((None, body),), provider="interactions", generates=True)
    called = (Call("abc", "f", {}),)
    adapter = facts_adapter(lambda _: Transcript((Entry({"x": 1}, called),)))
    assert judge_exchange(Reading(exchange), adapter).aspects["calls"].verdict in ("kept", "wrong")


def test_an_array_of_events_is_read_like_the_events() -> None:
    events = [start(0, "model_output"), delta(0, "text", text="Hi")]
    assert read(events) == read(*events)


def test_an_error_in_an_array_is_an_error() -> None:
    events = read([{"error": {"code": "safety", "message": "m"}}], status=400)
    assert [(event["kind"], event["code"], event["status"]) for event in events] == [
        ("error", 400, "safety")
    ]


@pytest.mark.parametrize("message", [None, 7, "oops", [1], {}, {"candidates": []}])
def test_a_message_that_is_no_event_is_unknown(message: Json) -> None:
    assert kinds(read(message)) == ["unknown"]


@pytest.mark.parametrize(
    "event",
    [
        {"event_type": "interaction.created", "interaction": 7},
        {"event_type": "step.start", "index": 0, "step": "thought"},
        {"event_type": "step.delta", "index": 0, "delta": [1]},
        {"event_type": "step.delta", "index": 0, "delta": {"type": 5, "text": "x"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": 5}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "thought_summary"}},
        {"event_type": "interaction.status_update", "status": 5},
        {"event_type": "error"},
        {"event_type": "step.stop", "index": 0, "metadata": 5},
        {"event_type": "step.stop", "index": 0, "usage": "many"},
    ],
)
def test_a_field_of_another_type_leaves_a_trace(event: Json) -> None:
    assert "unknown" in kinds(read(event))


def test_a_failed_answer_without_a_body_is_an_error() -> None:
    assert [event["message"] for event in read(status=503)] == ["HTTP 503"]


def test_texts_of_a_failed_answer_are_one_error() -> None:
    assert [event["message"] for event in read("<", "oops", status=500)] == ["HTTP 500"]


@pytest.mark.parametrize("path", CASSETTES, ids=lambda path: path.stem)
def test_the_decoder_of_text_pieces_gives_the_events_of_the_reader(path: Path) -> None:
    for exchange in harness.load(path).exchanges:
        frames = frames_of(exchange)
        events = read(*(frame.json if frame.raw is None else frame.raw for frame in frames))
        whole = harness.replay(exchange, layer="events")
        texts = [[event for event in side if event["kind"] == "text"] for side in (events, whole)]
        assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "data",
    [
        b'{"index":0,"delta":{"text":"a","type":"text"},"event_type":"step.delta","event_id":"e"}',
        b'{"index":0,"delta":{"text":"a","type":"text","tone":"b"},"event_type":"step.delta"}',
        b'{"index":0,"delta":{"text":"a","type":"smell"},"event_type":"step.delta"}',
        b'{"index":0,"delta":{"text":null,"type":"text"},"event_type":"step.delta"}',
        b'{"index":"0","delta":{"text":"a","type":"text"},"event_type":"step.delta"}',
        b'{"delta":{"text":"a","type":"text"},"event_type":"step.delta"}',
        b"[DONE]",
    ],
)
def test_any_other_event_is_left_to_the_reader(data: bytes) -> None:
    assert decode_text(data) is None


def test_pieces_of_text_are_read_by_the_decoder() -> None:
    normalizer = PROVIDERS["interactions"].normalizer(Answer())
    first, second = (
        Frame(
            0, b'{"index":0,"delta":{"text":"%s","type":"text"},"event_type":"step.delta"}' % text
        )
        for text in (b"a", b"b")
    )
    normalizer.feed(first)
    events = normalizer.feed(second)
    assert [to_builtins(event) for event in events] == [{"kind": "text", "text": "b"}]
    assert type(second.message) is bytes


def test_the_oracle_reads_an_open_call_by_how_the_answer_ended() -> None:
    body = b'data: {"event_type":"step.start","index":0,"step":{"type":"function_call","name":"f"}}\n\n'
    body += b'data: {"event_type":"step.delta","index":0,"delta":{"type":"arguments_delta","arguments":"{"}}\n\n'
    whole, cut = gather_interactions(body), gather_interactions(body, interrupted=True)
    assert (whole.calls, whole.invalid_calls) == ([], [("f", "{")])
    assert (cut.calls, cut.invalid_calls) == ([("f", "{")], [])


def test_a_fact_that_the_events_lack_is_found() -> None:
    exchange = harness.load(ROOT / "cassettes" / "interactions" / "calls.yaml").exchanges[0]
    events = harness.replay(exchange, layer="events")
    wire = gather_interactions(exchange.body)
    for lost, fact in (("call_start", "calls"), ("reasoning", "signatures"), ("usage", "usage")):
        carried = View(gather_events([event for event in events if event["kind"] != lost]))
        assert getattr(carried, fact) != getattr(wire, fact), lost
    assert View(gather_events(events)).calls == wire.calls


@pytest.mark.parametrize("result", [{}, {"result": "r"}])
def test_each_unread_field_of_a_result_is_one_event(result: dict[str, Json]) -> None:
    step = start(0, "function_result", call_id="i", name="f", signature="QQ==", odd=1, **result)
    unknown = [event for event in read(step, stop(0)) if event["kind"] == "unknown"]
    assert [event["where"] for event in unknown] == [
        "field function_result.signature",
        "field function_result.odd",
    ]


def test_an_exchange_of_the_removed_schema_is_not_understood() -> None:
    body = b'data: {"event_type": "content.delta", "index": 0, "delta": {"text": "Hi"}}\n\n'
    exchange = Exchange(Request("POST", f"{HOST}/v1beta/interactions"), 200, {}, ((None, body),))
    assert harness.replay(exchange)[-1]["type"] == "ERROR"
    assert not facts_of_body(body, "interactions").understood


VARIANTS = {
    "framing::comments-and-ids": ["comments"],
    "framing::empty-data": ["an event without data"],
    "framing::no-last-blank-line": ["a missing blank line at the end"],
    "framing::json-lines": ["JSON lines"],
    **{
        name: ["events out of order"]
        for name in (
            *("overlaps::piece-of-no-call", "overlaps::text-of-no-step"),
            *("updates::completed-only-in-an-update", "updates::idle-at-the-end"),
        )
    },
    **{
        f"web-socket::{case}": ["the WebSocket form"]
        for case in (
            *("lines", "batches", "calls-in-batches", "cancelled", "canceled", "reconnection"),
            *("connected-again", "odd-batch", "error"),
        )
    },
    "web-socket::failed": ["events out of order", "the WebSocket form"],
    "removed-schema::stream": ["the removed schema"],
    "removed-schema::whole": ["the removed schema"],
}


@pytest.mark.slow
def test_the_shipped_streams_are_the_documented_wire() -> None:
    by_case = {}
    for path in sorted((ROOT / "specs" / "interactions").glob("*.yaml")):
        for case in parse(path.read_bytes())["cases"]:
            if "cassette" not in case or "turns" in case:
                continue
            cassette = harness.load(ROOT / "cassettes" / f"{case['cassette']}.yaml")
            exchange = cassette.exchanges[case.get("exchange", 1) - 1]
            if variants := [*Reading(exchange).variants]:
                by_case[f"{path.stem}::{case['case']}"] = variants
    assert by_case == VARIANTS


@pytest.mark.parametrize(
    ("messages", "ordered"),
    [
        ([start(0, "thought"), delta(0, "text", text="a"), stop(0)], True),
        ([delta(3, "text", text="a"), stop(3), start(4, "thought")], True),
        ([start(0, "thought"), {"event_type": "new.event"}, "noise", stop(0)], True),
        ([start(0, "thought"), start(1, "thought"), stop(0), stop(1)], True),
        ([{"events": [CREATED, start(0, "thought")]}, stop(0)], True),
        ([start(0, "thought"), start(0, "thought")], False),
        ([start(0, "thought"), stop(0), start(0, "thought")], False),
        ([CREATED, start(0, "thought"), delta(1, "text", text="a")], False),
        ([CREATED, start(0, "thought"), stop(1)], False),
        ([CREATED, start(0, "thought"), {"event_type": "interaction.completed"}], False),
        ([{"event_type": "reconnection_required"}, stop(0)], False),
        ([{"event_type": "step.stop"}], False),
        ([stop(0), stop(0)], False),
        ([start(0, "thought"), "[DONE]"], False),
        (["[DONE]"], False),
        ([stop(0), {"event_type": "interaction.created"}], False),
        ([{"event_type": "interaction.completed"}, "[DONE]"], True),
        ([{"event_type": "interaction.completed"}, start(0, "thought")], False),
    ],
)
def test_the_order_of_events(messages: list[Json], ordered: bool) -> None:
    normalizer = InteractionsNormalizer(Answer())
    for message in messages:
        text = message if type(message) is str else None
        normalizer.feed(Frame(0, None if text else message, text))
    assert OUT_OF_ORDER.isdisjoint(oddity.name for oddity in normalizer.oddities) is ordered


def test_the_page_has_the_order_of_events() -> None:
    page = (ROOT / "docs" / "wires-of-gemini.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if "→" in line]
    for state, follows in ORDER.items():
        (row,) = [cells[2] for cells in rows if f"`{state}`" in cells[1]]
        named = ORDER["fresh"].keys() - {"interaction.created"} if state == "fresh" else set()
        assert [kind for kind in follows if f"`{kind}`" not in row and kind not in named] == []
        assert state == "fresh" or all(f"`{following}`" in row for following in follows.values())


def test_every_status_and_step_of_the_reader_is_on_the_page() -> None:
    page = (ROOT / "docs" / "wires-of-gemini.md").read_text(encoding="utf-8")
    steps = [name for name in STEPS if not name.endswith(("_call", "_result"))]
    assert [word for word in (*FINISHES, *WAITING, *steps) if f"`{word}`" not in page] == []
