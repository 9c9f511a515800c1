"""The strict reader of Gemini's messages: the spelling, the types and the framing of the
documented wire, as the client `google-genai` reads it. The oracle then reads the facts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from harness.facts import Raw
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .wire_reader import Framing, Unreadable, WireReader, object_in, objects_in, text_in

_KNOWN: Final = ("candidates", "promptFeedback", "usageMetadata", "error")
"""The fields of a message, at least one of which it must have."""
_PROPER: Final = ("modelVersion", "responseId", "createTime", "sdkHttpResponse")
_FREE: Final = ("args", "response", "error")
"""Objects whose fields are named by a tool or a server."""


class Gemini(WireReader):
    """Checks each message. The judge lets the oracle read all of them together."""

    framing: ClassVar[Framing] = Framing(data_only=True, closes_last=True)

    def _read(self, message: dict[str, Json]) -> None:
        if not any(name in message for name in (*_KNOWN, *_PROPER)):
            raise Unreadable(
                f"it has none of the fields {', '.join(_KNOWN)}: {short_json(message)}"
            )
        if name := next(_snake_names(message), None):
            raise Unreadable(f"the field {name} is in snake_case; the wire has camelCase")
        for candidate in objects_in(message, "candidates"):
            self._check_candidate(candidate)
        if message.get("promptFeedback") is not None:
            text_in(object_in(message, "promptFeedback"), "blockReason", "promptFeedback.")
        if message.get("usageMetadata") is not None:
            for name, count in object_in(message, "usageMetadata").items():
                if name.endswith("TokenCount") and type(count) not in (int, type(None)):
                    raise Unreadable(
                        f"usageMetadata.{name} is {short_json(count)}; expected a number"
                    )
        if message.get("error") is not None:
            object_in(message, "error")
        self._add(Raw(message))

    def _check_candidate(self, candidate: dict[str, Json]) -> None:
        if type(candidate.get("index", 0)) not in (int, type(None)):
            raise Unreadable(f"index is {short_json(candidate['index'])}; expected a number")
        for name in ("finishReason", "finishMessage"):
            text_in(candidate, name, "candidates[].")
        if candidate.get("content") is None:
            return
        content = object_in(candidate, "content", "candidates[].")
        for part in objects_in(content, "parts", "content."):
            self._check_part(part)

    def _check_part(self, part: dict[str, Json]) -> None:
        for name in ("text", "thoughtSignature"):
            text_in(part, name, "parts[].")
        if part.get("thought") not in (None, True, False):
            raise Unreadable(
                f"parts[].thought is {short_json(part['thought'])}; expected a boolean"
            )
        if part.get("functionCall") is None:
            return
        call = object_in(part, "functionCall", "parts[].")
        for name in ("id", "name"):
            text_in(call, name, "functionCall.")
        if call.get("args") is not None:
            object_in(call, "args", "functionCall.")
        objects_in(call, "partialArgs", "functionCall.")


def _snake_names(value: Json) -> Iterator[str]:
    """Yield the fields in snake_case, without those that a tool or a server names."""
    if isinstance(value, list):
        for item in value:
            yield from _snake_names(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if "_" in name:
                yield name
            elif name not in _FREE:
                yield from _snake_names(item)
