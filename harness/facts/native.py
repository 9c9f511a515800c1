"""Looks for opaque values of the wire anywhere in native events.

A value is looked for in string leaves; a string that is JSON is parsed. Pieces at one key path are
joined over consecutive events. Signatures and media are compared as bytes, in either alphabet of
base64; they may be encoded in base64 once more. A medium may also be a part of the decoded bytes of
a leaf, as a piece of sound in a file. Other values must be a whole leaf, the end of a leaf after
``|`` or ``:``, as in an id with a prefix, or a part of a leaf if they have 12 or more characters.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from json import JSONDecoder
from typing import Final, Literal, NamedTuple

from harness.stream.json_codec import Json, decode_json

INSIDE: Final = 12
"""The minimum number of characters of a value that may be a part of a leaf."""

INSIDE_BYTES: Final = 16
"""The minimum number of bytes of a signature or medium that may be a part of a leaf."""

MAX_LEAVES: Final = 200_000
MAX_JOINED: Final = 4 * 1024 * 1024
"""The maximum number of characters in all joined leaves; the rest is not searched."""

_RAW_KEY: Final = re.compile(r"raw|response|http|_hidden|sdk_http", re.IGNORECASE)
_SPACE_AND_PADDING: Final = re.compile(r"[\s=]+")
_SPACE: Final = re.compile(r"\s+")
_BASE64: Final = re.compile(r"(?:data:[^,]*,)?([A-Za-z0-9+/]+={0,2})")

OpaqueKind = Literal["text", "signature", "medium"]
"""How a value is compared: as text, or as the bytes of base64; a medium also as a part of bytes."""


LeafPath = tuple["LeafPath", str | int] | None
"""The path of a leaf: the path of its holder, and its key there."""


class Leaf(NamedTuple):
    """A string in native events; ``in_raw``: below a key that holds the wire's own object. Numbers
    are leaves with their JSON text.
    """

    text: str
    in_raw: bool


class NativeSearch:
    """The string leaves of native events, ready to be searched."""

    def __init__(self, events: Sequence[Json]) -> None:
        self._events = events
        self._base64: dict[str, str] = {}
        self._decoded: dict[str, bytes] = {}

    @cached_property
    def leaves(self) -> list[Leaf]:
        """All leaves, those of JSON in strings too."""
        leaves = ((text, raw) for event in self._events for _, text, raw in _leaves(event))
        return [Leaf(*leaf) for leaf in islice(leaves, MAX_LEAVES)]

    @cached_property
    def _outside_raw(self) -> Counter[str]:
        """The number of occurrences of each string outside raw data, without those inside JSON
        strings. Most values are found here.
        """
        strings: list[str] = []
        pending: list[Json] = [list(self._events)]
        while pending:
            holder = pending.pop()
            if isinstance(holder, dict):
                holder = [item for key, item in holder.items() if not _is_raw(str(key))]
            for value in holder:
                if isinstance(value, str):
                    strings.append(value)
                elif isinstance(value, (dict, list)):
                    pending.append(value)
        return Counter(strings)

    @cached_property
    def _words(self) -> set[str]:
        return {leaf.text for leaf in self.leaves}

    @cached_property
    def _joined(self) -> list[Leaf]:
        """The pieces under one key path, joined over consecutive events."""
        runs: dict[LeafPath, tuple[list[str], bool, int]] = {}
        joined: list[Leaf] = []
        room = MAX_LEAVES
        for number, event in enumerate(self._events):
            here: dict[LeafPath, Leaf] = {}
            for path, text, in_raw in islice(_leaves(event), max(0, room)):
                here.setdefault(path, Leaf(text, in_raw))
                room -= 1
            for path, leaf in here.items():
                pieces, in_raw, last = runs.get(path, ([], leaf.in_raw, number - 1))
                if last != number - 1:
                    joined += _joined(pieces, in_raw)
                    pieces, in_raw = [], leaf.in_raw
                pieces.append(leaf.text)
                runs[path] = (pieces, in_raw and leaf.in_raw, number)
        for pieces, in_raw, _ in runs.values():
            joined += _joined(pieces, in_raw)
        room = MAX_JOINED
        kept: list[Leaf] = []
        for leaf in joined:
            room -= len(leaf.text)
            if room < 0:
                break
            kept.append(leaf)
        return kept

    def has_leaf(self, text: str) -> bool:
        """Return whether a whole leaf is this text."""
        return text in self._outside_raw or text in self._words

    def has_word(self, text: str) -> bool:
        """Return whether a leaf has the text between characters that are not letters or digits."""
        pattern = word_pattern(text)
        return self.has_leaf(text) or any(
            text in leaf.text and pattern.search(leaf.text) for leaf in self.leaves
        )

    def has_call(self, name: str, arguments: Json, given: int) -> bool:
        """Return whether the name of a call and all texts and numbers of its arguments are
        leaves, the name more often than the ``given`` calls of this name.
        """
        named = islice((leaf for leaf in self.leaves if leaf.text == name), given + 1)
        return sum(1 for _ in named) > given and all(
            self.has_leaf(text) for _, text, _ in _leaves(arguments)
        )

    def count(self, value: str, *, kind: OpaqueKind = "text", enough: int = 1) -> tuple[int, bool]:
        """Return the number of occurrences of a value, and whether all are below keys of raw data.
        The search stops when the value was found ``enough`` times outside raw data.
        """
        if self._outside_raw[value] >= enough:
            return self._outside_raw[value], False
        find = {"text": self._text, "signature": self._signature, "medium": self._medium}[kind]
        hits = list(find(value, joined=False))
        if len(hits) < enough or all(leaf.in_raw for leaf in hits):
            hits += find(value, joined=True)
        if kind != "text" and len(hits) < enough:  # a model may keep its text as bytes
            hits += find(b64encode(value.encode()).decode(), joined=False)
        return len(hits), bool(hits) and all(leaf.in_raw for leaf in hits)

    def _text(self, value: str, joined: bool) -> Iterator[Leaf]:
        inside, prefixed = len(value) >= INSIDE, (f"|{value}", f":{value}")
        for leaf in self._joined if joined else self.leaves:
            if leaf.text == value or (not inside and leaf.text.endswith(prefixed)):
                yield leaf
            elif inside:
                yield from [leaf] * leaf.text.count(value)

    def _signature(self, value: str, joined: bool) -> Iterator[Leaf]:
        wanted = plain_base64(value)
        inside = _bytes_of(wanted) >= INSIDE_BYTES
        for leaf, text in self._as_base64(wanted, joined):
            if text == wanted:
                yield leaf
            elif inside:
                yield from [leaf] * text.count(wanted)

    def _medium(self, value: str, joined: bool) -> Iterator[Leaf]:
        """Yield the leaves with a medium: as base64 that ends where the medium ends, or in the
        bytes of base64. Base64 texts that are glued together are no medium.
        """
        wanted = plain_base64(value)
        inside = _bytes_of(wanted) >= INSIDE_BYTES
        content = _decoded(value)
        name = re.escape(wanted)  # the data, or a URI, which may follow a slash
        part = re.compile(rf"(?<![A-Za-z0-9+]){name}(?!=*[A-Za-z0-9+/])" if content else name)
        for leaf, text in self._as_base64(wanted, joined):
            if text == wanted:
                yield leaf
            elif inside:
                spelled = leaf.text.replace("-", "+").replace("_", "/")
                number = len(part.findall(spelled)) if wanted in text else 0
                if not number and content:
                    if leaf.text not in self._decoded:
                        self._decoded[leaf.text] = _decoded(leaf.text)
                    number = self._decoded[leaf.text].count(content)
                yield from [leaf] * number

    def _as_base64(self, wanted: str, joined: bool) -> Iterator[tuple[Leaf, str]]:
        """Yield the leaves that are not shorter, as base64."""
        for leaf in self._joined if joined else self.leaves:
            if len(leaf.text) >= len(wanted):
                text = self._base64.get(leaf.text)
                if text is None:
                    text = self._base64[leaf.text] = plain_base64(leaf.text)
                yield leaf, text


def _bytes_of(base64: str) -> int:
    return len(base64) * 3 // 4


def _decoded(text: str) -> bytes:
    """Return the bytes of base64, also in a data URL; b"" for other text."""
    spelled = _SPACE.sub("", text)
    found = _BASE64.fullmatch(spelled) or _BASE64.fullmatch(
        spelled.replace("-", "+").replace("_", "/")
    )
    if found is None:
        return b""
    digits = found[1].rstrip("=")
    try:
        return b64decode(digits + "=" * (-len(digits) % 4))
    except ValueError:  # one digit more than a whole number of bytes
        return b""


def _joined(pieces: list[str], in_raw: bool) -> list[Leaf]:
    """Return the leaves of joined pieces: their text, and the leaves in it if it is JSON."""
    if len(pieces) < 2:
        return []
    return [Leaf(text, in_raw or raw) for _, text, raw in _leaves("".join(pieces))]


def plain_base64(text: str) -> str:
    """Return base64 in the standard alphabet, without padding and white space."""
    if not text.isalnum():
        text = _SPACE_AND_PADDING.sub("", text)
    return text.replace("-", "+").replace("_", "/")


def word_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that matches the text between characters that are not letters or digits."""
    return re.compile(rf"(?<![A-Za-z0-9]){re.escape(text)}(?![A-Za-z0-9])")


