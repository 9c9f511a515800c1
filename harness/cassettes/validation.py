"""What msgspec finds where data has not its shape, as a place and a fact in the words of somebody
who reads the file.
"""

from __future__ import annotations

import re
from typing import Final

_MISSING: Final = re.compile(r"Object missing required field `(.+)`")
_OTHER: Final = re.compile(r"Expected `(.+)`, got `(.+)`")
_BOUND: Final = re.compile(r"Expected `int` ([<>]=) (-?\d+)")

_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "empty",
}
"""msgspec's names of what JSON and YAML hold."""


def say_misfit(finding: str) -> str:
    """``request.method must be a string, not a whole number``; a finding that is not known stays as
    it is.
    """
    said, _, where = finding.partition(" - at `$")
    place = where.rstrip("`").removeprefix(".")
    if found := _MISSING.fullmatch(said):
        return f"{place + ' lacks' if place else 'there is no'} `{found[1]}`"
    if found := _OTHER.fullmatch(said):
        return f"{place or 'it'} must be {say_kinds(found[1], found[2])}"
    if found := _BOUND.fullmatch(said):
        return (
            f"{place or 'it'} must be a whole number,"
            f" {'at least' if found[1] == '>=' else 'at most'} {found[2]}"
        )
    return finding


def say_kinds(wanted: str, got: str) -> str:
    """``a string or a list, not a whole number``, of ``str | array | null`` and ``int``: that a
    thing may be left out goes unsaid.
    """
    kinds = [kind for kind in wanted.split(" | ") if kind != "null"]
    return f"{' or '.join(_KINDS.get(kind, kind) for kind in kinds)}, not {_KINDS.get(got, got)}"
