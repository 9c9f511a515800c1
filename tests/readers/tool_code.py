"""The second reader of calls that a model wrote as text: ``<tool_code>`` blocks, with one pattern
for three forms of body, and other forms without that tag.
"""

from __future__ import annotations

import ast
import json
import re

from harness.stream.json_codec import Json

CallInText = tuple[str, str | None, dict[str, Json]]

_BLOCK = re.compile(r"<tool_code>(.*?)</tool_code>", re.DOTALL)
_FENCE = re.compile(r"```\w*\s*\n?(.*?)```", re.DOTALL)
_WRITTEN = re.compile(
    r"<tool_code>.*?</tool_code>"
    r"|^```tool_(?:code|call)\s*\n(?P<fence>.*?)\n?```"
    r"|<ctrl42>call\n(?P<control>[^\n]*)\n?"
    r"|^(?P<printed>print\(default_api\.[^\n]*\))$"
    r"|call:(?:default_api:)?(?P<name>\w+) ?(?P<pairs>\{[^{}]*\})"
    r"|^```json\s*\n(?P<json>\{.*?\})\n?```"
    r"|\A\s*(?P<whole>\{.*\})\s*\Z",
    re.DOTALL | re.MULTILINE,
)
"""The forms of a call as text; a block, which has its own pattern, hides the forms in its body."""
_PAIR = re.compile(r"\s*(\w+)\s*:\s*([^,{}]*)")
_WRAPPERS = ("print", "python")
_NAMES = ("tool_name", "name")
_ARGUMENTS = ("parameters", "args", "arguments", "input")


def find_blocks(text: str) -> list[CallInText]:
    """Return (raw text, tool name or None, arguments) of every block that can be read; other blocks
    stay text.
    """
    return [
        (match[0], *call)
        for match in _BLOCK.finditer(text)
        if (call := _read(match[1].strip())) is not None
    ]


def find_written_calls(text: str) -> list[CallInText]:
    """Return (raw text, tool name, arguments) of every call that is written as text in another form
    than a block; text that can't be read as a call with a name stays text.
    """
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
    return _read(body.strip()) if body else None


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
            and tree.func.id in _WRAPPERS
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
    """Return a literal as JSON: a tuple becomes a list."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return (
        {str(name): _plain(item) for name, item in value.items()}
        if isinstance(value, dict)
        else value
    )
