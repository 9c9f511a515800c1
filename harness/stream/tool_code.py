"""Finds tool calls that a model wrote as text: ``<tool_code>`` blocks in pieces of text, and the
calls in their bodies.

A block begins at the first ``<tool_code>`` and ends at the next ``</tool_code>``, even inside a
string; both are case-sensitive. Text that could be the beginning of a tag is held back until the
next piece decides. Each character is read a fixed number of times, however small the pieces are.

A body is a JSON object or a Python call with literal arguments, bare or in a fence. Python is
parsed, never evaluated, and only after a scan has bounded the input of the parser: the text comes
from a model and is not trusted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Final, NamedTuple, Protocol

from .json_codec import Json, finite_json

START: Final = "<tool_code>"
END: Final = "</tool_code>"
MAX_DEPTH: Final = 100
MAX_PYTHON: Final = 1 << 20
MAX_TOKENS: Final = 50_000


class ToolCodeBlock(NamedTuple):
    """A whole block."""

    body: str
    """The text between the tags."""
    raw: str
    """The block with its tags."""


class Splitter:
    """Divides text that comes in pieces into text and blocks, in order."""

    def __init__(self) -> None:
        self._body: list[str] | None = None  # the pieces of the open block
        # the end of the text so far, if it could be the beginning of the tag that is looked for
        self._held = ""

    def feed(self, text: str) -> list[str | ToolCodeBlock]:
        """Return the text and blocks that this piece completes; never an empty text."""
        if "<" not in text and self._body is None and not self._held:  # nearly all text
            return [text] if text else []
        pieces: list[str | ToolCodeBlock] = []
        text = self._held + text
        position = 0
        while True:
            tag = START if self._body is None else END
            at = text.find(tag, position)
            if at < 0:
                break
            before = text[position:at]
            if self._body is None:
                if before:
                    pieces.append(before)
                self._body = []
            else:
                body = "".join(self._body) + before
                pieces.append(ToolCodeBlock(body, START + body + END))
                self._body = None
            position = at + len(tag)
        stop = len(text) - tag_beginning(text, position, tag)
        self._held = text[stop:]
        if position < stop:
            if self._body is None:
                pieces.append(text[position:stop])
            else:
                self._body.append(text[position:stop])
        return pieces

    def close(self) -> str:
        """Return the text that is still held: a block that never ended or the beginning of a tag,
        unchanged. Resets the splitter.
        """
        opened = "" if self._body is None else START + "".join(self._body)
        held, self._held, self._body = opened + self._held, "", None
        return held


def tag_beginning(text: str, position: int, tag: str) -> int:
    """Return the number of characters at the end of the text that could begin the tag."""
    at = text.rfind("<", max(position, len(text) - len(tag) + 1))
    return len(text) - at if at >= 0 and tag.startswith(text[at:]) else 0


class ToolCodeBody(NamedTuple):
    """The call in a block."""

    name: str | None
    """The name of the tool; None if the block has none."""
    arguments: dict[str, Json]
    extra: dict[str, Json]
    """Other fields beside the two."""


NAME_KEYS: Final = ("tool_name", "name", "tool")
ARGUMENT_KEYS: Final = ("parameters", "args", "arguments", "input")


def parse_body(text: str) -> ToolCodeBody | None:
    """Return the call in a block's body; None if the body has no known form."""
    text = text.strip()
    if len(text) >= 6 and text.startswith("```") and text.endswith("```"):
        inner = text[3:-3]
        fence = _FENCE_WORD.match(inner)
        text = inner[fence.end() if fence else 0 :].strip()
    return _parse_json(text) if text.startswith("{") else _parse_python(text)


_FENCE_WORD: Final = re.compile(r"\w*\s")


def _parse_json(text: str) -> ToolCodeBody | None:
    try:
        payload = finite_json(text)
    except (ValueError, RecursionError):
        return None
    if _too_deep(payload):
        return None
    name_key = next(
        (key for key in NAME_KEYS if isinstance(payload.get(key), str) and payload[key]), None
    )
    arguments_key = next((key for key in ARGUMENT_KEYS if isinstance(payload.get(key), dict)), None)
    if name_key is None or arguments_key is None:
        return ToolCodeBody(None, payload, {})
    extra = {key: value for key, value in payload.items() if key not in (name_key, arguments_key)}
    return ToolCodeBody(payload[name_key], payload[arguments_key], extra)


