"""Replaces the secrets in what leaves the process: texts, and values with texts, such as results
and the parts of pytest's reports. Values keep their form.

A cassette that contains a secret can be refused. A message must be written, so its secrets are
replaced: the values that the redactor replaces in bodies, and everything that the guard finds, in
every encoding, also the rest of a secret that was cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, lru_cache
from operator import is_
from typing import Any, Final, Literal, TypeVar, get_origin

from msgspec import Struct
from msgspec.structs import fields, replace

from harness.facts import Finding, Place
from harness.stream.json_codec import Json

from .guard import Guard
from .placeholders import REDACTED
from .readings import Span
from .redactor import Redactor

Value = TypeVar("Value")
MAX_ROUNDS: Final = 3
"""The maximum number of passes. A replacement may join the halves of another secret."""
MAX_REMEMBERED: Final = 1 << 16
"""The maximum length of a text with a cached result; the output of a command can be much longer."""
_SEPARATOR: Final = "\n\0\n"
"""The separator of texts. The guard finds a secret across it, as across a line break."""
NAMES: Final = frozenset(
    {"adapter", "aspects", "digest", "features", "lost_features", "name", "of", "provider"}
)
"""The fields with names that other parts of a document refer to."""
NAMES_OF: Final[Mapping[type[Struct], frozenset[str]]] = {
    Finding: frozenset({"reason"}),
    Place: frozenset(),
}
"""The same for types in which ``adapter`` is not a name, but text of the adapter."""
APART: Final = frozenset({"properties"})
"""The fields that are masked apart from other texts: many results have an equal value."""


class Mask:
    """Replaces the secrets that ``guard`` and a `Redactor` know. JSON text stays JSON text, and a
    text without a secret is unchanged.
    """

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard: Final = guard or Guard()
        self.text: Final = _remember(self._text, 1024)
        self._prose: Final = Redactor().prose
        self._redacted: Final = _remember(self._prose, 4096)  # most texts of results are repeated
        self._joined: Final = lru_cache(256)(self._masked)  # all texts of one case
        self._apart: Final = lru_cache(1024)(self.value)

    def is_clean(self, texts: Iterable[str]) -> bool:
        """Return whether the joined texts contain no secret; faster than `texts` for many short
        texts.
        """
        joined = _SEPARATOR.join(dict.fromkeys(texts))
        return self._shown(self._prose(joined)) == joined

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Return the masked texts; a secret may begin in one text and end in another."""
        is_long = sum(map(len, texts)) > MAX_REMEMBERED
        return list((self._masked if is_long else self._joined)(tuple(texts)))

    def _masked(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        if not texts:
            return ()
        masked = self._shown(_SEPARATOR.join(map(self._redacted, texts))).split(_SEPARATOR)
        return tuple(masked) if len(masked) == len(texts) else (REDACTED,) * len(texts)

    def value(self, value: Value) -> Value:
        """Return a value without secrets. A secret that is divided between several of its texts is
        also replaced. Names that other parts refer to, and words of closed lists, do not change.
        """
        texts: list[str] = []

        def collect(text: str) -> str:
            texts.append(text)
            return text

        unchanged: Value = _replace(value, collect, self._apart)
        masked = self.texts(texts)
        if masked == texts:
            return unchanged
        following = iter(masked)
        changed: Value = _replace(value, lambda _: next(following), self._apart)
        return changed

    def _text(self, text: str) -> str:
        return self._shown(self._redacted(text))

    def _shown(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        for _ in range(MAX_ROUNDS):
            spans = self._guard.spans(data)
            if not spans:
                return data.decode("utf-8", "surrogatepass")
            data = "".join(_without(spans, data.decode("latin-1"))).encode("latin-1")
        return REDACTED


def _remember(function: Callable[[str], str], count: int) -> Callable[[str], str]:
    """Return the function with a cache of its results for ``count`` texts that are not long."""
    remembered = lru_cache(count)(function)

    def call(text: str) -> str:
        return (remembered if len(text) <= MAX_REMEMBERED else function)(text)

    return call


def _without(spans: Sequence[Span], text: str) -> Iterator[str]:
    done = 0
    for start, stop in spans:
        yield text[done:start]
        yield REDACTED
        done = stop
    yield text[done:]


def _replace(value: Any, change: Callable[[str], str], apart: Callable[[Any], Any]) -> Any:
    """Return the value with each text changed, in order; the value itself if no text changes.
    ``apart`` gives the values of the fields in `APART`.
    """
    match value:
        case str():
            return change(value)
        case tuple() | list():
            items = type(value)(_replace(item, change, apart) for item in value)
            return value if all(map(is_, items, value)) else items
        case dict():
            return {key: _replace(item, change, apart) for key, item in value.items()}
        case Finding():
            texts = {
                name: _replace_json(item, change)
                if isinstance(item, dict | list)
                else _replace(item, change, apart)
                for name in _free_fields(Finding)
                if (item := getattr(value, name))
            }
            return replace(value, **texts)
        case Struct():
            changed = {
                name: new
                for name in _free_fields(type(value))
                if (item := getattr(value, name))  # most fields of a result are empty
                if (new := apart(item) if name in APART else _replace(item, change, apart))
                is not item
            }
            return replace(value, **changed) if changed else value
        case object(toterminal=_):  # pytest's form of an exception, a traceback or a line of it
            shown = copy(value)
            vars(shown).update(_replace({**vars(value)}, change, apart))
            return shown
        case _:
            return value


def _replace_json(value: Json, change: Callable[[str], str]) -> Json:
    """Return JSON data that is changed as text, because the name of a member tells that its value
    is a secret. Text that is no JSON any more stays text.
    """
    text = json.dumps(value, ensure_ascii=False)
    changed = change(text)
    if changed == text:
        return value
    try:
        return json.loads(changed)
    except ValueError:
        return changed


@cache
def _free_fields(kind: type[Struct]) -> tuple[str, ...]:
    """Return the fields that may contain any text, directly or in a part."""
    return tuple(
        field.name
        for field in fields(kind)
        if field.name not in NAMES_OF.get(kind, NAMES) and get_origin(field.type) is not Literal
    )
