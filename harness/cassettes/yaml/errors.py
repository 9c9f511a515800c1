"""Explains an error of libyaml in a user's terms: the line, the fault, and how to correct it.
libyaml only names the rule that failed (``did not find expected key``). The table has our words for
the problems of libyaml. If a problem has a context, such as a quote that was opened, the line is
the line of the context.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

MAX_DEPTH: Final = 100
"""The maximum number of collections around a value."""

_CLOSER: Final = re.compile(r"did not find expected ',' or '([\]}])'")

_TAB: Final = "a tab can't indent; use spaces"
_DIRECTIVE: Final = (
    "a line that begins with `%` is a directive, and only `%YAML 1.2` is allowed; quote a value"
)
_TAG: Final = "a value that begins with `!` needs quotes"
_ESCAPE: Final = (
    "`\\x`, `\\u` and `\\U` need 2, 4 or 8 hexadecimal digits of a character; write a backslash as"
    " `\\\\`"
)
_SPECIAL: Final = (
    "a value that begins with a special character, such as `@`, `%` or a backtick, needs quotes"
)
_QUOTE: Final = (
    "a quote that opens on this line is not closed; write a quote inside single quotes twice"
)

_PROBLEMS: Final = {
    "did not find expected key": (
        "this line is indented differently from those above it, or text follows a closing quote"
    ),
    "mapping values are not allowed in this context": (
        "there is a second `:`; quote a value that contains `: `, begin a key on its own line"
    ),
    "did not find expected node content": (
        "a value is missing; write one, close the bracket, or remove a comma"
    ),
    "did not find expected <document start>": (
        "this line does not belong to the value above it; a file has one mapping or list"
    ),
    "did not find expected '-' indicator": (
        "this line is at the level of a list; begin it with `- `, or indent it further"
    ),
    "block sequence entries are not allowed in this context": (
        "a list begins on its own line; a value that begins with `- ` needs quotes"
    ),
    "mapping keys are not allowed in this context": "a value that begins with `? ` needs quotes",
    "found unknown escape character": (
        "an unknown escape in double quotes; write a backslash as `\\\\`, or use single quotes"
    ),
    "did not find expected hexdecimal number": _ESCAPE,
    "found invalid Unicode character escape code": _ESCAPE,
    "found an indentation indicator equal to 0": (
        "the indentation after `|` or `>` is a digit from 1 to 9"
    ),
    "found a tab character where an indentation space is expected": _TAB,
    "found a tab character that violates indentation": _TAB,
    "did not find expected alphabetic or numeric character": (
        "a value that begins with `&` or `*` needs quotes"
    ),
    "found undefined tag handle": _TAG,
}


def explain(error: yaml.YAMLError, text: bytes) -> tuple[int, str]:
    """Return the line, from 1, and the fault. An unknown problem keeps libyaml's words."""
    if isinstance(error, yaml.reader.ReaderError):
        return text.count(b"\n", 0, error.position) + 1, _unreadable(error)
    if not isinstance(error, yaml.MarkedYAMLError):
        raise error
    problem, context = str(error.problem or error.context), str(error.context or "")
    line = error.problem_mark.line + 1 if error.problem_mark else 1
    opened = error.context_mark.line + 1 if error.context_mark else line
    if closer := _CLOSER.fullmatch(problem):
        return line, (
            f"a bracket that opens on line {opened} is not closed with `{closer[1]}`, or a value in"
            " it needs quotes"
        )
    if problem == "found character that cannot start any token":
        indent = re.match(rb"[ \t]*", (text.splitlines()[line - 1 : line] or [b""])[0])
        return line, _TAB if indent and b"\t" in indent[0] else _SPECIAL
    match context.removeprefix("while ").partition(" a ")[2]:
        case "flow node" if line > len(text.splitlines()):
            return line, "the text ends inside a bracket; close it"
        case "quoted scalar" if problem.startswith("found unexpected"):  # stream or document end
            return opened, _QUOTE
        case "simple key":
            return opened, (
                "a key without `:`; write `key: value`, or indent a line that continues the one"
                " above"
            )
        case "block scalar" if problem == "did not find expected comment or line break":
            return line, (
                "only `+`, `-` and a digit may follow `|` or `>`; the text begins on the next line"
            )
        case "tag":
            return line, _TAG
        case kind if kind.endswith("directive") or "directive" in problem:
            return line, _DIRECTIVE
    if problem not in _PROBLEMS and error.problem_mark:
        before = text[: error.problem_mark.index]
        opened = sum(map(before.count, b"[{")) - sum(map(before.count, b"]}"))
        if opened >= MAX_DEPTH:  # some versions of libyaml refuse deep nesting in their own words
            return line, too_deep()
    return line, _PROBLEMS.get(problem, problem)


def too_deep() -> str:
    """Return the fault of a text that nests deeper than `MAX_DEPTH`."""
    return f"nested deeper than {MAX_DEPTH} levels"


def _unreadable(error: yaml.reader.ReaderError) -> str:
    if "octet" in error.reason:
        return f"not UTF-8 at byte {error.position}; save the file as UTF-8"
    return f"U+{error.character:04X} is not allowed in YAML; write it as an escape in double quotes"
