"""The results of adapters that are judged by aspects, as plain data. Each exchange has a cell.

This is the JSON of ``harness judge``. A report can be made from it later, on another machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from harness.facts import RED, AspectFinding, Entry, Text, Thought, Transcript, json_of_fact
from harness.pipeline.replay import Normalized
from harness.providers.oracle import SecondTurnAspect
from harness.stream.exchange import Exchange
from harness.stream.json_codec import Json
from harness.stream.printable import printable

from .aspects import ExchangeJudgement
from .results import decode_as

Block = Literal["documented", "variant"]
CellVerdict = Literal["passed", "failed", "error", "skipped"]

SHOWN: Final = 5
"""The maximum number of lines on each side of the evidence, around the line in question."""
WIDTH: Final = 240
"""The maximum number of characters of a line. A longer line is cut around the place in question."""
_WITH_CUTS: Final = re.compile(r"with --cuts (\w+): ")


REQUESTS: Final = "requests"
"""The key of the note about the requests of an adapter."""


def with_cuts(cuts: str) -> str:
    """The beginning of a reason that is true for these cuts, but not for the cuts before them."""
    return f"with --cuts {cuts}: "


class Side(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Some consecutive lines of one side of the evidence. ``start`` is the number of the first
    line, ``total`` the number of all lines, and ``first`` the line in question, or None.
    """

    lines: tuple[str, ...]
    start: Annotated[int, Meta(ge=0)] = 0
    total: Annotated[int, Meta(ge=0)] = 0
    first: int | None = None


