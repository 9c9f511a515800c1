"""Values into templates: autoescaped, strict about what is undefined, every text made visible; script and style inlined by their hash."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import date
from functools import cache
from hashlib import sha256
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..events import End
from ..results import VERDICTS
from .drawing import WIDTH, legend
from .text import last_part, shortened, shown, slug, verbatim, web_link, with_code

ENDS: Final[dict[End, str]] = {
    "complete": "complete",
    "cut": "cut: closed before its declared end",
    "reset": "reset: the connection broke",
    "aborted": "aborted: the client left",
    "unknown": "end not known",
}
STALE_DAYS: Final = 180
"""A recording this old may say what a provider no longer does. What was written from documentation has no such age."""


def fill(template: str, values: Mapping[str, Any], today: str) -> str:
    """A page. ``today`` (YYYY-MM-DD) gives ages; without one they are reckoned by the page's script."""
    return _templates().get_template(template).render(values, today=today)


def age(day: str, today: str) -> int | None:
    """Days from one date to the other; None where either is no date."""
    try:
        return (date.fromisoformat(today[:10]) - date.fromisoformat(day[:10])).days
    except ValueError:
        return None


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
    environment.filters.update(short=shortened, prose=with_code, verbatim=verbatim, web=web_link, brief=last_part)
    environment.filters.update(number="{:,}".format, slug=slug, age=age)
    script = environment.get_template("script.js").render(STALE_DAYS=STALE_DAYS)
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    environment.globals.update(
        VERDICTS=VERDICTS,
        ENDS=ENDS,
        STALE_DAYS=STALE_DAYS,
        DRAWING_WIDTH=WIDTH,
        legend=legend,
        script=Markup(script),  # noqa: S704  # our own file
        script_hash=f"sha256-{hashed}",
    )
    return environment
