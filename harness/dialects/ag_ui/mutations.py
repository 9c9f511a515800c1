"""The places in AG-UI events that the mutation operators change."""

from collections.abc import Iterator
from typing import Final

from ..dialect import CallPlace, Mutations, Payload, PayloadPlace, lose_argument, lose_last


def _calls(payloads: list[Payload]) -> Iterator[CallPlace]:
    for payload in payloads:
        if payload["type"] == "TOOL_CALL_START":
            own = _of_call(payloads, payload["toolCallId"])
            yield CallPlace(own, payload, "toolCallId", "toolCallName", "arguments")


def _of_call(payloads: list[Payload], call_id: str) -> list[Payload]:
    return [payload for payload in payloads if payload.get("toolCallId") == call_id]


def _lose_argument(payloads: list[Payload]) -> bool:
    """Remove an argument of the first call that has one. The first piece then has the rest."""
    for call in _calls(payloads):
        pieces = [payload for payload in call.payloads if payload["type"] == "TOOL_CALL_ARGS"]
        joined = {"delta": "".join(piece["delta"] for piece in pieces)}
        if lose_argument(joined, "delta"):
            pieces[0]["delta"] = joined["delta"]
            payloads[:] = [
                payload for payload in payloads if all(payload is not own for own in pieces[1:])
            ]
            return True
    return False


def _change_id(payloads: list[Payload]) -> bool:
    """Give all events of the first call another id."""
    for call in _calls(payloads):
        for payload in call.payloads:
            payload["toolCallId"] += "0"
        return True
    return False


def _show_thoughts(payloads: list[Payload]) -> bool:
    thoughts = [payload for payload in payloads if payload["type"].startswith("REASONING_MESSAGE_")]
    for payload in thoughts:
        payload["type"] = payload["type"].replace("REASONING", "TEXT")
        if "role" in payload:
            payload["role"] = "assistant"
    return bool(thoughts)


def _lose_signature(payloads: list[Payload]) -> bool:
    for at, payload in enumerate(payloads):
        if payload["type"] == "REASONING_ENCRYPTED_VALUE":
            del payloads[at]
            return True
    return False


def _rename_message(payloads: list[Payload]) -> bool:
    """Give the start of a message of text another id than its pieces."""
    for payload in payloads:
        if payload["type"] == "TEXT_MESSAGE_START":
            payload["messageId"] += "0"
            return True
    return False


MUTATIONS: Final = Mutations(
    texts=PayloadPlace("TEXT_MESSAGE_CONTENT", ("delta",)),
    calls=_calls,
    stop_reason=(PayloadPlace("RUN_FINISHED", ("outcome", "type")), "success", "cancelled"),
    count=PayloadPlace("RUN_FINISHED", ("usage", 0, "outputTokens")),
    error=PayloadPlace("RUN_ERROR", ("message",)),
    own={
        "thought-as-answer": _show_thoughts,
        "beside-lost": lose_last("RAW"),
        "argument-lost": _lose_argument,
        "id-wrong": _change_id,
        "signature-lost": _lose_signature,
        "index-wrong": _rename_message,
    },
    unsent=frozenset({"sent-setting-wrong", "sent-tool-choice-lost", "sent-memory-wrong"}),
)
