"""The result of one cell: a `CaseResult`, the words for its verdict, and its JSON.

A result is plain immutable data with everything that a report shows. So a report can be made from
results later, on another machine. Workers finish in any order, so everything that prints results
sorts them by `sort_key`, a total order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from harness.cassettes.validation import msgspec_fault
from harness.facts import AspectVerdict
from harness.stream.events import End
from harness.stream.exchange import Origin

Decoded = TypeVar("Decoded")

Verdict = Literal[
    "failed",
    "error",
    "fixed",
    "warning",
    "known-failing",
    "not-carried",
    "not-run",
    "unreviewed",
    "passed",
]
Level = Literal["must", "should"]
Layer = Literal["payloads", "events", "frames", "requests", "facts"]
FirstLayer = Literal["", "bytes", "frames", "events", "payloads", "requests", "facts"]
Inside = Literal["", "message", "character"]


class ResultsError(ValueError):
    """Results can't be read. The message has the place and the reason."""


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """The words for a verdict. ``order``: the most important verdict has the lowest number.
    ``red``: the run fails. ``compared``: a comparison ran.
    """

    word: str
    symbol: str
    sentence: str
    order: int
    red: bool = False
    compared: bool = True

    def counted(self, number: int) -> str:
        """The word after a number: ``1 error``, ``2 errors``, ``2 known failing``."""
        noun = self.word in ("error", "warning") and number != 1
        return f"{number:,} {self.word}{'s' if noun else ''}"


VERDICTS: Final[dict[Verdict, VerdictWords]] = {
    "failed": VerdictWords(
        "failed", "✕", "The comparison ran and found a difference.", 0, red=True
    ),
    "error": VerdictWords(
        "error",
        "‼",
        "The case could not be judged, because of an error.",
        1,
        red=True,
        compared=False,
    ),
    "fixed": VerdictWords(
        "fixed",
        "★",
        "Marked as known failing, but it passes: the mark must be deleted.",
        2,
        red=True,
    ),
    "warning": VerdictWords(
        "warning",
        "!",
        "The comparison found a difference from a recommendation (should), not from a requirement.",
        3,
    ),
    "known-failing": VerdictWords(
        "known failing",
        "◐",
        "The comparison found a difference that is marked as known, with its reason.",
        4,
    ),
    "not-carried": VerdictWords(
        "not carried",
        "–",
        "The comparison found no difference, but the event model has no place for the subject of"
        " the case.",
        5,
    ),
    "not-run": VerdictWords("not run", "○", "No comparison ran.", 6, compared=False),
    "unreviewed": VerdictWords(
        "unreviewed",
        "◌",
        "The expectation was accepted from a run and not reviewed yet.",
        7,
        compared=False,
    ),
    "passed": VerdictWords("passed", "✓", "The comparison ran and found no difference.", 8),
}


