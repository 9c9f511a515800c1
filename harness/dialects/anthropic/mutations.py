"""The places in events of the Messages stream that the mutation operators change."""

from collections.abc import Iterator
from typing import Any, Final

from ..dialect import CallPlace, Mutations, Payload, PayloadPlace, lose_argument, lose_last


def _calls(payloads: list[Payload]) -> Iterator[CallPlace]:
    for payload in payloads:
        block = payload.get("content_block", {})
        if block.get("type") == "tool_use":
            same_block = [other for other in payloads if other.get("index") == payload["index"]]
            yield CallPlace(same_block, block, "id", "name", "input")


def _deltas(payloads: list[Payload], kind: str) -> list[dict[str, Any]]:
    deltas = [payload.get("delta", {}) for payload in payloads]
    return [delta for delta in deltas if delta.get("type") == kind]


def _show_thoughts(payloads: list[Payload]) -> bool:
    thoughts = _deltas(payloads, "thinking_delta")
    for delta in thoughts:
        delta |= {"type": "text_delta", "text": delta.pop("thinking")}
    return bool(thoughts)


def _lose_argument(payloads: list[Payload]) -> bool:
    """Remove an argument from the first piece that holds a whole object."""
    deltas = _deltas(payloads, "input_json_delta")
    return any(lose_argument(delta, "partial_json") for delta in deltas)


def _lose_signature(payloads: list[Payload]) -> bool:
    for at, payload in enumerate(payloads):
        if payload.get("delta", {}).get("type") == "signature_delta":
            del payloads[at]
            return True
    return False


def _number_otherwise(payloads: list[Payload]) -> bool:
    """Give every block the number of the next one."""
    numbered = [payload for payload in payloads if "index" in payload]
    for payload in numbered:
        payload["index"] += 1
    return bool(numbered)


MUTATIONS: Final = Mutations(
    texts=PayloadPlace("content_block_delta", ("delta", "text")),
    calls=_calls,
    stop_reason=(PayloadPlace("message_delta", ("delta", "stop_reason")), "end_turn", "max_tokens"),
    count=PayloadPlace("message_delta", ("usage", "output_tokens")),
    error=PayloadPlace("error", ("error", "message")),
    own={
        "thought-as-answer": _show_thoughts,
        "beside-lost": lose_last("unknown"),
        "argument-lost": _lose_argument,
        "signature-lost": _lose_signature,
        "index-wrong": _number_otherwise,
    },
)
