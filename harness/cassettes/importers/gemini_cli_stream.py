"""Reads the output of ``gemini --output-format stream-json``: one exchange without a request.

Users save this output together with other lines of the terminal. Such lines are kept. https://geminicli.com/docs/cli/headless
"""

from __future__ import annotations

import re
from typing import Final

from harness.providers import detect_provider
from harness.stream.exchange import Cassette

from .build import build_cassette, build_exchange
from .content import Content, Format

_EVENT: Final = re.compile(
    rb'\{\s*"type":\s*"(?:init|message|tool_use|tool_result|error|result)",\s*"timestamp":\s*"([^"]{4,40})"'
)
_MODEL: Final = re.compile(rb'\{"type":"init"[^{}]*?"model":\s*"([^"\\]{1,200})"')
_TYPE: Final = re.compile(rb'"type":\s*"(?:init|message|tool_use|tool_result|error|result)"')
_LOOK: Final = 64 * 1024


def _recognises(content: Content) -> bool:
    """Return whether the content has an event in the CLI's own spelling, anywhere in a line, or its
    lines are such events with more keys or with another order of keys. Programs that parse the
    lines and write them again change them in this way.
    """
    if _EVENT.search(content.data, 0, _LOOK):
        return True
    if not _TYPE.search(content.data, 0, _LOOK):
        return False
    identity = detect_provider("", "", b"", content.data)
    return identity.provider == "gemini-cli" and identity.streamed


def _read(content: Content) -> Cassette:
    exchange = build_exchange(None, 200, {}, content.data, end="unknown")
    first, model = _EVENT.search(content.data, 0, _LOOK), _MODEL.search(content.data, 0, _LOOK)
    return build_cassette(
        [exchange],
        date=first[1].decode("utf-8", "replace") if first else None,
        model=model[1].decode("utf-8", "replace") if model else None,
        client="gemini-cli",
        note="Gemini CLI stream-json output",
    )


CLI_STREAM: Final = Format(
    "gemini-cli-stream-json", "Gemini CLI stream-json output", _recognises, _read
)
