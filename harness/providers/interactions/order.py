"""The order of the events of a stream, and the ways in which a body differs from the documented
wire.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from harness.stream.framing import frames_of_body
from harness.stream.json_codec import Json

from .messages import is_removed

_BETWEEN: Final = {
    "interaction.status_update": "between",
    "step.start": "in a step",
    "interaction.completed": "completed",
    "error": "over",
}
ORDER: Final[dict[str, dict[str, str]]] = {
    "fresh": {
        "interaction.created": "between",
        **_BETWEEN,
        # A resumed stream begins anywhere.
        "step.delta": "in a step",
        "step.stop": "between",
    },
    "between": _BETWEEN,
    "in a step": {
        "interaction.status_update": "in a step",
        "step.delta": "in a step",
        "step.stop": "between",
        "error": "over",
    },
    "completed": {"[DONE]": "over"},
    "over": {"[DONE]": "over"},
}
"""State → event → next state. A stream may end in any state, and events of other types may be
anywhere. Steps do not overlap: each delta and stop has the index of the step that is open.
"""


def variants_in(body: bytes) -> list[str]:
    """The variants in a body, in words; none for the documented wire."""
    frames = frames_of_body(body)
    messages = [frame.json if frame.raw is None else frame.raw.strip() for frame in frames]
    variants = set()
    if any(type(message) is dict and is_removed(message) for message in messages):
        variants.add("the removed schema")
    elif not is_in_order(messages):
        variants.add("events out of order")
    if len(messages) > 1 and not re.search(rb"^data:", body, re.MULTILINE):
        variants.add("JSON lines")
    return sorted(variants)


def is_in_order(messages: Iterable[Json]) -> bool:
    """Whether the events of a stream have the documented order."""
    state, step = "fresh", None
    for message in messages:
        known = type(message) is dict and type(message.get("event_type")) is str
        kind = message["event_type"] if known else message
        if type(kind) is not str or not any(kind in follows for follows in ORDER.values()):
            continue
        following = ORDER[state].get(kind)
        if following is None:
            return False
        index = message.get("index") if known else None
        if kind in ("step.delta", "step.stop") and step is not None and index != step:
            return False
        step = index if following == "in a step" and kind != "interaction.status_update" else step
        state = following
    return True
