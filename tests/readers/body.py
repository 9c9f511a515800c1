"""Walks a raw body for the second readers, plainly, as untyped JSON.

The body is walked once, in any framing (SSE, JSON array, JSON lines, one document, raw errors
between events): a ``data:`` line belongs to an SSE message, a brace opens a JSON document that is
read at its place, brackets and commas between documents are skipped, everything else is unreadable.
msgspec decodes the message of an event; the standard library's JSON decides about every text that
msgspec refuses, and about a document whose end is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import msgspec

from harness.stream.json_codec import Json

_FIELD = re.compile(r"(?:data|event|id|retry)?:|(?:data|event|id|retry)$")
_NO_UTF8 = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as ``surrogateescape`` decodes it."""
_UNREADABLE = object()


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_decode = msgspec.json.Decoder().decode


def read_body(body: bytes) -> Iterator[str | tuple[Json]]:
    """Yield every JSON value of the body, each in a tuple, and every other piece as a string."""
    start = 0
    while body.startswith(b"data: ", start):  # most bodies are events of one line
        end = body.find(b"\n", start)
        carriage_return = body.find(b"\r", start, end)
        blank = b"\n" if carriage_return < 0 else b"\r\n"
        if end < 0 or 0 <= carriage_return < end - 1 or not body.startswith(blank, end + 1):
            break
        try:
            value = _decode(body[start + 6 : end])
        except (ValueError, RecursionError):
            break
        yield (value,)
        start = end + 1 + len(blank)
    text = body[start:].decode("utf-8", "surrogateescape")
    if start == 0:
        text = text.removeprefix("\ufeff")
    at, size = 0, len(text)
    data: list[str] = []
    depth = 0  # of the open arrays
    while at < size:
        first = text[at]
        if first == "{":
            yield from _data_messages(data)
            value, end = document_at(text, at)
            yield (value,) if value is not _UNREADABLE else text[at:end]
            at = end
        elif first in "\r\n":
            yield from _data_messages(data)
            at += 1
        elif first in "[], \t":
            depth += (first == "[") - (first == "]")
            at += 1
        elif depth > 0 and (after := _item_end(text, at)):
            yield (document_at(text, at)[0],)
            at = after
        else:
            end = _line_end(text, at)
            if text.startswith("data:", at, end):
                data.append(text[at + 6 if text.startswith(" ", at + 5, end) else at + 5 : end])
            elif text.startswith("data", at, end) and end == at + 4:
                data.append("")
            elif not _FIELD.match(text, at, end):
                yield text[at:end]
                at = end
                continue
            at = end + (2 if text.startswith("\r\n", end) else 1)
    yield from _data_messages(data)


def _line_end(text: str, at: int) -> int:
    """Return the index of the CR or LF that ends the line at an index, or the length of the
    text.
    """
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    carriage_return = text.find("\r", at, end)
    return end if carriage_return < 0 else carriage_return


def _data_messages(lines: list[str]) -> Sequence[str | tuple[Json]]:
    """Return the message in some ``data:`` lines together, or one message for each line if only the
    single lines are JSON, or ``[DONE]``. Empties the list.
    """
    if not lines:
        return ()
    each, joined = list(lines), "\n".join(lines)
    lines.clear()
    try:
        return ((_decode(joined),),)
    except (ValueError, RecursionError):
        pass  # the standard library's JSON decides
    if not joined.strip() or joined.strip() == "[DONE]":
        return ()
    start = len(joined) - len(joined.lstrip())
    value, end = document_at(joined, start)
    if value is not _UNREADABLE and not joined[end:].strip():
        return ((value,),)
    each = [line for line in each if line.strip() != "[DONE]"]
    if each and joined != each[0] and all(map(is_json, each)):
        return [(json.loads(line),) for line in each]
    return (joined,)


def document_at(text: str, at: int) -> tuple[Any, int]:
    """Return the JSON value at an index and its end. A value that is not JSON is unreadable up to
    the end of its line.
    """
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _UNREADABLE, _line_end(text, at)
    if _NO_UTF8.search(text, at, end):
        return _UNREADABLE, end
    return value, end


def _item_end(text: str, at: int) -> int:
    """Return the end of the item of an array that begins at an index; 0 if there is none."""
    value, end = document_at(text, at)
    is_item = value is not _UNREADABLE and text[end:].lstrip()[:1] in (",", "]")
    return end if is_item else 0


def is_json(text: str) -> bool:
    """Return whether a text begins with a JSON value."""
    return document_at(text, 0)[0] is not _UNREADABLE
