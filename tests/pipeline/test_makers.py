"""What goes back to whom: a signature of an answer is sent only to the vendor whose model made it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import harness
from harness import Session
from harness.dialects import DIALECTS
from harness.pipeline.request import ask, request_translator
from harness.providers import PROVIDERS
from harness.stream.events import Unknown
from harness.stream.exchange import Exchange
from harness.stream.generation import GenerateRequest
from harness.stream.prompt import Maker

PARTS = (
    b'{"text": "Hm.", "thought": true, "thoughtSignature": "VEhP"},'
    b'{"functionCall": {"name": "w", "args": {}}, "thoughtSignature": "U0lH"},'
    b'{"executableCode": {"code": "1"}}'
)
BODY = b'data: {"candidates": [{"content": {"parts": [%b]}, "finishReason": "STOP"}],' % PARTS
ANSWER = Exchange(None, 200, {}, ((None, BODY + b' "modelVersion": "gemini-x"}\n\n'),), "complete")


def second_turn(dialect: str, session: Session) -> Any:
    translator = request_translator(dialect)
    payloads = harness.replay(ANSWER, provider="gemini-api", dialect=dialect, session=session)
    return translator.follow_up(translator.opening_prompt, payloads, "Go on.")


def sent_to(vendor: str, dialect: str, monkeypatch: pytest.MonkeyPatch) -> GenerateRequest:
    """The second turn, for a provider of this vendor with Gemini's wire."""
    monkeypatch.setitem(PROVIDERS, "other", replace(PROVIDERS["gemini-api"], vendor=vendor))
    session = Session()
    prompt = second_turn(dialect, session)
    if isinstance(prompt, dict):
        prompt.pop("model", None)
    return ask(request_translator(dialect), prompt, "other", {}, session)


@pytest.mark.parametrize("dialect", ["ag-ui", "unified-llm", "anthropic", "mind"])
def test_a_signature_is_not_sent_to_another_vendor(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = (sent_to(vendor, dialect, monkeypatch) for vendor in ("gemini", "another"))
    assert "U0lH" in str(own.body)
    assert own.warnings == ()
    assert "thoughtSignature" not in str(other.body)
    assert any("it is from gemini (gemini-x)" in warning for warning in other.warnings)


def test_a_part_of_an_answer_is_not_sent_to_another_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = (sent_to(vendor, "unified-llm", monkeypatch) for vendor in ("gemini", "another"))
    assert "executableCode" in str(own.body)
    assert "executableCode" not in str(other.body)


def test_the_maker_is_the_model_that_answered() -> None:
    session = Session()
    harness.replay(ANSWER, provider="gemini-api", dialect="mind", session=session)
    assert session.origin("U0lH") == Maker("gemini", "gemini-x")
    assert session.origin({"executableCode": {"code": "1"}}) == Maker("gemini", "gemini-x")
    assert session.origin("unknown") is None


def test_a_part_that_nests_too_deeply_has_a_maker() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    session = Session()
    session.maker = Maker("gemini")
    session.note(Unknown("part", deep))
    assert session.origin(deep) == Maker("gemini")


def test_every_dialect_with_requests_is_asked() -> None:
    asked = {name for name, dialect in DIALECTS.items() if dialect.request}
    assert asked == {
        "ag-ui",
        "unified-llm",
        "anthropic",
        "mind",
        "art",
    }  # art has no place for signatures
