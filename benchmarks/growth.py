"""Time for an input of 10 n against one of n, for every reader of untrusted bytes: linear is 10."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps, loads
from harness.cassettes.redaction.redactor import Redactor
from harness.dialects import DIALECTS
from harness.pipeline.replay import replay
from harness.providers import PROVIDERS
from harness.recording.journal import FrameBuffer
from harness.specs.reader import read_spec
from harness.specs.spec_error import SpecError
from harness.stream.framing import frame_by_content
from harness.stream.tool_code import Splitter, ToolCodeBlock, parse_body

from .measure import URL, compared, exchange_of, processor_times


def growth(rounds: int) -> dict[str, float]:
    """Wall time for 10 n against n; linear is 10."""

    def one_byte_reads(size: int) -> Callable[[], object]:
        body = exchange_of(size // 400).body
        return lambda: feed(body, 1)

    def one_line(size: int) -> Callable[[], object]:
        body = b'data: {"a":"' + b"x" * size + b'"}\n\n'
        return lambda: feed(body, 4096)

    def feed(body: bytes, step: int) -> None:
        framer = frame_by_content()
        for start in range(0, len(body), step):
            framer.feed(body[start : start + step])
        framer.close()

    result = {}
    for name, make, size in (
        ("one-byte reads, 40 KB to 400 KB", one_byte_reads, 40_000),
        ("one line, 1 MB to 10 MB", one_line, 1_000_000),
    ):
        small, large = compared(rounds, make(size), make(10 * size))
        result[name] = large / small
    return result


def hostile_growth(rounds: int) -> dict[str, float]:
    """Processor time for 10 n against n, on ordinary input and on hostile input.

    Linear is 10.
    """
    result = {}
    for name, (run, make) in READERS.items():
        small, large = processor_times(rounds, partial(run, make(1)), partial(run, make(10)))
        result[name] = large / small
    return result


def frames_of_body(body: bytes) -> None:
    framer = frame_by_content()
    for start in range(0, len(body), 8192):
        framer.feed(body[start : start + 8192])
    framer.close()


def events_of_body(body: bytes) -> None:
    replay(
        Exchange(
            Request("POST", URL), 200, {}, ((None, body),), "complete", "", "gemini-api", True
        ),
        layer="events",
    )


def pieces_of_text(text: str) -> None:
    splitter = Splitter()
    for start in range(0, len(text), 64):
        for piece in splitter.feed(text[start : start + 64]):
            if isinstance(piece, ToolCodeBlock):
                parse_body(piece.body)
    splitter.close()


def reads_of_body(body: bytes) -> None:
    buffer = FrameBuffer(Redactor(), 1)
    for start in range(0, len(body), 1000):
        buffer.feed(0.0, body[start : start + 1000])
    buffer.close()


def cassette_of_text(text: bytes) -> None:
    with suppress(CassetteError):
        loads(text)


def cases_of_text(text: str) -> None:
    with suppress(SpecError):
        read_spec(
            text,
            "s.yaml",
            dialects=DIALECTS,
            providers=PROVIDERS,
            features={"text.streaming"},
            losses={},
        )


def spec_of(cases: int, expected: str = "[{type: TEXT_DELTA, delta: Hel}]") -> str:
    """A spec file with that many cases."""
    fields = "  requirement: It holds.\n  features: [text.streaming]\n  source: https://ai.google.dev/api\n  cassette: c\n"
    written = (
        f"- case: c-{number}\n{fields}  expect: {{unified-llm: {expected}}}\n"
        for number in range(cases)
    )
    return "harness: 1\ncases:\n" + "".join(written)


READERS: dict[str, tuple[Callable[[Any], object], Callable[[int], Any]]] = {
    "framing, 200 frames": (frames_of_body, lambda times: exchange_of(200 * times).body),
    "framing, blank lines": (frames_of_body, lambda times: b"\n" * 2_000_000 * times),
    "framing, fields without an end": (frames_of_body, lambda times: b"data: x\n" * 10_000 * times),
    "framing, an array of brackets": (
        frames_of_body,
        lambda times: b"[" + b'{"a":[{}]},' * 10_000 * times,
    ),
    "normalization, 200 frames": (events_of_body, lambda times: exchange_of(200 * times).body),
    "normalization, one frame of parts": (
        events_of_body,
        lambda times: (
            b'data: {"candidates":[{"content":{"parts":['
            + b'{"text":"a"},' * 2000 * times
            + b'{"x":1}]}}]}\n\n'
        ),
    ),
    "normalization, pieces of arguments": (
        events_of_body,
        lambda times: b"".join(
            b'data: {"candidates":[{"content":{"parts":[{"functionCall":{%s"partialArgs":[{"jsonPath":"$.a","stringValue":"x",'
            b'"willContinue":true}],"willContinue":true}}]}}]}\n\n'
            % (b"" if number else b'"name":"f",')
            for number in range(300 * times)
        ),
    ),
    "tool_code, blocks": (
        pieces_of_text,
        lambda times: "a <tool_code>print(default_api.f(a='x', b=[1]))</tool_code> b" * 200 * times,
    ),
    "tool_code, a block without an end": (
        pieces_of_text,
        lambda times: "<tool_code>" + "f(a=" * 50_000 * times,
    ),
    "tool_code, beginnings of tags": (pieces_of_text, lambda times: "<tool_cod" * 5000 * times),
    "cassette loading, 200 frames": (
        cassette_of_text,
        lambda times: dumps(
            Cassette((exchange_of(200 * times),), Origin("written", date="2026-11-21"))
        ).encode(),
    ),
    "cassette loading, headers": (
        cassette_of_text,
        lambda times: dumps(
            Cassette(
                (
                    Exchange(
                        None,
                        200,
                        {f"x-{number}": ["y"] for number in range(500 * times)},
                        ((None, b"a"),),
                    ),
                ),
                Origin("written"),
            )
        ).encode(),
    ),
    "cassette loading, escaped lines": (
        cassette_of_text,
        lambda times: dumps(
            Cassette(
                (Exchange(None, 200, {}, ((None, b"a\x01\\\r" * 1000 * times),)),),
                Origin("written"),
            )
        ).encode(),
    ),
    "recording, one line": (reads_of_body, lambda times: b'{"a":"' + b"x" * 200_000 * times),
    "recording, one line with a secret": (
        reads_of_body,
        lambda times: b'{"access_token":"x","a":"' + b"x" * 200_000 * times,
    ),
    "spec loading, 20 cases": (cases_of_text, lambda times: spec_of(20 * times)),
    "spec loading, one long expectation": (
        cases_of_text,
        lambda times: spec_of(1, "[" + "{a: [1]}, " * 500 * times + "]"),
    ),
    "spec loading, unknown keys": (
        cases_of_text,
        lambda times: spec_of(1) + "".join(f"  k{number}: 1\n" for number in range(300 * times)),
    ),
}
"""Name → the reader, and a function that makes its input at a multiple of the base size."""
