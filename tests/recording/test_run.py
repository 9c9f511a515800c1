"""The recording run: retries, limits, and the answers that are kept."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import google.genai  # noqa: F401  # first: pytester imports a test's modules twice
import pytest

from harness import load
from harness.cassettes import CassetteError, Exchange
from harness.recording.settings import GenerateAsk, Limits
from harness.stream.events import End
from tests.recording.clients import part_of
from tests.recording.providers import BODY, HELLO, Seen, ask, event, limited
from tests.support.raw_server import Script, plain, raw_server, streaming

OVERLOADED = streaming(
    event("half"), b'{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}'
)


class Watching:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def asked(self, requests: int, output_tokens: int) -> None:
        self.calls.append((requests, output_tokens))

    def waiting(self, seconds: float, why: str) -> None:
        self.calls.append((seconds, why))


@pytest.mark.slow
def test_the_run_waits_as_long_as_the_provider_requests(tmp_path: Path) -> None:
    slept: list[float] = []
    watching = Watching()
    with raw_server(limited("34.4s"), plain("503 Busy", b""), OVERLOADED, HELLO) as url:
        cassette = ask(url, tmp_path / "a.yaml", sleep=slept.append, progress=watching)
    assert slept == [34.4, 2.0, 4.0]
    assert [exchange.body for exchange in cassette.exchanges] == [event("hello")]
    assert watching.calls == [
        (1, 0),
        (34.4, "a quota answer (429)"),
        (2, 0),
        (2.0, "an overload answer (503)"),
        (3, 12),
        (4.0, "an overload answer (503)"),
        (4, 24),
    ]


@pytest.mark.parametrize(
    ("script", "options", "message"),
    [
        (
            limited("1s"),
            {"limits": Limits(attempts=2)},
            r"request 1 got a quota answer after 2 attempts \(429: slow down\)",
        ),
        (
            limited("1s", quota="GenerateRequestsPerDayPerProject"),
            {},
            "request 1 got a quota answer",
        ),
        (limited("1s", reason="QUOTA_EXHAUSTED"), {}, "request 1 got a quota answer"),
        (limited("301s"), {}, "request 1 got a quota answer"),
        (plain("403 Forbidden", b"{}"), {}, "request 1 got an authorization answer"),
        (
            limited("1s"),
            {"limits": Limits(requests=2)},
            "this run has used 2 requests, and 2 is the limit",
        ),
        (
            HELLO,
            {"asks": [GenerateAsk(BODY, "m")] * 3, "limits": Limits(output_tokens=20)},
            "has used 24 output tokens, and 20 is the limit",
        ),
        (lambda connection: connection.reset(), {}, "request 1 got no answer at all"),
    ],
)
def test_errors_that_end_a_recording(
    tmp_path: Path, script: Script, options: Any, message: str
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("what is there stays")
    with raw_server(script) as url, pytest.raises(CassetteError, match=message):
        ask(url, path, sleep=lambda _: None, **options)
    assert path.read_text() == "what is there stays"


def test_an_error_status_that_is_allowed_is_kept(tmp_path: Path) -> None:
    with raw_server(limited("1s")) as url:
        assert ask(url, tmp_path / "a.yaml", allow_status=[429]).exchanges[0].status == 429


@pytest.mark.slow
@pytest.mark.parametrize("end", ["cut", "reset"])
def test_a_broken_answer_is_refused_unless_it_is_allowed(tmp_path: Path, end: End) -> None:
    path = tmp_path / "a.yaml"
    with raw_server(HELLO) as url:
        whole = ask(url, path)
    good, other = path.read_bytes(), "cut" if end == "reset" else "reset"
    broke = rf"the answer to request 1 was {end}.* before its end, after 1 read of \d+ bytes; .* allow this end: --allow-end {end}"
    with raw_server(streaming(event("half"), end=end)) as url:
        for options in ({}, {"before": whole.exchanges}, {"before": None}, {"allow_end": [other]}):
            with pytest.raises(CassetteError, match=broke):
                ask(url, path, **options)
            assert path.read_bytes() == good
        assert ask(url, path, allow_end=[end]).exchanges[0].end == end
        assert (
            ask(url, path, before=load(path).exchanges).exchanges[0].end == end
        )  # it had that end before


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    "odd",
    [
        b"data:{}\r\n\r\n",
        b": ping\r\n\r\n",
        b"<html>",
        b'{"error": {}}',
        b"data: 7\r\n\r\n",
        b"\xff",
    ],
)
def test_an_answer_that_the_sdk_can_not_read_is_recorded_whole(
    tmp_path: Path, odd: bytes, streamed: bool
) -> None:
    pieces = [event("a"), odd, *[event(str(number)) for number in range(9)]]
    with raw_server(streaming(*pieces)) as url:
        (exchange,) = ask(url, tmp_path / "a.yaml", [GenerateAsk(BODY, "m", streamed)]).exchanges
    assert exchange.body == b"".join(pieces)
    assert exchange.end == "complete"


@pytest.mark.slow
def test_the_next_request_may_depend_on_the_answer(tmp_path: Path) -> None:
    def talk() -> Generator[GenerateAsk, Exchange, None]:
        answer = yield GenerateAsk(BODY, "m")
        yield GenerateAsk(
            {"contents": [{"role": "user", "parts": [{"text": answer.body.decode()[7:20]}]}]}, "m"
        )

    seen = Seen()
    with raw_server(seen(HELLO)) as url:
        assert len(ask(url, tmp_path / "a.yaml", talk()).exchanges) == 2
    assert seen.requests[1][2]["contents"][0]["parts"][0]["text"] == event("hello").decode()[7:20]


def test_ctrl_c_leaves_whole_cassettes_only(tmp_path: Path) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "a.yaml"
    with raw_server(HELLO, limited("5s")) as url, pytest.raises(KeyboardInterrupt):
        ask(url, path, [GenerateAsk(BODY, "m")] * 2, sleep=stop)
    assert not path.exists()
    assert load(part_of(tmp_path / "a.yaml")).exchanges[0].body == event("hello")