def _leaves(event: Json) -> Iterator[tuple[LeafPath, str, bool]]:
    """Yield (path, text, whether it is raw data) of every string and number, in order."""
    stack: list[tuple[LeafPath, Json, bool]] = [(None, event, False)]
    while stack:
        path, value, in_raw = stack.pop()
        if isinstance(value, str):
            yield path, value, in_raw
            opened = _json_in(value)
            if opened is not None:
                stack.append(((path, "json"), opened, in_raw))
        elif isinstance(value, dict):
            stack += [
                ((path, str(key)), item, in_raw or _is_raw(str(key)))
                for key, item in reversed(value.items())
            ]
        elif isinstance(value, list):
            stack += [
                ((path, index), item, in_raw) for index, item in reversed(list(enumerate(value)))
            ]
        elif value is not None and not isinstance(value, bool):
            yield path, str(value), in_raw


def json_values(text: str) -> list[Json]:
    """Return the JSON values that follow each other in a text; [] if there is anything else."""
    decoder, values, at = JSONDecoder(), [], 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        values.append(value)
        at += len(text[at:]) - len(text[at:].lstrip())
    return values


@lru_cache(maxsize=4096)
def _is_raw(key: str) -> bool:
    return _RAW_KEY.match(key) is not None


def _json_in(text: str) -> Json:
    """Return the object or list that a string holds as JSON text; None for other text."""
    stripped = text.strip()
    if len(stripped) < 2 or stripped[0] not in "{[":
        return None
    try:
        return decode_json(stripped.encode("utf-8", "surrogatepass"))
    except ValueError:
        return None
