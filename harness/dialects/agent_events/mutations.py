"""The places in AgentEvents that the mutation operators change."""

from collections.abc import Iterator
from typing import Final

from ..dialect import CallPlace, Mutations, Payload, PayloadPlace


def _calls(payloads: list[Payload]) -> Iterator[CallPlace]:
    for payload in payloads:
        if payload["type"] == "tool.started":
            yield CallPlace([payload], payload, "toolId", "toolName", "input")


MUTATIONS: Final = Mutations(
    texts=PayloadPlace("text", ("text",)),
    calls=_calls,
    stop_reason=(PayloadPlace("turn.completed", ("finishReason",)), "done", "error"),
    count=None,
    error=PayloadPlace("error", ("error",)),
)
