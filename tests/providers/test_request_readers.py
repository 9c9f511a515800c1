"""The readers of requests: the reverse of the writers, and no value of a body is unread."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes import CassetteError
from harness.cassettes.load import load
from harness.providers import PROVIDERS, with_provider
from harness.stream.prompt import Prompt

CASSETTES = Path(__file__).parents[2] / "cassettes"
WORDS = ("model", "assistant", "VALIDATED", "AUTO", "ANY", "NONE", "application/json", True)
"""Words of the wire for which a prompt has a class or a word of its own; ``true`` marks thoughts."""


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value


@cache
def recorded_bodies(provider: str) -> list[Any]:
    bodies = []
    for path in sorted(CASSETTES.rglob("*.yaml")):
        try:
            exchanges = load(path).exchanges
        except CassetteError:
            continue
        for exchange in map(with_provider, exchanges):
            if exchange.provider == provider and exchange.generates and exchange.request:
                bodies.append(json.loads(exchange.request.body))
    return bodies


READ = [name for name, provider in PROVIDERS.items() if provider.reads_whole]


@pytest.mark.parametrize("name", READ)
def test_no_value_of_a_recorded_request_is_unread(name: str) -> None:
    provider = PROVIDERS[name]
    bodies = recorded_bodies(name)
    assert bodies

    for body in bodies:
        read = {json.dumps(leaf) for leaf in leaves(asdict(provider.prompt_of(body)))}
        unread = [
            leaf
            for leaf in leaves(provider.canonical(body))
            if json.dumps(leaf) not in read and leaf not in WORDS
        ]
        assert unread == []


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize(
    "body", [{}, {"contents": 1, "tools": "x"}, {"contents": [1, {"parts": [2, {"text": 3}]}]}]
)
def test_any_object_is_read(name: str, body: Any) -> None:
    provider = PROVIDERS[name]

    assert isinstance(provider.prompt_of(body), Prompt)
