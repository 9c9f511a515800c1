"""Reads the output of ``gemini --output-format json``: one exchange without a request.

It is one JSON document for a whole run. There may be lines of other output before it, which are
kept. https://geminicli.com/docs/cli/headless
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from harness.stream.exchange import Cassette

from .build import build_cassette, build_exchange
from .content import Content, Format

_OPENS: Final = re.compile(rb'\{\s*"(?:session_id|response|stats|error)"')
_LOOK: Final = 64 * 1024


def _document(content: Content) -> dict[str, Any] | None:
    """Return the document, also if it is after other lines; None if there is no document."""
    if content.mapping:
        return content.mapping
    start = _OPENS.search(content.data, 0, _LOOK)
    if not start or not content.is_text:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(content.data[start.start() :].decode())
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _recognises(content: Content) -> bool:
    match _document(content):
        case (
            {"response": str(), "stats": dict()}
            | {"session_id": str(), "stats": dict()}
            | {"session_id": str(), "error": dict()}
        ):
            return True
    return False


def _read(content: Content) -> Cassette:
    match _document(content):
        case {"stats": {"models": dict(models)}}:
            model = ", ".join(models)
        case _:
            model = ""
    exchange = build_exchange(None, 200, {}, content.data, end="unknown")
    return build_cassette(
        [exchange], model=model or None, client="gemini-cli", note="Gemini CLI json output"
    )


CLI_DOCUMENT: Final = Format("gemini-cli-json", "Gemini CLI json output", _recognises, _read)
