"""The places in StreamEvents that the mutation operators change."""

from typing import Final

from ..dialect import Mutations, Payload, PayloadPlace, lose_last


def _show_thoughts(payloads: list[Payload]) -> bool:
    thoughts = [
        payload
        for payload in payloads
        if payload["type"] == "TOKEN" and payload["tokenType"].endswith("LLM_THINKING")
    ]
    for payload in thoughts:
        payload["tokenType"] = payload["tokenType"].replace("THINKING", "RESPONSE")
    return bool(thoughts)


MUTATIONS: Final = Mutations(
    texts=PayloadPlace("TOKEN", ("data",)),
    calls=None,
    stop_reason=(PayloadPlace("METADATA", ("data", "stopReason")), "STOP", "MAX_TOKENS"),
    count=PayloadPlace("METADATA", ("data", "outputTokens")),
    error=PayloadPlace("ERROR", ("data", "message")),
    own={"thought-as-answer": _show_thoughts, "beside-lost": lose_last("UNKNOWN")},
    unsent=frozenset(
        {
            *("sent-id-wrong", "sent-result-id-wrong", "sent-signature-lost"),
            *(
                "sent-signature-moved",
                "sent-system-lost",
                "sent-tool-choice-lost",
                "sent-memory-wrong",
            ),
        }
    ),
)
