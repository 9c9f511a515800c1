"""Finds the JSON objects in the output of a program, and the text around them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import NoReturn

from harness.stream.json_codec import Json

Object = dict[str, Json]
_NO_UTF8 = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as ``surrogateescape`` decodes it."""


def items_in_lines(text: str, is_message: Callable[[Object], bool]) -> Iterator[str | Object]:
    """Yield the object of each line that is one object. For any other line: the objects that are
    messages, and the text around them as strings.
    """
    for line in filter(None, map(str.strip, text.split("\n"))):
        whole = _object_at(line, 0)
        if whole and whole[1] == len(line):
            yield whole[0]
            continue
        at = 0
        for brace in re.finditer(r"\{", line):
            glued = _object_at(line, brace.start()) if brace.start() >= at else None
            if glued and is_message(glued[0]):
                if line[at : brace.start()].strip():
                    yield line[at : brace.start()]
                yield glued[0]
                at = glued[1]
        if line[at:].strip():
            yield line[at:]


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _object_at(text: str, at: int) -> tuple[Object, int] | None:
    """Return the object that begins at a place, and its end; None if there is no object, or if it
    has bytes that are not UTF-8.
    """
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return (value, end) if isinstance(value, dict) and not _NO_UTF8.search(text, at, end) else None
