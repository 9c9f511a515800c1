"""Compares the structured answer and the settings of a question with those of a request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.facts import Finding
from harness.stream.json_codec import Json

from .comparison import NEUTRAL, Comparison, added, found, red, short
from .schema_comparison import compare_schemas
from .tools import finding_of_schema, forced_answer

_TIER_HEADERS: Final = (
    "x-vertex-ai-llm-shared-request-type",
    "x-vertex-ai-llm-request-type",
)
"""The headers that choose a tier of Vertex AI:
https://cloud.google.com/vertex-ai/generative-ai/docs/flex-paygo.
"""
_OTHERS: Final = frozenset({
    "candidateCount", "responseModalities", "responseLogprobs", "logprobs", "mediaResolution",
    "n", "top_logprobs", "modalities", "response_modalities", "truncation",
})  # fmt: skip
"""Fields of requests that change an answer, beside those that a prompt has."""


def compare_output(both: Comparison) -> Iterator[Finding]:
    """The answer must be JSON, and fit the schema in the order of its names. A function that the
    model must call may have the schema.
    """
    asked, sent = both.asked.format, both.sent.prompt.format
    place = both.place("format")
    if asked is None:
        if sent and both.reads("output"):
            yield added("a structured answer", None, "output", place)
        return
    if both.may_lack("output"):
        return
    function = forced_answer(both)
    schema = sent.schema if sent and sent.schema else function.schema if function else None
    wanted: Json = dict(asked.schema.value) if asked.schema else "json"
    if sent is None and function is None:
        sentence = "no structured answer is requested"
        yield found("output", "lost", sentence, wanted, at=("output", ""))
        return
    if sent and not both.place("format.json"):
        sentence = "the media type JSON is not sent"
        yield found("output", "lost", sentence, wanted, word="json", at=("output", place))
    if asked.schema and schema is None:
        at = ("output.schema", place)
        yield found("output", "lost", "the schema is not sent", wanted, word="schema", at=at)
    elif asked.schema and schema:
        value = both.sent.json_schema(schema.value)
        for each in compare_schemas(asked.schema.value, value, ordered=True):
            yield finding_of_schema(each, "output", asked.name or "output", schema.place)


def compare_settings(both: Comparison) -> Iterator[Finding]:
    """Each setting has its value, also a zero, and there is no other setting."""
    sent = both.sent.prompt.settings
    for name, value in both.asked.settings.items():
        place = f"settings.{name}"
        if name not in sent:
            if not both.may_lack(name):
                sentence = f"{name} {short(value)} is not sent"
                yield found("settings", "lost", sentence, value, word=name, at=(place, ""))
        elif not _is_same(value, sent[name]):
            sentence = f"{name} {short(value)} is sent as {short(sent[name])}"
            at = (place, both.place(place))
            yield found("settings", "wrong", sentence, value, sent[name], word=name, at=at)
    if not both.reads("settings"):
        return
    for name, value in sent.items():
        if name not in both.asked.settings and value not in ([], None):
            yield added(f"{name} {short(value)}", value, name, both.place(f"settings.{name}"))
    for path, value in both.sent.prompt.more.items():
        name = path.rpartition(".")[2]
        if name in _OTHERS and value not in NEUTRAL:
            yield added(f"{name} {short(value)}", value, name, path)


def _is_same(asked: Json, sent: Json) -> bool:
    if isinstance(asked, list):
        return bool(sent == asked)
    try:
        return not isinstance(sent, bool) and float(str(sent)) == float(str(asked))
    except ValueError:
        return False


def compare_thinking(both: Comparison) -> Iterator[Finding]:
    """Effort is sent as its level, or as a budget above 0; budget and visibility have their
    values.
    """
    asked, sent = both.asked.reasoning, both.sent.prompt.reasoning
    if asked is None:
        if sent and both.reads("thinking") and "thinking_level" not in both.asked.google:
            for name, value in (("effort", sent.effort), ("budget", sent.budget)):
                if value is not None:
                    path = both.place(f"reasoning.{name}")
                    yield added(f"{name} {value}", value, "thinking", path)
        return
    if both.may_lack("thinking"):
        return
    for name, value in (("effort", asked.effort), ("budget", asked.budget), ("shown", asked.shown)):
        here: Json = getattr(sent, name, None)
        by_budget = name == "effort" and here is None and sent and sent.budget
        if value is None or here == value or by_budget:
            continue
        fact = "not sent" if here is None else f"sent as {short(here)}"
        at = (f"thinking.{name}", both.place(f"reasoning.{name}"))
        sentence = f"{name} {short(value)} is {fact}"
        yield found("thinking", red(here is not None), sentence, value, here, word=name, at=at)


def compare_google(both: Comparison) -> Iterator[Finding]:
    """Each value in Google's own words is sent."""
    sent = dict(both.sent.prompt.google)
    for header in _TIER_HEADERS:
        if header in both.sent.headers:
            sent.setdefault("tier", both.sent.headers[header])
    for name, value in both.asked.google.items():
        here = sent.pop(name, None)
        if _plain(here) == _plain(value) or (here is None and both.may_lack(name)):
            continue
        fact = "not sent" if here is None else f"sent as {short(here)}"
        at = (f"google.{name}", both.place(f"google.{name}"))
        sentence = f"{name} {short(value)} is {fact}"
        yield found("google", red(here is not None), sentence, value, here, word=name, at=at)
    for name, value in sent.items():
        if both.reads("google") and name != "thinking_level" and value not in NEUTRAL:
            yield added(f"{name} {short(value)}", value, name, both.place(f"google.{name}"))


def _plain(value: Json) -> Json:
    if isinstance(value, str):
        return value.lower().removeprefix("service_tier_")
    return value
