"""Finds the calls that a model wrote as text: blocks of ``<tool_code>``, and other forms without
that tag.
"""

from __future__ import annotations

import json
import re
from typing import Final

from harness.stream.json_codec import Json
from harness.stream.tool_code import Splitter, ToolCodeBlock, parse_body

CallInText = tuple[str, str | None, dict[str, Json]]
"""The raw text, the name of the tool or None, and the arguments."""

_WRITTEN: Final = re.compile(
    r"<tool_code>.*?</tool_code>"
    r"|^```tool_(?:code|call)\s*\n(?P<fence>.*?)\n?```"
    r"|<ctrl42>call\n(?P<control>[^\n]*)\n?"
    r"|^(?P<printed>print\(default_api\.[^\n]*\))$"
    r"|call:(?:default_api:)?(?P<name>\w+) ?(?P<pairs>\{[^{}]*\})"
    r"|^```json\s*\n(?P<json>\{.*?\})\n?```"
    r"|\A\s*(?P<whole>\{.*\})\s*\Z",
    re.DOTALL | re.MULTILINE,
)
"""The forms of a call as text; a block, which has its own reader, hides the forms in its body."""
_PAIR: Final = re.compile(r"\s*(\w+)\s*:\s*([^,{}]*)")


def find_blocks(text: str) -> list[CallInText]:
    """Return every block that can be read; other blocks stay text."""
    return [
        (block.raw, call.name, call.arguments)
        for block in Splitter().feed(text)
        if isinstance(block, ToolCodeBlock) and (call := parse_body(block.body))
    ]


def find_written_calls(text: str) -> list[CallInText]:
    """Return every call with a name that is written as text in another form than a block."""
    if "default_api" not in text and "call" not in text and "{" not in text:
        return []
    calls = ((match[0], _read_written(match)) for match in _WRITTEN.finditer(text))
    return [(raw, call[0], call[1]) for raw, call in calls if call is not None and call[0]]


def _read_written(match: re.Match[str]) -> tuple[str | None, dict[str, Json]] | None:
    if match["name"]:
        pairs = [_PAIR.fullmatch(pair) for pair in match["pairs"][1:-1].split(",")]
        try:
            arguments = json.loads(match["pairs"])
        except ValueError:
            arguments = {pair[1]: pair[2].strip() for pair in pairs if pair}
        return match["name"], arguments
    groups = ("fence", "control", "printed", "json", "whole")
    body = next((match[group] for group in groups if match[group]), None)
    call = parse_body(body) if body else None
    return call and (call.name, call.arguments)
