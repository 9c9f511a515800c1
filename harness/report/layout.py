"""The place of every result in a report: its page and its anchor."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.judging.explain import EXACT, judge_command
from harness.judging.rows import VERDICTS, CaseRow, Row, VerdictWords, sort_key
from harness.stream.events import INTERRUPTED

from .document import Named
from .tally import column
from .text import slug

UNKNOWN_PROVIDER: Final = {"": "Provider not known"}
"""The page of results whose cassette cannot be read."""
LAYERS: Final = {"events": "events", "frames": "frames"}
"""Columns for the expectations of a layer, not of a dialect."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")


class ReportError(ValueError):
    """The results use a name that the header does not list."""


@dataclass(frozen=True, slots=True)
class PlacedResult:
    """A result at its place. A result without a case, or of a question, is on no page."""

    result: Row
    page: str
    """The page of its case."""
    case: str
    """The anchor of its case on ``page``."""
    anchor: str
    """Its own anchor."""
    title: str
    """The title of its column."""

    @property
    def verdict(self) -> VerdictWords:
        return VERDICTS[self.result.verdict]

    @property
    def marks(self) -> tuple[str, ...]:
        """The kind of origin of its stream, and its end if it was interrupted."""
        kind = self.result.origin.kind if self.result.origin else "origin not known"
        return (kind, self.result.end) if self.result.end in INTERRUPTED else (kind,)

    @property
    def day(self) -> str:
        """The day on which its stream was made, ``YYYY-MM-DD``, or ""."""
        origin = self.result.origin
        return origin.date[:10] if origin and origin.date else ""

    @property
    def name(self) -> str:
        """Its adapter or layer, which its command has in brackets."""
        return column(self.result)

    @property
    def page_anchor(self) -> str:
        """The target of a link to the cell, "" if it is on no page."""
        return f"{self.page}#{self.anchor}" if self.page else ""

    @property
    def label(self) -> str:
        """The name of its case or question, else of its exchange."""
        return self.result.label

    @property
    def judge_command(self) -> str:
        """The command of ``harness judge`` that shows a red finding by facts; "" for others."""
        result = self.result
        red = [finding for finding in result.red_findings if finding.subject in result.aspects]
        return judge_command(result.adapter, result, red[0]) if red else ""

    @property
    def gist(self) -> str:
        """The reason of its verdict in one line, else its first finding."""
        result = self.result
        if result.reason or not result.findings:
            return result.reason
        first = result.findings[0]
        if first.reason in EXACT or first.reason == "law":
            return f"{first.subject}: {first.note or first.reason}"
        return first.sentence


def place(
    results: Sequence[Row], providers: Mapping[str, str], columns: Mapping[str, str]
) -> list[PlacedResult]:
    """Return all results in order, each at its place. Anchors are made from names, so that a link
    stays valid from run to run.
    """
    order = {name: index for index, name in enumerate(columns)}

    def in_order(result: Row) -> tuple[object, ...]:
        return (result.spec, result.line, result.case, order[column(result)], sort_key(result))

    used: set[tuple[str, str]] = set()
    blocks: dict[tuple[object, ...], str] = {}
    cells = []
    for result in sorted(results, key=in_order):
        title = columns[column(result)]
        if not isinstance(result, CaseRow):
            cells.append(PlacedResult(result, "", "", "", title))
            continue
        page = page_name(result.provider)
        key = _block_key(result)
        if key not in blocks:
            folder = f"{result.provider}/"
            spec = result.spec.removeprefix(folder).removesuffix(".yaml")
            blocks[key] = _unique(slug(f"{spec}.{result.case}"), page, used)
        anchor = _unique(f"{blocks[key]}.{slug(column(result))}", page, used)
        cells.append(PlacedResult(result, page, blocks[key], anchor, title))
    return cells


def _block_key(result: CaseRow) -> tuple[object, ...]:
    """Return the common part of the cells of one case on a page, which is shown once above them."""
    case = (
        result.provider,
        result.spec,
        result.line,
        result.case,
        result.requirement,
        result.features,
        result.level,
        result.source,
        result.regression_of,
    )
    return (*case, result.cassette, result.exchange, result.origin, result.end)


def group_title(feature: Named | None) -> str:
    """Return the title of a feature's group: ``Tool calls`` for ``tool-calls.parallel``."""
    if feature is None:
        return "Other"
    words = feature.name.partition(".")[0].replace("-", " ")
    return words[:1].upper() + words[1:]


def page_name(provider: str) -> str:
    """Return the file name of the page of a provider."""
    return f"{provider or 'unknown-provider'}.html"


def check(
    results: Sequence[Row],
    features: Collection[str],
    providers: Collection[str],
    columns: Collection[str],
) -> None:
    """Raise `ReportError` for a name that is not listed, or a provider whose name cannot be a file
    name.
    """
    for name in providers:
        if name and (not _NAME.fullmatch(name) or name in ("index", "unknown-provider")):
            raise ReportError(
                f"provider {name!r}: not a name for a page; expected lower-case letters, digits, -"
                " and _, and not index; rename the provider"
            )
    for result in results:
        place = f"{result.spec}:{result.line}: case {result.case!r}"
        for kind, name, known in (
            ("provider", result.provider, providers),
            ("dialect", column(result), columns),
            *(("feature", feature, features) for feature in result.features),
        ):
            if name not in known:
                listed = ", ".join(sorted(filter(None, known))) or "none"
                raise ReportError(
                    f"{place}: unknown {kind} {name!r}; known ones are {listed}; correct the name"
                    " or add it to the list"
                )


def _unique(anchor: str, page: str, used: set[tuple[str, str]]) -> str:
    free, number = anchor, 1
    while (page, free) in used:
        number += 1
        free = f"{anchor}-{number}"
    used.add((page, free))
    return free
