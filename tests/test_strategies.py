"""The strategies give what they promise, and our own pipeline keeps the laws on it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from harness.cassette import Cassette, Exchange, dumps, loads
from harness.dialects import DIALECTS
from harness.gathering import gather_body
from harness.laws import LAWS, Replayer
from harness.providers import PROVIDERS
from harness.spec import read_spec
from harness.strategies import cassettes, exchanges, specs, wild_exchanges

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
FAST = tuple(law for law in LAWS if law.id in (2, 3, 5, 8))


@FEW
@given(exchanges(), st.sampled_from(sorted(DIALECTS)))
def test_whole_answers_keep_the_laws(exchange: Exchange, dialect: str) -> None:
    assert gather_body(exchange.body).unreadable == []
    assert [
        finding for law in FAST for finding in law.findings(exchange, Replayer("gemini-api", dialect)) if "media_type" not in finding
    ] == []


@FEW
@given(wild_exchanges(), st.sampled_from(sorted(DIALECTS)))
def test_wild_answers_are_answered_in_legal_order_and_the_same_twice(exchange: Exchange, dialect: str) -> None:
    how = Replayer("gemini-api", dialect)
    assert [finding for law in LAWS if law.id in (2, 5) for finding in law.findings(exchange, how)] == []


@FEW
@given(cassettes())
def test_every_cassette_comes_back_as_it_was(cassette: Cassette) -> None:
    again = loads(dumps(cassette))
    assert [exchange.reads for exchange in again.exchanges] == [exchange.reads for exchange in cassette.exchanges]


@FEW
@given(specs())
def test_every_spec_can_be_read(text: str) -> None:
    assert read_spec(text, "s.yaml", dialects=DIALECTS, providers=PROVIDERS, features={"text.streaming"}, losses={})


@pytest.mark.parametrize("word", [b"functionCall", b"thoughtSignature", b": ping"])
def test_whole_answers_have_all_that_they_promise(word: bytes) -> None:
    quick = settings(max_examples=500, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    assert word in find(exchanges(), lambda exchange: word in exchange.body, settings=quick).body
