"""Translates Messages into Gemini contents: a message is a content, a block is a part.

The official clients keep signatures only in ``thinking`` blocks, so the signature of a text is in
an empty ``thinking`` block after it; it is put back onto the text. The name, the id and the
signature of a call are in the session, by the id of the ``tool_use``. An id that we counted is not
sent.

Gemini reads results only directly after their calls, all in one content. So results come first, in
the order of the calls, even if a client sends each in a message of its own, or other blocks first.

Sources: https://docs.anthropic.com/en/api/messages, https://ai.google.dev/api/caching#Content and
https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from harness.stream.session import Session

from ..dialect import Payload
from ..fields import Fields
from .media import translate_block, translate_result

Part = Payload

ROLES: Final = {"user": "user", "assistant": "model"}


class _Call(NamedTuple):
    """A call that waits for its result: its name and id on the wire, and its number in the
    conversation.
    """

    name: str
    id: str | None
    number: int


class Contents:
    """The contents of one request; ``names`` are the wire's names of the caller's tools,
    ``as_given`` is for a wire that is not generateContent's (`harness.stream.generation`).

    ``contents`` are those of the messages so far. ``strangers`` are the ids of calls that the
    session does not know.
    """

    def __init__(self, names: Mapping[str, str], session: Session, as_given: bool = False) -> None:
        self.contents: list[dict[str, Any]] = []
        self.strangers: list[str] = []
        self._names = names
        self._session = session
        self._as_given = as_given
        self._waiting: dict[str, _Call] = {}
        self._answered: set[str] = set()
        self._calls = 0
        self._place = 0  # the index for the results of the latest calls
        # the results at that place, with the numbers of their calls
        self._results: list[tuple[int, Part]] = []

    def add(self, message: Fields) -> None:
        """Add one message; an empty one is left out. Raises `TranslationError`, which names the
        field.
        """
        role = message.choose("role", ROLES)
        content = message.need("content", str, list)
        parts: list[Part] = []
        results: list[tuple[int, Part]] = []
        if isinstance(content, str):
            parts.append({"text": content})
        else:
            readers = _READERS[role]
            for block in message.items("content"):
                readers[block.choose("type", readers)](self, block, parts, results)
                block.leave_rest()
        message.leave_rest()
        if results:
            parts = self._answer(results, parts)
        elif not parts:
            message.leave("content", "it is empty")
        if parts:
            self.contents.append({"role": ROLES[role], "parts": parts})
        if role == "assistant":
            self._place, self._results = len(self.contents), []

    def _answer(self, results: list[tuple[int, Part]], parts: list[Part]) -> list[Part]:
        """Put results into the user content that follows their calls, in the order of the calls.

        Other parts of the message follow them if that content is the last; else they are returned.
        """
        if not self._results:
            self.contents.insert(self._place, {"role": ROLES["user"], "parts": []})
        answers = self.contents[self._place]["parts"]
        others = answers[len(self._results) :]
        if self._place == len(self.contents) - 1:
            others, parts = [*others, *parts], []
        self._results = sorted([*self._results, *results], key=lambda result: result[0])
        answers[:] = [*(part for _, part in self._results), *others]
        return parts

    def _block(self, block: Fields, parts: list[Part], _: list[tuple[int, Part]]) -> None:
        parts += translate_block(block, self._as_given)

    def _thinking(self, block: Fields, parts: list[Part], _: list[tuple[int, Part]]) -> None:
        """A thought. An empty block carries the signature of the text before it, else of an empty
        part, unless the session knows that the signature belongs to a thought or to a part that is
        not carried.
        """
        text, signature = block.need("thinking", str), block.get("signature", str)
        signed = {"thoughtSignature": signature} if signature else {}
        signed_part = None if text else self._session.signed.get(signature or "")
        if signed_part == "lost part":  # it is lost together with its part, a declared loss
            return
        if text or signed_part == "empty thought":
            parts.append({"text": text, "thought": True, **signed})
        elif signed and parts and parts[-1].keys() == {"text"}:
            parts[-1] |= signed
        elif signed:
            parts.append({"text": "", **signed})

    def _redacted(self, block: Fields, _: list[Part], __: list[tuple[int, Part]]) -> None:
        block.need("data", str)
        block.leave(
            "data",
            "it is encrypted for the model that made it, and Gemini refuses thoughts that it"
            " has not signed",
        )

    def _tool_use(self, block: Fields, parts: list[Part], _: list[tuple[int, Part]]) -> None:
        """A call as the session remembers it; the block's own signature has priority."""
        call_id, name = block.need("id", str), block.need("name", str)
        if call_id in self._waiting:
            block.fail(
                "id", f"the call before with the id {call_id!r} has no result yet; ids must differ"
            )
        arguments, own = block.need("input", dict), block.get("signature", str)
        known = self._session.calls.get(call_id)
        if known and name in (known.name, self._session.own_names.get(known.name)):
            wire_id = known.wire_id or call_id if self._as_given else known.wire_id
            call, signature = _Call(known.name, wire_id, self._calls), own or known.signature
        else:
            call, signature = _Call(self._names[name], call_id, self._calls), own
            self.strangers.append(call_id)
        self._calls += 1
        self._waiting[call_id] = call
        signed = {"thoughtSignature": signature} if signature else {}
        parts.append(
            {"functionCall": {**_known_id(call), "name": call.name, "args": arguments}, **signed}
        )

    def _tool_result(self, block: Fields, _: list[Part], results: list[tuple[int, Part]]) -> None:
        call_id = block.need("tool_use_id", str)
        if call_id not in self._waiting:
            reason = (
                "has its result already" if call_id in self._answered else "was not made before it"
            )
            block.fail("tool_use_id", f"the call {call_id!r} {reason}")
        call = self._waiting.pop(call_id)
        self._answered.add(call_id)
        answer = {**_known_id(call), "name": call.name, **translate_result(block, self._as_given)}
        results.append((call.number, {"functionResponse": answer}))


def _known_id(call: _Call) -> dict[str, str]:
    return {"id": call.id} if call.id else {}


_Reader = Callable[[Contents, Fields, list[Part], list[tuple[int, Part]]], None]
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
