"""Text of others on our pages: made printable, cut to a length, and never a link that isn't one.

Escaping is the template engine's; what it leaves is text that is well-formed and still lies to the
eye: characters that turn the reading direction, move a cursor, or can't be seen. Each is written as
its number, so that two texts that differ look different.
"""

from __future__ import annotations

import html
import re
from typing import Any, Final

from markupsafe import Markup

from harness.stream.printable import printable_lines

_WEB_LINK: Final = re.compile(r"https?://[!-~]+")
_CODE: Final = re.compile(r"`([^`\n]+)`")


def shown(value: Any) -> Any:
    """Every value on its way into a template: text made printable, the rest (numbers, finished
    markup, undefined) untouched.
    """
    return (
        printable_lines(value)
        if isinstance(value, str) and not isinstance(value, Markup)
        else value
    )


def verbatim(text: str) -> Markup:
    """``text`` as the content of an element, never of an attribute: quotes, which JSON is full of,
    stay as they are.
    """
    return Markup(html.escape(printable_lines(text), quote=False))  # noqa: S704  # escaped right here


def with_code(text: str) -> Markup:
    """As `verbatim`, with what stands in backticks as code."""
    # escaped before the tags are set
    return Markup(_CODE.sub(r"<code>\1</code>", str(verbatim(text))))  # noqa: S704


def web_link(text: str) -> str:
    """``text`` if it is a plain http(s) address, else empty: nothing else becomes a link."""
    return text if _WEB_LINK.fullmatch(text) else ""


def last_part(address: str) -> str:
    """``…/api/generate-content#FinishReason`` is ``generate-content#FinishReason``."""
    return address.rstrip("/").rpartition("/")[2]


def slug(text: str) -> str:
    """``text`` as (part of) a fragment: letters, digits and ``._-``."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:120] or "-"
