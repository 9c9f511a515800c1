"""The report: results in, HTML pages out, as a mapping file name → text; writing them is the caller's.

A page rests on results alone (no clock, host, path or environment), so that the same results give the same bytes in whatever order
they came. It opens from disk without a network and without a script. `placing` gives every cell its page and anchor, `counting` adds
up and finds the words, `pages` lays out values for the templates, `text` keeps what models wrote from passing for something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..events import End
from ..results import VERDICTS, CaseResult
from .counting import column, summary
from .pages import index_page, provider_page
from .placing import LAYERS, UNTOLD, Feature, ReportError, check, page_name, place
from .text import shortened, shown, verbatim, web_link, with_code

__all__ = ["Feature", "ReportError", "render", "summary"]

ENDS: Final[dict[End, str]] = {
    "complete": "complete",
    "cut": "cut: closed before its declared end",
    "reset": "reset: the connection broke",
    "aborted": "aborted: the client left",
    "unknown": "end not known",
}


def render(
    results: Sequence[CaseResult],
    features: Sequence[Feature],
    *,
    providers: Mapping[str, str],
    dialects: Mapping[str, str],
    losses: Mapping[str, Mapping[str, str]],
    unread: Sequence[str] = (),
) -> dict[str, str]:
    """``index.html`` and a page a provider (``gemini-api.html``), as texts that UTF-8 can hold.

    ``providers`` and ``dialects`` map names to titles, in the order to show; ``losses`` maps a dialect to its declared losses, name →
    meaning. ``unread`` are the errors of specs that could not be read, which the
    index begins with. Raises `ReportError` for a result that names something not listed.
    """
    layers = {name: title for name, title in LAYERS.items() if any(column(result) == name for result in results)}
    columns = {**dialects, **layers}
    listed = {**providers, **(UNTOLD if any(not result.provider for result in results) else {})}
    check(results, {feature.id for feature in features}, listed, columns)
    cells = place(results, listed, columns)
    templates = _templates()
    index = index_page(cells, features, listed, columns, dialects, losses)
    pages = {"index.html": templates.get_template("index.html").render(index, unread=unread)}
    for name, title in listed.items():
        mine = [cell for cell in cells if cell.result.provider == name]
        values = provider_page(name, title, mine, features, columns)
        pages[page_name(name)] = templates.get_template("provider.html").render(values)
    return pages


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("harness.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(short=shortened, prose=with_code, verbatim=verbatim, web=web_link, number="{:,}".format)
    environment.globals.update(VERDICTS=VERDICTS, ENDS=ENDS)
    return environment
