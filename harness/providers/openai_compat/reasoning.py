"""Reads the reasoning of servers that have fields for it: ``reasoning_content`` (DeepSeek and
others), or ``reasoning`` with ``reasoning_details``
(https://openrouter.ai/docs/use-cases/reasoning-tokens).

A server may send the same text in several fields; it is read once. The signed or encrypted items of
``reasoning_details`` must go back to the server, so the items are passed on as they are, too.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import Annotation, Event, Reasoning, Unknown
from harness.stream.json_codec import Json, objects_in

from ..gemini.fields import SpelledFields

FIELDS: Final = ("reasoning_content", "reasoning", "reasoning_details")


def read_reasoning(fields: SpelledFields, index: int) -> list[Event]:
    """Return the events of the reasoning of one delta or message; takes its fields."""
    if fields.values.keys().isdisjoint(FIELDS):
        return []
    content, short = fields.take("reasoning_content", str), fields.take("reasoning", str)
    details = fields.take_raw("reasoning_details", list)
    items = objects_in(details["reasoning_details"]) if details else []
    text = content or short or "".join(map(_text_of, items))
    out: list[Event] = [Reasoning(text, None, index)] if text else []
    for item in items:
        if signature := _string(item, "signature") or _string(item, "data"):
            out.append(Reasoning("", signature, index, _string(item, "id")))
    if content and short and content != short:
        out.append(Unknown("delta field reasoning", {"reasoning": short}, index))
    if details and details["reasoning_details"]:
        out.append(Annotation("part", details, index))
    return out


def _text_of(item: dict[str, Json]) -> str:
    return _string(item, "text") or _string(item, "summary") or ""


def _string(item: dict[str, Json], name: str) -> str | None:
    value = item.get(name)
    return value if type(value) is str and value else None
