"""What is fuzzed, and what it starts from: the shipped cassettes, their answers and the specs.

A target takes what its part may raise, typed errors, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import harness
from harness.cassette import CassetteError, loads
from harness.dialects import DIALECTS
from harness.framing import FramingError, frame_by_content
from harness.providers import PROVIDERS, Answer
from harness.spec import SpecError, read_spec
from harness.tool_code import Block, Splitter, parse_body

ROOT = Path(__file__).parent.parent.parent
FIRST = 60
"""So many files or answers make the first corpus."""


@dataclass(frozen=True)
class Target:
    """``run`` is given bytes; ``corpus`` gives the inputs to begin with."""

    run: Callable[[bytes], None]
    corpus: Callable[[], Iterator[bytes]]


def _framing(data: bytes) -> None:
    framer = frame_by_content(1 << 20)
    middle = len(data) // 3
    try:
        framer.feed(data[:middle])
        framer.feed(data[middle:])
    except FramingError:
        return
    framer.close()


def _normalization(data: bytes) -> None:
    for provider in PROVIDERS.values():
        framer = provider.framer(1 << 20)
        normalizer = provider.normalizer(Answer(200, {}, None, provider.tool_code))
        for frame in framer.feed(data) + framer.close():
            normalizer.feed(frame)
        normalizer.close("complete")


def _tool_code(data: bytes) -> None:
    splitter, text = Splitter(), data.decode("utf-8", "replace")
    middle = len(text) // 2
    pieces = [*splitter.feed(text[:middle]), *splitter.feed(text[middle:]), *splitter.close()]
    for piece in pieces:
        if isinstance(piece, Block):
            parse_body(piece.body)


def _cassette(data: bytes) -> None:
    try:
        loads(data)
    except CassetteError:
        return


def _spec(data: bytes) -> None:
    try:
        text = data.decode()
        read_spec(text, "fuzzed.yaml", dialects=DIALECTS, providers=PROVIDERS, features={"text.streaming"}, losses={})
    except (SpecError, UnicodeDecodeError):
        return


def _answers() -> Iterator[bytes]:
    for path in sorted((ROOT / "cassettes").rglob("*.yaml")):
        yield harness.load(path).exchanges[0].body


def _leaked() -> Iterator[bytes]:
    for body in (
        '{"todos": []}',
        '{"tool_name": "f", "parameters": {"a": 1}}',
        "print(default_api.f(a='x', b=[1, None]))",
        '```json\n{"a": 1}\n```',
    ):
        yield f"a <tool_code>{body}</tool_code> b".encode()


def _files(folder: str) -> Callable[[], Iterator[bytes]]:
    return lambda: (path.read_bytes() for path in sorted((ROOT / folder).rglob("*.yaml"), key=lambda path: path.stat().st_size))


TARGETS = {
    "framing": Target(_framing, _answers),
    "normalization": Target(_normalization, _answers),
    "tool-code": Target(_tool_code, _leaked),
    "cassette": Target(_cassette, _files("cassettes")),
    "spec": Target(_spec, _files("specs")),
}


def first_corpus(name: str) -> list[bytes]:
    """The inputs that a target begins with, short ones alone."""
    return [data for data in islice(TARGETS[name].corpus(), FIRST) if len(data) <= 4096] or [b""]
