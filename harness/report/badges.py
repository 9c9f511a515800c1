"""Badges: small SVG images for a README, for the run, each provider, and each adapter of one.

A badge is green only if every planned cell of the run was judged, every spec was read, and
something was compared. A badge has its verdict in words and with a symbol, not only as a colour. It
loads nothing. The width of its text is calculated, not measured.

Fingerprints: small drawings with one shape per feature, always at the same place. Each verdict has
its own shape, not only a colour. A drawing is hidden from screen readers, because the text beside
it has the same information.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from harness.judging.judge_results import AdapterResults
from harness.judging.rows import VERDICTS, Verdict
from harness.stream.printable import excerpt, plural, printable_lines

from .document import Unread
from .layout import PlacedResult
from .tally import Tally, by_pair, tally, unread_specs
from .text import slug

FOLDER: Final = "badges"
OPENING: Final = '<svg xmlns="http://www.w3.org/2000/svg" data-by="gemini-conformance" width="'
"""The beginning of every badge, which distinguishes our badges from other files."""
_WIDTH: Final = 6.6
"""Pixels of an average character at 11 px; `textLength` gives the text the calculated width."""
_COLOURS: Final = {
    "red": "#ab2f17",
    "announced": "#7a5200",
    "green": "#0b5d4b",
    "nothing": "#565c65",
}


def badges(
    cells: Sequence[PlacedResult],
    providers: Mapping[str, str],
    columns: Mapping[str, str],
    unread: Sequence[Unread] = (),
) -> dict[str, str]:
    """Return the file names below ``badges/`` → SVG. ``unread``: errors of specs that could not be
    read.
    """
    results = [cell.result for cell in cells]
    whole = tally(results)
    partial = whole.progress if whole.missing else ""
    if not partial and unread:
        partial = f"{plural(len(unread_specs(unread)), 'spec')} not read"
    images = {"badges/all.svg": _badge("stream conformance", whole, partial)}
    pages = _file_names({name: name or "unknown-provider" for name in providers}, "all")
    files = _file_names({name: slug(name) for name in columns})
    for name, title in providers.items():
        images[f"badges/{pages[name]}.svg"] = _badge(
            title, tally([result for result in results if result.provider == name]), partial
        )
    for (provider, column), cells_of_pair in sorted(by_pair(results).items()):
        images[f"badges/{pages[provider]}.{files[column]}.svg"] = _badge(
            f"{providers[provider]} → {columns[column]}", tally(cells_of_pair), partial
        )
    return images


def judge_badge(label: str, adapter: AdapterResults) -> str:
    """Return the badge of an adapter that ``harness judge`` judged. It is red if the adapter is;
    otherwise it has the number of its cells on the documented wire, in both turns.
    """
    counted = tally([cell for cell in adapter.all_cells if cell.block == "documented"])
    red = sum(VERDICTS[verdict].red * number for verdict, number in counted.counts.items())
    if not counted.compared:
        kind, words = "nothing", "○ nothing compared"
    elif adapter.red:
        number = f"{red:,} of {plural(counted.cells, 'cell')} red" if red else "unused losses"
        kind, words = "red", f"✕ {number}"
    else:
        passed = counted.counts.get("passed", 0)
        kind, words = "green", f"✓ {plural(passed, 'cell')} passed"
    return _image(label, kind, words)


def _file_names(wishes: Mapping[str, str], *reserved: str) -> dict[str, str]:
    """Return a unique file name for each name: the preferred one, with a number if another name
    prefers the same or differs only in letter case. The order of ``wishes`` does not matter.
    """
    names: dict[str, str] = {}
    used = set(reserved)
    waiting = sorted(wishes.items(), key=lambda item: (item[0] != item[1], item))
    for number in count(1):
        for name, wish in waiting:
            candidate = wish if number == 1 else f"{wish}-{number}"
            if candidate.lower() not in used:
                used.add(candidate.lower())
                names[name] = candidate
        waiting = [item for item in waiting if item[0] not in names]
        if not waiting:
            break
    return names


def _badge(label: str, counted: Tally, partial: str) -> str:
    return _image(label, *_verdict(counted, partial))


def _image(label: str, kind: str, words: str) -> str:
    label = printable_lines(excerpt(label, 60))
    left, right = round(len(label) * _WIDTH) + 14, round(len(words) * _WIDTH) + 14
    name = html.escape(f"{label}: {words}")
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{width - 14}"'
        f' lengthAdjust="spacingAndGlyphs">{html.escape(text)}</text>'
        for x, width, text in ((7, left, label), (left + 7, right, words))
    )
    return (
        f'{OPENING}{left + right}" height="20" role="img"'
        f' aria-label="{name}"><title>{name}</title><rect width="{left + right}" height="20" rx="3"'
        f' fill="#33373e"/><path fill="{_COLOURS[kind]}" d="M{left} 0h{right - 3}a3 3 0 0 1 3'
        f' 3v14a3 3 0 0 1-3 3h-{right - 3}z"/><g fill="#fff" font-family="Verdana,DejaVu'
        f' Sans,sans-serif" font-size="11">{texts}</g></svg>\n'
    )


def _verdict(counted: Tally, partial: str) -> tuple[str, str]:
    """Return the name of the colour and the words: the red verdicts, else the number of features.
    ``partial``: why the run is not whole, or "".
    """
    red = {verdict: number for verdict, number in counted.counts.items() if VERDICTS[verdict].red}
    if not counted.compared:
        return ("red" if red else "nothing"), (
            "✕ nothing compared" if red else "○ nothing compared"
        )
    if red:
        words = ", ".join(VERDICTS[verdict].counted(number) for verdict, number in red.items())
        return "red", f"✕ {words} of {plural(counted.cells, 'cell')}"
    if partial:
        return "nothing", f"○ {partial}"
    if counted.counts.get("known-failing") or counted.counts.get("warning"):
        return "announced", f"◐ {counted.passing_features}"
    return "green", f"✓ {counted.passing_features}"


STEP: Final = 8
"""Distance between two places; a shape is 6 wide."""
ACROSS: Final = 20
WIDTH: Final = ACROSS * STEP - 2

_SHAPES: Final[dict[Verdict | None, Callable[[int, int], str]]] = {
    "failed": lambda x, y: f"M{x} {y}l6 6m-6 0l6-6",
    "error": lambda x, y: f"M{x + 1} {y}v6m4 0v-6",
    "fixed": lambda x, y: f"M{x + 3} {y}l3 3-3 3-3-3z",
    "warning": lambda x, y: f"M{x + 3} {y}l3 6h-6z",
    "known-failing": lambda x, y: f"M{x} {y}v6h6z",
    "not-carried": lambda x, y: f"M{x} {y + 3}h6",
    "not-run": lambda x, y: f"M{x} {y}h6v6h-6z",
    "unreviewed": lambda x, y: f"M{x} {y}h6v6h-6zm2 2h2v2h-2z",
    "passed": lambda x, y: f"M{x} {y + 3}h6",
    None: lambda x, y: f"M{x + 2} {y + 3}h2",
}
"""The shape of each verdict as path data at a place; None: no case."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The drawing of one pair."""

    width: int
    height: int
    paths: Sequence[tuple[str, str]]
    """A path for each verdict in it, or for ``none`` if there is no case."""


def fingerprint(features: Sequence[str], worst: Mapping[str, Verdict]) -> Fingerprint:
    """Draw the worst verdict of each feature on a grid of all features."""
    paths: dict[Verdict | None, str] = dict.fromkeys((*VERDICTS, None), "")
    for place, feature in enumerate(features):
        row, at = divmod(place, ACROSS)
        verdict = worst.get(feature)
        paths[verdict] += _SHAPES[verdict](at * STEP, row * STEP)
    rows = -(-len(features) // ACROSS)
    drawn = [(verdict or "none", path) for verdict, path in paths.items() if path]
    return Fingerprint(WIDTH, max(rows * STEP - 2, 0), drawn)


def legend(verdict: Verdict | None) -> str:
    """Return the shape of a verdict alone, for the key of the drawing."""
    return _SHAPES[verdict](0, 0)
