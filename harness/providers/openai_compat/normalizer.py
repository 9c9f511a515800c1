"""The reader of answers in the form of Chat Completions: a ``chat.completion``, a stream of
``chat.completion.chunk`` (https://platform.openai.com/docs/api-reference/chat-streaming), or an
error.

The order of the events of a message is that of `harness.stream.events`: start, metadata, usage,
choices. Facts about the whole answer become events when they are new or have changed, because every
chunk repeats them.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import Annotation, Event, Mark, Metadata, Start, Unknown
from harness.stream.framing import Frame
from harness.stream.json_codec import Json

from ..answer_reader import AnswerReader
from ..gemini.fields import SpelledFields
from ..provider import Answer
from .choices import Choices
from .usage import read_usage
from .usual import decode_usual

_NAMES: Final = ("model", "id", "created", "system_fingerprint", "service_tier")
_BESIDE: Final = {"prompt_filter_results": "safety_ratings", "citations": "citations"}
"""Fields of other servers, and the annotations that they become."""
_MESSAGE: Final = {
    name: name
    for name in (
        *("choices", "usage", "error", "object", "obfuscation", "moderation"),
        *(*_NAMES, *_BESIDE),
    )
}
_TYPES: Final = {"created": (int,)}
OBJECTS: Final = ("chat.completion", "chat.completion.chunk", "chat.completion.done")
"""The objects of answers; the last is of the last chunk of Perplexity."""
_END: Final = "[DONE]"


class ChatReader(AnswerReader):
    """One answer: see `harness.providers.provider.Normalizer`. ``tag``: the name of the tag around
    thoughts in text, None if text has no thoughts.
    """

    def __init__(self, answer: Answer, tag: str | None = None) -> None:
        super().__init__(answer)
        self._choices = Choices(tag, self.oddities)
        self._names: tuple[Json, ...] | None = None  # of the latest message

    def feed(self, frame: Frame) -> list[Event]:
        """Return a usual chunk by the strict decoder, everything else by the reader."""
        chunk = None if self._names is None else decode_usual(frame.message)
        if chunk is None:
            return super().feed(frame)
        model, created, print_ = chunk.model, chunk.created, chunk.system_fingerprint
        if (model, chunk.id, created, print_, chunk.service_tier) != self._names:
            return super().feed(frame)
        out: list[Event] = []
        choices = chunk.choices
        if choices and (text := choices[0].delta.content):
            self._choices.read_text(text, out)
        return out

    def _release(self, out: list[Event]) -> list[str]:
        self._choices.release_all(out)
        return self._choices.calls.rest()

    def _end(self, out: list[Event]) -> None:
        rest = self._release(out)
        if self._errors:
            out += [Unknown("unfinished", call) for call in rest]
        else:
            self._choices.calls.end_all(out)

    def _read_text(self, text: str, partial: bool, out: list[Event]) -> None:
        if text.strip().removeprefix("data:").strip() == _END:
            self._begin(out)
            out.append(Mark("end", _END))
        else:
            super()._read_text(text, partial, out)

    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        fields = SpelledFields(message, _MESSAGE)
        error = fields.values.get("error")
        wrong = bool(error) or type(error) is dict
        if (wrong or self._answer.failed) and "choices" not in fields.values:
            self._fail(message, out)
            return
        kind = fields.values.get("object")
        if type(kind) is str and kind and kind not in OBJECTS:  # an object of another API
            self.oddities.note("an object of another API", kind)
            out.append(Unknown("frame", message))
            if wrong:
                self._fail(message, out)
            return
        fields.take("error")
        fields.take("obfuscation", str)
        if fields.values.get("object") in OBJECTS:
            fields.take("object")
        names = tuple(message.get(name) for name in _NAMES)
        if names != self._names:
            self._read_names(fields, out)
            self._names = names
        for name in _NAMES:
            if name in fields.values and fields.values[name] == self._seen.get(name):
                fields.take(name)
        usage, choices = fields.take("usage", dict), fields.take("choices", list)
        if choices is None:
            self.oddities.note("choices", message.get("choices"))
        moderation = fields.take_raw("moderation", dict)
        beside = [(name, fields.take_raw(name, list)) for name in _BESIDE]
        self._report_unknown(fields.left(), out)
        if moderation and moderation["moderation"] and self._is_new("moderation", moderation):
            out.append(Metadata("envelope", moderation))
        if usage:
            out.append(read_usage(usage))
        for name, raw in beside:
            if raw and raw[name] and self._is_new(name, raw[name]):
                about = 0 if name == "citations" else -1  # the prompt
                out.append(Annotation(_BESIDE[name], raw, about))
        if choices:
            self._choices.read(choices, out)
        if wrong:
            self._fail(message, out)

    def _read_names(self, fields: SpelledFields, out: list[Event]) -> None:
        fresh: dict[str, Event] = {}
        self._note_id(fields.values.get("id"))
        for name in _NAMES:
            value = fields.take(name, *_TYPES.get(name, (str,)))
            if value not in (None, "") and self._is_new(name, value):
                fresh[name] = Metadata(name, {name: value})
        if self._names is None:
            out.append(Start(self._seen.get("model", self._answer.model), self._seen.get("id")))
            fresh.pop("model", None)
            fresh.pop("id", None)
        out += fresh.values()

    def _begin(self, out: list[Event]) -> None:
        """Emit the start, if the first message has no names."""
        if self._names is None and not self._errors:
            self._names = ()
            out.append(Start(self._answer.model))
