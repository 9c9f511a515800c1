"""The rows of a run: what an adapter did with one case, law, exchange or question. Here are also
the words for verdicts, and the JSON of rows.

A row is plain immutable data with everything that a report shows. So a report can be made from rows
later, on another machine. Workers finish in any order, so everything that prints rows sorts them by
`sort_key`, a total order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from harness.cassettes.validation import msgspec_fault
from harness.facts import ACCEPTED, AspectVerdict, Finding, error_finding
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
CellLayer = Literal["payloads", "events", "frames", "requests", "facts"]
Block = Literal["documented", "variant"]
TurnName = Literal["first", "second", "question"]
FirstLayer = Literal["", "bytes", "frames", "events", "payloads", "requests", "facts"]
Inside = Literal["", "message", "character"]
PropertyKind = Literal["wire", "framing", "line ends", "last line end", "field"]


class ResultsError(ValueError):
    """Results can't be read. The message has the place and the reason."""


@dataclass(frozen=True, slots=True)
class VerdictWords:
    """The words for a verdict."""

    word: str
    symbol: str
    sentence: str
    order: int
    """The most important verdict has the lowest number."""
    red: bool = False
    """Whether the run fails."""
    compared: bool = True
    """Whether a comparison ran."""

    def counted(self, number: int) -> str:
        """Return the word after a number: ``1 error``, ``2 errors``, ``2 known failing``."""
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


class Read(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, array_like=True):
    """``number`` consecutive network reads: the milliseconds from the request to the last read, the
    number of their bytes, and whether a read ends inside a message or a character.
    """

    at_ms: float | None
    size: Annotated[int, Meta(ge=0)]
    number: Annotated[int, Meta(ge=1)] = 1
    inside: Inside = ""


