"""The public functions: load, replay, and their errors."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harness
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.cassettes.load import read_recording
from harness.dialects import DIALECTS
from harness.pipeline.replay import ReplayError, replay
from harness.providers import PROVIDERS, with_provider
from harness.stream.session import Session, Tool

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
BODY = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "H\xc3\xa9"}],"role": "model"},"index": 0}],"responseId": "r"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f","args": {"a": 1}}}]},"finishReason": "STOP"}]}\r\n\r\n'
)


def exchange(
    body: bytes = BODY,
    url: str | None = URL,
    status: int = 200,
    end: Any = "complete",
    **headers: str,
) -> Exchange:
    request = Request("POST", url, {}, b"{}") if url else None
    reads = ((1.0, body[:40]), (2.5, body[40:])) if body else ()
    return with_provider(
        Exchange(
            request,
            status,
            {name.replace("_", "-"): [value] for name, value in headers.items()},
            reads,
            end,
        )
    )


def test_payloads_events_and_frames() -> None:
    assert [payload["type"] for payload in replay(exchange(), dialect="anthropic")][:2] == [
        "message_start",
        "content_block_start",
    ]
    assert replay(exchange(), layer="events")[:2] == [
        {"kind": "start", "id": "r", "model": "gemini-x"},
        {"kind": "text", "text": "Hé"},
    ]
    first, second = replay(exchange(), layer="frames")
    assert (first["offset"], first["at_ms"], first["json"]["responseId"]) == (0, 2.5, "r")
    assert set(second) == {"offset", "at_ms", "json"}
    assert replay(exchange(b"oops\n"), layer="frames") == [
        {"offset": 0, "at_ms": 1.0, "raw": "oops"}
    ]


@pytest.mark.parametrize("cuts", ["whole", "bytes", [1, 7, 60, 10_000, -3]])
def test_cuts_change_nothing_but_times(cuts: Any) -> None:
    for dialect in ("unified-llm", "anthropic"):
        assert replay(exchange(), dialect=dialect, cuts=cuts) == replay(exchange(), dialect=dialect)
    assert {frame["at_ms"] for frame in replay(exchange(), layer="frames", cuts=cuts)} == {None}


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"dialect": "klingon"},
        f"unknown dialect 'klingon'; known ones are {', '.join(DIALECTS)}",
    ),
    (
        {"provider": "aol"},
        f"unknown provider 'aol'; known ones are {', '.join(PROVIDERS)}",
    ),
    (
        {"dialect": "antropic"},
        f"unknown dialect 'antropic' (did you mean anthropic?); known ones are {', '.join(DIALECTS)}",
    ),
    ({"layer": "bits"}, "unknown layer 'bits'; known ones are payloads, events, frames"),
    ({"cuts": "thin"}, "unknown cuts 'thin'; known ones are recorded, whole, bytes"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_invalid_options_raise_an_error_with_the_known_values(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ReplayError) as error:
        replay(exchange(), **options)
    assert str(error.value) == message


def test_an_exchange_that_does_not_generate_can_not_be_replayed() -> None:
    other = exchange(b'{"totalTokens": 3}', URL.replace("streamGenerateContent", "countTokens"))
    for layer in ("payloads", "events", "frames"):
        with pytest.raises(ReplayError, match="this exchange does not generate: POST https"):
            replay(other, layer=layer)


def test_the_provider_of_an_exchange_made_by_hand_is_detected() -> None:
    by_hand = Exchange(Request("POST", URL), 200, {}, ((None, BODY),), "complete")
    assert replay(by_hand) == replay(exchange(), cuts="whole")


def test_bare_messages_of_gemini_are_read_as_the_gemini_api() -> None:
    assert replay(exchange(url=None))[0] == {"type": "STREAM_START"}


@pytest.mark.parametrize("body", [b'{"error": "busy"}', b"<html>", b""])
def test_a_body_that_no_wire_knows_is_never_read_as_gemini(body: bytes) -> None:
    with pytest.raises(ReplayError, match=r"name (it|its wire) with --provider"):
        replay(exchange(body, url=None))
    assert replay(exchange(body, url=None), provider="gemini-api")


@pytest.mark.parametrize(
    "packed",
    [gzip.compress(BODY), zlib.compress(BODY), gzip.compress(BODY[:99]) + gzip.compress(BODY[99:])],
)
def test_compressed_bodies_are_read_over_any_cut(packed: bytes) -> None:
    encoded = exchange(packed, content_encoding="gzip")
    assert replay(encoded) == replay(exchange())
    assert replay(encoded, cuts="bytes") == replay(exchange())


def test_a_body_that_is_not_compressed_is_read_as_it_is() -> None:
    assert replay(exchange(content_encoding="gzip")) == replay(exchange())


@pytest.mark.parametrize(
    "broken",
    [gzip.compress(BODY)[:-30], gzip.compress(BODY)[:-4] + b"\x00" * 4, b"\x1f\x8bnonsense"],
)
def test_a_broken_compressed_body_is_an_error_in_the_stream(broken: bytes) -> None:
    payloads = replay(exchange(broken, content_encoding="gzip"))
    assert payloads[-1]["type"] == "ERROR"
    assert payloads[-1]["error"]["type"] == "StreamError"


def test_a_damaged_compressed_body_is_the_same_at_every_cut() -> None:
    packed = gzip.compress(BODY, mtime=0)
    damaged = packed[:-8] + bytes([packed[-8] ^ 0xFF]) + packed[-7:]
    broken = exchange(damaged, content_encoding="gzip")
    whole = replay(broken, layer="events", cuts="whole")
    events = replay(exchange(), layer="events")
    assert whole[: len(events)] == events
    assert whole[-1] == {"kind": "incomplete", "end": "cut"}
    for place in range(1, len(damaged)):
        assert replay(broken, layer="events", cuts=(place,)) == whole
    facts = PROVIDERS["gemini-api"].facts(broken)
    assert facts.calls == [("f", {"a": 1})]


def test_a_message_before_the_damage_is_kept_as_far_as_it_came() -> None:
    packed = gzip.compress(BODY[:99], mtime=0)
    events = replay(
        exchange(packed[:-8] + b"\x00" * 8, content_encoding="gzip"), layer="events", cuts="whole"
    )
    assert events == replay(exchange(BODY[:99], end="cut"), layer="events")[:-1] + events[-2:]


def test_a_decompression_bomb_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.stream.decompression.MAX_UNPACKED", 100_000)
    bomb = gzip.compress(b"data: " + b" " * 10_000_000)
    assert replay(exchange(bomb, content_encoding="gzip"))[-1]["error"]["type"] == "StreamError"


def test_a_message_over_the_limit_is_an_error_in_the_stream() -> None:
    events = replay(exchange(), layer="events", max_frame=60)
    assert events[-2]["kind"] == "unknown"
    assert "longer than 60 bytes" in events[-2]["raw"]
    assert events[-1] == {"kind": "incomplete", "end": "cut"}
    assert "longer than 60 bytes" in replay(exchange(), layer="frames", max_frame=60)[-1]["raw"]


def test_declared_tools_come_from_the_request_or_the_caller() -> None:
    text = json.dumps(
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": '<tool_code>{"path": "x"}</tool_code>'}]},
                    "finishReason": "STOP",
                }
            ]
        }
    )
    declared = b'{"tools": [{"functionDeclarations": [{"name": "read", "parameters": {"properties": {"path": {"type": "STRING"}}}}]}]}'
    recorded = with_provider(
        Exchange(
            Request("POST", URL, {}, declared), 200, {}, ((None, f"data: {text}\n\n".encode()),)
        )
    )
    assert replay(recorded, tool_code=True)[2]["tool_call"]["name"] == "read"
    assert (
        replay(recorded, tool_code=True, tools=[Tool("open", {"properties": {"path": {}}})])[2][
            "tool_call"
        ]["name"]
        == "open"
    )
    assert replay(recorded)[2]["delta"].startswith("<tool_code>")


def test_a_session_is_filled_and_keeps_ids_apart() -> None:
    session = Session()
    first, second = (replay(exchange(), dialect="anthropic", session=session) for _ in range(2))
    assert [
        payload["content_block"]["id"]
        for payload in first + second
        if payload.get("content_block", {}).get("id")
    ] == [
        "toolu_1",
        "toolu_2",
    ]
    assert list(session.calls) == ["toolu_1", "toolu_2"]


@pytest.mark.slow
@given(
    st.binary(max_size=200)
    | st.text(alphabet='data: {}[]"candites,pr\r\n1\\u', max_size=200).map(str.encode),
    st.sampled_from([200, 204, 302, 429, 503]),
)
@settings(max_examples=200)
def test_nothing_in_a_stream_raises(body: bytes, status: int) -> None:
    for end in ("complete", "cut", "unknown"):
        garbage = Exchange(
            Request("POST", URL),
            status,
            {"content-encoding": ["gzip"]},
            ((None, body),),
            end,
            generates=True,
            provider="code-assist",
        )
        for dialect in ("unified-llm", "anthropic"):
            assert replay(garbage, dialect=dialect)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>Oops</html>", b"[7]", b'{"totalTokens": 3}', b"data: [DONE]\n\n", b"\x1f\x8b"],
)
def test_the_caller_names_the_provider_without_a_request(
    body: bytes,
) -> None:
    alone = Exchange(None, 200, {}, ((None, body),), "complete")
    with pytest.raises(
        ReplayError, match="this exchange does not generate: an answer without a request"
    ):
        replay(alone)
    for provider in PROVIDERS:
        kinds = [event["kind"] for event in replay(alone, provider=provider, layer="events")]
        assert bool({"unknown", "mark"} & {*kinds}) == bool(body), kinds
        assert all(replay(alone, provider=provider, dialect=dialect) for dialect in DIALECTS)


def test_lines_without_times_are_read_for_the_named_provider() -> None:
    lines = b'{"type":"message","role":"assistant","content":"Hi"}\n{"type":"result","status":"success"}\n'
    alone = Exchange(None, 200, {}, ((None, lines),), "complete")
    kinds = [
        payload["type"] for payload in replay(alone, provider="gemini-cli", dialect="agent-events")
    ]
    assert kinds == ["text", "turn.completed"]


def test_load_reads_cassettes_and_foreign_recordings_by_content(tmp_path: Path) -> None:
    ours = tmp_path / "a.txt"
    ours.write_text(dumps(Cassette((exchange(),), Origin("written"))), encoding="utf-8")
    assert harness.load(ours).exchanges[0].provider == "gemini-api"
    foreign = tmp_path / "b.yaml"
    foreign.write_bytes(BODY)
    (loaded,) = harness.load(str(foreign)).exchanges
    assert (loaded.generates, loaded.provider, loaded.request) == (True, "gemini-api", None)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01",
        b"hello",
        b'{"openapi": "3.1"}',
        b"version: 1\nmetadata:\n  harness: 1\n  origin: nowhere\n",
    ],
)
def test_a_file_that_is_no_recording_is_named_in_the_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(content)
    with pytest.raises(CassetteError, match=r"x\.bin"):
        harness.load(path)
    with pytest.raises(CassetteError, match=r"nothing: No such file"):
        harness.load(tmp_path / "nothing")


def test_the_name_is_used_only_in_errors() -> None:
    with pytest.raises(CassetteError, match=r"^somewhere"):
        read_recording(b"hello", "somewhere")
