"""The shape of a value on the wire, and one sample of each thing that a shape allows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any


@dataclass(frozen=True)
class Scalar:
    """A value without parts, by an example."""

    example: Json


@dataclass(frozen=True)
class Words:
    """An enumeration with a name. ``fixed``: a constant, which every value has."""

    name: str
    words: tuple[str, ...]
    fixed: bool = False


@dataclass(frozen=True)
class ListOf:
    """A list of values of one shape."""

    item: Shape


@dataclass(frozen=True)
class MapOf:
    """An object with keys of the user."""

    item: Shape


@dataclass(frozen=True)
class Choice:
    """A value of one of several shapes."""

    options: tuple[Shape, ...]


@dataclass(eq=False)
class Object:
    """An object with a name. ``fields`` is called when it is first needed, because types refer to
    each other in circles.
    """

    name: str
    read: Callable[[], Mapping[str, Shape]] = field(repr=False)

    def fields(self) -> Mapping[str, Shape]:
        """The fields by their names on the wire."""
        return self.read()


Shape = Scalar | Words | ListOf | MapOf | Choice | Object


@dataclass(frozen=True)
class Sample:
    """A value with one thing, and the same value without it. ``label`` names the thing, as
    ``Object``, ``Object.field`` or ``Enumeration=word``. ``word``: the word of an enumeration.
    """

    label: str
    value: Json
    without: Json
    word: str | None = None


Beside = Mapping[str, Mapping[str, Json]]
"""Object → fields that every sample of it has, without which nothing else in it is understood."""


def samples(shape: Shape, beside: Beside | None = None) -> Iterator[Sample]:
    """One sample of each thing. Each object is looked into only once."""
    yield from _Walk(beside or {}).samples(shape, "value")


class _Walk:
    def __init__(self, beside: Beside) -> None:
        self._beside = beside
        self._seen: set[str] = set()

    def samples(self, shape: Shape, label: str) -> Iterator[Sample]:
        match shape:
            case Scalar(example):
                yield Sample(label, example, None)
            case Words(name, words):
                for word in words:
                    yield Sample(f"{name}={word}", word, None, word)
            case ListOf(item):
                for inner in self.samples(item, label):
                    without = [] if inner.without is None else [inner.without]
                    yield Sample(inner.label, [inner.value], without, inner.word)
            case MapOf(item):
                for inner in self.samples(item, label):
                    yield Sample(inner.label, {"key": inner.value}, {}, inner.word)
            case Choice(options):
                for option in options:
                    yield from self.samples(option, label)
            case Object():
                yield from self._samples_of(shape)

    def _samples_of(self, shape: Object) -> Iterator[Sample]:
        base = self.base(shape)
        if shape.name in self._seen:
            return
        self._seen.add(shape.name)
        if base:
            yield Sample(shape.name, base, None)
        for name, inner_shape in shape.fields().items():
            if name in base and isinstance(inner_shape, Words) and inner_shape.fixed:
                continue
            for inner in self.samples(inner_shape, f"{shape.name}.{name}"):
                less = {key: value for key, value in base.items() if key != name}
                without = base if inner.without is None else {**base, name: inner.without}
                if inner.without is None:
                    without = less
                value = copy.deepcopy({**base, name: inner.value})
                yield Sample(inner.label, value, copy.deepcopy(without), inner.word)

    def base(self, shape: Object) -> dict[str, Json]:
        """The constants of an object, and the fields beside every sample."""
        constants = {
            name: inner.words[0]
            for name, inner in shape.fields().items()
            if isinstance(inner, Words) and inner.fixed
        }
        return constants | copy.deepcopy(dict(self._beside.get(shape.name, {})))
