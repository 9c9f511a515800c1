"""Reports: turns the results of a run into files, as a mapping from file name to text.

A report is made only from the results, without clock, host, path or environment: the same results
give the same bytes in any order. A page opens from disk without a network, and its verdicts can be
read without a script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .badges import badges
from .ci import ANNOTATIONS, JUNIT, SUMMARY, annotation_lines, junit, markdown
from .compare import CellChange, compare_runs, count_kinds
from .details import detail
from .document import RESULTS, Header, Named, Run, Unread, merge, pack, schema, unpack
from .layout import PlacedResult, ReportError, ReportNames, page_name, placed
from .pages import change_list, index_page, provider_page, title_of
from .render import fill
from .tally import summary

__all__ = [
    "JUNIT",
    "CellChange",
    "Header",
    "Named",
    "ReportError",
    "Run",
    "Unread",
    "compare_runs",
    "count_kinds",
    "merge",
    "pack",
    "render",
    "render_index",
    "render_junit",
    "schema",
    "summary",
    "unpack",
]


def render(run: Run, baseline: Run | None = None) -> dict[str, str]:
    """Return all files of a report: ``index.html``, a page for each provider with a case,
    ``results.json``, ``junit.xml``, ``summary.md``, ``annotations.txt`` and the badges.

    With a ``baseline`` the index also lists the changes since that run. Raises `ReportError` for a
    result with a name that the header does not list.
    """
    document = pack(run)
    run = unpack(document)  # a report of results.json must have the same bytes
    names, cells = placed(run)
    changes = None if baseline is None else compare_runs(baseline, run)
    return {
        **_pages(run, names, cells, changes),
        RESULTS: document.decode(),
        JUNIT: junit(cells, names.providers),
        SUMMARY: markdown(cells, names, changes, run.header),
        ANNOTATIONS: annotation_lines(cell.result for cell in cells),
        **badges(cells, names.providers, names.columns, run.header.unread),
    }


def render_index(run: Run, baseline: Run | None = None) -> str:
    """Return the index alone, for a run without cases. With a ``baseline`` it also lists the
    changes since that run.
    """
    names, cells = placed(run)
    index = index_page(cells, run.header, names)
    if baseline is not None:
        index["changes"] = change_list(compare_runs(baseline, run), cells, names)
    return fill("index", index, run.header.day)


def render_junit(run: Run) -> str:
    """Return ``junit.xml`` alone, for a run without cases."""
    names, cells = placed(run)
    return junit(cells, names.providers)


def _pages(
    run: Run,
    names: ReportNames,
    cells: Sequence[PlacedResult],
    changes: Sequence[CellChange] | None,
) -> Mapping[str, str]:
    index = index_page(cells, run.header, names)
    index["changes"] = None if changes is None else change_list(changes, cells, names)
    pages = {"index.html": fill("index", index, run.header.day)}
    for name in names.providers:
        own = [cell for cell in cells if cell.page == page_name(name)]
        if own:
            values = provider_page(name, own, names, title_of(run.header))
            values["detail"] = detail(name, values["sections"], values["sources"])
            pages[page_name(name)] = fill("provider", values, run.header.day)
    return pages
