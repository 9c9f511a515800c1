"""Text of others on our pages: made visible, cut to a length, and never a link that isn't one.

Escaping is the template engine's; what it leaves is text that is well-formed and still lies to the
eye: characters that turn the reading direction, move a cursor, or can't be seen. Each is written as
its number, so that two texts that differ look different.
"""

from __future__ import annotations

import html
import re
from typing import Any, Final

from markupsafe import Markup

# Control characters but tab and line feed, format characters (Unicode's Cf: direction, joiners,
# tags …), line and paragraph separator,
# halves of surrogate pairs. Written out rather than asked of `unicodedata`: each Python knows
# another Unicode, the page must not change.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_NOT_XML: Final = re.compile("[\ufdd0-\ufdef\ufffe\uffff]")
"""What of the rest XML 1.0 refuses or advises against (https://www.w3.org/TR/xml/#charsets)."""
_WEB_LINK: Final = re.compile(r"https?://[!-~]+")
_CODE: Final = re.compile(r"`([^`\n]+)`")


def visible(text: str) -> str:
    """``text`` with every unseen character spelled out: ``⟨U+202E⟩``; a lone surrogate as in the
    results' JSON: ``\\ud83d``.
    """
    return _UNSEEN.sub(_spelled, text)


def for_xml(text: str) -> str:
    """As `visible`, and what may not stand in an XML document spelled out too: ``⟨U+FFFE⟩``. Not
    escaped.
    """
    return _NOT_XML.sub(_spelled, visible(text))


def shown(value: Any) -> Any:
    """Every value on its way into a template: text made visible, the rest (numbers, finished
    markup, undefined) untouched.
    """
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def shortened(text: str, limit: int) -> str:
    """``text`` up to ``limit`` characters; where that cuts, a sentence that says so."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]} … (the first {limit:,} of {len(text):,} characters)"


def verbatim(text: str) -> Markup:
    """``text`` as the content of an element, never of an attribute: quotes, which JSON is full of,
    stay as they are.
    """
    return Markup(html.escape(visible(text), quote=False))  # noqa: S704  # escaped right here


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


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if 0xD800 <= code <= 0xDFFF else f"⟨U+{code:04X}⟩"
