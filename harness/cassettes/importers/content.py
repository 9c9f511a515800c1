"""The bytes of a file of unknown kind, looked at as text, JSON, YAML or lines: each look is taken
once, and only if a format asks for it.

JSON numbers that Python would respell (``1.10``, ``1E5``, integers of 20 digits, ``-0``) stay as
`msgspec.Raw`, so that `compact_json` writes back the digits that were recorded. YAML is read only
where a line says ``interactions:`` or ``http_interactions:``: everything else that is YAML by
accident (a log, a prose file) is never handed to the parser.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import Any, Final, TypeVar

import msgspec

from .. import CassetteError
from ..validation import msgspec_fault
from ..yaml import YamlError, parse

MAX_BYTES: Final = 256 * 1024 * 1024
"""The largest file that is read, and the most that its bodies may come to once aliases and base64
are undone.
"""

_BOM: Final = b"\xef\xbb\xbf"
_RECORDED_YAML: Final = re.compile(r"^[\"']?(?:http_)?interactions[\"']?[ \t]*:", re.MULTILINE)
_TAGGED_KEY: Final = re.compile(
    r"^( *)\? !!python/object/apply:[\w.]*istr[ \t]*\n\1- (.+)\n\1: ", re.MULTILINE
)
_SHORT_INT: Final = 18

Shape = TypeVar("Shape")


class Content:
    """One file. ``data`` as given; ``text`` without a byte order mark, None if it is not UTF-8."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.problem: str | None = None

    @cached_property
    def text(self) -> str | None:
        try:
            return self.data.removeprefix(_BOM).decode("utf-8")
        except UnicodeDecodeError as error:
            self.problem = f"not UTF-8 at byte {error.start}"
            return None

    @cached_property
    def first_character(self) -> str:
        """The first character that is not white space; empty where there is none."""
        found = re.search(r"\S", self.text or "")
        return found.group() if found else ""

    @cached_property
    def document(self) -> Any:
        """The whole file as one JSON value, or as the YAML of a recording; None where it is
        neither, with ``problem`` saying why.

        Raises `CassetteError` for YAML that announces interactions and is broken.
        """
        if self.text is None:
            return None
        if self.first_character in "{[":
            try:
                return parse_json(self.text)
            except CassetteError as error:
                self.problem = str(error)
                return None
        if not _RECORDED_YAML.search(self.text):
            return None
        try:
            document = parse(_plain_keys(self.text), foreign=True, max_bytes=MAX_BYTES)
        except YamlError as error:
            raise CassetteError(
                f"recorded interactions in YAML that cannot be read: {error}"
            ) from None
        if _weight(document, {}) > MAX_BYTES:
            raise CassetteError(
                f"aliases that multiply: written out, the YAML would have more than {MAX_BYTES}"
                " bytes"
            )
        return document

    @cached_property
    def lines(self) -> list[tuple[int, str]]:
        """The lines that are not blank, each with its number from 1."""
        numbered = enumerate((self.text or "").split("\n"), 1)
        return [(number, line) for number, line in numbered if line and not line.isspace()]

    @cached_property
    def first_line(self) -> Any:
        """The first line that is not blank as JSON; None where it is not."""
        if self.first_character != "{":
            return None
        try:
            return parse_json(self.lines[0][1])
        except CassetteError:
            return None

    @property
    def mapping(self) -> dict[str, Any]:
        """`document` where it is a mapping; an empty one where it is not."""
        return self.document if isinstance(self.document, dict) else {}

    def shaped(self, shape: type[Shape]) -> Shape:
        """`document` as ``shape``; raises `CassetteError` with the path of what does not fit."""
        return as_shape(self.document, shape)


def as_shape(value: Any, shape: type[Shape], where: str = "") -> Shape:
    """``value`` as a msgspec struct, numbers in strings allowed; raises `CassetteError` with
    ``where`` and the path inside it.
    """
    try:
        return msgspec.convert(value, shape, strict=False)
    except msgspec.ValidationError as error:
        _, fact = msgspec_fault(error, shape, "the value")
    except UnicodeEncodeError as error:  # a lone surrogate, in a string that could be a number
        fact = f"a number must stand where {ascii(error.object)[:80]} stands"
    raise CassetteError(
        f"{where or 'the recording'}: {fact}; the file is cut short, or was changed by hand"
    )


def parse_json(text: str) -> Any:
    """One JSON value; numbers that Python would respell are `msgspec.Raw`.

    Raises `CassetteError` with line and column (of one line, the column), RecursionError when
    nested too deeply.
    """
    try:
        return json.loads(text, parse_float=_raw, parse_int=_integer, parse_constant=_raw)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        raise CassetteError(
            f"not JSON at {line}column {error.colno}:"
            f" {error.msg.removesuffix(' at').removesuffix(' starting').lower()}"
        ) from None


def compact_json(value: Any) -> bytes:
    """``value`` as JSON without white space, in UTF-8."""
    try:
        return msgspec.json.encode(value)
    except (
        UnicodeEncodeError,
        OverflowError,
    ):  # a lone surrogate; an integer of more than 64 bits from YAML
        return json.dumps(value, separators=(",", ":"), default=_number).encode("ascii")


def _weight(value: Any, known: dict[int, int]) -> int:
    """The size of ``value`` if every alias were written out; each shared part is weighed once."""
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
    return int(text) if len(text) <= _SHORT_INT and text != "-0" else msgspec.Raw(text)


def _number(value: Any) -> Any:
    """What the plain encoder does not know: a respelled number beside a lone surrogate keeps its
    value, not its spelling.
    """
    if isinstance(value, msgspec.Raw):
        return json.loads(bytes(value))
    return value.decode("latin-1")


def _plain_keys(text: str) -> str:
    """Header names that PyYAML wrote as Python objects (aiohttp's ``istr``), as the words they are;
    lines keep their numbers.
    """
    if "!!python/object/apply:" not in text:
        return text
    return _TAGGED_KEY.sub(lambda found: f"{found[1]}{found[2]}:\n\n{found[1]}  ", text)
