"""The targets of fuzzing and their first corpus.

The corpus consists of the shipped cassettes, their answers, the specs, and a sample of each foreign
recording format.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import harness
from harness.cassettes import CassetteError, dumps, importers, loads
from harness.dialects import DIALECTS
from harness.providers import PROVIDERS, Answer
from harness.specs.reader import is_features, read_features, read_spec
from harness.specs.spec_error import SpecError
from harness.stream.events import Event
from harness.stream.framing import Frame, FramingError, frame_by_content
from harness.stream.tool_code import Splitter, ToolCodeBlock, parse_body
from tests.support.event_order import out_of_order

ROOT = Path(__file__).parent.parent.parent
CUT = 7
LONGEST_FRAME = 600
"""In bytes."""
TODAY = date(2026, 11, 22)
FEATURES = {
    feature.id
    for feature in read_features(
        (ROOT / "specs/features.yaml").read_text(encoding="utf-8"), "features.yaml"
    )
}
LOSSES = {name: [*map(str, dialect.losses)] for name, dialect in DIALECTS.items()}


@dataclass(frozen=True)
class Target:
    """``run`` gets bytes; ``corpus`` gives the first inputs."""

    run: Callable[[bytes], None]
    corpus: Callable[[], Iterable[bytes]]


def _framing(data: bytes) -> None:
    whole, cut = (
        _frames([data]),
        _frames(data[start : start + CUT] for start in range(0, len(data), CUT)),
    )
    assert whole == cut, f"cuts matter: {whole} whole, {cut} in pieces of {CUT} bytes"


def _frames(pieces: Iterable[bytes]) -> list[Frame] | None:
    """None if a message is refused for its length, since the place of the refusal and the frames
    before it depend on the cuts.
    """
    framer = frame_by_content(LONGEST_FRAME)
    try:
        return [*(frame for piece in pieces for frame in framer.feed(piece)), *framer.close()]
    except FramingError:
        return None


def _normalization(data: bytes) -> None:
    for provider in PROVIDERS.values():
        framer = provider.framer(1 << 20)
        normalizer = provider.normalizer(Answer(200, {}, None, provider.tool_code))
        events: list[Event] = []
        for frame in framer.feed(data) + framer.close():
            events += normalizer.feed(frame)
        events += normalizer.close("complete")
        kinds = [event.__struct_config__.tag for event in events]
        assert out_of_order([str(kind) for kind in kinds]) is None, (
            f"events of {provider.name} out of order: {kinds}"
        )


def _tool_code(data: bytes) -> None:
    splitter, text = Splitter(), data.decode("utf-8", "replace")
    middle = len(text) // 2
    pieces = [*splitter.feed(text[:middle]), *splitter.feed(text[middle:]), *splitter.close()]
    assert (
        "".join(piece.raw if isinstance(piece, ToolCodeBlock) else piece for piece in pieces)
        == text
    ), "text was lost or made"
    for piece in pieces:
        if isinstance(piece, ToolCodeBlock):
            parse_body(piece.body)


def _cassette(data: bytes) -> None:
    try:
        cassette = loads(data)
    except CassetteError:
        return
    dumps(cassette)  # a readable cassette can be written: this reads the text again and compares


def _importing(data: bytes) -> None:
    try:
        importers.read(data)
    except CassetteError:
        return


def _spec(data: bytes) -> None:
    try:
        text = data.decode()
        if is_features(text):
            read_features(text, "fuzzed.yaml")
        else:
            read_spec(
                text,
                "fuzzed.yaml",
                dialects=DIALECTS,
                providers=PROVIDERS,
                features=FEATURES,
                losses=LOSSES,
                today=TODAY,
            )
    except (SpecError, UnicodeDecodeError):
        return


def _answers() -> Iterator[bytes]:
    for path in sorted((ROOT / "cassettes").rglob("*.yaml")):
        yield from (exchange.body for exchange in harness.load(path).exchanges)


def _leaked() -> Iterator[bytes]:
    for body in (
        '{"todos": []}',
        '{"tool_name": "f", "parameters": {"a": 1}}',
        "print(default_api.f(a='x', b=[1, None]))",
        '```json\n{"a": 1}\n```',
    ):
        yield f"a <tool_code>{body}</tool_code> b".encode()


def _recordings() -> Iterator[bytes]:
    samples = runpy.run_path(str(ROOT / "tests/cassettes/importers/samples.py"))["SAMPLES"]
    yield from (data for _, data in samples.values())


def _files(folder: str) -> Callable[[], Iterator[bytes]]:
    return lambda: (path.read_bytes() for path in sorted((ROOT / folder).rglob("*.yaml")))


TARGETS = {
    "framing": Target(_framing, _answers),
    "normalization": Target(_normalization, _answers),
    "tool-code": Target(_tool_code, _leaked),
    "cassette": Target(_cassette, _files("cassettes")),
    "importing": Target(_importing, _recordings),
    "spec": Target(_spec, _files("specs")),
}
