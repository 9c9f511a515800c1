"""What libyaml finds wrong with a text, in the words of somebody who writes YAML by hand: the line
to mend, the fact, the way out.

libyaml says where its own rules stopped (``did not find expected key``). Each of its findings has
its words here; where one has a context, such as a quote that was opened, the line is that of the
opening.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

_CLOSERS: Final = re.compile(r"did not find expected ',' or '([\]}])'")

_TAB: Final = "a tab can't indent; use spaces"
_DIRECTIVE: Final = (
    "a line that begins with `%` is a directive, and the only one that is of use is `%YAML 1.2`; a"
    " value needs quotes"
)
_TAG: Final = "a value that begins with `!` needs quotes"
_ESCAPE: Final = (
    "behind `\\x`, `\\u` and `\\U` stand 2, 4 or 8 hexadecimal digits of a character; a backslash"
    " by itself is `\\\\`"
)

_WORDS: Final = {
    "did not find expected key": (
        "this line is indented differently from those above it, goes on after a closing quote, or"
        " belongs to nothing"
    ),
    "mapping values are not allowed in this context": (
        "a second `:` where one is expected; a value with `: ` in it needs quotes, a key begins a"
        " line of its own"
    ),
    "did not find expected node content": (
        "a value is missing here; write one, close the bracket, or take a comma away"
    ),
    "did not find expected <document start>": (
        "what stands here belongs to nothing above it; one file holds one mapping or list"
    ),
    "did not find expected '-' indicator": (
        "the list above goes on without a `- `; begin the line with one, or indent it further"
    ),
    "block sequence entries are not allowed in this context": (
        "a list begins on its own line; a value that begins with `- ` needs quotes"
    ),
    "mapping keys are not allowed in this context": "a value that begins with `? ` needs quotes",
    "found unknown escape character": (
        "a backslash in double quotes begins an escape, and this is none; write `\\\\`, or use"
        " single quotes"
    ),
    "did not find expected hexdecimal number": _ESCAPE,
    "found invalid Unicode character escape code": _ESCAPE,
    "found an indentation indicator equal to 0": (
        "`0` is no indentation; the digit behind `|` or `>` is 1 to 9"
    ),
    "found a tab character where an indentation space is expected": _TAB,
    "found a tab character that violates indentation": _TAB,
    "did not find expected alphabetic or numeric character": (
        "a value that begins with `&` or `*` needs quotes"
    ),
    "found incompatible YAML document": _DIRECTIVE,
    "found duplicate %YAML directive": _DIRECTIVE,
    "found duplicate %TAG directive": _DIRECTIVE,
    "found undefined tag handle": _TAG,
}
"""Findings that say the same wherever they are made."""


def in_our_words(error: yaml.MarkedYAMLError, text: bytes) -> tuple[int, str]:
    """The line, from 1, and what is wrong there; a finding that is not known stays as it is."""
    said, context = str(error.problem or error.context), str(error.context or "")
    line = error.problem_mark.line + 1 if error.problem_mark else 1
    since = error.context_mark.line + 1 if error.context_mark else line
    if found := _CLOSERS.fullmatch(said):
        return (
            line,
            (
                f"a bracket that opens on line {since} is not closed with `{found[1]}`, or a value"
                " in it needs quotes"
            ),
        )
    if said == "found character that cannot start any token":
        return line, _odd_beginning(text, line)
    match context.removeprefix("while ").partition(" a ")[2]:
        case "flow node" if line > len(text.splitlines()):
            return line, "the text ends inside a bracket; close it"
        case "quoted scalar" if said in (
            "found unexpected end of stream",
            "found unexpected document indicator",
        ):
            return (
                since,
                (
                    "a quote that opens on this line is not closed; a quote inside single quotes is"
                    " written twice"
                ),
            )
        case "simple key":
            return (
                since,
                (
                    "a key without its `:`; write `key: value`, or indent a line that goes on with"
                    " the one above"
                ),
            )
        case "block scalar" if said == "did not find expected comment or line break":
            return (
                line,
                (
                    "behind `|` or `>` stands more than `+`, `-` and a digit; the text begins on"
                    " the next line"
                ),
            )
        case "tag":
            return line, _TAG
        case kind if kind.endswith("directive"):
            return line, _DIRECTIVE
    return line, _WORDS.get(said, said)


def _odd_beginning(text: bytes, line: int) -> str:
    lines = text.splitlines()[line - 1 : line]
    indent = re.match(rb"[ \t]*", lines[0]) if lines else None
    return (
        _TAB
        if indent and b"\t" in indent[0]
        else (
            "a value that begins with a special character, such as `@`, `%` or a backtick, needs"
            " quotes"
        )
    )
