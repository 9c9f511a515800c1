"""The shipped recordings agree with the documented wire, at the places of earlier errors."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes.load import load
from harness.facts import WireFacts
from harness.judging.reading import Reading
from harness.providers import PROVIDERS
from harness.stream.exchange import Exchange

CASSETTES = Path(__file__).parents[2] / "cassettes"
URL_SAFE = {"gemini-api/model-dump"}
"""Objects written by google-genai, which uses the URL-safe base64 alphabet."""
UNSIGNED = {
    "code-assist/anthropic-tool-code.2": "the conversation asks for this model",
    "gemini-api/repeated-calls.2": "the case is about a call that comes twice",
    "gemini-api/repeated-calls.6": "the case is about a call that comes twice",
    "vertex-ai/signed-thought-then-call.1": "the signature stands on the thought before the call",
}
"""Answers of Gemini 3 models whose calls have no signature → the reason."""


@cache
def answers() -> dict[str, tuple[Exchange, WireFacts]]:
    """Every shipped model answer and its facts, by cassette and number."""
    shipped = {}
    for path in sorted(CASSETTES.rglob("*.yaml")):
        name = path.relative_to(CASSETTES).with_suffix("").as_posix()
        for number, exchange in enumerate(load(path).exchanges, 1):
            if exchange.generates and exchange.provider:
                facts = PROVIDERS[exchange.provider].facts(exchange)
                shipped[f"{name}.{number}"] = (exchange, facts)
    return shipped


def objects(exchange: Exchange) -> Iterator[dict[str, Any]]:
    """Every JSON object in the lines of an answer, at any depth."""
    for line in exchange.body.decode("utf-8", "replace").splitlines():
        try:
            pending = [json.loads(line.removeprefix("data:"))]
        except ValueError:
            continue
        while pending:
            value = pending.pop()
            if isinstance(value, dict):
                yield value
                pending += value.values()
            elif isinstance(value, list):
                pending += value


def test_images_of_the_responses_api_are_base64() -> None:
    cassette = load(CASSETTES / "openai" / "responses-tools.yaml")
    images = [
        value[name]
        for exchange in cassette.exchanges
        for value in objects(exchange)
        for name in ("partial_image_b64", "result")
        if isinstance(value.get(name), str)
    ]
    assert len(images) > 2
    for image in images:
        assert base64.b64encode(base64.b64decode(image, validate=True)).decode() == image


@pytest.mark.slow
def test_signatures_are_canonical_base64() -> None:
    wrong = {}
    for place, (exchange, facts) in answers().items():
        if PROVIDERS[str(exchange.provider)].vendor != "gemini":
            continue  # opaque text of another vendor
        for _, signature in facts.signatures:
            decode = (
                base64.urlsafe_b64decode
                if place.rpartition(".")[0] in URL_SAFE
                else base64.b64decode
            )
            encode = (
                base64.urlsafe_b64encode
                if place.rpartition(".")[0] in URL_SAFE
                else base64.b64encode
            )
            try:
                same = encode(decode(signature)).decode() == signature
            except ValueError:
                same = False
            if not same:
                wrong[place] = signature
    assert wrong == {}


@pytest.mark.slow
def test_media_processing_is_a_word_of_its_enum() -> None:
    placed_words = [
        (place, value["mediaProcessing"])
        for place, (exchange, _) in answers().items()
        for value in objects(exchange)
        if "mediaProcessing" in value
    ]
    assert placed_words
    assert [place for place, word in placed_words if word not in ("STATIC", "AGENTIC")] == []


def test_calls_of_gemini_3_models_are_signed() -> None:
    unsigned = set()
    for place, (exchange, facts) in answers().items():
        models = {str(value.get("modelVersion", "")) for value in objects(exchange)}
        first = next(iter(facts.marks), (None, None))
        if facts.calls and not first[1] and any(model.startswith("gemini-3") for model in models):
            unsigned.add(place)
    assert unsigned == {*UNSIGNED}


@pytest.mark.parametrize("field", ["groundingSupports", "citationSources", "citations"])
def test_offsets_count_bytes(field: str) -> None:
    checked = 0
    for place, (exchange, facts) in answers().items():
        text = facts.text.encode()
        for value in objects(exchange):
            for item in value.get(field) or ():
                if not isinstance(item, dict):
                    continue
                segment = item.get("segment", item)
                start, end = segment.get("startIndex", 0), segment.get("endIndex")
                if not isinstance(end, int):
                    continue
                checked += 1
                assert end <= len(text), f"{place}: {field} ends at {end} of {len(text)} bytes"
                if "text" in segment:
                    starts = [0] if not segment.get("partIndex") else range(1, len(text))
                    slices = (text[at + start : at + end] for at in starts)
                    assert segment["text"].encode() in slices, place
    assert checked


PROXIES = {"openai/responses-calls.14", "openai/responses-ends.12"}
PROXIES |= {f"openai/text.{number}" for number in (10, 15)}
"""Answers whose cases are about a form that only proxies send."""
FORMS = {
    "an item whose id changes",
    "a text without its pieces",
    "a response that ends without its items",
}


def test_only_the_cases_about_proxies_have_their_forms() -> None:
    found = {place for place, (exchange, _) in answers().items() if place.startswith("openai/")}
    of_proxies = {place for place in found if FORMS & {*[*Reading(answers()[place][0]).variants]}}
    assert of_proxies == PROXIES


OLDER = {"vertex.1"}
"""Streams of Anthropic as services sent them before: the end has only the output tokens."""


def test_the_end_of_anthropic_has_all_counts_and_thoughts_were_requested() -> None:
    for place, (exchange, facts) in answers().items():
        if not place.startswith("anthropic/"):
            continue
        name = place.removeprefix("anthropic/")
        for message in objects(exchange):
            if message.get("type") == "message_delta" and message.get("usage"):
                assert ("input_tokens" in message["usage"]) == (name not in OLDER), place
        asked = exchange.request.body if exchange.request else b""
        assert b'"thinking":{' in asked or not (facts.thoughts or facts.signatures), place


def test_the_calls_of_the_new_wires_are_of_declared_tools() -> None:
    undeclared = {
        place
        for place, (exchange, facts) in answers().items()
        if place.startswith(("anthropic/", "openai/")) and exchange.request
        for name, _ in facts.calls
        if name and f'"{name}"'.encode() not in exchange.request.body
    }
    assert undeclared == set()
