"""The oracle of Chat Completions: a slow and plain reader of a raw body, with the standard
library's JSON.

A body is one ``chat.completion`` or a stream of ``chat.completion.chunk``. It shares no code with
the framers and normalizers, so it can't share their faults.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import takewhile

from harness.facts import Facts
from harness.stream.json_codec import Json

from .gemini import names_in, present
from .reader import MessageReader, note_error

DEEPEST = 200
"""Arguments that nest deeper are no arguments."""

_COUNTS = (
    ("prompt_tokens", "promptTokenCount"),
    ("completion_tokens", "candidatesTokenCount"),
    ("total_tokens", "totalTokenCount"),
)
_INPUT_COUNTS = (
    ("cached_tokens", "cachedContentTokenCount"),
    ("cache_write_tokens", "cacheWriteTokenCount"),
)
_READ = {"choices", "usage", "error", "object", "id", "model", "obfuscation"}
_READ_CHOICE = {"index", "delta", "message", "finishReason"}
_READ_DELTA = {
    *("role", "content", "refusal", "toolCalls", "functionCall", "audio"),
    *("extraContent", "thoughtSignature"),
}
_READ_CALL = {"index", "id", "type", "function", "custom", "extraContent"}
_READ_FUNCTION = {"name", "arguments", "input"}


def gather_chat(body: bytes, status: int = 200, *, interrupted: bool = False) -> Facts:
    """The facts of choice 0 in a raw body; ``interrupted``: the answer was cut."""
    return ChatReader(status).gather(body, interrupted)


def count_chat(facts: Facts, usage: dict[str, Json]) -> None:
    """Note the counts of one ``usage``. The tokens of the reasoning are counted in the output."""
    for name, wire in _COUNTS:
        if type(usage.get(name)) is int:
            facts.usage[wire] = usage[name]
    of_input, of_output = (usage.get(f"{name}_tokens_details") for name in ("prompt", "completion"))
    for name, wire in _INPUT_COUNTS:
        if isinstance(of_input, dict) and type(of_input.get(name)) is int:
            facts.usage[wire] = of_input[name]
    if isinstance(of_output, dict) and type(of_output.get("reasoning_tokens")) is int:
        reasoning = of_output["reasoning_tokens"]
        facts.usage["thoughtsTokenCount"] = reasoning
        if type(usage.get("completion_tokens")) is int:
            facts.usage["candidatesTokenCount"] = usage["completion_tokens"] - reasoning


@dataclass
class ChatCall:
    """One call as it came. ``is_text``: its tool takes a text and no object; ``whole``: its
    arguments, once they are an object; ``closed``: other content came after it.
    """

    name: str
    id: str | None
    index: int | None
    signature: str | None
    place: int
    is_text: bool
    pieces: list[str] = field(default_factory=list)
    whole: dict[str, Json] | None = None
    closed: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def is_over(self) -> bool:
        return self.closed or self.whole is not None

    @property
    def arguments(self) -> Json:
        """The arguments: an object, ``{}`` where none came, else the text that is no object."""
        if self.whole is not None:
            return self.whole
        return self.text if self.text.strip() or self.is_text else {}

    def add(self, piece: Json) -> None:
        """Append a piece of the arguments; an object is all of them."""
        if isinstance(piece, dict):
            self.whole = piece
        elif isinstance(piece, str) and piece:
            self.pieces.append(piece)
            self.whole = None if self.is_text else read_object(self.text)

    def continued_by(self, call_id: str | None, index: int | None, name: str) -> bool:
        """Whether a piece with this id, index and name belongs to the call."""
        if call_id is not None and self.id is not None:
            return call_id == self.id
        if index is None:
            return call_id is None and not name
        return index == self.index and name in ("", self.name)


class ChatReader(MessageReader):
    """Providers with more than the plain wire override the methods
    without an underscore. ``live``: the arguments of a call are streamed.
    """

    live = True

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.calls: list[ChatCall] = []

    def gather(self, body: bytes, interrupted: bool) -> Facts:
        """The facts of a whole body."""
        self.read_all(body)
        return self._finish(interrupted)

    def read_text(self, text: str, holder: dict[str, Json]) -> None:
        """Note a piece of the answer's text; ``holder`` is its delta or message."""
        self.facts.add_text(text)

    def end_text(self) -> None:
        """Text that comes later is not a part of the text so far."""

    def read_beside(self, holder: dict[str, Json]) -> None:
        """Note the fields beside the text of a delta or message."""
        others = present(holder, {"x"}) & {"extraContent", "thoughtSignature"}
        self.facts.others |= others

    def call_signature(self, piece: dict[str, Json]) -> str | None:
        """The signature of a call."""
        self.facts.others |= present(piece, {"x"}) & {"extraContent"}
        return None

    def _read_object(self, message: dict[str, Json]) -> None:
        kind, error = message.get("object"), message.get("error")
        if isinstance(kind, str) and kind and kind not in _OBJECTS:  # of another API
            self.facts.others |= names_in(message)
        else:
            self._read_answer(message)
        if error or isinstance(error, dict):
            self._read_error(error)

    def _read_answer(self, message: dict[str, Json]) -> None:
        facts = self.facts
        facts.others |= present(message, _READ)
        facts.others |= {"object"} if message.get("object") not in (None, "", *_OBJECTS) else set()
        facts.others |= {"modelVersion"} if message.get("model") else set()
        facts.others |= {"responseId"} if message.get("id") else set()
        if isinstance(message.get("usage"), dict):
            count_chat(facts, message["usage"])
        choices = message.get("choices")
        for position, choice in enumerate(choices if isinstance(choices, list) else []):
            if not isinstance(choice, dict):
                continue
            index = choice.get("index")
            if not (index if type(index) is int and index >= 0 else position):
                self._read_choice(choice)

    def _read_choice(self, choice: dict[str, Json]) -> None:
        self.facts.others |= present(choice, _READ_CHOICE)
        for name in ("delta", "message"):
            holder = choice.get(name)
            if isinstance(holder, dict):
                self._read_holder(holder)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._close_calls()
            self.facts.finish = reason
        elif reason:
            self.facts.others.add("finishReason")

    def _read_holder(self, holder: dict[str, Json]) -> None:
        """Read a delta or a message: text first, then calls."""
        audio = holder.get("audio")
        audio = audio if isinstance(audio, dict) else {}
        content = holder.get("content")
        if isinstance(content, str) and content:
            self._close_calls(ends_text=False)
            self.read_text(content, holder)
        self.read_beside(holder)
        for text in (holder.get("refusal"), audio.get("transcript")):
            if isinstance(text, str) and text:
                self._close_calls()
                self.facts.add_text(text)
        if audio.get("data"):
            self._close_calls()
            self.facts.media += 1
            self.facts.add_opaque("media", audio["data"])
        self.facts.others |= present(holder, _READ_DELTA)
        self.facts.others |= {"role"} if holder.get("role") not in _ROLES else set()
        self.facts.others |= {
            name
            for name in ("content", "refusal")
            if holder.get(name) and not isinstance(holder[name], str)
        }
        annotations, calls = holder.get("annotations"), holder.get("tool_calls")
        for annotation in annotations if isinstance(annotations, list) else ():
            cited = annotation.get("url_citation") if isinstance(annotation, dict) else None
            self.facts.add_opaque(
                "citations", cited.get("url") if isinstance(cited, dict) else None
            )
        old = holder.get("function_call")
        if isinstance(old, dict):
            self._read_call({"function": old})
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._read_call(piece)

    def _read_call(self, piece: dict[str, Json]) -> None:
        self.end_text()
        self.facts.others |= present(piece, _READ_CALL)
        function = piece.get("function") or piece.get("custom")
        function = function if isinstance(function, dict) else {}
        self.facts.others |= present(function, _READ_FUNCTION)
        name, index, identity = function.get("name"), piece.get("index"), piece.get("id")
        given = name if isinstance(name, str) else ""
        call_id = identity if isinstance(identity, str) and identity else None
        self.facts.others |= {"name"} if name and not given else set()
        self.facts.others |= {"id"} if identity and not call_id else set()
        arguments = function.get("arguments", function.get("input"))
        index = index if type(index) is int else None
        related = [call for call in self.calls if call.continued_by(call_id, index, given)]
        if call_id is None and index is None:
            related = self.calls[-1:] if not given else []
        call = related[-1] if related else None
        over = call is not None and call.is_over
        if call is None or (over and given):
            if given or call_id or (arguments and not self.calls):
                self._begin_call(given, call_id, index, piece, arguments)
            elif arguments:
                self.facts.others.add("arguments")
        elif over:
            if arguments not in (None, "") and str(arguments).strip():
                self.facts.others.add("arguments")
            self._sign("text", self.call_signature(piece))
        else:
            signature = self.call_signature(piece)
            if call.signature is None:
                call.signature = signature
            else:
                self._sign("text", signature)
            call.add(arguments)

    def _begin_call(
        self,
        name: str,
        call_id: str | None,
        index: int | None,
        piece: dict[str, Json],
        arguments: Json,
    ) -> None:
        place = len(self.facts.text)
        is_text = not isinstance(piece.get("function"), dict) and "custom" in piece
        call = ChatCall(name, call_id, index, self.call_signature(piece), place, is_text)
        self.calls.append(call)
        call.add(arguments)

    def _close_calls(self, ends_text: bool = True) -> None:
        """Other content comes, so no call continues."""
        if ends_text:
            self.end_text()
        for call in self.calls:
            call.closed = True

    def _sign(self, kind: str, signature: str | None) -> None:
        if signature:
            self.facts.signatures.append((kind, signature))

    def _settle(self, broken: bool) -> None:
        """State the calls so far. In an answer that is ``broken`` off, the calls before the first
        open call; on a wire that streams arguments, the open call too.
        """
        facts = self.facts
        self.end_text()
        over = list(takewhile(lambda call: call.is_over or not broken, self.calls))
        first_open = self.calls[len(over) : len(over) + 1] if self.live else []
        shown = [*over, *first_open]
        facts.open_call = bool(first_open)
        facts.invalid_calls = [
            (call.name, call.text) for call in over if isinstance(call.arguments, str)
        ]
        facts.calls = [
            (call.name, call.arguments)
            for call in shown
            if call in first_open or not isinstance(call.arguments, str)
        ]
        facts.places = [call.place for call in shown]
        facts.marks = [(call.id, call.signature) for call in shown]
        facts.pieces = [piece for call in shown if len(call.pieces) > 1 for piece in call.pieces]
        others = [signature for signature in facts.signatures if signature[0] != "call"]
        facts.signatures = [("call", call.signature) for call in shown if call.signature] + others

    def _read_error(self, error: Json) -> None:
        self._settle(broken=True)
        note_error(self.facts, error, self._status)

    def _finish(self, interrupted: bool) -> Facts:
        self._settle(broken=interrupted or bool(self.facts.errors))
        self._note_end()
        return self.facts


_OBJECTS = ("chat.completion", "chat.completion.chunk")
_ROLES = (None, "", "assistant", "model")


def read_object(text: str) -> dict[str, Json] | None:
    """The object of JSON in a text; None if the text is anything else."""
    if not text.rstrip().endswith("}"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _depth(value) <= DEEPEST else None


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth - 1
