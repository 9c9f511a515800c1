"""Damages of payload streams: one known fault each, put into what an event model's adapter gave.

A damage is written once for every event model that can carry it. It gets a copy of the payloads,
changes it and says whether there was anything to change; everything else stays as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from .endings import (
    lose_error,
    stop_early,
    wrong_count,
    wrong_error,
    wrong_index_anthropic,
    wrong_index_unified,
    wrong_stop,
)
from .shapes import SHAPES, WITH_CALLS, Change, MutationOperator, Payloads, Shape

# Text


def _trim(shape: Shape) -> Change:
    def change(payloads: Payloads) -> bool:
        found = next(
            (
                (holder, key)
                for holder, key in shape.texts(payloads)
                if holder[key].strip() != holder[key]
            ),
            None,
        )
        if found:
            found[0][found[1]] = found[0][found[1]].strip()
        return found is not None

    return change


def _lose_text(shape: Shape) -> Change:
    def change(payloads: Payloads) -> bool:
        found = next(((holder, key) for holder, key in shape.texts(payloads) if holder[key]), None)
        if found:
            found[0][found[1]] = found[0][found[1]][:-1]
        return found is not None

    return change


def _merge(shape: Shape) -> Change:
    """Two pieces of text that follow each other directly become one."""

    def change(payloads: Payloads) -> bool:
        for at in range(len(payloads) - 1):
            pair = [next(shape.texts([one]), None) for one in payloads[at : at + 2]]
            if pair[0] and pair[1] and pair[0][0].keys() == pair[1][0].keys():
                (holder, key), (other, _) = pair[0], pair[1]
                holder[key] += other[key]
                del payloads[at + 1]
                return True
        return False

    return change


def _swap(shape: Shape) -> Change:
    """Two pieces of text, of those that differ, change places."""

    def change(payloads: Payloads) -> bool:
        texts = list(shape.texts(payloads))
        for (one, key), (two, _) in pairwise(texts):
            if one[key] != two[key]:
                one[key], two[key] = two[key], one[key]
                return True
        return False

    return change


def _double(shape: Shape) -> Change:
    def change(payloads: Payloads) -> bool:
        found = next(
            (
                at
                for at, one in enumerate(payloads)
                if any(holder[key] for holder, key in shape.texts([one]))
            ),
            None,
        )
        if found is not None:
            payloads.insert(found, json.loads(json.dumps(payloads[found])))
        return found is not None

    return change


def _think_aloud_art(payloads: Payloads) -> bool:
    thoughts = [
        one
        for one in payloads
        if one["type"] == "TOKEN" and one["tokenType"].endswith("LLM_THINKING")
    ]
    for one in thoughts:
        one["tokenType"] = one["tokenType"].replace("THINKING", "RESPONSE")
    return bool(thoughts)


def _think_aloud_unified(payloads: Payloads) -> bool:
    thoughts = [one for one in payloads if one["type"].startswith("REASONING_")]
    for one in thoughts:
        one["type"] = one["type"].replace("REASONING", "TEXT")
        if "reasoning_delta" in one:
            one["delta"] = one.pop("reasoning_delta")
        one["text_id"] = "text_0"
    return bool(thoughts)


def _think_aloud_anthropic(payloads: Payloads) -> bool:
    thoughts = [
        one["delta"] for one in payloads if one.get("delta", {}).get("type") == "thinking_delta"
    ]
    for delta in thoughts:
        delta |= {"type": "text_delta", "text": delta.pop("thinking")}
    return bool(thoughts)


# Calls


def _lose_call(shape: Shape) -> Change:
    def change(payloads: Payloads) -> bool:
        call = next(shape.calls(payloads), None)
        if call:
            payloads[:] = [one for one in payloads if not any(one is told for told in call.told)]
        return call is not None

    return change


def _rename_call(shape: Shape) -> Change:
    def change(payloads: Payloads) -> bool:
        call = next(shape.calls(payloads), None)
        if call:
            call.holder[call.name] += "_"
        return call is not None

    return change


def _wrong_id(shape: Shape) -> Change:
    def change(payloads: Payloads) -> bool:
        call = next(shape.calls(payloads), None)
        if call:
            call.holder[call.id] += "0"
        return call is not None

    return change


def _lose_argument(shape: Shape) -> Change:
    def change(payloads: Payloads) -> bool:
        for call in shape.calls(payloads):
            if call.holder[call.arguments]:
                call.holder[call.arguments].popitem()
                return True
        return False

    return change


def _lose_argument_anthropic(payloads: Payloads) -> bool:
    for one in payloads:
        delta = one.get("delta", {})
        if delta.get("type") == "input_json_delta" and delta["partial_json"] not in ("", "{}"):
            arguments = _object(delta["partial_json"])
            if arguments:
                arguments.popitem()
                delta["partial_json"] = json.dumps(arguments)
                return True
    return False


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


# Signatures


def _lose_signature_unified(payloads: Payloads) -> bool:
    for one in payloads:
        holder = one if "signature" in one else one.get("tool_call", {})
        if one["type"].endswith("_END") and "signature" in holder:
            del holder["signature"]
            return True
    return False


def _lose_signature_anthropic(payloads: Payloads) -> bool:
    found = next(
        (
            at
            for at, one in enumerate(payloads)
            if one.get("delta", {}).get("type") == "signature_delta"
        ),
        None,
    )
    if found is not None:
        del payloads[found]
    return found is not None


_ERRORS: Final = {
    "agent-events": ("error", ("error",)),
    "art": ("ERROR", ("data", "message")),
    "unified-llm": ("ERROR", ("error", "message")),
    "anthropic": ("error", ("error", "message")),
    "mind": ("error", ("message",)),
}


def _for_all(make: Callable[[Shape], Change]) -> Mapping[str, Change]:
    return {name: make(shape) for name, shape in SHAPES.items()}


def _for_calls(make: Callable[[Shape], Change], *without: str) -> dict[str, Change]:
    return {name: make(SHAPES[name]) for name in WITH_CALLS if name not in without}


OPERATORS: Final[tuple[MutationOperator, ...]] = (
    MutationOperator("text-trimmed", "blanks around a piece of text are missing", _for_all(_trim)),
    MutationOperator("text-lost", "a piece of text lacks its last character", _for_all(_lose_text)),
    MutationOperator("text-doubled", "a piece of text comes twice", _for_all(_double)),
    MutationOperator("parts-merged", "two pieces of text come as one", _for_all(_merge)),
    MutationOperator("parts-swapped", "two pieces of text have changed places", _for_all(_swap)),
    MutationOperator(
        "thought-as-answer",
        "thoughts are shown as the answer",
        {
            "art": _think_aloud_art,
            "unified-llm": _think_aloud_unified,
            "anthropic": _think_aloud_anthropic,
        },
    ),
    MutationOperator("call-lost", "the first call is missing", _for_calls(_lose_call)),
    MutationOperator("call-renamed", "the first call has another name", _for_calls(_rename_call)),
    MutationOperator(
        "argument-lost",
        "a call lacks an argument",
        {**_for_calls(_lose_argument, "anthropic"), "anthropic": _lose_argument_anthropic},
    ),
    MutationOperator("id-wrong", "the first call has another id", _for_calls(_wrong_id, "mind")),
    MutationOperator(
        "signature-lost",
        "a signature is missing",
        {"unified-llm": _lose_signature_unified, "anthropic": _lose_signature_anthropic},
    ),
    MutationOperator(
        "index-wrong",
        "blocks are numbered otherwise",
        {"anthropic": wrong_index_anthropic, "unified-llm": wrong_index_unified},
    ),
    MutationOperator(
        "stopped-early", "the last payload is missing", dict.fromkeys(SHAPES, stop_early)
    ),
    MutationOperator(
        "stop-reason-wrong",
        "the reason to stop is another",
        {
            "agent-events": wrong_stop("turn.completed", ("finishReason",), "done", "error"),
            "art": wrong_stop("METADATA", ("data", "stopReason"), "STOP", "MAX_TOKENS"),
            "unified-llm": wrong_stop("FINISH", ("finish_reason", "reason"), "stop", "length"),
            "anthropic": wrong_stop(
                "message_delta", ("delta", "stop_reason"), "end_turn", "max_tokens"
            ),
            "mind": wrong_stop("error", ("code",), "AGENT_ERROR", "RATE_LIMIT_EXCEEDED"),
        },
    ),
    MutationOperator(
        "usage-wrong",
        "a count is one too high",
        {
            "art": wrong_count("METADATA", ("data", "outputTokens")),
            "unified-llm": wrong_count("FINISH", ("usage", "output_tokens")),
            "anthropic": wrong_count("message_delta", ("usage", "output_tokens")),
        },
    ),
    MutationOperator(
        "error-reworded",
        "the message of an error is another",
        {name: wrong_error(*place) for name, place in _ERRORS.items()},
    ),
    MutationOperator(
        "error-lost",
        "errors are missing",
        {name: lose_error(place[0]) for name, place in _ERRORS.items()},
    ),
)
"""Every damage of payloads, in the order of the table."""
