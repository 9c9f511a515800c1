"""The places in StreamEvents that the mutation operators change."""

from collections.abc import Iterator
from typing import Final

from ..dialect import CallPlace, Mutations, Payload, PayloadPlace, lose_last


def _calls(payloads: list[Payload]) -> Iterator[CallPlace]:
    for at, payload in enumerate(payloads):
        if payload["type"] == "TOOL_CALL_END":
            start = next(
                earlier for earlier in payloads[at::-1] if earlier["type"] == "TOOL_CALL_START"
            )
            yield CallPlace([start, payload], payload["tool_call"], "id", "name", "arguments")


def _show_thoughts(payloads: list[Payload]) -> bool:
    thoughts = [payload for payload in payloads if payload["type"].startswith("REASONING_")]
    for payload in thoughts:
        payload["type"] = payload["type"].replace("REASONING", "TEXT")
        if "reasoning_delta" in payload:
            payload["delta"] = payload.pop("reasoning_delta")
        payload["text_id"] = "text_0"
    return bool(thoughts)


def _lose_signature(payloads: list[Payload]) -> bool:
    for payload in payloads:
        holder = payload if "signature" in payload else payload.get("tool_call", {})
        if payload["type"].endswith("_END") and "signature" in holder:
            del holder["signature"]
            return True
    return False


def _rename_text_block(payloads: list[Payload]) -> bool:
    """Give the start of a block of text another id than its pieces."""
    for payload in payloads:
        if payload["type"] == "TEXT_START":
            payload["text_id"] += "0"
            return True
    return False


MUTATIONS: Final = Mutations(
    texts=PayloadPlace("TEXT_DELTA", ("delta",)),
    calls=_calls,
    stop_reason=(PayloadPlace("FINISH", ("finish_reason", "reason")), "stop", "length"),
    count=PayloadPlace("FINISH", ("usage", "output_tokens")),
    error=PayloadPlace("ERROR", ("error", "message")),
    own={
        "thought-as-answer": _show_thoughts,
        "beside-lost": lose_last("PROVIDER_EVENT"),
        "signature-lost": _lose_signature,
        "index-wrong": _rename_text_block,
    },
)
