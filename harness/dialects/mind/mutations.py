"""The places in records that the mutation operators change."""

from collections.abc import Iterator
from typing import Final

from ..dialect import CallPlace, Mutations, Payload, PayloadPlace


def _calls(payloads: list[Payload]) -> Iterator[CallPlace]:
    for payload in payloads:
        if payload["type"] == "tool_code":
            yield CallPlace([payload], payload, None, "name", "args")


MUTATIONS: Final = Mutations(
    texts=PayloadPlace("assistant", ("message", "content", 0, "text")),
    calls=_calls,
    stop_reason=(PayloadPlace("error", ("code",)), "AGENT_ERROR", "RATE_LIMIT_EXCEEDED"),
    count=None,
    error=PayloadPlace("error", ("message",)),
    own={"id-wrong": None},
    unsent=frozenset(
        {"sent-setting-wrong", "sent-system-lost", "sent-tool-choice-lost", "sent-memory-wrong"}
    ),
)
