"""The strict reading of Chat Completions, as the client `openai` joins the chunks of a stream.

The client (`openai.lib.streaming`) keeps the choices and the tool calls in lists: ``index`` decides
to which item a piece belongs. Ids, names and arguments are texts, and the texts of a call's pieces
are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from harness.facts import Call, Fact, arguments_of
from harness.providers.answer_reader import AnswerReader
from harness.providers.openai_compat.calls import Calls, Piece
from harness.providers.openai_compat.choices import Choices
from harness.providers.openai_compat.facts import count_chat
from harness.providers.openai_compat.normalizer import ChatReader
from harness.providers.provider import Answer
from harness.stream.events import Error, Event, Usage
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities
from harness.stream.printable import short_json

from .view import WireView, left_over
from .wire_reader import Framing, Unreadable

_CHUNK: Final = "chat.completion.chunk"
_WHOLE: Final = "chat.completion"
_INDEX: Final = (
    "{value}; expected the number of an item, or the next one: the official client joins the"
    " pieces by their index in a list"
)
_TYPES: Final = {
    "a number": "count",
    "a string": (
        "delta.content, delta field content, delta field refusal, delta field reasoning,"
        " delta field reasoning_content, choice field finish_reason, call field id,"
        " call field name, call field arguments, call.arguments"
    ),
    "function": "call.type",
    "an object": (
        "choice, choice.delta, choice.message, choice field delta, choice field message,"
        " field usage, details, call, call.function, delta field function_call"
    ),
    "a list of objects": "choices, delta field tool_calls",
}
"""A type → the oddities of values of another type."""


@dataclass
class _Call:
    """A call so far. ``place``: the message with its latest piece."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    place: int = 0


class _Calls(Calls):
    """The calls of the answer as the client joins them: by their index."""

    def __init__(self, oddities: Oddities) -> None:
        super().__init__(oddities)
        self.are_whole = False
        """Whether the pieces are whole calls, without an index."""
        self._function = _Call()
        self._joined: list[_Call] = []

    def __iter__(self) -> Iterator[_Call]:
        if self._function.name or self._function.arguments:
            yield self._function
        yield from self._joined

    def read(
        self, wire: dict[str, Json], signature: str | None, candidate: int, out: list[Event]
    ) -> None:
        if candidate:
            return
        index, note = wire.get("index"), self._oddities.note
        if self.are_whole:
            index = len(self._joined)
        if type(index) is not int or not 0 <= index <= len(self._joined):
            note("call.index", index)
            return
        if wire.get("type") not in (None, "function"):
            note("call.type", wire["type"])
        if type(wire.get("function")) is not dict:
            note("call.function", wire.get("function"))
        self._joined += [_Call()] * (index == len(self._joined))
        self._join(self._joined[index], Piece(wire, signature), out)

    def read_old(self, function: dict[str, Json], candidate: int, out: list[Event]) -> None:
        if not candidate:
            self._join(self._function, Piece({"function": function}, None), out)

    def _join(self, call: _Call, piece: Piece, out: list[Event]) -> None:
        call.id += piece.id or ""
        call.name += piece.name
        if type(piece.arguments) is dict:
            self._oddities.note("call.arguments", piece.arguments)
        else:
            call.arguments += piece.arguments or ""
        call.place = self._oddities.place
        self._note_left(piece, 0, out)


class _Choices(Choices):
    """The choices of an answer, in the list of the client."""

    calls: _Calls

    def __init__(self, oddities: Oddities) -> None:
        super().__init__(None, oddities)
        self.calls = _Calls(oddities)
        self._known: int | None = None

    def read(self, choices: list[Json], out: list[Event]) -> None:
        if self.calls.are_whole:
            super().read(choices[:1], out)
            return
        indexes = [choice.get("index") for choice in choices if type(choice) is dict]
        numbers = [index for index in indexes if type(index) is int]
        known = len(choices) - 1 if self._known is None else self._known
        for at, index in enumerate(numbers):
            if not 0 <= index <= known or index in numbers[:at]:
                self._oddities.note("choice.index", index)
        self._known = max([self._known or 0, *(index + 1 for index in numbers)])
        super().read(choices, out)


class _Reader(ChatReader):
    _choices: _Choices

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._choices = _Choices(self.oddities)
        self.calls = self._choices.calls


class OpenAIChat(WireView):
    """The state of one answer."""

    framing: ClassVar[Framing] = Framing(done="[DONE]")
    reader: ClassVar[type[AnswerReader]] = _Reader
    faults: ClassVar[Mapping[str, str]] = {
        "choice.index": f"choices[].index is {_INDEX}",
        "call.index": f"tool_calls[].index is {_INDEX}",
        **{
            where: f"{where} is {{value}}; expected {kind}"
            for kind, places in _TYPES.items()
            for where in places.split(", ")
        },
    }

    def _begin(self) -> None:
        self._reader = self._chat = _Reader(Answer())
        self._finish, self._counts, self._counted = ("", 0), {}, 0
        self._objects: set[Json] = set()

    def _read(self, message: dict[str, Json]) -> None:
        kind = message.get("object")
        if not message.get("error"):
            if kind not in ((_CHUNK,) if self._framed else (_CHUNK, _WHOLE)):
                raise Unreadable(
                    f'object is {short_json(kind)}; expected "{_CHUNK}" in a stream, or'
                    f' "{_WHOLE}": the official client drops other objects'
                )
            if _WHOLE in self._objects or (kind == _WHOLE and self._objects):
                raise Unreadable(f"the answer has other objects beside one {_WHOLE}")
            self._objects.add(kind)
            self._counts = {}  # only those of the last chunk count
        self._chat.calls.are_whole = kind == _WHOLE
        super()._read(message)

    def _oddities(self, place: int, events: list[Event]) -> list[tuple[str, Json]]:
        if any(isinstance(event, Error) for event in events):
            return []
        unused = (
            ("choice.index", "choice.delta") if _WHOLE in self._objects else ("choice.message",)
        )
        odd = [item for item in super()._oddities(place, events) if item[0] not in unused]
        odd += left_over(event for event in events if getattr(event, "candidate", 0) <= 0)
        for event in events:
            odd += _counts_in(event.raw) if isinstance(event, Usage) else ()
        return odd

    def _facts_of(self, place: int, events: list[Event]) -> list[Fact]:
        mine = [event for event in events if getattr(event, "candidate", 0) <= 0]
        errors = [event for event in mine if isinstance(event, Error)]
        return super()._facts_of(place, [*errors] or mine)

    def _count(self, usage: Usage) -> None:
        self._counts |= count_chat(usage.raw)

    def close(self) -> None:
        """Note the calls where their last pieces came. A call whose arguments are not whole is no
        fact in an answer without a reason.
        """
        latest = 0
        for call in self._chat.calls:
            latest = max(latest, call.place)  # the index decides the order
            arguments = arguments_of(call.arguments)
            if self._finish[0] or (call.arguments.strip() and isinstance(arguments, dict)):
                self.facts[latest].append(Call(call.id or None, call.name, arguments))
        super().close()


def _counts_in(usage: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """Yield the counts that are no number, also in the objects with details."""
    for name, count in usage.items():
        if name.endswith("_details") and count is not None:
            if isinstance(count, dict):
                yield from _counts_in(count)
            else:
                yield "details", count
        elif name.endswith("_tokens") and type(count) not in (int, type(None)):
            yield "count", count
