"""Reads tool calls: whole calls, and calls whose arguments are streamed in pieces.

A whole call has a name and no ``willContinue``. A streamed call (``partialArgs``,
https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc)
continues in parts without name and id. It ends with ``{}``, with a part without ``willContinue``,
with another name, or when other content or a finish reason follows. A part whose ``args`` are not
an object ends a call of either kind as an invalid one. Streamed arguments are assembled by JSON
path; a piece without a place becomes an `Unknown` event. Pieces beyond the limits of
`harness.stream.json_path` become one such event with their number.
"""

from __future__ import annotations

import json
from typing import Final

from harness.stream.events import CallEnd, CallInvalid, CallPiece, CallStart, Event, Text, Unknown
from harness.stream.json_codec import Json, decode_json
from harness.stream.json_path import Assembly, Gaps, write_path
from harness.stream.oddities import Oddities

from .fields import SpelledFields, spellings

TEXT: Final = "functionCall.args as text"
"""The oddity of arguments that are a text instead of an object."""
_CALL: Final = spellings("id name args partialArgs willContinue")
_PIECE: Final = spellings("jsonPath stringValue numberValue boolValue nullValue willContinue")
_NULLS: Final = spellings("nullValue").keys()


class _OpenCall:
    """A call whose arguments are still streamed. ``signatures`` are those after its first part;
    they follow the call.
    """

    __slots__ = ("arguments", "candidate", "id", "name", "number", "signatures")

    def __init__(self, start: CallStart, gaps: Gaps) -> None:
        self.number = start.call
        self.candidate = start.candidate
        self.name = start.name
        self.id = start.id
        self.arguments = Assembly(gaps)
        self.signatures: list[str] = []


class Calls:
    """The tool calls of one answer, numbered from 1."""

    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        self._count = 0
        self._gaps: Gaps | None = None
        self._too_far = 0
        self._too_far_bytes = 0
        self.open_call: _OpenCall | None = None

    def next_number(self) -> int:
        """Return the number of a new call."""
        self._count += 1
        return self._count

    def is_open(self, candidate: int) -> bool:
        """Return whether a call of this candidate is open."""
        return self.open_call is not None and self.open_call.candidate == candidate

    def make_way(self, candidate: int, out: list[Event]) -> bool:
        """End the open call, because other content of a candidate begins. Returns False if the open
        call belongs to the answer and the content to another candidate.
        """
        if self.open_call is None:
            return True
        if self.open_call.candidate == 0 != candidate:
            return False
        self.end(out)
        return True

    def end(self, out: list[Event]) -> None:
        """End the open call, if there is one."""
        call, self.open_call = self.open_call, None
        if call is not None:
            out.append(CallEnd(call.number, call.arguments.value()))
            out += [Text("", signature, call.candidate) for signature in call.signatures]

    def report_too_far(self, out: list[Event]) -> None:
        """Emit one event for all pieces that left out too many elements."""
        if self._too_far:
            counts: Json = {"count": self._too_far, "bytes": self._too_far_bytes}
            out.append(Unknown("call pieces beyond the limit", {"partialArgs": counts}))
            self._too_far = self._too_far_bytes = 0

    def read(
        self,
        part: dict[str, Json],
        signature: str | None,
        wire: dict[str, Json],
        candidate: int,
        out: list[Event],
    ) -> None:
        """Read one ``functionCall``; ``part`` is the part that holds it."""
        fields = _CallFields(wire, signature, self._oddities)
        if fields.name is None and wire.get("name") is not None:
            self.refuse(part, wire, signature, candidate, out)
            return
        call = self.open_call if self.is_open(candidate) else None
        if call is not None and fields.continues(call):
            self._go_on(call, fields, out)
        elif fields.name or fields.arguments:
            if not self.make_way(candidate, out):
                out.append(Unknown("call inside a call of another candidate", part, candidate))
                return
            self._begin(fields, candidate, out)
        elif not fields.is_empty():
            out.append(Unknown("call without a beginning", part, candidate))
            return
        out += [Unknown(f"call field {key}", {key: value}, candidate) for key, value in fields.left]

    def refuse(
        self,
        part: dict[str, Json],
        wire: Json,
        signature: str | None,
        candidate: int,
        out: list[Event],
    ) -> None:
        """Read a ``functionCall`` that is not an object, or whose name is not a text: a call that
        is invalid as a whole.
        """
        self._oddities.note("functionCall", wire)
        if not self.make_way(candidate, out):
            out.append(Unknown("call inside a call of another candidate", part, candidate))
            return
        start = CallStart(self.next_number(), "", None, signature, candidate)
        out += [start, CallInvalid(start.call, _text_of(wire))]

    def _begin(self, fields: _CallFields, candidate: int, out: list[Event]) -> None:
        start = CallStart(
            self.next_number(), fields.name or "", fields.id, fields.signature, candidate
        )
        out.append(start)
        if fields.invalid is not None:
            self._invalid(start.call, fields.invalid, fields, out)
        elif fields.more or fields.pieces:
            self._gaps = self._gaps or Gaps()  # one for all calls of the answer
            self.open_call = _OpenCall(start, self._gaps)
            if fields.arguments or fields.pieces:
                fields.signature = None
                self._go_on(self.open_call, fields, out)
        else:
            out.append(CallEnd(start.call, fields.arguments or {}))

    def _invalid(self, call: int, text: str, fields: _CallFields, out: list[Event]) -> None:
        """End a call at arguments that are not an object; ``text`` is all that arrived. Pieces
        beside them become unknown fields.
        """
        out.append(CallInvalid(call, text))
        # The event of the invalid call already has the arguments.
        fields.left = [(key, value) for key, value in fields.left if key != "args"]
        if fields.pieces:
            fields.left.append(("partialArgs", fields.pieces))

    def _go_on(self, call: _OpenCall, fields: _CallFields, out: list[Event]) -> None:
        """Read a part of a streamed call. A part with nothing but ``willContinue`` opens a new
        array element.
        """
        if fields.signature is not None:
            call.signatures.append(fields.signature)
        if fields.invalid is not None:
            self.open_call, so_far = None, call.arguments.value()
            before = json.dumps(so_far, ensure_ascii=False) if so_far else ""
            self._invalid(call.number, before + fields.invalid, fields, out)
            out += [Text("", signature, call.candidate) for signature in call.signatures]
            return
        for key, value in (fields.arguments or {}).items():
            piece = CallPiece(call.number, write_path(key), value)
            out.append(
                piece
                if call.arguments.add(piece.path, piece.value)
                else Unknown("call piece", {key: value}, call.candidate)
            )
        for wire in fields.pieces or ():
            read, left = _read_piece(call.number, wire, self._oddities)
            placed = read is not None and call.arguments.add(read.path, read.value, read.more)
            if read is not None and call.arguments.too_far:
                self._too_far += 1
                self._too_far_bytes += _byte_count(wire)
                continue
            out.append(
                read if read is not None and placed else Unknown("call piece", wire, call.candidate)
            )
            out += [
                Unknown(f"call piece field {key}", {key: value}, call.candidate)
                for key, value in left
                if placed
            ]
        if not fields.more:
            self.end(out)
        elif not fields.arguments and not fields.pieces:
            # A part with nothing but `willContinue` opens the next element of an array.
            out.append(CallPiece(call.number, ""))


