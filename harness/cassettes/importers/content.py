"""Defines the content of a file of an unknown format, as text, JSON, YAML or lines, and the type of
the import formats, which read it.

Each view is computed once, when a format first uses it. JSON numbers that Python would write
differently (``1.10``, ``1E5``, integers of 20 digits, ``-0``) become `msgspec.Raw`, so that
`compact_json` writes the recorded digits. YAML is parsed only if a line begins with
``interactions:`` or ``http_interactions:``, because many other texts (a log, prose) are valid YAML.
"""

from __future__ import annotations

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from harness.stream.exchange import Cassette, CassetteError

from ..validation import msgspec_fault
from ..yaml import MAX_BYTES, YamlError, parse

_BOM: Final = b"\xef\xbb\xbf"
_EVENT_STREAM: Final = re.compile(r"data: ?[{\[]")
_RECORDED_YAML: Final = re.compile(r"^[\"']?(?:http_)?interactions[\"']?[ \t]*:", re.MULTILINE)
_ARRAY: Final = re.compile(r"[ \t\n\r]*(\[)[ \t\n\r]*")
_AFTER_ELEMENT: Final = re.compile(r"[ \t\n\r]*([,\]])[ \t\n\r]*")
_TAGGED_KEY: Final = re.compile(
    r"^( *)\? !!python/object/apply:[\w.]*istr[ \t]*\n\1- (.+)\n\1: ", re.MULTILINE
)
_OBJECT: Final = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\r]*\{")
_STRING: Final = re.compile(rb'"((?:[^"\\]++|\\.)*+)"(\s*+:)?', re.DOTALL)
_WHOLE: Final = re.compile(
    r"(?:[^\\]++|\\u[dD][89abAB]..\\u....|\\u(?![dD][89abAB])....|\\[^u])*+", re.DOTALL
)
"""A part of the inside of a JSON string, from its beginning; it does not end inside an escape."""
_LONG: Final = 1 << 20
"""A longer array or a longer text of a part is decoded in windows of this size."""
# Integers of at most 18 characters fit in 64 bits.
_SHORT_INT: Final = 18

_DESCRIPTIONS: Final = frozenset(
    {
        *("status", "statuscode", "statustext", "code", "message", "reason", "headers", "header"),
        *("rawheaders", "httpversion", "httpversionnumber", "proto", "protocol", "type", "kind"),
        *("encoding", "bodyencoding", "mimetype", "contenttype", "charset"),
        *(
            "url",
            "redirecturl",
            "cookies",
            "comment",
            "adaptermetadata",
            "duration",
            "transferencoding",
            "trailer",
        ),
    }
)
"""The members of an answer that describe it, in small letters without underscores."""

Shape = TypeVar("Shape")


class Content:
    """The content of a file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.problem: str | None = None
        """The reason why there is no text or no document; None if there is one."""

    @cached_property
    def text(self) -> str | None:
        """The text without a byte order mark; None if the data is not UTF-8."""
        try:
            return self.data.removeprefix(_BOM).decode("utf-8")
        except UnicodeDecodeError as error:
            self.problem = f"not UTF-8 at byte {error.start}"
            return None

    @cached_property
    def is_text(self) -> bool:
        """Whether the file is UTF-8. In contrast to `text`, the decoded text is not kept."""
        try:
            return all(window is not None for window in _text_windows(self.data))
        except UnicodeDecodeError:
            return self.text is not None

    @cached_property
    def first_character(self) -> str:
        """The first character of a text that is not white space; empty if there is no such
        character.
        """
        windows = _text_windows(self.data) if self.is_text else iter(())
        return next((match[0] for window in windows if (match := re.search(r"\S", window))), "")

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value or as the YAML of a recording; None if it is neither.

        Raises `CassetteError` for damaged YAML that has interactions.
        """
        if self.text is None:
            return None
        if self.first_character in "{[":
            try:
                document = parse_json(self.text)
            except CassetteError as error:
                self.problem = str(error)
                return None
            finally:
                self.__dict__.pop("text")  # of a long file; it is decoded again if it is needed
            return document
        if _EVENT_STREAM.match(self.text) or not _RECORDED_YAML.search(self.text):
            return None
        try:
            document = parse(_plain_keys(self.text), foreign=True, max_bytes=MAX_BYTES)
        except YamlError as error:
            raise CassetteError(
                f"recorded interactions in YAML that can't be read: {error}"
            ) from None
        if _weight(document, {}) > MAX_BYTES:
            raise CassetteError(f"with aliases expanded, the YAML has more than {MAX_BYTES} bytes")
        return document

    @property
    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not blank, each with its number from 1."""
        place, number = len(_BOM) if self.data.startswith(_BOM) else 0, 0
        while self.is_text and place < len(self.data):
            end = self.data.find(b"\n", place) % (len(self.data) + 1)  # the end of data if none
            line, place, number = self.data[place:end].decode(), end + 1, number + 1
            if line and not line.isspace():
                yield number, line

    @cached_property
    def first_line(self) -> Any:
        """The first line that is not blank, as JSON; None if it is not a JSON object."""
        if self.first_character != "{":
            return None
        try:
            return parse_json(next(self.lines)[1])
        except CassetteError:
            return None

    @property
    def mapping(self) -> dict[str, Any]:
        """`document` if it is a mapping, else an empty mapping."""
        if self.first_character == "[":
            return {}
        return self.document if isinstance(self.document, dict) else {}

    @cached_property
    def is_array(self) -> bool:
        """Whether the file is one JSON array, and not empty."""
        return self.is_array_of(lambda _: True)

    def is_array_of(self, test: Callable[[Any], bool]) -> bool:
        """Return whether the file is one JSON array of elements that pass the test, and not empty.
        A long array needs many times its size in memory, so no element is kept.
        """
        try:
            results = [test(element) for element in self._elements()]
        except CassetteError:
            results = []
        self.is_array = bool(results)
        return bool(results) and all(results)

    def first_elements(self, count: int) -> list[Any]:
        """Return the first elements of a JSON array, which may be damaged after them; empty for
        other text.
        """
        try:
            return list(islice(self._elements(), count))
        except CassetteError:
            return []

    def _elements(self) -> Iterator[Any]:
        """Yield the elements of a JSON array. Raises `CassetteError` if the file is not an array.

        The file is decoded in windows; an element that continues in the next window is read again
        in that window.
        """
        windows = _text_windows(self.data) if self.is_text else iter(())
        text = next(windows, "")
        mark = _ARRAY.match(text)
        while mark and mark[1] != "]":
            start, mark = mark.end(), None
            with suppress(json.JSONDecodeError):
                element, position = _DECODER.raw_decode(text, start)
                mark = _AFTER_ELEMENT.match(text, position)
            if mark and mark.end() < len(text):
                yield element
            elif more := "".join(islice(windows, 1 + (len(text) - start) // _LONG)):
                text = "[" + text[start:] + more
                mark = _ARRAY.match(text)
            elif mark:
                yield element
        if mark is None or mark.end() < len(text) or next(windows, ""):
            raise CassetteError("not a JSON array")

    def parts(self, shape: type[Shape]) -> Shape | None:
        """Return the file as ``shape``; its parts that are `msgspec.Raw` are not read yet. None for
        a file that is not such an object, and for JSON that only `parse_json` reads.
        """
        if not _OBJECT.match(self.data):
            return None
        try:
            return msgspec.json.decode(
                memoryview(self.data)[len(_BOM) if self.data.startswith(_BOM) else 0 :], type=shape
            )
        except (msgspec.MsgspecError, RecursionError):
            return None

    def shaped(self, shape: type[Shape]) -> Shape:
        """Return `document` as ``shape``; raises `CassetteError` with the place that does not
        match.
        """
        return as_shape(self.document, shape)


@dataclass(frozen=True, slots=True)
class Format:
    """An import format: a row of the table `FORMATS`."""

    name: str
    """Short and unique."""
    title: str
    """The name in messages."""
    recognises: Callable[[Content], bool]
    """Fast; does not raise for content of another format."""
    read: Callable[[Content], Cassette]
    """Raises `CassetteError` for content that is damaged."""


def as_shape(value: Any, shape: type[Shape], where: str = "") -> Shape:
    """Return ``value`` as ``shape``; a string is accepted as a number. Raises `CassetteError` with
    ``where`` and the place in the value.
    """
    try:
        shaped = msgspec.convert(value, shape, strict=False)
    except msgspec.ValidationError as error:
        _, fact = msgspec_fault(error, shape, "the value")
    except UnicodeEncodeError as error:  # a lone surrogate, in a string that is read as a number
        fact = f"expected a number, not {ascii(error.object)[:80]}"
    else:
        _check_answer(value, shaped, where or "the recording")
        return shaped
    raise CassetteError(
        f"{where or 'the recording'}: {fact}; the file is cut short or was changed by hand"
    )


def _check_answer(recorded: Any, shaped: Any, where: str) -> None:
    """Raise `CassetteError` if the answer of an interaction has no body where its format has one,
    but content under a key that the format does not read.
    """
    for key in ("response", "then"):
        if not isinstance(shaped, msgspec.Struct) or not hasattr(shaped, key):
            continue
        inside: list[str] = []
        beside: list[str] = []
        answer = getattr(shaped, key)
        if isinstance(answer, msgspec.Struct):
            has_body = _find_unread(recorded[key], answer, f"{key}.", inside)
        else:
            has_body = holds(recorded.get(key))
        known = {field.encode_name for field in msgspec.structs.fields(shaped)}
        for name, value in recorded.items():
            if name in ("request", "when", key) or not _is_content(value):
                continue
            if name in known:
                has_body = True
            else:
                beside.append(str(name))
        if (inside or beside) and not has_body:
            raise CassetteError(
                f"{where}: the answer has no body that this format reads, but content under"
                f" {', '.join(f'`{name}`' for name in (*inside, *beside))}, which is not read; move"
                " it to the key of the body"
            )


def _find_unread(recorded: Any, shaped: msgspec.Struct, path: str, unread: list[str]) -> bool:
    """Return whether the fields of an answer hold a body; add the names of other members with
    content to ``unread``.
    """
    fields = {field.encode_name: field.name for field in msgspec.structs.fields(shaped)}
    has_body = False
    for name, value in recorded.items():
        part = getattr(shaped, fields[name]) if name in fields else None
        if isinstance(part, msgspec.Struct):
            has_body |= _find_unread(value, part, f"{path}{name}.", unread)
        elif holds({name: value}):
            if name in fields:
                has_body = True
            else:
                unread.append(f"{path}{name}")
    return has_body


def _is_content(value: Any) -> bool:
    """Return whether a member beside an answer may be its body: a list, or text of several
    lines.
    """
    return holds(value) and (isinstance(value, list) or (isinstance(value, str) and "\n" in value))


def holds(value: Any) -> bool:
    """Return whether a value has any text, apart from members that only describe a body."""
    match value:
        case str() | bytes():
            return bool(value)
        case list():
            return any(map(holds, value))
        case dict():
            return any(
                holds(member)
                for name, member in value.items()
                if str(name).lower().replace("_", "") not in _DESCRIPTIONS
            )
    return False


def each(items: Any, shape: type[Shape], kind: str) -> Iterator[tuple[str, Shape]]:
    """Yield the items of a list as ``shape``, each with its place for errors: ``kind`` and the
    number.

    Raises the errors of `as_shape`. None is read as an empty list.
    """
    listed = as_shape([] if items is None else items, list[Any], f"the {kind}s")
    for number, item in enumerate(listed, 1):
        place = f"{kind} {number}"
        yield place, as_shape(item, shape, place)


def parse_json(text: str) -> Any:
    """Return one JSON value; numbers that Python would write differently are `msgspec.Raw`.

    Raises `CassetteError` with line and column (for a single line, only the column), and
    RecursionError for nesting that is too deep.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        raise CassetteError(
            f"not JSON at {line}column {error.colno}:"
            f" {error.msg.removesuffix(' at').removesuffix(' starting').lower()}"
        ) from None


def parse_part(part: msgspec.Raw) -> Any:
    """Parse one of `Content.parts`, as `parse_json` does. The value of a long member ``text`` is
    bytes in UTF-8, because a string may need four times as much memory, and its escaped form the
    same again.

    Raises UnicodeDecodeError for a part that is not UTF-8.
    """
    data = memoryview(part)
    if len(data) <= _LONG:
        return parse_json(str(data, "utf-8"))
    texts: list[bytes] = []
    name = b""

    def shorten(string: re.Match[bytes]) -> bytes:
        nonlocal name
        if string[2] is not None:
            name = string[1]
        elif name == b"text" and len(string[1]) > _LONG:
            texts.append(_decoded(data[slice(*string.span(1))]))
            return b"NaN"  # the part has no such number, because msgspec has read it
        return string[0]

    short = _STRING.sub(shorten, data).decode()
    waiting = iter(texts)
    return json.JSONDecoder(
        parse_float=_raw, parse_int=_integer, parse_constant=lambda _: next(waiting)
    ).decode(short)


def _text_windows(data: bytes) -> Iterator[str]:
    """Yield the text of a file in pieces, without a byte order mark. Raises UnicodeDecodeError."""
    decoder = getincrementaldecoder("utf-8")()
    for start in range(len(_BOM) if data.startswith(_BOM) else 0, len(data), _LONG):
        yield decoder.decode(data[start : start + _LONG], start + _LONG >= len(data))


def _decoded(inside: memoryview) -> bytes:
    """Return the text of a JSON string, in UTF-8; ``inside``: the bytes between its quotes."""
    text, rest = BytesIO(), ""
    decoder = getincrementaldecoder("utf-8")()
    for start in range(0, len(inside), _LONG):
        is_last = start + _LONG >= len(inside)
        window = rest + decoder.decode(inside[start : start + _LONG], is_last)
        whole = _WHOLE.match(window)
        assert whole is not None, "it also matches nothing"
        rest = window[whole.end() :]
        text.write(json.loads(f'"{whole[0]}"').encode())
    return text.getvalue()


def compact_json(value: Any) -> bytes:
    """Return ``value`` as JSON without white space, in UTF-8."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate; a YAML integer over 64 bits
        return json.dumps(value, separators=(",", ":"), default=_number).encode("ascii")


def _weight(value: Any, known: dict[int, int]) -> int:
    """Return the size of ``value`` with every alias expanded. A shared part is counted for each
    use, but measured only once.
    """
    if isinstance(value, str | bytes):
        return len(value) + 2
    if not isinstance(value, dict | list):
        return 8
    if (weight := known.get(id(value))) is None:
        parts = value if isinstance(value, list) else [*value.keys(), *value.values()]
        weight = known[id(value)] = 2 + sum(_weight(part, known) for part in parts)
    return weight


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text)


def _integer(text: str) -> int | msgspec.Raw:
    # An int has no negative zero, so -0 stays text.
    return int(text) if len(text) <= _SHORT_INT and text != "-0" else msgspec.Raw(text)


_DECODER: Final = json.JSONDecoder(parse_float=_raw, parse_int=_integer, parse_constant=_raw)


def _number(value: Any) -> Any:
    """Convert a value that `json` does not know. A `msgspec.Raw` number keeps its value but not its
    digits. This happens only if the document also has a lone surrogate.
    """
    if isinstance(value, msgspec.Raw):
        return json.loads(bytes(value))
    return value.decode("latin-1")


def _plain_keys(text: str) -> str:
    """Replace the header names that PyYAML wrote as Python objects (aiohttp's ``istr``) with plain
    names. Line numbers stay the same.
    """
    if "!!python/object/apply:" not in text:
        return text
    return _TAGGED_KEY.sub(lambda match: f"{match[1]}{match[2]}:\n\n{match[1]}  ", text)
