"""Reads tool calls: whole ones, and ones whose arguments are streamed in pieces.

A whole call has a name and no ``willContinue``. A streamed one (``partialArgs``,
https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc) goes
on in parts that have neither name nor id, and ends with ``{}``, with a part that doesn't say
``willContinue``, with another name, or because other content or a finish reason follows. Its
arguments are put together by JSON path; a piece that has no place is an `Unknown` event.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import CallEnd, CallPiece, CallStart, Event, Text, Unknown
from harness.stream.json_codec import Json, decode_json
from harness.stream.json_path import Assembly, write_path

from .fields import Fields, spellings

_CALL: Final = spellings("id name args partialArgs willContinue")
_PIECE: Final = spellings("jsonPath stringValue numberValue boolValue nullValue willContinue")
_NULLS: Final = spellings("nullValue").keys()


class _OpenCall:
    """A call whose arguments are still coming. ``signatures`` are those that came after its first
    part: they follow the call.
    """

    __slots__ = ("arguments", "candidate", "id", "name", "number", "signatures")

    def __init__(self, start: CallStart) -> None:
        self.number = start.call
        self.candidate = start.candidate
        self.name = start.name
        self.id = start.id
        self.arguments = Assembly()
        self.signatures: list[str] = []


class Calls:
    """The tool calls of one answer, numbered from 1."""

    def __init__(self) -> None:
        self._count = 0
        self.open_call: _OpenCall | None = None

    def next_number(self) -> int:
        """The number of a call that begins now."""
        self._count += 1
        return self._count

    def is_open(self, candidate: int) -> bool:
        """Whether a call of this candidate is still being streamed."""
        return self.open_call is not None and self.open_call.candidate == candidate

    def make_way(self, candidate: int, out: list[Event]) -> bool:
        """Other content of a candidate begins: that ends an open call. False if the call is the
        answer's and the content isn't.
        """
        if self.open_call is None:
            return True
        if self.open_call.candidate == 0 != candidate:
            return False
        self.end(out)
        return True

    def end(self, out: list[Event]) -> None:
        """The open call is whole, if there is one."""
        call, self.open_call = self.open_call, None
        if call is not None:
            out.append(CallEnd(call.number, call.arguments.value()))
            out += [Text("", signature, call.candidate) for signature in call.signatures]

    def read(
        self,
        part: dict[str, Json],
        signature: str | None,
        wire: dict[str, Json],
        candidate: int,
        out: list[Event],
    ) -> None:
        """One ``functionCall``; ``part`` is what it stands in."""
        said = _Said(wire, signature)
        call = self.open_call if self.is_open(candidate) else None
        if call is not None and said.continues(call):
            self._go_on(call, said, out)
        elif said.name or said.arguments:
            if not self.make_way(candidate, out):
                out.append(Unknown("call inside a call of another candidate", part, candidate))
                return
            self._begin(said, candidate, out)
        elif not said.is_empty():
            out.append(Unknown("call without a beginning", part, candidate))
            return
        out += [Unknown(f"call field {key}", {key: value}, candidate) for key, value in said.left]

    def _begin(self, said: _Said, candidate: int, out: list[Event]) -> None:
        start = CallStart(self.next_number(), said.name or "", said.id, said.signature, candidate)
        out.append(start)
        if said.more or said.pieces:
            self.open_call = _OpenCall(start)
            if said.arguments or said.pieces:
                said.signature = None
                self._go_on(self.open_call, said, out)
        else:
            out.append(CallEnd(start.call, said.arguments or {}))

    def _go_on(self, call: _OpenCall, said: _Said, out: list[Event]) -> None:
        """One part of a streamed call. One that only says that it goes on opens a new array
        element.
        """
        if said.signature is not None:
            call.signatures.append(said.signature)
        for key, value in (said.arguments or {}).items():
            piece = CallPiece(call.number, write_path(key), value)
            out.append(
                piece
                if call.arguments.add(piece.path, piece.value)
                else Unknown("call piece", {key: value}, call.candidate)
            )
        for wire in said.pieces or ():
            read, left = _read_piece(call.number, wire)
            placed = read is not None and call.arguments.add(read.path, read.value, read.more)
            out.append(
                read if read is not None and placed else Unknown("call piece", wire, call.candidate)
            )
            out += [
                Unknown(f"call piece field {key}", {key: value}, call.candidate)
                for key, value in left
                if placed
            ]
        if not said.more:
            self.end(out)
        elif not said.arguments and not said.pieces:
            out.append(CallPiece(call.number, ""))


class _Said:
    """What one part says about a call."""

    __slots__ = ("arguments", "id", "left", "more", "name", "pieces", "signature")

    def __init__(self, wire: dict[str, Json], signature: str | None) -> None:
        fields = Fields(wire, _CALL)
        self.signature = signature
        self.name: str | None = fields.take("name", str)
        self.id: str | None = fields.take("id", str)
        self.arguments = _parse_arguments(fields.values.get("args"))
        if self.arguments is not None:
            fields.take("args")
        self.pieces: list[Json] | None = fields.take("partialArgs", list)
        self.more: bool | None = fields.take("willContinue", bool)
        self.left = list(fields.left())

    def continues(self, call: _OpenCall) -> bool:
        """Whether this goes on with an open call: it has no name, or repeats name and id."""
        if self.name:
            return self.id is not None and (self.name, self.id) == (call.name, call.id)
        if self.id is not None:
            self.left.append(("id", self.id))
        return True

    def is_empty(self) -> bool:
        """``{}``: what ends a streamed call, also one that has ended already."""
        return not (self.id or self.pieces or self.more or self.left or self.signature)


def _parse_arguments(arguments: Json) -> dict[str, Json] | None:
    """An object, or one as JSON text; None for anything else."""
    if type(arguments) is str:
        try:
            arguments = decode_json(arguments.encode())
        except ValueError:
            return None
    return arguments if type(arguments) is dict else None


def _read_piece(number: int, wire: Json) -> tuple[CallPiece | None, list[tuple[str, Json]]]:
    """A piece, None where it has not just one path and one value, and its unknown fields. Null is a
    value if there is no other.
    """
    if type(wire) is not dict:
        return None, []
    fields = Fields(wire, _PIECE)
    path, more = fields.take("jsonPath", str), fields.take("willContinue", bool)
    values = [
        fields.take("stringValue", str),
        fields.take("numberValue", int, float),
        fields.take("boolValue", bool),
    ]
    given = [value for value in values if value is not None]
    if fields.values.get("nullValue") == "NULL_VALUE":
        fields.take("nullValue")
        given.append(None)
    left = list(fields.left())
    if not given and not left and not wire.keys().isdisjoint(_NULLS):
        given = [None]
    if path is None or len(given) != 1:
        return None, []
    return CallPiece(number, path, given[0], more or False), left