def _too_deep(value: Json) -> bool:
    """Return whether a value nests deeper than `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = [
            item.values() if type(item) is dict else item
            for item in level
            if type(item) in (dict, list)
        ]
        if not inner:
            return False
        level = [item for items in inner for item in items]
    return True


_HEADER: Final = re.compile(
    r"((?:print|python)\s*\(\s*)?(?:default_api\s*\.\s*)?([A-Za-z_][A-Za-z0-9_]*)\s*\("
)
_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+)
    |(?P<string>[rRuU]?(?:\'\'\'(?:[^'\\]|\\.|'{1,2}(?!'))*\'\'\'|"{3}(?:[^"\\]|\\.|"{1,2}(?!"))*"{3}|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>[0-9][0-9_]{0,400}(?:\.[0-9]{0,400})?(?:[eE][+-]?[0-9]{1,4})?)
    |(?P<sign>[+-])
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<mark>[,:=])
    """,
    re.DOTALL | re.VERBOSE,
)


def _parse_python(text: str) -> ToolCodeBody | None:
    header = _HEADER.match(text)
    if header is None or len(text) > MAX_PYTHON:
        return None
    source, stop = _scan_arguments(text, header.end())
    if "".join(text[stop:].split()).rstrip(";") != ("))" if header[1] else ")"):
        return None
    try:
        call = ast.parse(f"f({source})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            return None
        arguments: dict[str, Json] = {}
        for keyword in call.keywords:
            _add(arguments, keyword.arg, _literal(keyword.value))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return ToolCodeBody(header[2], arguments, {})


def _scan_arguments(text: str, position: int) -> tuple[str, int]:
    """Return the arguments of a call as far as they are tokens of literals, and the index after
    them.

    That is the index of the bracket that closes the call, unless the arguments have other tokens,
    too many tokens, or nest too deep.
    """
    depth = 0
    source: list[str] = []
    while len(source) < MAX_TOKENS and (match := _TOKEN.match(text, position)):
        kind, token = str(match.lastgroup), match[0]
        if kind == "string" and token[0] not in "rR":
            token = _ODD_ESCAPE.sub(_plain_escape, token)
        elif kind == "close":
            depth -= 1
        elif kind == "open":
            depth += 1
        named = kind == "name" and token not in _CONSTANTS
        if not 0 <= depth <= MAX_DEPTH or (
            named and (depth > 0 or not _EQUALS.match(text, match.end()))
        ):
            break
        source.append(token)
        position = match.end()
    return "".join(source), position


_ODD_ESCAPE: Final = re.compile(r"\\(?:([4-7][0-7]{2})|([^\n\\'\"abfnrtvxNuU0-7])|.)", re.DOTALL)


def _plain_escape(match: re.Match[str]) -> str:
    """Return an escape that Python accepts with a warning, written so that it gives no warning."""
    octal, unknown = match.groups()
    return f"\\u{int(octal, 8):04x}" if octal else f"\\\\{unknown}" if unknown else match[0]


_CONSTANTS: Final = frozenset({"True", "False", "None"})
_EQUALS: Final = re.compile(r"\s*=")


def _literal(node: ast.expr) -> Json:
    """Return the value of a literal that JSON can hold; raises ValueError for any other
    expression.
    """
    match node:
        case ast.Constant(value=bool() | str() | int() | None):
            return node.value
        case ast.Constant(value=float(number)) if isfinite(number):
            return number
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float())):
            number = _literal(node.operand)
            if type(number) is not bool:
                return -number if isinstance(node.op, ast.USub) else number
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            pairs: dict[str, Json] = {}
            for key, value in zip(keys, values, strict=True):
                _add(pairs, _literal(key) if key else None, _literal(value))
            return pairs
    raise ValueError("no literal")


def _add(pairs: dict[str, Json], key: Json, value: Json) -> None:
    if type(key) is not str or key in pairs:
        raise ValueError("no name, or a name that is there twice")
    pairs[key] = value


class Declared(Protocol):
    """A tool that a request declares; ``parameters`` is the JSON Schema of its arguments."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Json]: ...


def infer_name(payload: Mapping[str, Json], tools: Iterable[Declared]) -> str | None:
    """Return the declared tool whose schema fits a nameless object best.

    The score is the number of known keys less the number of unknown keys, at least 0; the first of
    equal scores is chosen. A tool is excluded if it requires a key that the object does not have.
    """
    keys = payload.keys()
    best, best_score = None, -1
    for tool in tools:
        properties = tool.parameters.get("properties", {})
        required = tool.parameters.get("required")
        if not isinstance(properties, Mapping) or (
            isinstance(required, list) and any(name not in keys for name in required)
        ):
            continue
        known = sum(key in properties for key in keys)
        score = known - (len(keys) - known)
        if score > best_score:
            best, best_score = tool.name, score
    return best
