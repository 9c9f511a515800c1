"""Badges: one small SVG for the whole run, one for each provider and one for each provider and
adapter, to stand in a README.

A badge says in words and with a symbol what its colour says. It loads nothing, and its width is
reckoned, not measured.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final

from harness.conformance.results import VERDICTS
from harness.stream.printable import excerpt, printable_lines

from .layout import Cell
from .tally import Tally, by_pair, tally
from .text import slug

FOLDER: Final = "badges"
OPENING: Final = '<svg xmlns="http://www.w3.org/2000/svg" data-by="gemini-conformance" width="'
"""Every badge begins so: it tells ours from others that stand beside them."""
_WIDTH: Final = 6.6
"""Pixels of an average character at 11 px; `textLength` makes the text as wide as it was
reckoned.
"""
_COLOURS: Final = {
    "red": "#ab2f17",
    "announced": "#7a5200",
    "green": "#0b5d4b",
    "nothing": "#565c65",
}


def badges(
    cells: Sequence[Cell], providers: Mapping[str, str], columns: Mapping[str, str]
) -> dict[str, str]:
    """File names below ``badges/`` → SVG."""
    results = [cell.result for cell in cells]
    drawn = {"badges/all.svg": _badge("Gemini compatibility", tally(results))}
    pages = _file_names({name: name or "unknown-provider" for name in providers}, "all")
    files = _file_names({name: slug(name) for name in columns})
    for name, title in providers.items():
        drawn[f"badges/{pages[name]}.svg"] = _badge(
            title, tally([one for one in results if one.provider == name])
        )
    for (provider, column), found in sorted(by_pair(results).items()):
        drawn[f"badges/{pages[provider]}.{files[column]}.svg"] = _badge(
            f"{providers[provider]} → {columns[column]}", tally(found)
        )
    return drawn


def _file_names(wished: Mapping[str, str], *taken: str) -> dict[str, str]:
    """For each name what it wishes to be called in a file's name; where several wish the same, or
    differ in case alone, they are numbered.

    Who is called so already comes first, then they go by name: whoever else a run has, and in
    whatever order.
    """
    names: dict[str, str] = {}
    found = set(taken)
    waiting = sorted(wished.items(), key=lambda item: (item[0] != item[1], item))
    for number in count(1):
        for name, wish in waiting:
            free = wish if number == 1 else f"{wish}-{number}"
            if free.lower() not in found:
                found.add(free.lower())
                names[name] = free
        waiting = [item for item in waiting if item[0] not in names]
        if not waiting:
            break
    return names


def _badge(label: str, counted: Tally) -> str:
    kind, words = _said(counted)
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


def _said(counted: Tally) -> tuple[str, str]:
    """The colour's name and the words: what is red first, else how many features are carried."""
    red = {verdict: number for verdict, number in counted.counts.items() if VERDICTS[verdict].red}
    if not any(VERDICTS[verdict].compared for verdict in counted.counts):
        return ("red" if red else "nothing"), (
            "✕ nothing compared" if red else "○ nothing compared"
        )
    if red:
        return "red", "✕ " + ", ".join(
            VERDICTS[verdict].counted(number) for verdict, number in red.items()
        )
    features = f"{counted.passing} of {counted.features} features"
    if counted.counts.get("known-failing") or counted.counts.get("warning"):
        return "announced", f"◐ {features}"
    return "green", f"✓ {features}"
