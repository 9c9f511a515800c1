"""Finds ``<tool_code>`` blocks in a whole text for the oracle, with one pattern for three forms of
body.
"""

from __future__ import annotations

import ast
import json
import re

from harness.stream.json_codec import Json

Block = tuple[str, str | None, dict[str, Json]]

_BLOCK = re.compile(r"<tool_code>(.*?)</tool_code>", re.DOTALL)
_FENCE = re.compile(r"```\w*\s*\n?(.*?)```", re.DOTALL)
_NAMES = ("tool_name", "name")
_ARGUMENTS = ("parameters", "args", "arguments", "input")


def find_blocks(text: str) -> list[Block]:
    """(raw text, tool name or None, arguments) of every block that can be read; other blocks stay
    text.
    """
    return [
        (match[0], *call)
        for match in _BLOCK.finditer(text)
        if (call := _read(match[1].strip())) is not None
    ]


def _read(body: str) -> tuple[str | None, dict[str, Json]] | None:
    fenced = _FENCE.fullmatch(body)
    body = fenced[1].strip() if fenced else body
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return _python_call(body)
    if not isinstance(payload, dict):
        return None
    name = next((payload[key] for key in _NAMES if isinstance(payload.get(key), str)), None)
    inner = next((payload[key] for key in _ARGUMENTS if isinstance(payload.get(key), dict)), None)
    return (name, inner) if name and inner is not None else (None, payload)


def _python_call(body: str) -> tuple[str, dict[str, Json]] | None:
    try:
        tree = ast.parse(body, mode="eval").body
        if (
            isinstance(tree, ast.Call)
            and isinstance(tree.func, ast.Name)
            and tree.func.id == "print"
            and len(tree.args) == 1
        ):
            tree = tree.args[0]
        if not isinstance(tree, ast.Call) or tree.args:
            return None
        name = (
            tree.func.attr
            if isinstance(tree.func, ast.Attribute)
            else tree.func.id
            if isinstance(tree.func, ast.Name)
            else None
        )
        return (
            (
                name,
                {
                    word.arg: _plain(ast.literal_eval(word.value))
                    for word in tree.keywords
                    if word.arg
                },
            )
            if name
            else None
        )
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _plain(value: Json) -> Json:
    """A literal as JSON: a tuple becomes a list."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return (
        {str(name): _plain(item) for name, item in value.items()}
        if isinstance(value, dict)
        else value
    )
