"""The matrix of public adapters: a static site of results of ``harness judge``.

It has an index, and for each adapter a page with the command of each red, its results as JSON, and
a badge. ``matrix.json`` has the counts of the index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace as with_fields

from harness.judging.judge_results import AdapterResults, JudgeResults, encode_results
from harness.judging.rows import Row, encode_item

from .aspect_counts import BLOCK_MEANINGS, BLOCKS, JUDGED_BLOCKS, by_aspect, in_order, in_sections
from .badges import FOLDER, judge_badge
from .findings import Table, TableRow, cells_by_facts, tables
from .judge_run import JSON, run_of
from .layout import ReportError, placed
from .pages import index_page
from .render import fill
from .tally import tally
from .text import slug, web_link

MATRIX: Final = "matrix.json"
TITLE: Final = "Adapters of model streams"


class Dispute(Struct, frozen=True, forbid_unknown_fields=True):
    """A finding that the maintainers of an adapter, or somebody else, dispute."""

    adapter: str
    link: str
    """The public discussion."""
    aspects: tuple[str, ...] = ()
    """The aspects that it concerns; none means all."""
    note: str = ""

    @property
    def words(self) -> str:
        """``disputed: finish, usage``."""
        names = ", ".join(self.aspects).replace("_", " ")
        return f"disputed: {names}" if names else "disputed"


class MatrixAdapter(Struct, frozen=True):
    """One version of an adapter in ``matrix.json``. The paths are relative to the site."""

    name: str
    version: str
    is_previous: bool
    target: str
    day: str
    suite: str
    is_red: bool
    """The verdict of the badge."""
    verdicts: dict[str, dict[str, int]]
    """Section → verdict → cells."""
    aspects: dict[str, dict[str, dict[str, int]]]
    """Section → aspect → verdict → cells."""
    losses: tuple[str, ...]
    """The declared losses."""
    disputes: tuple[Dispute, ...]
    page: str
    results: str
    badge: str

    @property
    def passed(self) -> int:
        """The cells that passed, without variants."""
        return sum(self._counts.get(verdict, 0) for verdict in ("passed", "fixed"))

    @property
    def judged(self) -> int:
        """The cells that were judged, without variants."""
        return self._counts.total() - self._counts["not-run"]

    @property
    def _counts(self) -> Counter[str]:
        return sum((Counter(self.verdicts.get(name, {})) for name in JUDGED_BLOCKS), Counter[str]())

    @property
    def folder(self) -> str:
        return self.page.removesuffix("index.html")


class MatrixDocument(Struct, frozen=True):
    """The document of ``matrix.json``. ``suite``: "" if the adapters have several."""

    suite: str
    adapters: tuple[MatrixAdapter, ...]


def matrix_files(
    groups: Mapping[str, Sequence[AdapterResults]], disputes: Sequence[Dispute] = ()
) -> dict[str, str]:
    """Return the files of the site: name → text. ``groups``: the name of an adapter → its versions,
    the newest first. Raises `ReportError` for a dispute of an adapter that is not there, for a
    dispute without a web address, and for two adapters whose names give the same folder.
    """
    _check(groups, disputes)
    files: dict[str, str] = {}
    entries: list[MatrixAdapter] = []
    listed: list[Table] = []
    for name, versions in sorted(groups.items()):
        own = tuple(dispute for dispute in disputes if dispute.adapter == name)
        results = JudgeResults(tuple(with_fields(version, name=name) for version in versions))
        run = run_of(results)
        folder = slug(name)
        names, cells = placed(run)
        index = index_page(cells, run.header, names)
        files[f"{folder}/index.html"] = fill("index", index, "")
        files[f"{folder}/{JSON}"] = encode_results(results).decode()
        for place, version in enumerate(results.adapters):
            entry = _entry(version, folder, own, place)
            files[entry.badge] = judge_badge(f"{name} {version.version}", version)
            entries.append(entry)
        rows_of_blocks = tables(cells_by_facts(cells, names.columns, run.header.judged))
        words = ", ".join(dispute.words for dispute in own)
        listed += [_linked(table, f"{folder}/index.html", words) for table in rows_of_blocks]
    suites = {entry.suite for entry in entries}
    suite = suites.pop() if len(suites) == 1 else ""
    files["index.html"] = fill("matrix", _page(entries, listed, suite), "")
    files[MATRIX] = encode_item(MatrixDocument(suite, tuple(entries))).decode() + "\n"
    return files


def _check(groups: Mapping[str, Sequence[AdapterResults]], disputes: Sequence[Dispute]) -> None:
    folders = [slug(name).lower() for name in groups]
    if repeated := [folder for folder in folders if folders.count(folder) > 1 or folder == FOLDER]:
        raise ReportError(f"two adapters have the folder {repeated[0]}; rename one")
    if dotted := [folder for folder in folders if folder.startswith(".")]:
        raise ReportError(f"the name of an adapter begins with a point: {dotted[0]}")
    for dispute in disputes:
        if dispute.adapter not in groups:
            raise ReportError(
                f"a dispute names the adapter {dispute.adapter}, which has no results"
            )
        if not web_link(dispute.link):
            raise ReportError(f"the dispute of {dispute.adapter} has no web address as its link")


def _entry(
    version: AdapterResults, folder: str, disputes: tuple[Dispute, ...], place: int
) -> MatrixAdapter:
    sections = {name: cells for name, cells in in_sections(version.all_cells).items() if cells}
    return MatrixAdapter(
        name=version.name,
        version=version.version,
        is_previous=place > 0,
        target=version.target,
        day=version.day,
        suite=version.suite,
        is_red=version.red,
        verdicts={
            name: {str(word): number for word, number in tally(cells).counts.items()}
            for name, cells in sections.items()
        },
        aspects={
            name: {aspect: dict(counts) for aspect, counts in by_aspect(cells).items()}
            for name, cells in sections.items()
        },
        losses=_declared(version.all_cells, version.unused_losses),
        disputes=disputes,
        page=f"{folder}/index.html",
        results=f"{folder}/{JSON}",
        badge=f"{FOLDER}/{folder}{f'-{slug(version.version)}' if place else ''}.svg",
    )


def _declared(cells: Iterable[Row], unused: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({loss for cell in cells for loss in cell.declared} | {*unused}))


def _linked(table: Table, page: str, words: str) -> Table:
    """Return the table of one adapter, with links to its page."""
    rows = [
        replace(
            row,
            note=", ".join(filter(None, (row.note, words))),
            squares=[
                replace(mark, anchor=f"{page}{mark.anchor}") if mark and mark.anchor else mark
                for mark in row.squares
            ],
            anchor="",
        )
        for row in table.rows
    ]
    return replace(table, rows=rows)


def _page(entries: Sequence[MatrixAdapter], listed: Sequence[Table], suite: str) -> dict[str, Any]:
    return {
        "title": TITLE,
        "suite": suite,
        "first_day": min((entry.day for entry in entries if entry.day), default=""),
        "last_day": max((entry.day for entry in entries), default=""),
        "adapters": entries,
        "tables": [_united(block, own) for block in BLOCKS if (own := _of(block, listed))],
        "file": MATRIX,
    }


def _of(block: str, listed: Sequence[Table]) -> list[Table]:
    return [table for table in listed if table.name == block]


def _united(block: str, own: Sequence[Table]) -> Table:
    """Return one table with the rows of all adapters, and with every aspect that one of them
    has.
    """
    aspects = in_order(aspect for table in own for aspect in table.aspects)
    rows: list[TableRow] = []
    for table in own:
        places = {aspect: place for place, aspect in enumerate(table.aspects)}
        rows += [
            replace(
                row,
                squares=[
                    row.squares[places[aspect]] if aspect in places else None for aspect in aspects
                ],
            )
            for row in table.rows
        ]
    return Table(
        block, BLOCKS[block], BLOCK_MEANINGS[block], "Adapter", aspects, rows, own[0].never_red
    )
