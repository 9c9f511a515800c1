"""Translates the messages of a Messages body into those of a prompt: a block is a part.

The official clients keep signatures only in ``thinking`` blocks, so the signature of a text is in
an empty ``thinking`` block after it; it is put back onto the text. The name, the id and the
signature of a call are in the session, by the id of the ``tool_use``. An id that we counted is not
sent.

Results come first after their calls, in the order of the calls, even if a client sends each in a
message of its own, or other blocks first: Gemini reads results only directly after their calls.

Sources: https://docs.anthropic.com/en/api/messages, https://ai.google.dev/api/caching#Content and
https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from harness.stream.fields import Fields
from harness.stream.prompt import (
    AnyPart,
    Call,
    Message,
    Opaque,
    Redacted,
    Result,
    Role,
    Text,
    Thinking,
)
from harness.stream.session import Session

from .media import translate_block, translate_result

ROLES: Final[Mapping[str, Role]] = {"user": "user", "assistant": "assistant"}


class _Waiting(NamedTuple):
    """A call that waits for its result, and its number in the conversation."""

    call: Call
    number: int


class Contents:
    """Collects the messages of one request. ``names`` are the wire's names of the caller's
    tools.
    """

    def __init__(self, names: Mapping[str, str], session: Session) -> None:
        self.messages: list[Message] = []
        """The messages so far."""
        self.strangers: list[str] = []
        """The ids of calls that the session does not know."""
        self._names = names
        self._session = session
        self._waiting: dict[str, _Waiting] = {}
        self._answered: set[str] = set()
        self._calls = 0
        self._place = 0  # the index for the results of the latest calls
        # the results at that place, with the numbers of their calls
        self._results: list[tuple[int, Result]] = []

    def add(self, message: Fields) -> None:
        """Add one message; an empty one is left out. Raises `TranslationError`, which names the
        field.
        """
        role = message.choose("role", ROLES)
        content = message.need("content", str, list)
        parts: list[AnyPart] = []
        results: list[tuple[int, Result]] = []
        if isinstance(content, str):
            parts.append(Text(content, place=message.at("content")))
        else:
            readers = _READERS[role]
            for block in message.items("content"):
                readers[block.choose("type", readers)](self, block, parts, results)
                block.leave_rest()
        message.leave_rest()
        if results:
            parts = self._answer(results, parts, message.place)
        elif not parts:
            message.leave("content", "it is empty")
        if parts:
            self.messages.append(Message(ROLES[role], tuple(parts), place=message.place))
        if role == "assistant":
            self._place, self._results = len(self.messages), []

    def _answer(
        self, results: list[tuple[int, Result]], parts: list[AnyPart], place: str
    ) -> list[AnyPart]:
        """Put results into the user message that follows their calls, in the order of the calls.

        Other parts of the message follow them if that message is the last; else they are returned.
        """
        if not self._results:
            self.messages.insert(self._place, Message("user", (), place=place))
        answer = self.messages[self._place]
        others = answer.parts[len(self._results) :]
        if self._place == len(self.messages) - 1:
            others, parts = (*others, *parts), []
        self._results = sorted([*self._results, *results], key=lambda result: result[0])
        self.messages[self._place] = replace(
            answer, parts=(*(part for _, part in self._results), *others)
        )
        return parts

    def _block(self, block: Fields, parts: list[AnyPart], _: list[tuple[int, Result]]) -> None:
        parts += translate_block(block)

    def _thinking(self, block: Fields, parts: list[AnyPart], _: list[tuple[int, Result]]) -> None:
        """Add a thought. An empty block carries the signature of the text before it, else of an
        empty part, unless the session knows that the signature belongs to a thought or to a part
        that is not carried.
        """
        text, signature = block.need("thinking", str), block.get("signature", str)
        opaque = self._session.opaque(signature)
        signed_part = None if text else self._session.signed.get(signature or "")
        if signed_part == "lost part":  # it is lost together with its part, a declared loss
            return
        last = parts[-1] if parts else None
        if text or signed_part == "empty thought":
            parts.append(Thinking(text, place=block.place, signature=opaque))
        elif opaque and isinstance(last, Text) and not last.signature:
            parts[-1] = replace(last, signature=opaque)
        elif opaque:
            parts.append(Text("", place=block.place, signature=opaque))

    def _redacted(self, block: Fields, parts: list[AnyPart], _: list[tuple[int, Result]]) -> None:
        data = block.need("data", str)
        parts.append(Redacted(Opaque(data, self._session.origin(data)), place=block.at("data")))

    def _tool_use(self, block: Fields, parts: list[AnyPart], _: list[tuple[int, Result]]) -> None:
        """Add a call as the session remembers it; the block's own signature has priority."""
        call_id, name = block.need("id", str), block.need("name", str)
        if call_id in self._waiting:
            block.fail(
                "id", f"the call before with the id {call_id!r} has no result yet; ids must differ"
            )
        arguments, own = block.need("input", dict), block.get("signature", str)
        known = self._session.calls.get(call_id)
        if known and name in (known.name, self._session.own_names.get(known.name)):
            wire_name, wire_id, signature = known.name, known.wire_id, own or known.signature
        else:
            wire_name, wire_id, signature = self._names[name], call_id, own
            self.strangers.append(call_id)
        call = Call(
            call_id,
            wire_name,
            arguments,
            wire_id or None,
            "input",
            place=block.place,
            signature=self._session.opaque(signature),
            cache=block.get("cache_control", dict),
        )
        self._waiting[call_id] = _Waiting(call, self._calls)
        self._calls += 1
        parts.append(call)

    def _tool_result(
        self, block: Fields, _: list[AnyPart], results: list[tuple[int, Result]]
    ) -> None:
        call_id = block.need("tool_use_id", str)
        if call_id not in self._waiting:
            reason = (
                "has its result already" if call_id in self._answered else "was not made before it"
            )
            block.fail("tool_use_id", f"the call {call_id!r} {reason}")
        call, number = self._waiting.pop(call_id)
        self._answered.add(call_id)
        results.append((number, translate_result(block, call)))


_Reader = Callable[[Contents, Fields, list[AnyPart], list[tuple[int, Result]]], None]
_READERS: Final[Mapping[str, Mapping[str, _Reader]]] = {
    "user": {
        "text": Contents._block,
        "image": Contents._block,
        "document": Contents._block,
        "tool_result": Contents._tool_result,
    },
    "assistant": {
        "text": Contents._block,
        "thinking": Contents._thinking,
        "redacted_thinking": Contents._redacted,
        "tool_use": Contents._tool_use,
    },
}
"""Role → type of a block → its reader. Any other type is an error."""
