"""The reader of Gemini's messages, which all of Google's surfaces share.

A message is a GenerateContentResponse
(https://ai.google.dev/api/generate-content#generatecontentresponse), bare or in Code Assist's
envelope, in either spelling, from the wire or from a dump of a client library's object; or it is an
error. The order of its events is that of `harness.stream.events`: start, metadata, usage,
candidates, then a block or an error.

Facts about the whole reply become events when they are new or have changed, because most surfaces
repeat them in every message.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import (
    INTERRUPTED,
    Annotation,
    Blocked,
    End,
    Event,
    Finish,
    Incomplete,
    Metadata,
    Start,
    Unknown,
)
from harness.stream.framing import Frame
from harness.stream.json_codec import Json

from ..provider import Answer
from .candidates import Candidates
from .errors import read_error, read_error_text
from .fields import Fields, spellings
from .usage import read_usage
from .usual import read_usual

_METADATA: Final[dict[str, tuple[str, tuple[type, ...]]]] = {
    "modelVersion": ("model", (str,)),
    "responseId": ("id", (str,)),
    "createTime": ("created", (str,)),
    "modelStatus": ("model_status", (dict,)),
    "traceId": ("trace_id", (str,)),
    "consumedCredits": ("credits", (list,)),
    "remainingCredits": ("credits", (list,)),
    "metadata": ("envelope", (dict,)),
    "sdkHttpResponse": ("envelope", (dict,)),
    "automaticFunctionCallingHistory": ("envelope", (list,)),
    "parsed": ("envelope", ()),
}
"""Field → name of the metadata, types on the wire. The last three are fields of google-genai's
objects.
"""

_CONTENT: Final = ("candidates", "functionCalls", "promptFeedback", "usageMetadata")
_RESPONSE: Final = spellings(" ".join(["response", "error", *_CONTENT, *_METADATA]))
_FEEDBACK: Final = spellings("blockReason blockReasonMessage safetyRatings")
_NAMES: Final = ("modelVersion", "responseId", "createTime", "traceId", "metadata")


class GeminiNormalizer:
    """One answer: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._candidates = Candidates(answer.tool_code)
        self._names: tuple[Json, ...] | None = None  # of the latest message
        self._seen: dict[str, Json] = {}
        self._untouched = True
        self._errors = 0
        self._texts: list[str] = []  # a failed answer: all of them are one error
        self._rest: list[str] = []  # the message that the stream ended inside

    def feed(self, frame: Frame) -> list[Event]:
        if frame.raw is not None and not frame.raw.strip():
            return []  # an event without data only keeps the connection alive
        self._untouched = False
        out: list[Event] = []
        message = frame.json
        if type(message) is dict:
            self._read(message, out)
        elif frame.raw is not None:
            self._read_text(frame.raw, frame.partial, out)
        elif self._answer.failed and not self._errors:
            self._fail(message, out)
        elif type(message) is list and message and all(type(item) is dict for item in message):
            for item in message:
                self._read(item, out)
        else:
            out.append(Unknown("frame", message))
        return out

    def close(self, end: End = "complete") -> list[Event]:
        texts = self._texts + self._rest
        parts = self._candidates.parts
        out: list[Event] = []
        if end in INTERRUPTED:
            parts.release_all(out)
            return [*out, Incomplete(end, "\n".join(texts))]
        if self._untouched and not self._answer.failed:
            # A whole answer without a message is an empty reply.
            out.append(Start(self._answer.model))
        if not self._errors:
            parts.calls.end(out)
        parts.release_all(out)
        if self._answer.failed and not self._errors:
            out.append(read_error_text("\n".join(texts), self._answer))
        else:
            out += [Unknown("frame", text) for text in texts]
        return out

    def _read_text(self, text: str, partial: bool, out: list[Event]) -> None:
        """A frame that is not JSON."""
        if partial:
            self._rest.append(text)
        elif self._answer.failed and not self._errors:
            self._texts.append(text)
        else:
            out.append(Unknown("frame", text))

    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        usual, names = read_usual(message)
        if usual is None or names != self._names:
            self._read_any(message, out)
            return
        if usual.usageMetadata:
            out.append(read_usage(usual.usageMetadata))
        for candidate in usual.candidates:
            self._candidates.read_usual(candidate, out)

    def _read_any(self, message: dict[str, Json], out: list[Event]) -> None:
        fields = Fields(message, _RESPONSE)
        inner = fields.take("response", dict)
        if inner is not None:
            fields.merge(Fields(inner, _RESPONSE))
        error = fields.values.get("error")
        wrong = bool(error) or type(error) is dict
        if (wrong and fields.values.keys().isdisjoint(_CONTENT)) or (
            self._answer.failed and not fields.values
        ):
            self._fail(message, out)
            return
        if wrong:
            fields.take("error")
        names = tuple(fields.values.get(name) for name in _NAMES)
        self._read_metadata(fields, out)
        self._names = names
        usage, feedback = fields.take("usageMetadata", dict), fields.take("promptFeedback", dict)
        candidates, calls = fields.take("candidates", list), fields.take("functionCalls", list)
        for key, value in fields.left():
            if self._is_new(f"field {key}", value):
                out.append(Unknown(f"field {key}", {key: value}))
        if usage:
            out.append(read_usage(usage))
        if candidates or calls:
            self._candidates.read(candidates or [], calls or (), out)
        if feedback:
            _read_feedback(feedback, out)
        if wrong:
            self._fail(message, out)

    def _read_metadata(self, fields: Fields, out: list[Event]) -> None:
        fresh: dict[str, Event] = {}
        for key, (name, types) in _METADATA.items():
            raw = fields.take_raw(key, *types)
            if raw is not None and self._is_new(key, next(iter(raw.values()))):
                fresh[key] = Metadata(name, raw)
        if self._names is None:
            out.append(
                Start(
                    self._seen.get("modelVersion", self._answer.model), self._seen.get("responseId")
                )
            )
            fresh = {
                key: event
                for key, event in fresh.items()
                if key not in ("modelVersion", "responseId")
            }
        out += fresh.values()

    def _is_new(self, key: str, value: Json) -> bool:
        """Whether a fact is new or has changed."""
        if key in self._seen and self._seen[key] == value:
            return False
        self._seen[key] = value
        return True

    def _fail(self, message: Json, out: list[Event]) -> None:
        self._errors += 1
        self._candidates.parts.release_all(out)
        out.append(read_error(message, self._answer))


def _read_feedback(feedback: dict[str, Json], out: list[Event]) -> None:
    """Put the facts about the prompt among the annotations of the message; a refusal ends it."""
    fields = Fields(feedback, _FEEDBACK)
    ratings = fields.take_raw("safetyRatings", list)
    reason, message = (
        fields.take("blockReason", str, int),
        fields.take_raw("blockReasonMessage", str),
    )
    beside: list[Event] = (
        [Annotation("safety_ratings", ratings, -1)] if ratings and all(ratings.values()) else []
    )
    beside += [
        Unknown(f"promptFeedback field {key}", {key: value}, -1) for key, value in fields.left()
    ]
    if message and not reason:
        beside.append(Unknown("promptFeedback field blockReasonMessage", message, -1))
    finish = next((index for index, event in enumerate(out) if type(event) is Finish), len(out))
    out[finish:finish] = beside
    if reason is not None and reason != "":
        out.append(
            Blocked(
                f"#{reason}" if type(reason) is int else reason,
                next(iter(message.values())) if message else None,
            )
        )
