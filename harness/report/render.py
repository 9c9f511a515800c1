"""Fills the templates: escaped and printable values, and inline scripts allowed by their hash."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from harness.judging.explain import shown_finding
from harness.judging.rows import VERDICTS
from harness.stream.events import End
from harness.stream.printable import excerpt

from .aspect_counts import MEANINGS
from .badges import WIDTH, legend
from .compare import KINDS, STEPS
from .details import DIGEST, MAX_TEXT
from .tally import IN_PART, ORIGINS
from .text import (
    LAYER_TITLES,
    last_part,
    shown,
    slug,
    thread_link,
    verbatim,
    web_link,
    with_code,
)

if TYPE_CHECKING:
    from jinja2 import Environment

ENDS: Final[dict[End, str]] = {
    "complete": "complete",
    "cut": "cut: closed before its declared end",
    "reset": "reset: the connection broke",
    "aborted": "aborted: the client left",
    "unknown": "end not known",
}
STALE_DAYS: Final = 180
"""The age in days from which a recording is stale: the provider may have changed since. Streams
written by hand do not become stale.
"""


def fill(page: str, values: Mapping[str, Any], today: str) -> str:
    """Return a page with the script and style sheet of its name. With ``today`` (YYYY-MM-DD) the
    ages are written into the page; without it, the script of the page calculates them.
    """
    script, style = _asset(f"{page}.js"), _asset(f"{page}.css")
    return (
        _templates()
        .get_template(f"{page}.html")
        .render(values, today=today, script=script, style=style.text)
    )


def age(day: str, today: str) -> int | None:
    """Return the days from one date to the other; None if one of them is not a date."""
    try:
        return (date.fromisoformat(today[:10]) - date.fromisoformat(day[:10])).days
    except ValueError:
        return None


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # most runs write no page

    environment = Environment(
        loader=PackageLoader("harness.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        short=excerpt,
        prose=with_code,
        verbatim=verbatim,
        web=web_link,
        brief=last_part,
        thread=thread_link,
    )
    environment.filters.update(number="{:,}".format, slug=slug, age=age, shown=shown_finding)
    environment.globals.update(
        VERDICTS=VERDICTS,
        ASPECT_VERDICTS=MEANINGS,
        ORIGINS=ORIGINS,
        LAYER_TITLES=LAYER_TITLES,
        ENDS=ENDS,
        STALE_DAYS=STALE_DAYS,
        STEPS=STEPS,
        KIND_WORDS=[(kind, words.word) for kind, words in KINDS.items()],
        DIGEST=DIGEST,
        IN_PART=IN_PART,
        MAX_TEXT=MAX_TEXT,
        DRAWING_WIDTH=WIDTH,
        legend=legend,
    )
    return environment


@dataclass(frozen=True, slots=True)
class Asset:
    """A script or a style sheet, and its hash for the content security policy of the page."""

    text: Markup
    hash: str


@cache
def _asset(name: str) -> Asset:
    """Return a script or a style sheet with its values filled in."""
    text = _templates().get_template(name).render()
    hashed = b64encode(sha256(text.encode()).digest()).decode()
    return Asset(Markup(text), f"sha256-{hashed}")  # noqa: S704  # our own file
