"""The judgement of a second turn from the body of a request alone."""

from __future__ import annotations

from typing import Any

from harness.facts import Finding, WireFacts
from harness.providers import PROVIDERS, Provider
from harness.providers.second_turn import SecondTurnAspect
from harness.providers.second_turn import judge_second_turn as judge


def provider_of_body(body: dict[str, Any], name: str = "") -> Provider:
    """The provider of this name, or the one of Google whose requests have this form."""
    fields = {"input": "interactions", "messages": "openai-compat"}
    found = name or next((fields[field] for field in fields if field in body), "gemini-api")
    return PROVIDERS[found]


def judge_second_turn(
    answer: WireFacts, body: dict[str, Any], wire: str = "", **named: Any
) -> dict[SecondTurnAspect, Finding]:
    """The findings of a request that follows an answer. ``wire``: the name of its provider."""
    provider = provider_of_body(body, wire)
    return judge(answer, provider.prompt_of(body), body, provider.history, **named)
