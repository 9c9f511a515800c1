"""Reads YAML strictly: plain data only, with limits on size and depth.

libyaml parses, and this module builds the data from its events, one at a time. So nesting, size,
aliases, tags and duplicate keys are checked where they occur, and an error has their line.
(libyaml's composer recurses in C and crashes the process near 25,000 levels.) A text for which the
parser would need too long is refused before it starts. Plain scalars follow the YAML 1.2 core
schema: ``no`` and ``2026-11-21`` are strings. Our own files may not use aliases or tags. Recordings
of other projects (``foreign``) may: aliases share one object, ``!!binary`` becomes bytes, other
tags are ignored.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any, Final

import yaml

from harness.stream.json_path import Steps

from .errors import MAX_DEPTH, explain, too_deep
from .literal_blocks import lift
from .plain import read_plain_lines, resolve

MAX_BYTES: Final = 256 * 1024 * 1024
"""The size limit of a file, and of a recording with its aliases and base64 expanded."""
MAX_VALUES: Final = 1_000_000
"""The maximum number of values. A small text can become huge data: a value of two characters needs
more than 100 bytes of memory.
"""
MAX_TAG_LINES: Final = 100

# YAML 1.1, which libyaml reads, also breaks lines at U+0085, U+2028 and U+2029.
_TAG_LINE: Final = re.compile(rb"(?:^|[\n\r]|\xc2\x85|\xe2\x80[\xa8\xa9])(?:\xef\xbb\xbf)?%TAG")
_BINARY_TAGS: Final = frozenset({"tag:yaml.org,2002:binary", "!binary"})


class YamlError(ValueError):
    """A YAML text is refused."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line}: {message}")
        self.reason = message
        """The fault."""
        self.line = line
        """The line of the fault, from 1."""


def parse(text: str | bytes, *, foreign: bool = False, max_bytes: int = MAX_BYTES) -> Any:
    """Return the one document in ``text`` as dicts, lists and scalars; None for an empty text.

    Raises `YamlError` for anything that is not YAML, not plain data, nested deeper than `MAX_DEPTH`
    or longer than ``max_bytes``.
    """
    return _Builder(_bounded(text, max_bytes), foreign).build()


def parse_usual(text: str | bytes) -> tuple[dict[str, Any], dict[str, bytes]] | None:
    """Return the data of a text in the form of our writer, with a placeholder for each literal
    block; and placeholder → block in UTF-8. None for a text in another form, and for a faulty text.
    """
    try:
        lifted = lift(_bounded(text, MAX_BYTES))
        data = read_plain_lines(lifted.text.decode()) if lifted.blocks else None
    except (UnicodeError, YamlError):
        return None
    return None if data is None else (data, lifted.blocks)


def parse_located(text: str | bytes, depth: int = MAX_DEPTH) -> tuple[Any, dict[Steps, int]]:
    """Return the value of `parse`, with the line of every value: ``{("cases", 0, "expect"): 7}``;
    for a mapping's value, the line of its key. Paths have at most ``depth`` steps.
    """
    builder = _Builder(_bounded(text, MAX_BYTES), foreign=False, depth=depth)
    return builder.build(), builder.lines


def _bounded(text: str | bytes, max_bytes: int) -> bytes:
    """Return the text in UTF-8; raises `YamlError` for a text that is too large or has another
    encoding.
    """
    if len(text) > max_bytes:
        raise YamlError(f"the text has {len(text)} bytes; at most {max_bytes} are read", 1)
    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        line = error.object.count("\n", 0, error.start) + 1
        raise YamlError(
            "half of a surrogate pair is not a character; write the whole character", line
        ) from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise YamlError("UTF-16; save the file as UTF-8", 1)
    return data


class _Frame:
    """A collection that is being built, with the pending key of a mapping. ``path`` is None if the
    lines of its content are not needed.
    """

    __slots__ = ("data", "key", "path")

    def __init__(self, data: dict[Any, Any] | list[Any], path: Steps | None) -> None:
        self.data = data
        self.path = path
        self.key: Any = _NO_KEY


_NO_KEY: Final = object()


