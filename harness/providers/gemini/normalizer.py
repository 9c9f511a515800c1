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

from collections.abc import Callable
from typing import Any, Final

from harness.stream.events import (
    Annotation,
    Blocked,
    Event,
    Finish,
    Metadata,
    Reasoning,
    Start,
    Text,
    Unknown,
    Usage,
)
from harness.stream.framing import Frame
from harness.stream.framing.json_documents import REFUSED
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

from ..answer_reader import AnswerReader
from ..provider import TIER, Answer
from ..wire_values import values_in
from .candidates import OLD, Candidates
from .fields import SpelledFields, note_spelling, spellings
from .usage import CAMEL, COUNTED, read_usage, unknown_counts
from .usual import UsualMessage, continuation, decode_message

MAX_FORMS: Final = 8
"""The limit of decoders for usual messages that are made for one answer."""

_METADATA: Final[dict[str, tuple[str, tuple[type, ...]]]] = {
    "modelVersion": ("model", (str,)),
    "responseId": ("id", (str,)),
    "createTime": ("created", (str,)),
    "turnToken": ("session", (str,)),
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


class GeminiNormalizer(AnswerReader):
    """One answer: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._candidates = Candidates(answer.tool_code, self.oddities)
        self._expected: tuple[bool, tuple[str, ...]] | None = None  # the form of the next message
        self._continuation: Callable[[bytes], Any] | None = None  # its decoder, if any
        self._decoder: Callable[[bytes], Any] | None = None  # for messages of this form:
        self._form: tuple[bool, tuple[str, ...]] | None = None  # in an envelope, names of counts
        self._wrapped = False
        self._counted = False  # whether any of them is a count
        self._forms = 0
        self._names: tuple[Json, ...] | None = None  # of the latest message
        self._repeated: tuple[Json, ...] = ()  # the first three of them

    def feed(self, frame: Frame) -> list[Event]:
        data, decode = frame.message, self._continuation
        if type(data) is not bytes:
            return super().feed(frame)
        if decode is None:
            decode = self._expected and self._expected_decoder(*self._expected)
            if decode is None:
                return self._feed_message(frame, data)
        try:
            usual = decode(data)
        except REFUSED:
            return self._feed_message(frame, data)
        message = usual
        if self._wrapped:
            message = usual.response
            if usual.traceId != self._seen.get("traceId"):
                return super().feed(frame)
        if (message.modelVersion, message.responseId, message.createTime) != self._repeated:
            return super().feed(frame)
        candidate, counts = message.candidates[0], message.usageMetadata
        part = candidate.content.parts[0]
        text = (Reasoning if part.thought else Text)(part.text, part.thoughtSignature or None)
        out: list[Event]
        if counts is None:
            out = [text]
        elif not self._counted:
            out = [Usage(counts), text]
        else:
            usage = Usage(
                counts,
                counts.promptTokenCount,
                counts.candidatesTokenCount,
                counts.thoughtsTokenCount,
                counts.cachedContentTokenCount,
                counts.toolUsePromptTokenCount,
                counts.totalTokenCount,
            )
            out = [usage, text]
        if candidate.finishReason is not None:
            out.append(Finish("stop", candidate.finishReason))
        return out

    def _feed_message(self, frame: Frame, data: bytes) -> list[Event]:
        """Return the events of a frame whose message does not have the form of the message
        before.
        """
        if not self._candidates.parts.idle:
            return super().feed(frame)
        message = frame.usual
        if type(message) is not UsualMessage:
            try:
                message = decode_message(data)
            except REFUSED:
                return super().feed(frame)
        names = message.modelVersion, message.responseId, message.createTime
        first, usage = self._names is None, message.usageMetadata
        if (not first and names != self._repeated) or (usage and unknown_counts(usage)):
            return super().feed(frame)
        out: list[Event] = []
        if first:
            out.append(Start(self._answer.model if names[0] is None else names[0], names[1]))
            self._read_tier(out)
            if names[2] is not None:
                out.append(Metadata("created", {"createTime": names[2]}))
        if usage:
            out.append(read_usage(usage))
        if not self._candidates.read_usual(message.candidates[0], out):
            return super().feed(frame)
        if first:
            self._id = names[1]
            self._seen.update(zip(_NAMES, names, strict=False))
            self._names = *names, None, None
        self._untouched = False
        self._expect_same(False, tuple(usage or ()))
        return out

    def _release(self, out: list[Event]) -> list[str]:
        self._candidates.parts.release_all(out)
        return []

    def _end(self, out: list[Event]) -> None:
        if not self._errors:
            self._candidates.parts.calls.end(out)
        self._candidates.parts.release_all(out)

    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        fields = SpelledFields(message, _RESPONSE, self.oddities)
        inner = fields.take("response", dict)
        if inner is not None:
            fields.merge(SpelledFields(inner, _RESPONSE, self.oddities))
        error = fields.values.get("error")
        wrong = bool(error) or type(error) is dict
        if (wrong and fields.values.keys().isdisjoint(_CONTENT)) or (
            self._answer.failed and not fields.values
        ):
            self._fail(message, out)
            return
        if wrong:
            fields.take("error")
        if "functionCalls" in fields.values or type(fields.values.get("candidates")) is dict:
            self.oddities.note(OLD, message)
        names = tuple(map(fields.values.get, _NAMES))
        self._read_metadata(fields, out)
        self._names = names
        usage, feedback = fields.take("usageMetadata", dict), fields.take("promptFeedback", dict)
        candidates, calls = fields.take("candidates", list), fields.take("functionCalls", list)
        if left := fields.left():
            within = values_in([value for _, value in left])
            held = (name for item in within if type(item) is dict for name in item)
            note_spelling(held, self.oddities)
            self._report_unknown(left, out)
        if usage:
            out.append(read_usage(usage))
            if not usage.keys() <= CAMEL:
                self._report_new(unknown_counts(usage), out)
                note_spelling(usage, self.oddities)
        if candidates or calls:
            self._candidates.read(candidates or [], calls or (), out)
        if feedback:
            _read_feedback(feedback, self.oddities, out)
        if wrong:
            self._fail(message, out)
        self._expect_same(inner is not None, tuple(usage or ()))

    def _expect_same(self, wrapped: bool, counts: tuple[str, ...]) -> None:
        """Expect the form of this message in the next one."""
        self._repeated = self._names[:3] if self._names else ()
        usual = self._names is not None and self._names[4] is None and self._candidates.parts.idle
        self._expected = (wrapped, counts) if usual else None
        self._continuation = None

    def _expected_decoder(
        self, wrapped: bool, counts: tuple[str, ...]
    ) -> Callable[[bytes], Any] | None:
        """Return the decoder of the expected form, or of an earlier form if there were too many.
        The decoder is made when the next message comes, because most answers have only one message.
        """
        if (wrapped, counts) != self._form and self._forms < MAX_FORMS:
            self._forms += 1
            self._form, self._wrapped = (wrapped, counts), wrapped
            self._decoder = continuation(wrapped, counts)
            self._counted = any(name in COUNTED for name in counts)
        self._expected, self._continuation = None, self._decoder
        return self._decoder

    def _read_tier(self, out: list[Event]) -> None:
        """Read the service tier, which may be only in a header of the response."""
        if tier := self._answer.headers.get(TIER):
            out.append(Metadata("service_tier", {TIER: tier}))

    def _report_new(self, counts: list[tuple[str, Json]], out: list[Event]) -> None:
        """Report each unknown count once; the later values are in the usage."""
        for key, value in counts:
            if self._is_new(f"count {key}", None):
                out.append(Unknown(f"field usageMetadata.{key}", {key: value}))

    def _read_metadata(self, fields: SpelledFields, out: list[Event]) -> None:
        fresh: dict[str, Event] = {}
        for key in [key for key in _METADATA if key in fields.values]:
            name, types = _METADATA[key]
            if key == "responseId":
                self._note_id(fields.values[key])
            raw = fields.take_raw(key, *types)
            if raw is not None and self._is_new(key, next(iter(raw.values()))):
                fresh[key] = Metadata(name, raw)
        if self._names is None:
            out.append(
                Start(
                    self._seen.get("modelVersion", self._answer.model), self._seen.get("responseId")
                )
            )
            self._read_tier(out)
            fresh = {
                key: event
                for key, event in fresh.items()
                if key not in ("modelVersion", "responseId")
            }
        out += fresh.values()


def _read_feedback(feedback: dict[str, Json], oddities: Oddities, out: list[Event]) -> None:
    """Put the facts about the prompt among the annotations of the message; a refusal ends it."""
    fields = SpelledFields(feedback, _FEEDBACK, oddities)
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
    # A finish reason stays the last event of its message.
    finish = next((index for index, event in enumerate(out) if type(event) is Finish), len(out))
    out[finish:finish] = beside
    if type(reason) is int:
        oddities.note("blockReason", reason)
    if reason is not None and reason != "":
        out.append(
            Blocked(
                f"#{reason}" if type(reason) is int else reason,
                next(iter(message.values())) if message else None,
            )
        )
