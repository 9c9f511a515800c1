"""A long read is framed in pieces; the frames are the same, and few of them exist at once."""

from typing import Any

import pytest

from harness.cassettes import Exchange, Request
from harness.dialects import DIALECTS
from harness.pipeline.replay import replay, replay_parts
from harness.stream.framing import sse

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
TEXT = b"x" * 1000
MEGABYTE = 1 << 20
PIECE = 1 << 14


def body(end: bytes) -> bytes:
    return b"".join(b'data: {"number": %d, "text": "%b"}' % (n, TEXT) + end for n in range(2500))


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the pieces that were framed."""
    lengths: list[int] = []
    feed = sse.SseFramer.feed

    def counted(self: sse.SseFramer, data: bytes, at_ms: float | None = None) -> Any:
        lengths.append(len(data))
        return feed(self, data, at_ms)

    monkeypatch.setattr(sse.SseFramer, "feed", counted)
    return lengths


def frames(data: bytes) -> list[dict[str, Any]]:
    request = Request("POST", URL)
    return replay(Exchange(request, 200, {}, ((5.0, data),), "complete"), layer="frames")


@pytest.mark.slow
@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
def test_a_long_read_is_framed_in_pieces_that_end_with_an_event(end: bytes, fed: list[int]) -> None:
    data = body(end)
    given = frames(data)
    assert [frame["json"]["number"] for frame in given] == list(range(2500))
    assert {frame["at_ms"] for frame in given} == {5.0}
    assert all(data[frame["offset"] :].startswith(b"data: ") for frame in given)
    assert sum(fed) == len(data)
    assert min(fed[:-1]) >= PIECE
    assert max(fed) <= PIECE + len(data) // 2000


def test_a_long_event_is_framed_in_pieces_of_a_megabyte(fed: list[int]) -> None:
    data = b'data: {"text": "' + b"x" * 3 * MEGABYTE + b'"}\n\n'
    assert len(frames(data)) == 1
    assert fed == [MEGABYTE] * 3 + [len(data) - 3 * MEGABYTE]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "between", "after"),
    [(b"[", b",\r\n", b"]"), (b"[", b"\n,\r\n", b"\n]\n"), (b"[", b", ", b"]"), (b"", b"\n", b"")],
    ids=["array", "array of Google", "array in one line", "lines"],
)
def test_a_long_answer_without_events_is_translated_in_parts(
    before: bytes, between: bytes, after: bytes
) -> None:
    message = b'{"candidates": [{"content": {"parts": [{"text": "%b"}]}}]}' % TEXT
    data = before + between.join([message] * 2500) + after
    exchange = Exchange(None, 200, {}, ((5.0, data),), "complete")
    parts = list(
        replay_parts(exchange, "gemini-api", "unified-llm", layer="payloads", cuts="recorded")
    )
    assert sum(payload["type"] == "TEXT_DELTA" for part in parts for payload in part) == 2500
    assert max(map(len, parts)) <= 1 + MEGABYTE // len(message)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_read_is_translated_in_parts(dialect: str, fed: list[int]) -> None:
    message = b'data: {"candidates": [{"content": {"parts": [{"text": "%b"}]}}]}\n\n' % TEXT
    exchange = Exchange(None, 200, {}, ((5.0, message * 2500),), "complete")
    parts = replay_parts(exchange, "gemini-api", dialect, layer="payloads", cuts="recorded")
    fed.clear()  # the provider was detected
    first = next(parts)
    assert len(fed) == 1
    assert [*first, *(payload for part in parts for payload in part)] == replay(
        exchange, provider="gemini-api", dialect=dialect
    )
