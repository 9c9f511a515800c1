"""Reads plain YAML without a parser: scalars, and texts of plain lines.

Scalars follow the YAML 1.2 core schema: ``no`` and ``2026-11-21`` are strings
(https://yaml.org/spec/1.2.2/#103-core-schema). Plain lines are the block mappings, the lists of
mappings and the one-line values that our writer writes. One pattern defines them. A text with any
other line, key or indent is refused, and the parser reads it. For a text that is read here, the
parser gives the same data.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final, cast

from msgspec.json import decode

WORDS: Final[dict[str, Any]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
"""Plain scalars that are null or a boolean."""

# YAML 1.2.2, section 10.3.2: the integers and floats of the core schema, where `0o` and `0x` take
# no sign; `.inf` and `.nan` are not here, because JSON doesn't have them.
_INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_LEADS: Final = frozenset("0123456789+-.")
_MAX_DIGITS: Final = 4000  # below the interpreter's limit for int(), so that our error is raised
MAX_LEVELS: Final = 20
MAX_TEXT: Final = 1 << 20
"""The maximum number of levels and of characters; a larger text could exceed the limits of the
parser.
"""

_QUOTED: Final = r'"(?:[^"\\\t\n]++|\\["\\nrt])*+"'  # with the escapes of both JSON and YAML
_ITEM: Final = rf"(?:{_QUOTED}|[1-9][0-9]{{0,8}})"
_LINE: Final = re.compile(
    r"^( *)(- )?([A-Za-z][A-Za-z0-9_-]*):(?: (?:"
    # A plain scalar without a colon before a blank, and no indicator at its beginning.
    r"([A-Za-z0-9/_](?:[A-Za-z0-9/_.+@=?&%~;()*-]++|:(?=[^ \n])| (?=[A-Za-z0-9/_(]))*+)"
    rf"|({_QUOTED}|\[(?:{_ITEM}(?:, {_ITEM})*)?\]|\{{\}})"
    rf"|\{{code: ([1-9][0-9]{{2}})(?:, message: ({_QUOTED}))?\}}"
    r"))?\n",
    re.MULTILINE,
)


def resolve(word: str) -> Any:
    """Return a plain scalar: null, boolean, number, or the word itself."""
    if word in WORDS:
        return WORDS[word]
    if word[0] not in _LEADS:
        return word
    if _INT.fullmatch(word) and len(word) <= _MAX_DIGITS:
        return int(word, 0) if word[:2] in ("0x", "0o") else int(word)
    if _FLOAT.fullmatch(word) and math.isfinite(number := float(word)):
        return number
    return word


_Collection = dict[str, Any] | list[Any]


def read_plain_lines(text: str) -> dict[str, Any] | None:
    """Return the data of a text in which every line is ``key:``, ``key: value`` or ``- key:
    value``; None for any other text.
    """
    root: dict[str, Any] = {}
    level, inner = 0, cast(_Collection, root)  # the innermost open collection, and its indent
    levels = [(level, inner)]  # all open collections
    waiting: tuple[int, dict[str, Any], str] | None = None  # a key that may have a collection
    if len(text) > MAX_TEXT:
        return None
    lines = _LINE.findall(text)
    if not lines or len(lines) != text.count("\n") or text[-1] != "\n":
        return None
    for spaces, dash, key, plain, quoted, code, message in lines:
        indent = len(spaces)
        if waiting and (indent > waiting[0] or (dash and indent == waiting[0])):
            if len(levels) > MAX_LEVELS:
                return None
            _, owner, name = waiting
            level, inner = indent, [] if dash else {}
            owner[name] = inner
            levels.append((level, inner))
        while level > indent or (not dash and type(inner) is list):
            levels.pop()
            level, inner = levels[-1]
        if level != indent:
            return None
        if dash:
            if type(inner) is not list:
                return None
            items, level, inner = inner, indent + 2, {}
            items.append(inner)
            levels.append((level, inner))
        assert type(inner) is dict
        if key in inner or key in WORDS:
            return None
        waiting = None
        if plain:
            inner[key] = resolve(plain)
        elif quoted:
            inner[key] = decode(quoted)
        elif code:
            status = {"code": int(code)}
            inner[key] = status | {"message": decode(message)} if message else status
        else:
            inner[key] = None
            waiting = level, inner, key
    return root
