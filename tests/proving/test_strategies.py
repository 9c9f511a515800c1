"""The strategies generate their documented values, and our own pipeline keeps the laws on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from harness.adapters import ADAPTERS, EVENTS, RunOptions, Subject
from harness.cassettes import Cassette, Exchange, OriginKind, dumps, loads
from harness.dialects import DIALECTS
from harness.judging.laws import LAWS
from harness.providers import PROVIDERS
from harness.proving.strategies import exchanges, wild_exchanges
from harness.specs.reader import read_spec
from tests.readers.gemini import gather_body
from tests.support.strategies import cassettes, specs

FEW = settings(max_examples=25, suppress_health_check=list(HealthCheck))
FAST = tuple(law for law in LAWS if law.id in (2, 3, 5, 8))


def findings(exchange: Exchange, dialect: str, *numbers: int) -> list[str]:
    options = RunOptions(provider="gemini-api")
    return [
        breach.sentence
        for adapter in (EVENTS, ADAPTERS[dialect])
        for subject in [Subject(adapter, options)]
        for law in FAST
        if law.id in (numbers or (2, 3, 5, 8))
        and adapter.layer in law.layers
        and not law.not_run(exchange, subject)
        for breach in law.findings(exchange, subject)
    ]


@pytest.mark.slow
@FEW
@given(exchanges(), st.sampled_from(sorted(DIALECTS)))
def test_whole_answers_keep_the_laws(exchange: Exchange, dialect: str) -> None:
    assert gather_body(exchange.body).unreadable == []
    assert [finding for finding in findings(exchange, dialect) if "media_type" not in finding] == []


@pytest.mark.slow
@FEW
@given(wild_exchanges(), st.sampled_from(sorted(DIALECTS)))
def test_wild_answers_replay_in_legal_order_and_reproducibly(
    exchange: Exchange, dialect: str
) -> None:
    assert findings(exchange, dialect, 2, 5) == []


@pytest.mark.slow
@FEW
@given(cassettes())
def test_every_cassette_comes_back_as_it_was(cassette: Cassette) -> None:
    expected = tuple(
        replace(exchange, provider=None, generates=False) for exchange in cassette.exchanges
    )
    assert loads(dumps(cassette)) == replace(cassette, exchanges=expected)


@pytest.mark.slow
@FEW
@given(specs())
def test_every_spec_can_be_read(text: str) -> None:
    assert read_spec(
        text,
        "s.yaml",
        dialects=DIALECTS,
        providers=PROVIDERS,
        features={"text.streaming"},
        losses={},
    )


QUICK = settings(
    max_examples=500,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
@pytest.mark.parametrize("word", [b"functionCall", b"thoughtSignature", b": ping"])
def test_whole_answers_have_every_documented_feature(word: bytes) -> None:
    assert word in find(exchanges(), lambda exchange: word in exchange.body, settings=QUICK).body


PROMISED: dict[str, Callable[[Exchange], bool]] = {
    "no request": lambda exchange: exchange.request is None,
    "a request with a body": lambda exchange: (
        exchange.request is not None and exchange.request.body != b""
    ),
    "a header with two values": lambda exchange: any(
        len(values) == 2 for values in exchange.headers.values()
    ),
    "reads with times": lambda exchange: any(at is not None for at, _ in exchange.reads),
    "an error": lambda exchange: exchange.status == 503,
    "a broken end": lambda exchange: exchange.end == "reset",
}


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISED)
def test_cassettes_have_every_documented_feature(promise: str) -> None:
    assert find(
        cassettes(),
        lambda cassette: any(map(PROMISED[promise], cassette.exchanges)),
        settings=QUICK,
    ).exchanges


@pytest.mark.slow
@pytest.mark.parametrize("kind", get_args(OriginKind))
def test_cassettes_are_of_every_origin(kind: OriginKind) -> None:
    assert find(cassettes(), lambda cassette: cassette.origin.kind == kind, settings=QUICK)
