"""The results of judging an adapter by aspects, as text for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Literal

from harness.judging.explain import evidence_lines
from harness.judging.judge_results import AdapterResults
from harness.judging.rows import VERDICTS as VERDICTS_OF_CELLS
from harness.judging.rows import Row
from harness.stream.printable import excerpt, listed, plural, printable, shorten

from .aspect_counts import (
    BLOCKS,
    COMPARED,
    FIRST_TURNS,
    JUDGED_BLOCKS,
    MAX_SENTENCE,
    VARIANT_BLOCKS,
    VERDICTS,
    Findings,
    by_aspect,
    command_of,
    hint_of_all,
    hints_of,
    in_sections,
)
from .tally import read_for, tally

MOST_NAMES: Final = 6
"""Further cells of one loss that are named."""
FEW_FINDINGS: Final = 3
"""Findings that need no summary below them."""
MOST_REASONS: Final = 3
"""Reasons of cells that were not run."""
LEGEND: Final = (
    "Documented wire: answers as the provider documents them. Variants: other forms; a failure"
    " there is never red. Not asked: the adapter could not give the fact, or the answer failed"
    " before it."
)
"""The line below the tables that explains their words. A table without them has no such line."""
LONGEST: Final = 600
"""Characters of an error."""

Tone = Literal["plain", "green", "red"]
Paint = Callable[[str, Tone], str]
"""Returns a line in the colour of its tone."""


class _Toned(str):
    """A line that has another tone than plain."""

    __slots__ = ("tone",)

    def __new__(cls, tone: Tone, line: str) -> _Toned:
        new = super().__new__(cls, line)
        new.tone = tone
        return new

    tone: Tone


KNOWN: Final = "known-failing"


def results_text(
    adapter: AdapterResults,
    *,
    with_losses: bool = True,
    with_legend: bool = True,
    paint: Paint = lambda line, tone: line,
) -> str:
    """Return the matrices of an adapter, then each loss with its evidence and a command. The losses
    in variants are only counted. A legend explains the words of the matrices, if there are variants
    or aspects that were not asked, unless it is not wanted. ``paint`` colours the lines for a
    terminal.
    """
    lines, has_legend = [title_of(adapter)], False
    if raw := sum(cell.raw for cell in adapter.all_cells):
        lines.append(read_for(adapter.name, raw))
    sections = in_sections(adapter.all_cells)
    for block, cells in sections.items():
        if cells:
            counted = tally(cells)
            tone: Tone = "green" if counted.is_green else "plain"
            if counted.red and block not in VARIANT_BLOCKS:
                tone = "red"
            note = " (never red)" if counted.red and block in VARIANT_BLOCKS else ""
            words = f"{BLOCKS[block]}{note}: {counted.words}"
            lines += ["", _Toned(tone, words), *matrix_lines(cells), *_not_run(cells)]
            has_legend |= block in VARIANT_BLOCKS or _has_unasked(cells)
        if block == "documented":
            lines += wire_lines(cells)
    if has_legend and with_legend:
        lines += ["", LEGEND]
    for block in (*JUDGED_BLOCKS, *VARIANT_BLOCKS) if with_losses else ():
        if sections[block]:
            lines += _losses(adapter, block, sections[block])
    for loss in adapter.unused_losses:
        lines += ["", f"declared loss {loss}: no cell shows it; delete the declaration"]
    for sentence in (*adapter.fixed, *_known_failing(adapter)):
        lines += ["", sentence]
    return (
        "\n".join(paint(printable(line), getattr(line, "tone", "plain")) for line in lines) + "\n"
    )


def closing_text(adapter: AdapterResults) -> str:
    """Return the last lines for a terminal after many findings: the number of red cells, and the
    first finding with its command. "" after few findings.
    """
    rows = in_sections(adapter.all_cells)
    sections = [_news(rows[block]) for block in JUDGED_BLOCKS if rows[block]]
    if sum(map(len, sections)) <= FEW_FINDINGS:
        return ""
    cells = [cell for section in sections for cell in section.cells]
    red = sum(VERDICTS_OF_CELLS[cell.verdict].red for cell in cells)
    judged = sum(cell.verdict != "not-run" for cell in cells)
    sentence, first, finding = next(found for section in sections for found in section)
    lines = [
        f"{red:,} of {plural(judged, 'cell')} are red.",
        f"Begin with the first finding: {excerpt(sentence, MAX_SENTENCE)}",
        f"  run: {command_of(adapter, first, finding)}",
    ]
    return "\n".join(map(printable, lines)) + "\n"


def _not_run(cells: Sequence[Row]) -> list[str]:
    """Return a line with the reasons why cells were not run, the most frequent ones first."""
    reasons = Counter(cell.reason for cell in cells if cell.verdict == "not-run")
    most = reasons.most_common(MOST_REASONS)
    words = [f"{number:,} ({excerpt(reason, MAX_SENTENCE)})" for reason, number in most]
    if more := reasons.total() - sum(number for _, number in most):
        words.append(f"{more:,} for other reasons")
    return [f"  not run: {', '.join(words)}"] if words else []


def _has_unasked(cells: Sequence[Row]) -> bool:
    return any("not_asked" in cell.aspects.values() for cell in cells)


def title_of(adapter: AdapterResults) -> str:
    """Return name, version and target of an adapter, and the suite and rules of its verdicts."""
    target = f" ({adapter.target})" if adapter.target != adapter.name else ""
    suite = f", suite {adapter.suite}" if adapter.suite else ""
    rules = f", rules {adapter.rules}" if adapter.rules else ""
    return f"{adapter.name}, version {adapter.version}{target}{suite}{rules}"


def matrix_lines(cells: Sequence[Row]) -> list[str]:
    """Return a table: aspects × verdicts, with the number of cells."""
    counts = by_aspect(cells)
    used = [word for word in VERDICTS if any(counts[aspect][word] for aspect in counts)]
    width = max((len(aspect) for aspect in counts), default=0)
    head = [word.replace("_", " ") for word in used]
    lines = [f"  {'':<{width}}" + "".join(f"  {word:>6}" for word in head)] if counts else []
    for aspect, numbers in counts.items():
        row = (
            f"  {numbers[verdict] or '.':>{max(6, len(word))}}"
            for verdict, word in zip(used, head, strict=True)
        )
        lines.append(f"  {aspect.replace('_', ' '):<{width}}" + "".join(row))
    return lines


def wire_lines(cells: Sequence[Row]) -> list[str]:
    """Return a table: aspects × wires, with the kept cells of those that were compared. An adapter
    that was compared on one wire has none.
    """
    by_wire = {wire: [cell for cell in cells if cell.provider == wire] for wire in _wires(cells)}
    if len(by_wire) < 2:
        return []
    counts = {wire: by_aspect(own) for wire, own in by_wire.items()}
    aspects = [aspect for aspect, given in by_aspect(cells).items() if set(given) & set(COMPARED)]
    width = max(map(len, aspects))
    lines = ["", "By wire, kept of compared:", f"  {'':<{width}}  {'  '.join(by_wire)}"]
    for aspect in aspects:
        row = [f"  {aspect.replace('_', ' '):<{width}}"]
        for wire, own in counts.items():
            given = own.get(aspect, Counter())
            compared = sum(given[verdict] for verdict in COMPARED)
            text = f"{given['kept']}/{compared}" if compared else "."
            row.append(f"{text:>{len(wire)}}")
        lines.append("  ".join(row))
    return lines


def _wires(cells: Sequence[Row]) -> list[str]:
    """Return the wires of the cells with a compared aspect."""
    compared = (cell.provider for cell in cells if set(cell.aspects.values()) & set(COMPARED))
    return list(dict.fromkeys(filter(None, compared)))


def _known_failing(adapter: AdapterResults) -> list[str]:
    """Return a sentence for each reason of cells that are known failing."""
    reasons = Counter(
        f"{cell.reason} {cell.link}".rstrip() for cell in adapter.all_cells if cell.verdict == KNOWN
    )
    return [f"known failing in {plural(reasons[why], 'cell')}: {why}" for why in reasons]


def _news(cells: Sequence[Row]) -> Findings:
    """Return the findings of the cells that are not known failing."""
    return Findings(cell for cell in cells if cell.verdict != KNOWN)


def _losses(adapter: AdapterResults, block: str, rows: Sequence[Row]) -> list[str]:
    findings = _news(rows)
    if not findings:
        return []
    cells, losses = findings.cells, findings.losses
    is_variant = block in VARIANT_BLOCKS
    where = f"{BLOCKS[block].lower()} (never red)" if is_variant else BLOCKS[block].lower()
    tone: Tone = "plain" if is_variant else "red"
    lines = ["", f"{plural(len(findings), 'finding')}, {where}:"]
    for cause in findings.causes:
        first = cause.cells[0]
        lines += ["", _Toned(tone, f"- {cause.sentence}"), *_places(cause.cells)]
        lines += [f"  remedy: {cause.remedy}"] if cause.remedy else []
        lines += evidence_lines(first, first.red_findings[0], adapter.argument or adapter.target)
    for error_cells in findings.errors:
        sentence, *rest = shorten(error_cells[0].reason, LONGEST).splitlines()
        lines += [
            "",
            _Toned(tone, f"- error: {sentence}"),
            *(f"    {line}" for line in rest),
            *_places(error_cells),
        ]
        lines.append(f"  run: {command_of(adapter, error_cells[0])}")
    if is_variant and losses:
        failed = sum(cell.verdict == "failed" for cell in cells)
        number_in_cells = f"{plural(len(losses), 'finding')} in {plural(failed, 'cell')}"
        return [*lines, "", f"- {number_in_cells}: shown on the page that --report DIR writes"]
    hints = hints_of(cells) if block in FIRST_TURNS else {}
    of_all = hint_of_all(hints)
    for loss in losses:
        first = loss.cells[0]
        lines += ["", _Toned(tone, f"- {loss.sentence}"), *_places(loss.cells)]
        if hint := hints.pop(loss.aspect, ""):
            lines.append(f"  {hint}")
        lines += evidence_lines(first, loss.findings[0], adapter.argument or adapter.target)
    return [*lines, "", of_all] if of_all else lines


def _places(cells: Sequence[Row]) -> list[str]:
    first, *others = cells
    is_question = first.turn == "question"
    unary = ", unary" if first.unary else ""
    lines = (
        [] if is_question else [f"  cassette {first.cassette}, exchange {first.exchange}{unary}"]
    )
    if others:
        names = [cell.label if is_question else cell.place for cell in others]
        lines.append(f"  also in {listed(names, MOST_NAMES)}")
    return lines
