"""Joins the pieces of tool calls: a call is sent whole, or its arguments are sent as pieces of JSON
text.

A piece names its call by ``index`` or by ``id``. A piece with neither continues the last call. A
call is over when its arguments are an object, or when other content or a finish reason follows. A
piece with a name for a call that is over begins another call. A call becomes events when it is
over, because a later piece may have its signature. The input of a custom tool is a text; the
argument ``input`` has it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from harness.stream.events import (
    CallEnd,
    CallInvalid,
    CallPiece,
    CallStart,
    CallText,
    Event,
    Text,
    Unknown,
)
from harness.stream.json_codec import Brackets, Json, decode_object
from harness.stream.oddities import Oddities

from ..gemini.fields import SpelledFields

_CALL: Final = {
    name: name for name in ("index", "id", "type", "function", "custom", "extra_content")
}
_FUNCTION: Final = {name: name for name in ("name", "arguments")}
_CUSTOM: Final = {"name": "name", "input": "arguments"}
LATE: Final = "arguments after the end of their call"
_TYPES: Final = ("function", "custom", "")


@dataclass(slots=True, eq=False)
class _Call:
    """One call."""

    name: str
    id: str | None
    index: int | None
    candidate: int
    signature: str | None = None
    pieces: list[str] = field(default_factory=list)
    """The texts of its arguments."""
    arguments: dict[str, Json] | None = None
    """The whole object; None if there is none yet."""
    over: bool = False
    tracker: Brackets | None = field(default_factory=Brackets)
    """Finds the end of the arguments."""
    custom: bool = False
    """Whether the tool takes a text."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def add(self, piece: str) -> None:
        """Append a piece. The call is over if the arguments are then a whole object."""
        self.pieces.append(piece)
        if self.custom or self.tracker is None:
            return
        if not self.tracker.depth:
            if not piece.strip():
                return
            if not self.text.lstrip().startswith("{"):
                self.tracker = None  # not an object, with any continuation
                return
        data = piece.encode("utf-8", "surrogatepass")
        end = self.tracker.find_end(data, 0)
        if end >= 0:
            self.tracker = None
            self.arguments = decode_object(self.text)
            self.over = self.arguments is not None

    def continued_by(self, piece: Piece) -> bool:
        if piece.id is not None and self.id is not None:
            return piece.id == self.id
        if piece.index is None:
            return piece.id is None and not piece.name
        return piece.index == self.index and piece.name in ("", self.name)


class Piece:
    """The fields of one item of ``tool_calls``."""

    __slots__ = ("arguments", "custom", "id", "index", "left", "name", "signature")

    def __init__(self, wire: dict[str, Json], signature: str | None) -> None:
        fields = SpelledFields(wire, _CALL)
        self.signature = signature
        self.index: int | None = fields.take("index", int)
        self.id: str | None = fields.take("id", str) or None
        if fields.values.get("type") in _TYPES:
            fields.take("type")
        custom = fields.take("custom", dict)
        self.custom = custom is not None
        inner = (
            SpelledFields(fields.take("function", dict) or {}, _FUNCTION)
            if custom is None
            else SpelledFields(custom, _CUSTOM)
        )
        self.name: str = inner.take("name", str) or ""
        types = (str,) if self.custom else (str, dict)
        self.arguments: Json = inner.take("arguments", *types)
        self.left = [*fields.left(), *inner.left()]


