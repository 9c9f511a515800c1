"""The report: a run in, files out, as a mapping file name → text; writing them is the caller's.

Everything rests on results alone (no clock, host, path or environment), so that the same results
give the same bytes in whatever order they came. A page opens from disk without a network, and says
what matters without a script. `document` is the JSON that results are kept in, `merging` makes one
of several, `capping` keeps it small, `comparing` holds two runs against each other, `placing` gives
every cell its page and anchor, `counting` adds up and finds the words, `pages`, `drawing` and
`detail` lay out values for the templates, `junit`, `markdown` and `badges` say it to other
programs, and `text` keeps what models wrote from passing for something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.conformance.results import CaseResult

from .badges import badges
from .budget import allowance, share
from .compare import Change, compare_runs, count_kinds
from .details import ROOM, WIRE_ROOM, detail, size_of
from .document import RESULTS, Header, Named, Run, pack, schema, unpack
from .junit import junit
from .layout import LAYERS, UNTOLD, Cell, ReportError, check, page_name, place
from .markdown import markdown
from .merge import merge
from .pages import Names, change_list, index_page, provider_page
from .render import fill
from .tally import column, summary

__all__ = [
    "Change",
    "Header",
    "Named",
    "ReportError",
    "Run",
    "compare_runs",
    "count_kinds",
    "merge",
    "pack",
    "render",
    "schema",
    "summary",
    "unpack",
]


def render(run: Run, baseline: Run | None = None) -> dict[str, str]:
    """All files of a report: the pages (``index.html`` and one a provider), ``results.json``,
    ``junit.xml``, ``summary.md``, badges.

    With a ``baseline`` the index says what is fixed, broken, new, gone and rests on other evidence.
    Raises `ReportError` for a result that names something its header doesn't.
    """
    document = pack(run)
    run = unpack(document)  # so the pages say what it holds: made of it again, they are the same
    names, cells = _placed(run)
    changes = None if baseline is None else compare_runs(baseline, run)
    return {
        **_pages(run, names, cells, changes),
        RESULTS: document.decode(),
        "junit.xml": junit(cells, names.providers),
        "summary.md": markdown(cells, names, changes, run.header),
        **badges(cells, names.providers, names.columns),
    }


def _placed(run: Run) -> tuple[Names, list[Cell]]:
    header, results = run.header, run.results
    layers = {
        name: title
        for name, title in LAYERS.items()
        if any(column(result) == name for result in results)
    }
    columns = {one.name: one.title for one in header.adapters} | layers
    providers = {one.name: one.title for one in header.providers} | (
        UNTOLD if any(not result.provider for result in results) else {}
    )
    check(results, {feature.id for feature in header.features}, providers, columns)
    losses = [
        (
            one.name,
            one.title,
            {loss.name: loss.title for loss in header.losses if loss.of == one.name},
        )
        for one in header.adapters
    ]
    return Names(providers, columns, header.features, losses), place(results, providers, columns)


def _pages(
    run: Run, names: Names, cells: Sequence[Cell], changes: Sequence[Change] | None
) -> Mapping[str, str]:
    index = index_page(cells, run.header, names)
    index["changes"] = None if changes is None else change_list(changes, cells, names)
    pages = {"index.html": fill("index", index, run.header.day)}
    streams = {(cell.result.cassette, cell.result.exchange) for cell in cells}
    says_more = [cell.result for cell in cells if _says_more(cell.result)]
    per_cell = share(map(size_of, says_more), ROOM, 100, 60_000)
    per_wire = allowance(len(streams), WIRE_ROOM, 40, 1600)
    for name in names.providers:
        own = [cell for cell in cells if cell.result.provider == name]
        values = provider_page(name, own, names)
        values["detail"] = detail(
            name, values["sections"], values["sources"], per_cell=per_cell, per_wire=per_wire
        )
        values["room"] = min(1000, allowance(len(says_more), ROOM, 100, 60_000) // 8)
        pages[page_name(name)] = fill("provider", values, run.header.day, "" if own else "reading")
    return pages


def _says_more(result: CaseResult) -> bool:
    return bool(result.findings or (result.evidence and result.evidence.layers))