class Finding(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One mismatch. ``expected`` and ``got`` are shortened texts; None if there is no value."""

    path: str
    kind: str = ""
    expected: str | None = None
    got: str | None = None
    note: str = ""


class Read(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, array_like=True):
    """``number`` consecutive network reads: the milliseconds from the request to the last read, the
    number of their bytes, and whether a read ends inside a message or a character.
    """

    at_ms: float | None
    size: Annotated[int, Meta(ge=0)]
    number: Annotated[int, Meta(ge=1)] = 1
    inside: Inside = ""


class Sent(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The request of an exchange: its URL without keys, and the beginning of its body. ``size`` is
    the number of bytes in the whole body.
    """

    method: str
    url: str
    body: str = ""
    size: Annotated[int, Meta(ge=0)] = 0


MOST_READS: Final = 80
"""The maximum number of rows for the reads of a stream. If there are more reads, neighbours are
merged.
"""


class Stream(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The transfer of an answer: ``size`` bytes in ``reads_total`` network reads, and the first
    half of the SHA-256 of its bytes.

    ``inside_total`` reads end inside a message or a character. Merged ``reads`` show fewer of them.
    ``events``: the first of ``events_total`` events, one line each.
    """

    status: int
    size: Annotated[int, Meta(ge=0)]
    digest: str
    reads: Annotated[tuple[Read, ...], Meta(max_length=MOST_READS)] = ()
    reads_total: Annotated[int, Meta(ge=0)] = 0
    sent: Sent | None = None
    inside_total: Annotated[int, Meta(ge=0)] = 0
    events: tuple[str, ...] = ()
    events_total: Annotated[int, Meta(ge=0)] = 0


class LayerView(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Some items of one layer, one line each, beginning with item ``start`` of ``total``. ``first``
    is the marked item, or None.
    """

    layer: Literal["frames", "events", "payloads", "prompt", "requests", "facts"]
    lines: tuple[str, ...]
    start: Annotated[int, Meta(ge=0)]
    total: Annotated[int, Meta(ge=0)]
    first: int | None = None
    differs: bool = False


class Evidence(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The details of a cell in a report, in addition to its findings.

    ``digest`` is the digest of the output as JSON. ``small_case`` is the text of a spec and a
    cassette that show the breach of a law. ``before`` are the streams of the earlier turns of a
    conversation, and ``stream`` is the stream of the last turn.
    """

    stream: Stream | None = None
    digest: str = ""
    layers: tuple[LayerView, ...] = ()
    small_case: str = ""
    before: tuple[Stream, ...] = ()


class CaseResult(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The result of one case for one adapter. If ``adapter`` is ``""``, it is for the layer
    ``events`` or ``frames``.

    ``spec`` is a posix path relative to the folder of specs. ``line`` is counted from 1. ``source``
    is the documentation of the requirement. ``reason`` explains the verdict if the findings do not,
    and ``link`` belongs to the reason. If the cassette could not be read, ``provider`` is ``""``
    and ``origin`` is None. ``first_layer`` is the lowest layer that differs. ``findings`` may be
    fewer than ``findings_total``. ``lost_features`` are the features that a verdict not-carried
    concerns, or that the failed aspects of an adapter with facts concern. None means all.
    ``command`` is a shell line that reproduces the cell. ``wire`` is an excerpt of the stream.
    ``regression_of`` are public bug threads, as ``owner/repo#12``. ``aspects``: the verdict of each
    aspect that was judged. ``declared``: the declared losses of a user's adapter that concern the
    cell, and whether the cell shows them. ``known``: the patterns of its known failures that match
    the cell, and whether a part of the cell fails. ``question``: the name of the question that
    other providers also answer. ``answered``: for a case with a question, the verdict of each
    aspect that the wire of the answer has, and of some token counts.
    """

    spec: str
    line: Annotated[int, Meta(ge=1)]
    case: str
    requirement: str
    features: tuple[str, ...]
    level: Level
    source: str
    provider: str
    adapter: str
    layer: Layer
    verdict: Verdict
    reason: str = ""
    link: str = ""
    cassette: str = ""
    exchange: Annotated[int, Meta(ge=1)] = 1
    origin: Origin | None = None
    end: End = "unknown"
    first_layer: FirstLayer = ""
    findings: tuple[Finding, ...] = ()
    findings_total: Annotated[int, Meta(ge=0)] = 0
    command: str = ""
    wire: str = ""
    evidence: Evidence | None = None
    lost_features: tuple[str, ...] | None = None
    regression_of: tuple[str, ...] = ()
    aspects: dict[str, AspectVerdict] = {}
    declared: dict[str, bool] = {}
    known: dict[str, bool] = {}
    question: str = ""
    answered: dict[str, AspectVerdict] = {}


def brief(result: CaseResult) -> CaseResult:
    """The result with only the fields that a summary needs. The other fields have long texts."""
    origin = result.origin
    return CaseResult(
        spec="",
        line=1,
        case="",
        requirement="",
        features=result.features,
        level=result.level,
        source="",
        provider=result.provider,
        adapter=result.adapter,
        layer=result.layer,
        verdict=result.verdict,
        reason=result.reason,
        cassette=result.cassette,
        exchange=result.exchange,
        origin=Origin(origin.kind) if origin else None,
        lost_features=result.lost_features,
        declared=result.declared,
        known=result.known,
    )


def sort_key(result: CaseResult) -> tuple[Any, ...]:
    """The order of results: by place in the specs, provider and cell, then by all other fields."""
    place = (
        result.spec,
        result.line,
        result.case,
        result.provider,
        result.layer,
        result.adapter,
        result.cassette,
        result.exchange,
    )
    return (*place, encode_item(result))


def encode(results: Iterable[CaseResult]) -> bytes:
    """Results as one JSON array in `sort_key` order. The same results give the same bytes."""
    return b"[" + b",\n".join(key[-1] for key in sorted(map(sort_key, results))) + b"]\n"


def decode(data: bytes) -> list[CaseResult]:
    """Read what `encode` wrote. Raises `ResultsError`."""
    expected = "expected the JSON array that a run writes; run the specs again to write it"
    return decode_as(list[CaseResult], data, "results", expected)


def decode_as(kind: type[Decoded], data: bytes, name: str, expected: str) -> Decoded:
    """Read a JSON document. Raises `ResultsError` with its name, the fault and the expectation."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a ValidationError is a DecodeError
        _, fact = msgspec_fault(error, kind, "the document")
        raise ResultsError(f"{name}: {fact}; {expected}") from error


def encode_item(item: Struct) -> bytes:
    """A result, or an item of a document, as JSON. A lone surrogate is written as the text of its
    escape, because UTF-8 can't encode it. Only text of a model has lone surrogates.
    """
    try:
        return msgspec.json.encode(item)
    except UnicodeEncodeError:
        return msgspec.json.encode(_spell_surrogates(msgspec.to_builtins(item)))


def _spell_surrogates(value: Any) -> Any:
    """JSON data with every lone surrogate replaced by the text of its escape."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {key: _spell_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [_spell_surrogates(item) for item in value]
        case _:
            return value