class Calls:
    """The tool calls of one answer, of all its choices, numbered from 1. ``none_came``: no choice
    has a call so far.
    """

    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        self._count = 0
        self._calls: dict[int, list[_Call]] = {}
        self._waiting: list[_Call] = []
        self.none_came = True

    def read(
        self, wire: dict[str, Json], signature: str | None, candidate: int, out: list[Event]
    ) -> None:
        """Read one item of ``tool_calls``; ``signature`` is the one beside it."""
        if "index" not in wire:
            self._oddities.note("call.index")
        self._put(wire, signature, candidate, out)

    def _put(
        self, wire: dict[str, Json], signature: str | None, candidate: int, out: list[Event]
    ) -> None:
        piece = Piece(wire, signature)
        call = self._find(piece, candidate)
        if call is None or (call.over and piece.name):
            if not (piece.name or piece.id or (piece.arguments and not self._calls.get(candidate))):
                out.append(Unknown("call without a beginning", wire, candidate))
                return
            call = _Call(piece.name, piece.id, piece.index, candidate, custom=piece.custom)
            self._calls.setdefault(candidate, []).append(call)
            self.none_came = False
            self._waiting.append(call)
        elif call.over:
            self._note_late(piece, candidate, out)
            return
        if call.signature is None:
            call.signature, piece.signature = piece.signature, None
        if type(piece.arguments) is dict:
            call.arguments, call.over = piece.arguments, True
        elif piece.arguments:
            call.add(piece.arguments)
        self._give_whole(out)
        self._note_left(piece, candidate, out)

    def read_old(self, function: dict[str, Json], candidate: int, out: list[Event]) -> None:
        """Read a piece of ``function_call``, the older form of one call."""
        self._put({"function": function}, None, candidate, out)

    def make_way(self, candidate: int, out: list[Event]) -> None:
        """End the calls of a choice, because other content begins."""
        for call in self._waiting:
            call.over = call.over or call.candidate == candidate
        self._give_whole(out)

    def end_all(self, out: list[Event]) -> None:
        """End the calls of all choices."""
        for candidate in self._calls:
            self.make_way(candidate, out)

    def rest(self) -> list[str]:
        """Return the calls, as JSON, that a broken answer leaves without events."""
        return [
            json.dumps(
                {"id": call.id, "name": call.name, "arguments": call.text}
                | ({"thought_signature": call.signature} if call.signature else {})
            )
            for call in self._waiting
        ]

    def _find(self, piece: Piece, candidate: int) -> _Call | None:
        calls = self._calls.get(candidate, ())
        # Google's endpoint sends no index, and a piece without an id continues the last call.
        if piece.id is None and piece.index is None:
            return None if piece.name or not calls else calls[-1]
        return next((call for call in reversed(calls) if call.continued_by(piece)), None)

    def _give_whole(self, out: list[Event]) -> None:
        """Emit the calls that are over; the calls of a choice keep their order."""
        waiting: list[_Call] = []
        for call in self._waiting:
            if call.over and all(call.candidate != other.candidate for other in waiting):
                self._give(call, out)
            else:
                waiting.append(call)
        self._waiting = waiting

    def _give(self, call: _Call, out: list[Event]) -> None:
        self._count += 1
        out.append(CallStart(self._count, call.name, call.id, call.signature, call.candidate))
        if call.custom:
            out += [CallPiece(self._count, "$.input", text, True) for text in call.pieces]
            out.append(CallEnd(self._count, {"input": call.text}))
            return
        out += [CallText(self._count, text) for text in call.pieces]
        arguments = call.arguments
        if arguments is None and not call.text.strip():
            arguments = {}
        out.append(
            CallInvalid(self._count, call.text)
            if arguments is None
            else CallEnd(self._count, arguments)
        )

    def _note_late(self, piece: Piece, candidate: int, out: list[Event]) -> None:
        """Note a piece of a call that is over."""
        arguments = piece.arguments
        if type(arguments) is dict or (arguments and arguments.strip()):
            raw = {"input" if piece.custom else "arguments": arguments}
            self._oddities.note(LATE, arguments)
            out.append(Unknown(LATE, raw, candidate))
        self._note_left(piece, candidate, out)

    def _note_left(self, piece: Piece, candidate: int, out: list[Event]) -> None:
        """Note a signature that came too late for the start of its call, and unknown fields."""
        if piece.signature is not None:
            out.append(Text("", piece.signature, candidate))
        out += [Unknown(f"call field {key}", {key: value}, candidate) for key, value in piece.left]
