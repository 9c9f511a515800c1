"""The strict reader of Chat Completions, as the client `openai` joins the chunks of a stream.

The client (`openai.lib.streaming`) keeps the tool calls in a list: ``index`` decides to which call
a piece belongs. Ids, names and arguments are texts, and the texts of a call's pieces are joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from harness.facts import Call, Facts, Finish, Text, Thought, Usage, arguments_of, counts_of
from harness.providers.openai_compat.facts import count_chat
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .wire_reader import Framing, Unreadable, WireReader, index_in, object_in, objects_in, text_in

REASONING: Final = ("reasoning_content", "reasoning")
"""The fields in which servers send reasoning. Chat Completions have no field for it."""
_CHUNK: Final = "chat.completion.chunk"
_WHOLE: Final = "chat.completion"


@dataclass
class _Call:
    """A call so far. ``place``: the message with its latest piece."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    place: int = 0


class OpenAIChat(WireReader):
    """The state of one answer: the calls by index, the finish reason, and the last usage."""

    framing: ClassVar[Framing] = Framing(done="[DONE]")

    def __init__(self, streamed: bool | None) -> None:
        super().__init__(streamed)
        self._calls: list[_Call] = []
        self._function = _Call()
        self._choices: int | None = None
        self._finish: tuple[str, int] = ("", 0)
        self._usage: tuple[Json, int] = (None, 0)
        self._is_whole = False

    def _read(self, message: dict[str, Json]) -> None:
        if message.get("error"):
            self._add_error(message["error"])
            return
        kind = message.get("object")
        if kind not in ((_CHUNK,) if self._framed else (_CHUNK, _WHOLE)):
            raise Unreadable(
                f'object is {short_json(kind)}; expected "{_CHUNK}" in a stream, or "{_WHOLE}":'
                " the official client drops other objects"
            )
        if self._is_whole or (kind == _WHOLE and self._choices is not None):
            raise Unreadable(f"the answer has other objects beside one {_WHOLE}")
        self._is_whole = kind == _WHOLE
        choices = objects_in(message, "choices", required=True)
        if self._is_whole:
            for choice in choices[:1]:
                self._read_choice(choice, object_in(choice, "message", "choices[0]."))
        else:
            self._read_pieces(choices)
        self._usage = message.get("usage"), len(self.facts) - 1
        if message.get("usage") is not None:
            _check_counts(object_in(message, "usage"))

    def _read_pieces(self, choices: list[dict[str, Json]]) -> None:
        """Read the choices of a chunk. The client keeps them in a list, by their index."""
        first = self._choices is None
        known = len(choices) - 1 if first else self._choices or 0
        indexes = [index_in(choice, "choices[].", known) for choice in choices]
        if len({*indexes}) < len(indexes):
            raise Unreadable("two choices of one chunk have the same index")
        self._choices = max([self._choices or 0, *(index + 1 for index in indexes)])
        for index, choice in zip(indexes, choices, strict=True):
            delta = object_in(choice, "delta", f"choices[{index}].")
            if index == 0:
                self._read_choice(choice, delta)

    def _read_choice(self, choice: dict[str, Json], holder: dict[str, Json]) -> None:
        reasoning = [text_in(holder, name) for name in REASONING]
        self._add(*(Thought(text) for text in [text for text in reasoning if text][:1]))
        for name in ("content", "refusal"):
            if text := text_in(holder, name):
                self._add(Text(text))
        if holder.get("function_call") is not None:
            self._read_function(self._function, object_in(holder, "function_call"))
        for number, piece in enumerate(objects_in(holder, "tool_calls")):
            index = number
            if not self._is_whole:
                index = index_in(piece, "tool_calls[].", len(self._calls))
            if index == len(self._calls):
                self._calls.append(_Call())
            self._read_piece(self._calls[index], piece)
        if reason := text_in(choice, "finish_reason", "choices[0]."):
            self._finish = reason, len(self.facts) - 1

    def _read_piece(self, call: _Call, piece: dict[str, Json]) -> None:
        if piece.get("type") not in (None, "function"):
            raise Unreadable(f"tool_calls[].type is {short_json(piece['type'])}; expected function")
        call.id += text_in(piece, "id", "tool_calls[].")
        self._read_function(call, object_in(piece, "function", "tool_calls[]."))

    def _read_function(self, call: _Call, function: dict[str, Json]) -> None:
        call.name += text_in(function, "name", "function.")
        call.arguments += text_in(function, "arguments", "function.")
        call.place = len(self.facts) - 1

    def close(self) -> None:
        """Note the calls where their last pieces came, then the finish reason and the counts. A
        call whose arguments are not whole is no fact in an answer without a reason.
        """
        old = [self._function] if self._function.name or self._function.arguments else []
        reason, place = self._finish
        latest = 0
        for call in (*old, *self._calls):
            latest = max(latest, call.place)  # the index decides the order
            arguments = arguments_of(call.arguments)
            if reason or (call.arguments.strip() and isinstance(arguments, dict)):
                self.facts[latest].append(Call(call.id or None, call.name, arguments))
        if reason:
            self.facts[place].append(Finish(reason))
        usage, place = self._usage
        if isinstance(usage, dict):
            counts = Facts()
            count_chat(counts, usage)
            if stated := counts_of(counts.usage):
                self.facts[place].append(Usage(**stated))


def _check_counts(usage: dict[str, Json]) -> None:
    """Check that each count is a number, also in the objects with details."""
    for name, count in usage.items():
        if name.endswith("_details") and count is not None:
            _check_counts(object_in(usage, name, "usage."))
        elif name.endswith("_tokens") and type(count) not in (int, type(None)):
            raise Unreadable(f"usage.{name} is {short_json(count)}; expected a number")