class _CallFields:
    """The fields of one ``functionCall``. ``invalid``: the arguments as text, if they are not an
    object.
    """

    __slots__ = ("arguments", "id", "invalid", "left", "more", "name", "pieces", "signature")

    def __init__(self, wire: dict[str, Json], signature: str | None, oddities: Oddities) -> None:
        fields = SpelledFields(wire, _CALL, oddities)
        self.signature = signature
        self.name: str | None = fields.take("name", str)
        self.id: str | None = fields.take("id", str)
        given = fields.values.get("args")
        self.arguments = _parse_arguments(given)
        if given is not None and type(given) is not dict:
            oddities.note(TEXT if type(given) is str else "functionCall.args", given)
        self.invalid: str | None = None
        if self.arguments is not None:
            fields.take("args")
        elif given is not None:
            self.invalid = _text_of(given)
        self.pieces: list[Json] | None = fields.take("partialArgs", list)
        self.more: bool | None = fields.take("willContinue", bool)
        self.left = list(fields.left())

    def continues(self, call: _OpenCall) -> bool:
        """Return whether this continues an open call: it has no name, or repeats name and id."""
        if self.name:
            return self.id is not None and (self.name, self.id) == (call.name, call.id)
        if self.id is not None:
            self.left.append(("id", self.id))
        return True

    def is_empty(self) -> bool:
        """Return whether it is ``{}``, which ends a streamed call, or follows a call that has
        ended.
        """
        return not (self.id or self.pieces or self.more or self.left or self.signature)


def _parse_arguments(arguments: Json) -> dict[str, Json] | None:
    """Return the arguments: an object, or an object as JSON text; a blank text is ``{}``. None for
    anything else.
    """
    if type(arguments) is str:
        try:
            arguments = decode_json(arguments.encode()) if arguments.strip() else {}
        except ValueError:
            return None
    return arguments if type(arguments) is dict else None


def _text_of(wire: Json) -> str:
    return wire if type(wire) is str else json.dumps(wire, ensure_ascii=False)


def _byte_count(wire: Json) -> int:
    """Return the length of the JSON text of a piece."""
    return len(json.dumps(wire, ensure_ascii=False).encode("utf-8", "replace"))


def _read_piece(
    number: int, wire: Json, oddities: Oddities
) -> tuple[CallPiece | None, list[tuple[str, Json]]]:
    """Return a piece and its unknown fields. The piece is None unless it has one path and one
    value; null is a value if there is no other.
    """
    if type(wire) is not dict:
        return None, []
    fields = SpelledFields(wire, _PIECE, oddities)
    path, more = fields.take("jsonPath", str), fields.take("willContinue", bool)
    values = [
        fields.take("stringValue", str),
        fields.take("numberValue", int, float),
        fields.take("boolValue", bool),
    ]
    given = [value for value in values if value is not None]
    null = fields.values.get("nullValue")
    if null == "NULL_VALUE":
        fields.take("nullValue")
        given.append(None)
    elif null is None and not given and not wire.keys().isdisjoint(_NULLS):
        given.append(None)
    if path is None or len(given) != 1:
        return None, []
    return CallPiece(number, path, given[0], more or False), list(fields.left())
