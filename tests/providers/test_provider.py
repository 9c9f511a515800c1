"""The fields of a provider and the table of providers."""

from typing import Any

import pytest

from harness.facts import Error
from harness.providers import PROVIDERS, Answer, Provider
from harness.stream.exchange import Exchange


def test_a_provider_without_a_reader_of_facts_is_refused_by_name() -> None:
    given: dict[str, Any] = {"name": "echo", "title": "Echo", "normalizer": object}
    with pytest.raises(TypeError, match="the provider echo lacks facts_reader; see docs"):
        Provider(**given)


def test_reports_show_the_providers_in_the_order_of_the_table() -> None:
    shipped = [
        "gemini-api",
        "vertex-ai",
        "code-assist",
        "interactions",
        "openai-compat",
        "anthropic",
        "openai",
        "live",
        "gemini-cli",
    ]
    assert [name for name in PROVIDERS if name in shipped] == shipped


@pytest.mark.parametrize(("name", "calls"), [("gemini-api", 0), ("code-assist", 1)])
def test_the_oracle_reads_tool_code_as_the_provider_does(name: str, calls: int) -> None:
    body = b'{"candidates": [{"content": {"parts": [{"text": "<tool_code>f()</tool_code>"}]}}]}'
    exchange = Exchange(None, 200, {}, ((None, body),))
    facts = PROVIDERS[name].facts(exchange)
    assert facts.text == "<tool_code>f()</tool_code>"
    assert len(facts.blocks) == calls


def test_the_exit_code_of_an_interrupted_run_is_no_error() -> None:
    headers = {"x-exit-code": ["1"], "x-stderr": ["no key"]}
    provider = PROVIDERS["gemini-cli"]
    failed = provider.facts(Exchange(None, 200, headers, (), "complete"))
    assert failed.errors == [Error(None, "exit code 1: no key")]
    assert not provider.facts(Exchange(None, 200, headers, (), "aborted")).errors


def test_a_body_that_cannot_be_unpacked_is_read_as_it_is() -> None:
    headers = {"Content-Encoding": ["gzip"]}
    exchange = Exchange(None, 200, headers, ((None, b"\x1f\x8bno gzip"),))
    assert PROVIDERS["gemini-api"].facts(exchange).unreadable


def test_an_answer_has_lower_case_headers_and_the_default() -> None:
    exchange = Exchange(None, 503, {"Retry-After": ["3"]}, ())
    answer = PROVIDERS["code-assist"].answer(exchange, "m", None)
    assert answer == Answer(503, {"retry-after": "3"}, "m", tool_code=True)
    assert answer.failed