class AspectEvidence(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The evidence for one red aspect of one cell: the frames of the wire, the native events, and
    the facts of the adapter. In the second turn, ``native`` is the request that the adapter sent.
    """

    wire: Side
    native: Side = Side(())
    facts: Side = Side(())


class AspectCell(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The judgement of one exchange and one adapter.

    ``aspects`` maps an aspect to its verdict. ``notes`` maps it to the reason for the verdict. The
    note `REQUESTS` has the server's remarks about the adapter's requests. ``error``: the reason why
    the adapter could not be judged on this exchange. ``variants``: the ways in which the answer
    differs from the documented wire. ``unary``: the answer is not streamed.
    """

    cassette: str
    exchange: Annotated[int, Meta(ge=1)]
    block: Block
    aspects: dict[str, str] = {}
    notes: dict[str, str] = {}
    variants: tuple[str, ...] = ()
    error: str = ""
    evidence: dict[str, AspectEvidence] = {}
    unary: bool = False

    @property
    def red(self) -> list[str]:
        """The aspects that are lost, wrong or raised."""
        return [aspect for aspect, verdict in self.aspects.items() if verdict in RED]

    @property
    def verdict(self) -> CellVerdict:
        """``failed`` if an aspect is red, ``skipped`` if nothing was compared."""
        if self.error:
            return "error"
        if self.red:
            return "failed"
        asked = set(self.aspects.values()) - {"not_carried", "not_asked"}
        return "passed" if asked or not self.aspects else "skipped"

    @property
    def name(self) -> str:
        """The cassette and exchange, in the form for ``--cassettes``."""
        return f"{self.cassette}:{self.exchange}"

    def sentence(self, aspect: str) -> str:
        """The finding for one aspect as a sentence."""
        words = f"{aspect} {self.aspects[aspect]}".replace("_", " ")
        note = self.notes.get(aspect)
        return f"{words}: {note}" if note else words

    def cuts(self, aspect: str = "") -> str:
        """The cuts that show the finding for an aspect, or the error; "" for the recorded cuts."""
        match = _WITH_CUTS.match(self.notes.get(aspect, "") if aspect else self.error)
        return match[1] if match else ""


class AdapterResults(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """All cells of one adapter. ``argument`` is its name on the command line, if that is not
    ``target``. ``day``: the date on which it was judged, YYYY-MM-DD. ``unused_losses``: the
    declared losses that concern some cells, but that no cell shows. ``folder``: the folder in which
    it was judged, relative to the root of its repository; "" for the root.
    """

    name: str
    target: str
    version: str
    argument: str = ""
    day: str = ""
    unused_losses: tuple[str, ...] = ()
    cells: tuple[AspectCell, ...] = ()
    second_turn: tuple[AspectCell, ...] = ()
    folder: str = ""

    @property
    def sections(self) -> dict[str, list[AspectCell]]:
        """The cells by section: ``documented``, ``variant``, and their second turns ``second_turn``
        and ``second_turn_of_variants``.
        """
        sections = {
            ("documented", "variant"): self.cells,
            ("second_turn", "second_turn_of_variants"): self.second_turn,
        }
        return {
            name: [cell for cell in cells if cell.block == block]
            for names, cells in sections.items()
            for name, block in zip(names, get_args(Block), strict=True)
        }

    @property
    def red(self) -> bool:
        """Whether the adapter is red: an aspect on the documented wire or in its second turn is
        red, or no cell shows a declared loss.
        """
        cells = (*self.cells, *self.second_turn)
        return bool(self.unused_losses) or any(
            cell.verdict in ("failed", "error") and cell.block == "documented" for cell in cells
        )


class Unjudged(Struct, frozen=True, forbid_unknown_fields=True):
    """A path that was not judged, and the reason."""

    path: str
    reason: str


class JudgeResults(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The JSON document of ``harness judge``."""

    adapters: tuple[AdapterResults, ...]
    skipped: tuple[Unjudged, ...] = ()


def decode_results(data: bytes, name: str) -> JudgeResults:
    """Read a document. Raises `ResultsError` with a message that begins with ``name``."""
    expected = "expected the JSON file that `harness judge --json` writes"
    return decode_as(JudgeResults, data, name, expected)


def second_turn_cell(
    blank: AspectCell,
    findings: Mapping[SecondTurnAspect, AspectFinding],
    exchange: Exchange,
    request: Json,
) -> AspectCell:
    """A cell of the second turn. The evidence for each red aspect is the answer and the request
    after it.
    """
    sent = request_lines(request)
    evidence = {}
    for aspect, finding in findings.items():
        if finding.verdict in RED:
            words = words_of(finding.note)
            sides = (side_of(lines, words) for lines in (wire_lines(exchange), sent))
            evidence[str(aspect)] = AspectEvidence(*sides)
    return msgspec.structs.replace(
        blank,
        aspects={aspect: finding.verdict for aspect, finding in findings.items()},
        notes={aspect: finding.note for aspect, finding in findings.items() if finding.note},
        evidence=evidence,
    )


def cell_of(judgement: ExchangeJudgement, exchange: Exchange) -> AspectCell:
    """The cell of a judgement, with evidence for each red aspect."""
    findings = judgement.aspects.items()
    transcript = judgement.transcript or Transcript()
    notes = {str(aspect): finding.note for aspect, finding in findings if finding.note}
    if transcript.request_notes:
        notes[REQUESTS] = "; ".join(transcript.request_notes)
    evidence = {}
    if judgement.red:
        wire = wire_lines(exchange)
        native, facts = native_lines(transcript), fact_lines(transcript.entries)
        for aspect in judgement.red:
            note = judgement.aspects[aspect].note
            words, (here, there) = words_of(note), _difference_of(note)
            evidence[str(aspect)] = AspectEvidence(
                side_of(wire, words, here),
                side_of(native, words, there),
                side_of(facts, words, there),
            )
    return AspectCell(
        judgement.cassette,
        judgement.number,
        judgement.block,
        {str(aspect): finding.verdict for aspect, finding in findings},
        notes,
        judgement.variants,
        judgement.error,
        evidence,
        exchange.streamed is False,
    )


def wire_lines(exchange: Exchange) -> list[str]:
    """The frames of an answer, one line each."""
    return [
        line_of(frame.json) if frame.raw is None else printable(frame.raw)
        for frame in Normalized(exchange, None, None).trace.frames
    ]


def request_lines(request: Json) -> list[str]:
    """The values of a request, one line each. An object in a list has its own line. Lists of
    objects are last, except the tools.
    """
    lines: list[str] = []
    items: list[str] = []
    for name, value in request.items() if isinstance(request, dict) else ():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            shown = lines if name == "tools" else items
            shown += [f"{name}[{index}] {line_of(item)}" for index, item in enumerate(value)]
        elif isinstance(value, dict) and any(isinstance(item, list) for item in value.values()):
            items += [f"{name}.{line}" for line in request_lines(value)]
        else:
            lines.append(f"{name} {line_of(value)}")
    return lines + items


def native_lines(transcript: Transcript) -> list[str]:
    """The native events, one line each, and the exception that ended the run."""
    lines = [line_of(entry.native) for entry in transcript.entries]
    if raised := transcript.raised:
        lines.append(printable(f"raised {raised.sentence}"))
    return lines


def fact_lines(entries: Sequence[Entry]) -> list[str]:
    """The facts of a transcript, one line each; consecutive pieces of text are joined."""
    facts: list[Text | Thought | Json] = []
    for fact in (fact for entry in entries for fact in entry.facts):
        last = facts[-1] if facts else None
        if isinstance(fact, Text | Thought) and type(last) is type(fact):
            facts[-1] = type(fact)(last.text + fact.text)
        else:
            facts.append(fact)
    return [line_of(json_of_fact(fact)) for fact in facts]


def line_of(value: Json) -> str:
    """JSON data in one printable line."""
    return printable(json.dumps(value, ensure_ascii=False, default=repr))


_VALUE: Final = re.compile(
    r'"(?:[^"\\…]|\\.)*(?:"|…|\Z)|(?!(?<=at character )0\b)[0-9]+'
    r"|((?<=[0-9] )(?:calls|ids|values) lost: |(?:^|: )lost: |\bthe wire reports "
    r"|\bthe prompt is blocked \(|\bthe id |\bthe wire's is |, its call |\bthe call "
    r"|\bthe arguments of |\bnot sent back: |\bsent back (?:as |(?:more than once|at a call): )"
    r"|\bthe answer does not have it: |\bthe calls are |\bthe results are of )"
    r".*?(?=; a later call has its id|\)?; the adapter |; the wire's is | of call | of another call"
    r"|, which the wire repeats|, its call |, the results are of | are passed on in pieces"
    r"| is (?:not )?sent (?:back\b|although)|\Z)",
    re.DOTALL,
)
"""A value or a number in the reason of a verdict. A value without quotes is found by the words
before and after it. The number in "at character 0" is kept, because a text that is missing from its
beginning differs from a text that breaks off.
"""


def without_values(note: str) -> str:
    """The reason of a verdict without its values and numbers, so that equal reasons are equal."""
    return _VALUE.sub(lambda value: f"{value[1] or ''}…", note)


_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)+)"')
_WORD: Final = re.compile(r"[^\s,;:()\[\]{}\"']{3,}")
_OURS: Final = re.compile(
    r"the|wire|adapter|ends|with|has|values|lost|calls?|reports|error|gives|reason|nowhere"
    r"|character|input|output|thoughts|total|none|its|one|and|that|are|not|only"
)
"""Words of the reasons that are not values."""


def words_of(note: str) -> list[str]:
    """The values in the reason of a verdict. The lines that contain them are the evidence."""
    quoted = [text for text in _QUOTED.findall(note) if len(text) > 1]
    words = {*quoted, *(text[:12] for text in quoted), *_WORD.findall(note)}
    values = (word for word in words if not _OURS.fullmatch(word))
    return sorted(values, key=lambda word: (-len(word), word))


_DIFFERENCE: Final = re.compile(
    r'at character [0-9]+ the wire has "((?:[^"\\…]|\\.)*).*?, the adapter "((?:[^"\\…]|\\.)*)',
    re.DOTALL,
)
MIN_BEGINNING: Final = 3
"""The minimum number of characters at the beginning of a text that identify its line."""


def _difference_of(note: str) -> tuple[str, str]:
    """The text of the wire and the text of the adapter, both from their first difference, if the
    reason of a verdict has them.
    """
    match = _DIFFERENCE.match(note)
    return (match[1], match[2]) if match else ("", "")


def _shared(line: str, text: str) -> int:
    """The length of the longest beginning of a text that a line contains."""
    return next((size for size in range(len(text), 0, -1) if text[:size] in line), 0)


def side_of(lines: Sequence[str], words: Iterable[str], text: str = "") -> Side:
    """The lines around the line with the longest beginning of ``text``. Without such a line, the
    lines around the line with most of these words, or the last lines.
    """
    words = list(words)
    scores = [_shared(line, text) for line in lines]
    if max(scores, default=0) < min(MIN_BEGINNING, len(text) or MIN_BEGINNING):
        scores = [sum(len(word) for word in words if word in line) for line in lines]
    best = max(scores, default=0)
    first = scores.index(best) if best else None
    middle = len(lines) - 1 if first is None else first
    start = max(0, min(middle - SHOWN // 2, len(lines) - SHOWN))
    shown = lines[start : start + SHOWN]
    return Side(tuple(_cut(line, words) for line in shown), start, len(lines), first)


def _cut(line: str, words: Sequence[str]) -> str:
    """A line in about `WIDTH` characters, around the longest of these words."""
    if len(line) <= WIDTH:
        return line
    place = next((line.index(word) for word in words if word in line), 0)
    start = max(0, min(place - WIDTH // 3, len(line) - WIDTH))
    head, tail = "… " if start else "", " …" if start + WIDTH < len(line) else ""
    return f"{head}{line[start : start + WIDTH]}{tail} ({len(line):,} characters)"
