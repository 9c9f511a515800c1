"""Gemini's additions to the choices of Chat Completions: signatures and thoughts.

A call, a delta or a message has ``extra_content`` with the key ``google`` or ``vertex``. Thoughts
are a part of the text, between tags; on Vertex AI they may be in deltas that are marked as
thoughts, without tags. In a delta with a signature, the mark does not apply to the text
(https://ai.google.dev/gemini-api/docs/openai#thinking).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.stream.events import Annotation, Event, FinishClass, Reasoning, Text, Unknown
from harness.stream.json_codec import Json

from ..chat_completions.choices import FINISH_REASONS, Choices
from ..gemini import finish_reasons
from ..gemini.fields import Fields
from .thoughts import ThoughtSplitter

VENDORS: Final = ("google", "vertex")
_EXTRA: Final = {name: name for name in VENDORS}
_VENDOR: Final = {name: name for name in ("thought", "thought_signature")}
_CALL: Final = {name: name for name in ("extra_content", "thought_signature")}


class _Beside(NamedTuple):
    """The fields beside a text or a call: its signature, the mark of a thought as the wire has it,
    and ``left``: the fields of ``extra_content`` that are neither.
    """

    signature: str | None = None
    thought: dict[str, Json] | None = None
    left: tuple[tuple[str, Json], ...] = ()


_NOTHING: Final = _Beside()


class GeminiChoices(Choices):
    """All choices of one answer. ``tag``: the name of the tag around thoughts."""

    def __init__(self, tag: str) -> None:
        super().__init__(live=False)
        self._tag = tag
        self._splitters: dict[int, ThoughtSplitter] = {}
        self._plain = False  # a text of the answer without a tag is no thought

    def read_text(self, text: str, index: int, out: list[Event]) -> None:
        if self._plain and index == 0 and self.calls.none_came and "<" not in text:
            out.append(Text(text))  # nearly all text
        else:
            self._split(text, index, False, out)

    def read_content(self, content: str, fields: Fields, index: int, out: list[Event]) -> None:
        beside = _take_beside(fields)
        if beside.signature is not None and not content:
            self.release(index, out)
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

    def call_signature(self, wire: dict[str, Json]) -> tuple[str | None, dict[str, Json]]:
        if wire.keys().isdisjoint(_CALL):
            return None, wire
        fields = Fields(wire, _CALL)
        beside = _take_beside(fields)
        left = {**dict(fields.left()), **dict(beside.left), **(beside.thought or {})}
        return beside.signature, left

    def finish_class(self, reason: str) -> FinishClass:
        """The class of a finish reason: a word of Chat Completions, perhaps followed by more text,
        or one of Gemini's own words, perhaps after the name of a filter.
        """
        if reason.startswith("content_filter"):
            return "content_filter"
        return FINISH_REASONS.get(reason) or finish_reasons.FINISH_REASONS.get(
            reason.rpartition(": ")[2], "other"
        )

    def release(self, index: int, out: list[Event]) -> None:
        splitter = self._splitters.get(index)
        if splitter is not None:
            self._put_pieces(splitter.close(), index, out)

    def release_all(self, out: list[Event]) -> None:
        for index in self._splitters:
            self.release(index, out)

    def _sign(self, signature: str, index: int, before: int, out: list[Event]) -> None:
        """Sign the last piece of this delta; if it has no piece, an empty text is signed."""
        self.release(index, out)
        latest = out[-1] if len(out) > before else None
        if type(latest) is Text or type(latest) is Reasoning:
            latest.signature = signature
        else:
            self.calls.sign(signature, index, out)

    def _split(self, text: str, index: int, marked: bool, out: list[Event]) -> None:
        """Read a text; it ends the calls before it, even if it is only a tag."""
        self.calls.make_way(index, out)
        splitter = self._splitters.get(index)
        if splitter is None:
            splitter = self._splitters[index] = ThoughtSplitter(self._tag)
        self._put_pieces(splitter.feed(text, marked), index, out)
        if index == 0:
            self._plain = splitter.idle

    def _put_pieces(self, pieces: list[tuple[bool, str]], index: int, out: list[Event]) -> None:
        for thought, text in pieces:
            self.put(Reasoning(text, None, index) if thought else Text(text, None, index), out)


def _take_beside(fields: Fields) -> _Beside:
    """Take ``extra_content`` and the older ``thought_signature`` from some fields."""
    wire, old = fields.take("extra_content", dict), fields.values.get("thought_signature")
    if wire is None and old is None:
        return _NOTHING
    extra = Fields(wire or {}, _EXTRA)
    signature: str | None = None
    thought: dict[str, Json] | None = None
    left: list[tuple[str, Json]] = []
    for vendor in VENDORS:
        inner = Fields(extra.take(vendor, dict) or {}, _VENDOR)
        if signature is None:
            signature = inner.take("thought_signature", str) or None
        mark = inner.take("thought", bool)
        thought = {"extra_content": {vendor: {"thought": True}}} if mark else thought
        left += inner.left()
    if signature is None or old == signature:
        signature = fields.take("thought_signature", str) or signature
    return _Beside(signature, thought, (*left, *extra.left()))
