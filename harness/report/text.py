"""Safe text for pages: escaped, printable, and a link only if it is an http(s) address."""

from __future__ import annotations

import html
import re
from typing import Any, Final

from markupsafe import Markup

from harness.stream.printable import printable_lines

LAYER_TITLES: Final = {
    "frames": "Wire",
    "events": "Events",
    "payloads": "Payloads",
    "native": "Native events",
    "facts": "Facts",
    "prompt": "Prompt",
    "requests": "Request",
}
"""The title of each layer of an evidence."""
# Printable ASCII without a blank: RFC 3986 has no other characters.
_WEB_LINK: Final = re.compile(r"https?://[!-~]+")
_CODE: Final = re.compile(r"`([^`\n]+)`")


def shown(value: Any) -> Any:
    """Return a value as a template shows it: text becomes printable, other values stay as they
    are.
    """
    return (
        printable_lines(value)
        if isinstance(value, str) and not isinstance(value, Markup)
        else value
    )


def verbatim(text: str) -> Markup:
    """Return ``text`` escaped as the content of an element, not of an attribute: quotes stay as
    they are, because JSON has many.
    """
    return Markup(html.escape(printable_lines(text), quote=False))  # noqa: S704  # escaped right here


def with_code(text: str) -> Markup:
    """Return the text as `verbatim` does, with text in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(verbatim(text))))  # noqa: S704  # escaped before the tags are added


def web_link(text: str) -> str:
    """Return ``text`` if it is a plain http(s) address, else ""."""
    return text if _WEB_LINK.fullmatch(text) else ""


def thread_link(thread: str) -> str:
    """Return the address of a public thread: ``owner/repo#12`` →
    ``https://github.com/owner/repo/…``.
    """
    repository, _, number = thread.partition("#")
    return f"https://github.com/{repository}/issues/{number}"


def last_part(address: str) -> str:
    """Return the last part of an address: ``…/api/text#Part`` → ``text#Part``."""
    return address.rstrip("/").rpartition("/")[2]


def slug(text: str) -> str:
    """Return ``text`` as part of a fragment or file name: letters, digits and ``._-``."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:120] or "-"
