"""Reads the choices of an answer: their deltas or messages, their other fields, the finish reasons.

A delta gives its reasoning, then its text, then its signature, then its calls; a choice gives its
delta, then its annotations, then its finish reason, which also ends its calls. Gemini's additions
to Chat Completions are signatures and thoughts: a call, a delta or a message has ``extra_content``
with the key ``google`` or ``vertex``. Thoughts are a part of the text, between tags; on Vertex AI
they may be in deltas that are marked as thoughts, without tags. In a delta with a signature, the
mark does not apply to the text (https://ai.google.dev/gemini-api/docs/openai#thinking). Other
servers have reasoning in fields of its own: see `reasoning`. Perplexity sends a message beside each
delta, which repeats the deltas so far (https://docs.perplexity.ai/docs/sonar/pro-search/stream-mode).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.stream.events import (
    Annotation,
    Event,
    Finish,
    FinishClass,
    Mark,
    Media,
    Reasoning,
    Text,
    Unknown,
)
from harness.stream.json_codec import Json, objects_in
from harness.stream.oddities import Oddities

from ..gemini import finish_reasons
from ..gemini.candidates import NOT_REQUESTED
from ..gemini.fields import SpelledFields
from .calls import Calls
from .reasoning import FIELDS as REASONING
from .reasoning import read_reasoning
from .thoughts import Piece, ThoughtSplitter

VENDORS: Final = ("google", "vertex")
_EXTRA: Final = {name: name for name in VENDORS}
_VENDOR: Final = {name: name for name in ("thought", "thought_signature")}
_CALL: Final = {name: name for name in ("extra_content", "thought_signature")}
_FILTERS: Final = ("content_filter_results", "content_filter_result")
_CHOICE: Final = {
    name: name for name in ("index", "delta", "message", "finish_reason", "logprobs", *_FILTERS)
}
_DELTA: Final = {
    name: name
    for name in (
        *("role", "content", "refusal", "annotations", "function_call", "tool_calls"),
        *("extra_content", "thought_signature", "audio", *REASONING),
    )
}
_ROLES: Final = ("assistant", "model", "")
_FINISHES: Final[dict[str, FinishClass]] = {
    **dict.fromkeys(("stop", "tool_calls", "function_call"), "stop"),
    "length": "length",
}


class _Beside(NamedTuple):
    """The fields beside a text or a call: its signature, the mark of a thought as the wire has it,
    and ``left``: the fields of ``extra_content`` that are neither.
    """

    signature: str | None = None
    thought: dict[str, Json] | None = None
    left: tuple[tuple[str, Json], ...] = ()


_NOTHING: Final = _Beside()


class Choices:
    """All choices of one answer. Choice 0 is the answer. ``tag``: the name of the tag around
    thoughts, None if text has no thoughts.
    """

    def __init__(self, tag: str | None, oddities: Oddities) -> None:
        self._oddities = oddities
        self.calls = Calls(oddities)
        self._tag = tag
        self._splitters: dict[int, ThoughtSplitter] = {}
        self._finished = False
        self._streamed: set[int] = set()  # the choices with a delta
        self._plain = tag is None  # a text of the answer without a tag is not a thought

    def read(self, choices: list[Json], out: list[Event]) -> None:
        """Read one list of choices. A missing index is the place in the list."""
        for position, choice in enumerate(choices):
            if type(choice) is not dict:
                out.append(Unknown("choice", choice))
                continue
            fields = SpelledFields(choice, _CHOICE)
            index = fields.values.get("index", position)
            if fields.values.get("index"):
                self._oddities.note(NOT_REQUESTED, index)
            if type(index) is int and index >= 0:
                fields.take("index")
            else:
                index = position
            if type(choice.get("index")) is not int:
                self._oddities.note("choice.index", choice.get("index"))
            self._read_choice(fields, index, out)

    def read_text(self, text: str, out: list[Event]) -> None:
        """Read a text of the answer that is the only field of a delta."""
        self._streamed.add(0)
        if self._plain and self.calls.none_came and (self._tag is None or "<" not in text):
            out.append(Text(text))  # nearly all text
        else:
            self._split(text, 0, False, out)

    def release_all(self, out: list[Event]) -> None:
        """Emit all held-back text, because the answer has ended."""
        for index in self._splitters:
            self._release(index, out)

    def _read_choice(self, fields: SpelledFields, index: int, out: list[Event]) -> None:
        reason, logprobs = fields.take("finish_reason", str), fields.take_raw("logprobs", dict)
        delta, message = fields.take("delta", dict), fields.take("message", dict)
        if delta is None:
            self._oddities.note("choice.delta")
            if message is None:
                self._oddities.note("choice.message")
        if delta:
            self._streamed.add(index)
            self._read_delta(SpelledFields(delta, _DELTA), index, out)
        if message and index not in self._streamed:  # else it repeats the deltas so far
            self._read_delta(SpelledFields(message, _DELTA), index, out)
        if reason:
            self._release(index, out)
            self.calls.make_way(index, out)
        if logprobs:
            out.append(Annotation("logprobs", logprobs, index))
        for name in _FILTERS:
            if (ratings := fields.take_raw(name, dict)) and ratings[name]:
                out.append(Annotation("safety_ratings", ratings, index))
        out += [Unknown(f"choice field {key}", {key: value}, index) for key, value in fields.left()]
        if reason:
            if index == 0 and self._finished:
                self._oddities.note("finish_reason again", reason)
            self._finished |= index == 0
            out.append(Finish(_finish_class(reason), reason, None, index))

    def _read_delta(self, fields: SpelledFields, index: int, out: list[Event]) -> None:
        if fields.values.get("role") in _ROLES:
            fields.take("role")
        refusal = fields.take("refusal", str)
        old_call, calls = fields.take("function_call", dict), fields.take("tool_calls", list) or ()
        annotations = fields.take_raw("annotations", list)
        self._read_reasoning(fields, index, out)
        items = fields.values.get("content")
        if type(items) is list and objects_in(items):
            fields.take("content")
            self._oddities.note("delta.content", items)
            content = self._read_items(items, index, out)
        else:
            content = fields.take("content", str) or ""
        self._read_content(content, fields, index, out)
        if refusal:
            self._oddities.note("delta.refusal", refusal)
            self._release(index, out)
            self.calls.make_way(index, out)
            out.append(Text(refusal, None, index, None, True))
        if old_call is not None:
            self._oddities.note("delta.function_call", old_call)
            self._release(index, out)
            self.calls.read_old(old_call, index, out)
        for call in calls:
            if type(call) is dict:
                self._release(index, out)
                signature, wire = _call_signature(call)
                self.calls.read(wire, signature, index, out)
            else:
                out.append(Unknown("call", call, index))
        self._read_audio(fields.take_raw("audio", dict), index, out)
        if annotations and annotations["annotations"]:
            out.append(Annotation("citations", annotations, index))
        out += [Unknown(f"delta field {key}", {key: value}, index) for key, value in fields.left()]

    def _read_reasoning(self, fields: SpelledFields, index: int, out: list[Event]) -> None:
        events = read_reasoning(fields, index)
        if any(type(event) is Reasoning for event in events):
            self._release(index, out)
            self.calls.make_way(index, out)
        out += events

    def _read_items(self, items: list[Json], index: int, out: list[Event]) -> str:
        """Read content that is a list, with the reasoning of Mistral; returns its last text."""
        text = ""
        for item in items:
            kind, inner = _item_of(item)
            self._read_content(text, SpelledFields({}, _DELTA), index, out)
            text = inner if kind == "text" else ""
            if kind == "thinking":
                self._release(index, out)
                self.calls.make_way(index, out)
                out.append(Reasoning(inner, None, index))
            elif kind is None:
                out.append(Unknown("content part", item, index))
        return text

    def _read_audio(self, wire: dict[str, Json] | None, index: int, out: list[Event]) -> None:
        """Read a piece of sound, its transcript or its id."""
        audio = wire["audio"] if wire else {}
        if type(data := audio.get("data")) is str and data:
            out.append(Media(None, audio, data, candidate=index, family="audio"))
        elif wire and audio:
            out.append(Annotation("part", wire, index))

    def _read_content(
        self, content: str, fields: SpelledFields, index: int, out: list[Event]
    ) -> None:
        """Read the text of a delta or message, perhaps ``""``, and the fields beside it."""
        beside = _take_beside(fields)
        if beside.signature is not None and not content:
            self._release(index, out)
        before = len(out)
        if content:
            marked = beside.thought is not None and beside.signature is None
            self._split(content, index, marked, out)
        if beside.signature is not None:
            self._sign(beside.signature, index, before, out)
        if beside.thought and not any(type(event) is Reasoning for event in out[before:]):
            out.append(Annotation("part", beside.thought, index))
        out += [
            Unknown(f"extra_content field {key}", {key: value}, index) for key, value in beside.left
        ]

    def _sign(self, signature: str, index: int, before: int, out: list[Event]) -> None:
        """Sign the last piece of this delta; if it has no piece, an empty text is signed."""
        self._release(index, out)
        for latest in reversed(out[before:]):
            if type(latest) is Text or type(latest) is Reasoning:
                latest.signature = signature
                return
        out.append(Text("", signature, index))

    def _split(self, text: str, index: int, marked: bool, out: list[Event]) -> None:
        """Read a text; it ends the calls before it, even if it is only a tag."""
        self.calls.make_way(index, out)
        if self._tag is None:
            out.append(Text(text, None, index))
            return
        splitter = self._splitters.get(index)
        if splitter is None:
            splitter = self._splitters[index] = ThoughtSplitter(self._tag)
        self._put_pieces(splitter.feed(text, marked), index, out)
        if index == 0:
            self._plain = splitter.idle

    def _release(self, index: int, out: list[Event]) -> None:
        """Emit held-back text, because other content of the choice follows."""
        splitter = self._splitters.get(index)
        if splitter is not None:
            self._put_pieces(splitter.close(), index, out)

    def _put_pieces(self, pieces: list[Piece], index: int, out: list[Event]) -> None:
        for thought, text in pieces:
            if thought is None:
                out.append(Mark("tag", text, index))
            else:
                out.append((Reasoning if thought else Text)(text, None, index))


def _item_of(item: Json) -> tuple[str | None, str]:
    """Return the kind and the text of an item of a content; None for an unknown item."""
    match item:
        case {"type": "text", "text": str(text), **others} if not others:
            return "text", text
        case {"type": "thinking", "thinking": [*pieces], **others} if not others:
            texts = [_item_of(piece) for piece in pieces]
            if all(kind == "text" for kind, _ in texts):
                return "thinking", "".join(text for _, text in texts)
    return None, ""


def _finish_class(reason: str) -> FinishClass:
    """Return the class of a finish reason: a word of Chat Completions, perhaps followed by more
    text, or one of Gemini's own words, perhaps after the name of a filter.
    """
    if reason.startswith("content_filter"):
        return "content_filter"
    return _FINISHES.get(reason) or finish_reasons.FINISH_REASONS.get(
        reason.rpartition(": ")[2], "other"
    )


def _call_signature(wire: dict[str, Json]) -> tuple[str | None, dict[str, Json]]:
    """Return the signature beside a call, and the call without it."""
    if wire.keys().isdisjoint(_CALL):
        return None, wire
    fields = SpelledFields(wire, _CALL)
    beside = _take_beside(fields)
    left = {**dict(fields.left()), **dict(beside.left), **(beside.thought or {})}
    return beside.signature, left


def _take_beside(fields: SpelledFields) -> _Beside:
    """Take ``extra_content`` and the older ``thought_signature`` from some fields."""
    wire, old = fields.take("extra_content", dict), fields.values.get("thought_signature")
    if wire is None and old is None:
        return _NOTHING
    extra = SpelledFields(wire or {}, _EXTRA)
    signature: str | None = None
    thought: dict[str, Json] | None = None
    left: list[tuple[str, Json]] = []
    for vendor in VENDORS:
        inner = SpelledFields(extra.take(vendor, dict) or {}, _VENDOR)
        if signature is None:
            signature = inner.take("thought_signature", str) or None
        mark = inner.take("thought", bool)
        thought = {"extra_content": {vendor: {"thought": True}}} if mark else thought
        left += inner.left()
    if signature is None or old == signature:
        signature = fields.take("thought_signature", str) or signature
    return _Beside(signature, thought, (*left, *extra.left()))
