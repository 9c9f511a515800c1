"""Where everything stands: checks that the results fit the names they came with, and gives each
cell its page and its anchor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from harness.conformance.results import VERDICTS, CaseResult, VerdictWords, sort_key
from harness.stream.events import INTERRUPTED

from .tally import column
from .text import slug

UNKNOWN_PROVIDER: Final = {"": "Provider not known"}
"""The page of results whose cassette could not be read."""
LAYERS: Final = {"events": "events", "frames": "frames"}
"""Columns for expectations that are no dialect's."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]*")


class ReportError(ValueError):
    """Results that name what the caller didn't list; the message says which, and what is known."""


class Feature(Protocol):
    """What the report reads of a feature; ``id`` is ``group.name``, ``link`` its documentation."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def link(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Cell:
    """A result at its place: ``case`` is the anchor of its block on ``page``, ``anchor`` its own,
    ``title`` its column's.
    """

    result: CaseResult
    page: str
    case: str
    anchor: str
    title: str

    @property
    def verdict(self) -> VerdictWords:
        return VERDICTS[self.result.verdict]

    @property
    def marks(self) -> tuple[str, ...]:
        """What a reader must know before trusting the cell: where its stream comes from, and that
        it is not whole.
        """
        made = self.result.origin.kind if self.result.origin else "origin not known"
        return (made, self.result.end) if self.result.end in INTERRUPTED else (made,)

    @property
    def day(self) -> str:
        """When its stream was made, ``YYYY-MM-DD``."""
        origin = self.result.origin
        return origin.date[:10] if origin and origin.date else ""

    @property
    def name(self) -> str:
        """What stands in brackets in its command: the adapter's name, or the layer."""
        return column(self.result)

    @property
    def page_anchor(self) -> str:
        """Where a link to the cell leads."""
        return f"{self.page}#{self.anchor}"

    @property
    def gist(self) -> str:
        """Why it isn't passed, in one line: the reason, else the first finding."""
        result = self.result
        if result.reason or not result.findings:
            return result.reason
        first = result.findings[0]
        return f"{first.path or result.first_layer}: {first.note or first.kind or 'differs'}"


def place(
    results: Sequence[CaseResult], providers: Mapping[str, str], columns: Mapping[str, str]
) -> list[Cell]:
    """Every result, sorted, at its place. Anchors are made of names, so that a link holds from run
    to run.
    """
    order = {name: index for index, name in enumerate(columns)}

    def in_order(result: CaseResult) -> tuple[object, ...]:
        return (result.spec, result.line, result.case, order[column(result)], sort_key(result))

    taken: set[tuple[str, str]] = set()
    blocks: dict[tuple[object, ...], str] = {}
    cells = []
    for result in sorted(results, key=in_order):
        page = page_name(result.provider)
        key = block_key(result)
        if key not in blocks:
            folder = f"{result.provider}/"
            spec = result.spec.removeprefix(folder).removesuffix(".yaml")
            blocks[key] = _untaken(slug(f"{spec}.{result.case}"), page, taken)
        anchor = _untaken(f"{blocks[key]}.{slug(column(result))}", page, taken)
        cells.append(Cell(result, page, blocks[key], anchor, columns[column(result)]))
    return cells


def block_key(result: CaseResult) -> tuple[object, ...]:
    """What cells have in common that stand under one requirement: all that is shown once above
    them.
    """
    case = (
        result.provider,
        result.spec,
        result.line,
        result.case,
        result.requirement,
        result.features,
        result.level,
        result.source,
    )
    return (*case, result.cassette, result.exchange, result.origin, result.end)


def group_title(feature: Feature | None) -> str:
    """``tool-calls.parallel`` belongs to ``Tool calls``."""
    if feature is None:
        return "Other"
    words = feature.id.partition(".")[0].replace("-", " ")
    return words[:1].upper() + words[1:]


def page_name(provider: str) -> str:
    """The file name of a provider's page."""
    return f"{provider or 'unknown-provider'}.html"


def check(
    results: Sequence[CaseResult],
    features: Collection[str],
    providers: Collection[str],
    columns: Collection[str],
) -> None:
    """Raise `ReportError` for a name that isn't listed, or a provider whose name can't be a
    page's.
    """
    for name in providers:
        if name and (not _NAME.fullmatch(name) or name in ("index", "unknown-provider")):
            raise ReportError(
                f"provider {name!r}: can't name a page; a name is small letters, digits, - and _,"
                " and not index"
            )
    for result in results:
        place = f"{result.spec}:{result.line}: case {result.case!r}"
        for kind, name, known in (
            ("provider", result.provider, providers),
            ("dialect", column(result), columns),
            *(("feature", feature, features) for feature in result.features),
        ):
            if name not in known:
                listed = ", ".join(sorted(one for one in known if one)) or "none"
                raise ReportError(
                    f"{place}: unknown {kind} {name!r}; known are {listed}; correct the name or add"
                    " it to the list"
                )


def _untaken(anchor: str, page: str, taken: set[tuple[str, str]]) -> str:
    free, number = anchor, 1
    while (page, free) in taken:
        number += 1
        free = f"{anchor}-{number}"
    taken.add((page, free))
    return free
