"""A value of an odd type anywhere in an answer: no reader raises, and an answer that is no good end
for the oracle is none for a dialect.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from harness.providers import PROVIDERS
from tests.conformance.laws.test_success_of_bad_bodies import GOOD, body_of, good_ends

BODIES = [
    *GOOD.items(),
    ("interactions", body_of("interactions/whole", 3)),
    ("interactions", body_of("interactions/removed-schema", 2)),
    ("openai-compat", body_of("openai-compat/calls")),
    ("gemini-cli", body_of("gemini-cli/document")),
]
VALUES: tuple[object, ...] = (
    5,
    True,
    "x",
    None,
    [],
    {},
    ["x"],
    [5, "x"],
    {"a": 1},
    {"a": [{}]},
    [[]],
    1.5,
    -1,
)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*place, key))


def with_value(message: Any, place: tuple[Any, ...], value: object) -> Any:
    if not place:
        return value
    changed = holder = copy.deepcopy(message)
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return changed


def odd_bodies(body: bytes) -> Iterator[bytes]:
    """The body with each value of the first and the last two messages replaced. A message is a
    line, or an event of one line.
    """
    lines = body.splitlines(keepends=True)
    if not body.startswith((b"data:", b"event:")):
        with suppress(ValueError):  # it is lines of JSON
            lines = [json.dumps(json.loads(body)).encode()]
    messages = []
    for number, line in enumerate(lines):
        start = line.find(b"{")
        if start >= 0:
            messages.append((number, line[:start], json.loads(line[start:])))
    for number, before, message in [*messages[:1], *messages[1:][-2:]]:
        for place in places(message):
            for value in VALUES:
                line = before + json.dumps(with_value(message, place, value)).encode() + b"\n"
                yield b"".join([*lines[:number], line, *lines[number + 1 :]])


@pytest.mark.slow
@pytest.mark.parametrize(("wire", "body"), BODIES, ids=[wire for wire, _ in BODIES])
def test_an_odd_value_is_read_and_makes_no_good_end(wire: str, body: bytes) -> None:
    for odd in odd_bodies(body):
        good = good_ends(wire, odd)
        assert not good or "oracle" in good, odd[-1000:]


def test_every_wire_has_a_body() -> None:
    assert {wire for wire, _ in BODIES} == {*PROVIDERS}