class Sent(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The request of an exchange."""

    method: str
    url: str
    """The URL without keys."""
    body: str = ""
    """The beginning of the body."""
    size: Annotated[int, Meta(ge=0)] = 0
    """The number of bytes in the whole body."""


_SENT_WELL: Final = (ACCEPTED, "kept")
"""The aspect that shows nothing of an answer."""
MOST_READS: Final = 80
"""The maximum number of rows for the reads of a stream. If there are more reads, neighbours are
merged.
"""


class Stream(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The transfer of an answer."""

    status: int
    size: Annotated[int, Meta(ge=0)]
    """Bytes."""
    digest: str
    """The first half of the SHA-256 of the bytes."""
    reads: Annotated[tuple[Read, ...], Meta(max_length=MOST_READS)] = ()
    """At most `MOST_READS`: if there are more, neighbours are merged."""
    reads_total: Annotated[int, Meta(ge=0)] = 0
    """The number of network reads."""
    sent: Sent | None = None
    inside_total: Annotated[int, Meta(ge=0)] = 0
    """The number of reads that end inside a message or a character. Merged ``reads`` show fewer of
    them.
    """
    events: tuple[str, ...] = ()
    """The first events, one line each."""
    events_total: Annotated[int, Meta(ge=0)] = 0
    """The number of events."""


class LayerView(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Some items of one layer."""

    layer: Literal["frames", "events", "payloads", "prompt", "requests", "facts", "native"]
    lines: tuple[str, ...]
    """The items, one line each."""
    start: Annotated[int, Meta(ge=0)]
    """The number of the first item, from 0."""
    total: Annotated[int, Meta(ge=0)]
    """The number of items in the layer."""
    first: int | None = None
    """The marked item, or None."""
    differs: bool = False


class WireProperty(
    Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, array_like=True
):
    """A property of an answer that red cells may share: its wire, its framing, the line ends
    between its messages, the line end after its only message, or the name of a field.
    """

    kind: PropertyKind
    value: str


class Evidence(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The details of a cell in a report, in addition to its findings."""

    stream: Stream | None = None
    """The stream of the answer; in a conversation, that of the last turn."""
    digest: str = ""
    """The digest of the output as JSON."""
    layers: tuple[LayerView, ...] = ()
    small_case: str = ""
    """The text of a spec and a cassette that show the breach of a law."""
    before: tuple[Stream, ...] = ()
    """The streams of the earlier turns of a conversation."""
    excerpts: dict[str, tuple[LayerView, ...]] = {}
    """The lines around the place of each red finding by facts, by its subject: frames, native
    events and facts; in the second turn frames and the request.
    """


class Row(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="about"):
    """What one adapter did with one thing. Its type tells what that is: a case, a law, a recorded
    exchange or a question. The properties are what a row of another type has in this place.
    """

    verdict: Verdict
    adapter: str = ""
    """"" for a case of the layer ``events`` or ``frames``."""
    provider: str = ""
    """"" if the cassette could not be read."""
    cassette: str = ""
    exchange: Annotated[int, Meta(ge=0)] = 0
    """The number of the exchange in the cassette, from 1; 0 if there is none."""
    reason: str = ""
    """Explains the verdict if the findings do not."""
    link: str = ""
    """Belongs to the reason."""
    findings: tuple[Finding, ...] = ()
    """May be fewer than ``findings_total``."""
    findings_total: Annotated[int, Meta(ge=0)] = 0
    aspects: dict[str, AspectVerdict] = {}
    """The verdict of each aspect that was judged."""
    declared: dict[str, bool] = {}
    """The declared losses of a user's adapter that concern the row, and whether it shows them."""
    known: dict[str, bool] = {}
    """The patterns of known failures that match the row, and whether a part of it fails."""
    block: Block | Literal[""] = ""
    """"" for a law, and for a case that is not judged by facts."""
    variants: tuple[str, ...] = ()
    """The ways in which the answer differs from the documented wire."""
    properties: tuple[WireProperty, ...] = ()
    """The properties of the answer's bytes, for a row that is judged by facts."""
    command: str = ""
    """A shell line that reproduces the row."""
    log: str = ""
    """The end of the text that the adapter wrote to stderr, and of the stack frames of its
    exception, if a finding is red.
    """
    evidence: Evidence | None = None
    missing: bool = False
    """The run ended before this row was judged. Its verdict is *error*, with the reason."""
    raw: bool = False
    """The adapter returned messages of the wire, so the harness read their facts for it."""

    spec = case = question = requirement = source = wire = requests = first_layer = ""
    line = 1
    level = "must"
    layer = "facts"
    turn = "first"
    end = "unknown"
    unary = False

    @property
    def features(self) -> tuple[str, ...]:
        """The features of a case or law."""
        return ()

    @property
    def section(self) -> str:
        """The section of a report in which it is: that of its block, of the sessions, of the second
        turn after such an answer, or of the questions.
        """
        is_session = self.provider == "live" and self.block == "documented"
        return "sessions" if is_session else self.block or "documented"

    @property
    def origin(self) -> Origin | None:
        """The origin of the answer of a case or law."""
        return None

    @property
    def lost_features(self) -> tuple[str, ...] | None:
        """The features that the verdict concerns. None means all."""
        return None

    @property
    def answered(self) -> Mapping[str, AspectVerdict]:
        """The verdicts for a question that other providers also answer."""
        return {}

    @property
    def label(self) -> str:
        """The name of a case, the name of a question with its provider, or else the place."""
        return self.place

    @property
    def cell(self) -> tuple[object, ...]:
        """The name of the row among those of other runs."""
        return (self.spec, self.case, self.layer, self.adapter)

    @property
    def red_findings(self) -> list[Finding]:
        """The findings that make the row fail."""
        return [finding for finding in self.findings if finding.red]

    @property
    def compared(self) -> bool:
        """Whether a fact was compared."""
        verdicts = {
            verdict for aspect, verdict in self.aspects.items() if (aspect, verdict) != _SENT_WELL
        }
        return bool(verdicts - {"not_carried", "not_asked"})

    @property
    def judged(self) -> bool:
        """Whether the run reached this row."""
        return not self.missing

    @property
    def place(self) -> str:
        """The cassette and exchange, in the form for ``--cassettes``."""
        return f"{self.cassette}:{self.exchange}"


class CaseRow(Row, frozen=True, tag="case"):
    """A case of a spec."""

    layer: CellLayer = "facts"
    spec: str = ""
    """A posix path relative to the folder of specs."""
    line: Annotated[int, Meta(ge=1)] = 1
    case: str = ""
    requirement: str = ""
    features: tuple[str, ...] = ()
    level: Level = "must"
    source: str = ""
    """The documentation of the requirement."""
    regression_of: tuple[str, ...] = ()
    """Public bug threads, as ``owner/repo#12``."""
    question: str = ""
    """The name of the question that other providers also answer."""
    origin: Origin | None = None
    end: End = "unknown"
    wire: str = ""
    """The beginning of the stream."""
    first_layer: FirstLayer = ""
    """The lowest layer that differs."""
    lost_features: tuple[str, ...] | None = None
    """The features that a verdict not-carried concerns, or that the failed aspects of an adapter
    with facts concern. None means all.
    """
    answered: dict[str, AspectVerdict] = {}
    """For a case with a question, the verdict of each aspect that the wire of the answer has, and
    of some token counts.
    """

    @property
    def label(self) -> str:
        return self.case


class LawRow(CaseRow, frozen=True, tag="law"):
    """A law for one exchange, in the list of cases: ``spec`` and ``line`` have the name and the
    number of the law, ``case`` has the exchange.
    """


class ExchangeRow(Row, frozen=True, tag="exchange"):
    """A recorded exchange that no case names."""

    turn: Literal["first", "second"] = "first"
    """The second turn is the request that the adapter sends after the answer."""
    end: End = "unknown"
    unary: bool = False
    """The answer is not streamed."""
    requests: str = ""
    """The server's remarks about the requests of the adapter."""

    @property
    def section(self) -> str:
        if self.turn == "second":
            return "second_turn_of_variants" if self.block == "variant" else "second_turn"
        return super().section

    @property
    def cell(self) -> tuple[object, ...]:
        return (self.layer, self.adapter, self.turn, self.cassette, self.exchange)


class QuestionRow(Row, frozen=True, tag="question"):
    """A question about the requests of an adapter. Its place, ``cassette`` and ``exchange``, is
    among the questions.
    """

    case: str = ""
    question: str = ""
    requirement: str = ""
    regression_of: tuple[str, ...] = ()
    unary: bool = False
    """The answer is not asked for as a stream."""
    turn: Literal["question"] = field(default_factory=lambda: "question")
    """Always written."""

    @property
    def section(self) -> str:
        return "questions"

    @property
    def label(self) -> str:
        return f"{self.provider}: {self.case}"

    @property
    def cell(self) -> tuple[object, ...]:
        return (self.case, self.adapter, self.cassette)


AnyRow = CaseRow | LawRow | ExchangeRow | QuestionRow
RowKind = TypeVar("RowKind", bound=Row)


def ended(blank: RowKind, verdict: Verdict, reason: str) -> RowKind:
    """Return a row without a comparison."""
    return replace(blank, verdict=verdict, reason=reason)


def unjudged(blank: RowKind, reason: str) -> RowKind:
    """Return a planned row that the run did not reach, from a row with its names."""
    return replace(
        blank,
        verdict="error",
        reason=reason,
        findings=(error_finding(reason),),
        findings_total=1,
        missing=True,
    )


def brief(row: RowKind) -> RowKind:
    """Return the row with only the fields that a summary needs. The other fields have long
    texts.
    """
    kept = {name: getattr(row, name) for name in row.__struct_fields__ if name in _BRIEF}
    if isinstance(row, CaseRow) and row.origin:
        kept["origin"] = Origin(row.origin.kind)
    return type(row)(**kept)


_BRIEF: Final = frozenset(
    {"verdict", "adapter", "layer", "features", "level", "provider", "reason", "cassette"}
    | {"exchange", "lost_features", "declared", "known", "raw"}
)


def sort_key(row: Row) -> tuple[Any, ...]:
    """Return the order of rows: by place in the specs, provider and cell, then by all other
    fields.
    """
    place = (
        row.spec,
        row.line,
        row.case,
        row.provider,
        row.layer,
        row.adapter,
        row.cassette,
        row.exchange,
    )
    return (*place, encode_item(row))


def encode(rows: Iterable[Row]) -> bytes:
    """Return the rows as one JSON array in `sort_key` order. The same rows give the same
    bytes.
    """
    return b"[" + b",\n".join(key[-1] for key in sorted(map(sort_key, rows))) + b"]\n"


def decode(data: bytes) -> list[Row]:
    """Read what `encode` wrote. Raises `ResultsError`."""
    expected = "expected the JSON array that a run writes; run the specs again to write it"
    return [*decode_as(list[AnyRow], data, "results", expected)]


def decode_as(kind: type[Decoded], data: bytes, name: str, expected: str) -> Decoded:
    """Read a JSON document. Raises `ResultsError` with its name, the fault and the expectation."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a ValidationError is a DecodeError
        _, fact = msgspec_fault(error, kind, "the document")
        raise ResultsError(f"{name}: {fact}; {expected}") from error


def encode_item(item: Struct) -> bytes:
    """Return a row, or an item of a document, as JSON. A lone surrogate is written as the text
    of its escape, because UTF-8 can't encode it. Only text of a model has lone surrogates.
    """
    try:
        return msgspec.json.encode(item)
    except UnicodeEncodeError:
        return msgspec.json.encode(_spell_surrogates(msgspec.to_builtins(item)))


def _spell_surrogates(value: Any) -> Any:
    """Return JSON data with every lone surrogate replaced by the text of its escape."""
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_spell_surrogates(key): _spell_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [_spell_surrogates(item) for item in value]
        case _:
            return value
