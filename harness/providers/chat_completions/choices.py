"""Reads the choices of an answer: their deltas or messages, their other fields, the finish reasons.

A delta gives its text, then its signature, then its calls; a choice gives its delta, then its
annotations, then its finish reason, which also ends its calls. `Choices` reads the plain wire; a
provider with more than that overrides the methods without an underscore.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import (
    Annotation,
    Event,
    Finish,
    FinishClass,
    Media,
    Reasoning,
    Text,
    Unknown,
)
from harness.stream.json_codec import Json

from ..gemini.fields import Fields
from .calls import Calls

_CHOICE: Final = {name: name for name in ("index", "delta", "message", "finish_reason", "logprobs")}
_DELTA: Final = {
    name: name
    for name in (
        *("role", "content", "refusal", "audio", "annotations", "function_call", "tool_calls"),
        *("extra_content", "thought_signature"),
    )
}
_AUDIO: Final = {name: name for name in ("id", "data", "transcript", "expires_at")}
_ROLES: Final = ("assistant", "model", "")
_INSIDE: Final = "content inside a call of another choice"
FINISH_REASONS: Final[dict[str, FinishClass]] = {
    **dict.fromkeys(("stop", "tool_calls", "function_call"), "stop"),
    "length": "length",
    "content_filter": "content_filter",
}


class Choices:
    """All choices of one answer. Choice 0 is the answer."""

    def __init__(self, *, live: bool = True) -> None:
        self.calls = Calls(live)

    def read(self, choices: list[Json], out: list[Event]) -> None:
        """Read one list of choices. A missing index is the place in the list."""
        for position, choice in enumerate(choices):
            if type(choice) is not dict:
                out.append(Unknown("choice", choice))
                continue
            fields = Fields(choice, _CHOICE)
            index = fields.values.get("index", position)
            if type(index) is int and index >= 0:
                fields.take("index")
            else:
                index = position
            self._read_choice(fields, index, out)

    def read_text(self, text: str, index: int, out: list[Event]) -> None:
        """Read a text that stands in a delta alone."""
        if self.calls.none_came:
            out.append(Text(text, None, index))
        else:
            self.put(Text(text, None, index), out)

    def put(self, event: Text | Reasoning | Media, out: list[Event]) -> None:
        """Add content; it ends the calls before it."""
        if self.calls.make_way(event.candidate, out):
            out.append(event)
        else:
            raw = event.raw if isinstance(event, Media) else {"content": event.text}
            out.append(Unknown(_INSIDE, raw, event.candidate))

    def finish_class(self, reason: str) -> FinishClass:
        """The class of a finish reason."""
        return FINISH_REASONS.get(reason, "other")

    def read_content(self, content: str, fields: Fields, index: int, out: list[Event]) -> None:
        """Read the text of a delta or message (``""`` if there is none) and the fields that sign
        it.
        """
        if content:
            self.read_text(content, index, out)

    def call_signature(self, wire: dict[str, Json]) -> tuple[str | None, dict[str, Json]]:
        """The signature beside a call, and the call without it."""
        return None, wire

    def release(self, index: int, out: list[Event]) -> None:
        """Other content of a choice follows, so held-back text is text."""

    def release_all(self, out: list[Event]) -> None:
        """Release the text of every choice."""

    def _read_choice(self, fields: Fields, index: int, out: list[Event]) -> None:
        reason, logprobs = (
            fields.take("finish_reason", str),
            fields.take_raw("logprobs", dict),
        )
        for name in ("delta", "message"):
            holder = fields.take(name, dict)
            if holder:
                self._read_delta(Fields(holder, _DELTA), index, out)
        if reason:
            self.release(index, out)
            self.calls.make_way(index, out)
        if logprobs:
            out.append(Annotation("logprobs", logprobs, index))
        out += [Unknown(f"choice field {key}", {key: value}, index) for key, value in fields.left()]
        if reason:
            out.append(Finish(self.finish_class(reason), reason, None, index))

    def _read_delta(self, fields: Fields, index: int, out: list[Event]) -> None:
        if fields.values.get("role") in _ROLES:
            fields.take("role")
        refusal, audio = fields.take("refusal", str), fields.take("audio", dict)
        old_call, calls = fields.take("function_call", dict), fields.take("tool_calls", list) or ()
        annotations = fields.take_raw("annotations", list)
        self.read_content(fields.take("content", str) or "", fields, index, out)
        if refusal:
            self.release(index, out)
            self.put(Text(refusal, None, index, None, True), out)
        if audio is not None:
            self._read_audio(audio, index, out)
        if old_call is not None:
            calls = [{"function": old_call}, *calls]
        for call in calls:
            if type(call) is dict:
                self.release(index, out)
                signature, wire = self.call_signature(call)
                self.calls.read(wire, signature, index, out)
            else:
                out.append(Unknown("call", call, index))
        if annotations and annotations["annotations"]:
            out.append(Annotation("citations", annotations, index))
        out += [Unknown(f"delta field {key}", {key: value}, index) for key, value in fields.left()]

    def _read_audio(self, audio: dict[str, Json], index: int, out: list[Event]) -> None:
        """Read a piece of sound: its transcript is text of the answer."""
        fields = Fields(audio, _AUDIO)
        self.release(index, out)
        data, transcript = fields.take("data", str), fields.take("transcript", str)
        if transcript:
            self.put(Text(transcript, None, index), out)
        if data:
            self.put(Media(None, {"audio": audio}, data, None, False, None, index), out)
            return
        out += [Unknown(f"audio field {key}", {key: value}, index) for key, value in fields.left()]
