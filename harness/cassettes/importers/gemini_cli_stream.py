"""The output of ``gemini --output-format stream-json``: one exchange without a request.

Users save this output together with other lines of the terminal. Such lines are kept. https://geminicli.com/docs/cli/headless
"""

from __future__ import annotations

import re
from typing import Final

from harness.stream.exchange import Cassette

from .build import build_cassette, build_exchange
from .content import Content
from .format import Format

_EVENT: Final = re.compile(
    rb'\{\s*"type":\s*"(?:init|message|tool_use|tool_result|error|result)",\s*"timestamp":\s*"([^"]{4,40})"'
)
_MODEL: Final = re.compile(rb'\{"type":"init"[^{}]*?"model":\s*"([^"\\]{1,200})"')
_LOOK: Final = 64 * 1024


def _recognises(content: Content) -> bool:
    return _EVENT.search(content.data, 0, _LOOK) is not None


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