class _Builder:
    """Builds the data of one document; ``stack`` has the open collections."""

    def __init__(self, text: bytes, foreign: bool, depth: int = -1) -> None:
        self.text = text
        self.foreign = foreign
        self.depth = depth
        self.lines: dict[Steps, int] = {}
        self.stack: list[_Frame] = []
        self.anchors: dict[str, Any] = {}
        self.root: Any = None
        self.documents = 0
        self.values = 0

    def build(self) -> Any:
        # libyaml compares each %TAG line with all others, and can't be interrupted: 100,000 of them
        # take a minute.
        if (
            self.text.count(b"%TAG") > MAX_TAG_LINES
            and len(_TAG_LINE.findall(self.text)) > MAX_TAG_LINES
        ):
            raise YamlError(
                f"more than {MAX_TAG_LINES} lines begin with `%TAG`; write tags in full where they"
                " are used",
                1,
            )
        loader = yaml.CSafeLoader(self.text)
        try:
            next_event, take = loader.get_event, self._take
            while (event := next_event()) is not None:
                take(event)
        except yaml.YAMLError as error:
            line, fact = explain(error, self.text)
            raise YamlError(fact, line) from None
        finally:
            loader.dispose()
        return self.root

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            if event.anchor or event.tag:
                self._check(event)
                self._add(self._tagged(event), event, event.anchor)
            else:
                self._add(event.value if event.style else resolve(event.value), event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open({} if isinstance(event, yaml.MappingStartEvent) else [], event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.stack.pop()
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise YamlError("a second document starts here; a file has one", _line(event))

    def _check(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if not self.foreign and (event.anchor or event.tag):
            mark = f"anchor &{event.anchor}" if event.anchor else f"tag {event.tag}"
            raise YamlError(f"{mark} is not allowed; write the value in full", _line(event))

    def _open(self, data: dict[Any, Any] | list[Any], event: yaml.CollectionStartEvent) -> None:
        self._check(event)
        if len(self.stack) >= MAX_DEPTH:
            raise YamlError(too_deep(), _line(event))
        self.stack.append(_Frame(data, self._add(data, event, event.anchor)))

    def _add(self, value: Any, event: yaml.Event, anchor: str | None = None) -> Steps | None:
        """Add a value to the innermost open collection. Returns its path, or None if the lines of
        its content are not needed.
        """
        self.values += 1
        if self.values > MAX_VALUES:
            raise YamlError(f"the text has more than {MAX_VALUES} values; divide it", _line(event))
        if anchor:
            self.anchors[anchor] = value
        if not self.stack:
            self.root = value
            if self.depth < 0:
                return None
            self.lines[()] = _line(event)
            return () if self.depth else None
        top = self.stack[-1]
        data, path, key = top.data, top.path, top.key
        if isinstance(data, list):
            data.append(value)
            if path is not None:
                path = (*path, len(data) - 1)
                self.lines[path] = _line(event)
        elif key is _NO_KEY:
            top.key = key = self._as_key(value, data, event)
            if path is not None:
                self.lines[(*path, key)] = _line(event)
            return None  # a key has no content
        else:
            data[key] = value
            path = None if path is None else (*path, key)
            top.key = _NO_KEY
        return path if path is not None and len(path) < self.depth else None

    def _as_key(self, value: Any, data: dict[Any, Any], event: yaml.Event) -> str:
        if isinstance(value, str):
            key = value
        elif isinstance(value, dict | list | bytes):
            raise YamlError("a key must be a string, not a collection", _line(event))
        else:
            key = _word(value)
        if key in data and not self.foreign:
            raise YamlError(
                f"the key {key!r} is used twice in one mapping; delete one of them", _line(event)
            )
        return key

    def _alias(self, event: yaml.AliasEvent) -> None:
        anchor, line = str(event.anchor), _line(event)
        if not self.foreign:
            raise YamlError(f"alias *{anchor} is not allowed; write the value in full", line)
        if anchor not in self.anchors:
            raise YamlError(f"alias *{anchor} has no anchor before it", line)
        value = self.anchors[anchor]
        if any(frame.data is value for frame in self.stack):
            raise YamlError(f"alias *{anchor} contains itself", line)
        self._add(value, event)

    def _tagged(self, event: yaml.ScalarEvent) -> Any:
        if event.tag in _BINARY_TAGS:
            try:
                return base64.b64decode(event.value.encode("ascii"))
            except (binascii.Error, UnicodeEncodeError) as error:
                raise YamlError(f"not base64: {error}", _line(event)) from None
        return event.value if event.style or event.tag else resolve(event.value)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1  # type: ignore[union-attr]  # every event of libyaml has a mark


def _word(value: Any) -> str:
    """Return a key that the core schema reads as a number, a boolean or null, as a string."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
