"""Reads the candidates of an answer: their parts, the fields beside them, and their finish reasons.

A candidate gives its parts, then its annotations, then its finish reason, which also ends an open
call (https://ai.google.dev/api/generate-content#candidate).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.stream.events import Annotation, Event, Finish, Unknown
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

from .fields import SpelledFields, spellings
from .finish_reasons import FINISH_REASONS, name_reason
from .parts import Parts
from .usual import Candidate

_ANNOTATIONS: Final[dict[str, tuple[str, tuple[type, ...]]]] = {
    "citationMetadata": ("citations", (dict,)),
    "groundingMetadata": ("grounding", (dict,)),
    "urlContextMetadata": ("url_context", (dict,)),
    "logprobsResult": ("logprobs", (dict,)),
    "avgLogprobs": ("logprobs", (int, float, str)),
    "tokenCount": ("token_count", (int, str)),
    "safetyRatings": ("safety_ratings", (list,)),
    "continuationToken": ("continuation_token", (str,)),
}
"""Field → name of the annotation, types on the wire. Numbers may be strings (``"NaN"``, int64)."""

_USUAL_ANNOTATIONS: Final = [
    (name, kind) for name, kind in _ANNOTATIONS.items() if name in Candidate.__struct_fields__
]
_CANDIDATE: Final = spellings(
    " ".join(["content", "index", "finishReason", "finishMessage", *_ANNOTATIONS])
)
_CONTENT: Final = spellings("parts role")
NOT_REQUESTED: Final = "candidates that were not requested"
"""The oddity of an index; a request may ask for several candidates."""
OLD: Final = "old fields"
"""The oddity of fields that only old answers have."""
_EMPTY: Final[tuple[Json, ...]] = ({}, [], "")


class Candidates:
    """All candidates of one answer."""

    def __init__(self, tool_code: bool, oddities: Oddities) -> None:
        self._oddities = oddities
        self.parts = Parts(tool_code, oddities)

    def read(self, candidates: list[Json], calls: Sequence[Json], out: list[Event]) -> None:
        """Read one ``candidates`` list. ``calls`` are calls beside the list; they belong to the
        answer. A missing index is 0 for the first candidate, else the place in the list.
        """
        answered = False
        for position, candidate in enumerate(candidates):
            if type(candidate) is not dict:
                out.append(Unknown("candidate", candidate))
                continue
            index = candidate.get("index")
            if index:
                self._oddities.note(NOT_REQUESTED, index)
            if "citations" in candidate:
                self._oddities.note(OLD, candidate["citations"])
            if type(index) is not int or index < 0:
                index = position if answered else 0
            if index == 0:
                self._read(candidate, 0, () if answered else calls, out)
                answered = True
            else:
                self._read(candidate, index, (), out)
        if calls and not answered:
            self._read({}, 0, calls, out)

    def _read(
        self, candidate: dict[str, Json], index: int, calls: Sequence[Json], out: list[Event]
    ) -> None:
        fields = SpelledFields(candidate, _CANDIDATE, self._oddities)
        if type(fields.values.get("index")) is int and fields.values["index"] >= 0:
            fields.take("index")
        content = fields.take("content", dict)
        if content is not None:
            self._read_content(content, index, out)
        for call in calls:
            self.parts.read({"functionCall": call}, index, out)
        reason, message = (
            fields.take("finishReason", str, int),
            fields.take_raw("finishMessage", str),
        )
        if type(reason) is int:
            self._oddities.note("finishReason", reason)
        if reason not in _NO_REASON:
            self.parts.end(index, out)
        for name, (kind, types) in _ANNOTATIONS.items() if fields.values else ():
            raw = fields.take_raw(name, *types) if name in fields.values else None
            if raw is not None and next(iter(raw.values())) not in _EMPTY:
                out.append(Annotation(kind, raw, index))
        out += [
            Unknown(f"candidate field {key}", {key: value}, index) for key, value in fields.left()
        ]
        if reason not in _NO_REASON:
            word = name_reason(reason)
            text = next(iter(message.values())) if message else None
            out.append(Finish(FINISH_REASONS.get(word, "other"), word, text, index))
        elif message:
            out.append(Unknown("candidate field finishMessage", message, index))

    def read_usual(self, candidate: Candidate, out: list[Event]) -> bool:
        """Read the only candidate of a message that a strict decoder took, while no call is open.
        Returns False, and reads nothing, if a part has an unusual kind.
        """
        if candidate.finishMessage is not None and not candidate.finishReason:
            return False
        parts = candidate.content.parts if candidate.content else None
        if parts and not self.parts.read_usual(parts, out):
            return False
        for name, (kind, _) in _USUAL_ANNOTATIONS:
            value = getattr(candidate, name)
            if value is not None and value not in _EMPTY:
                out.append(Annotation(kind, {name: value}))
        word = candidate.finishReason
        if word:
            kind = FINISH_REASONS.get(word, "other")
            out.append(Finish(kind, word, candidate.finishMessage))
        return True

    def _read_content(self, content: dict[str, Json], index: int, out: list[Event]) -> None:
        fields = SpelledFields(content, _CONTENT, self._oddities)
        if fields.values.get("role") == "model":
            fields.take("role")
        for part in fields.take("parts", list) or ():
            self.parts.read(part, index, out)
        out += [
            Unknown(f"content field {key}", {key: value}, index) for key, value in fields.left()
        ]


_NO_REASON: Final = (None, "")
