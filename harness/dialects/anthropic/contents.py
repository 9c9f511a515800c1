"""Messages → Gemini's contents: a message a content, a block a part, at its place and with its
signature.

Two things of a content are elsewhere in a message. The signature of a text stands in an empty
``thinking`` block behind it, since the official clients keep one only there; it goes back onto the
text. The signature of a call, its name and its id are in the session, which remembers calls by the
id of their ``tool_use``: an id that was only counted is none of the wire's and isn't sent.

Gemini reads results only directly after their calls, all in one content: results come before what
else the user says, in the order of the calls, also where a client sends each in a message of its
own, or something else first.

Sources: https://docs.anthropic.com/en/api/messages, https://ai.google.dev/api/caching#Content and
https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from harness.stream.generation import TranslationError
from harness.stream.session import Session

from ..dialect import Payload
from ..fields import Fields
from .media import translate_document, translate_image, translate_result

Part = Payload

ROLES: Final = {"user": "user", "assistant": "model"}


class _Call(NamedTuple):
    """A call that waits for its result: how the wire knows it, and its number in the
    conversation.
    """

    name: str
    id: str | None
    number: int


class Contents:
    """The contents of one request; ``names`` are the wire's names of the caller's tools.

    ``contents`` is what came of the messages so far, ``strangers`` are the ids of calls in them
    that the session does not know.
    """

    def __init__(self, names: Mapping[str, str], session: Session) -> None:
        self.contents: list[dict[str, Any]] = []
        self.strangers: list[str] = []
        self._names = names
        self._session = session
        self._waiting: dict[str, _Call] = {}
        self._answered: set[str] = set()
        self._calls = 0
        self._place = 0  # where the results of the latest calls belong
        self._results: list[
            tuple[int, Part]
        ] = []  # those that stand there, with the numbers of their calls

    def add(self, message: Fields) -> None:
        """One message; an empty one is left out. Raises `TranslationError`, naming the block and
        its field.
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
            message.leave("content", "there is nothing in it")
        if parts:
            self.contents.append({"role": ROLES[role], "parts": parts})
        if role == "assistant":
            self._place, self._results = len(self.contents), []

    def _answer(self, results: list[tuple[int, Part]], parts: list[Part]) -> list[Part]:
        """Put results behind their calls, and what was said with them behind them; what can't stand
        there is given back.
        """
        if not self._results:
            self.contents.insert(self._place, {"role": ROLES["user"], "parts": []})
        answers = self.contents[self._place]["parts"]
        said = answers[len(self._results) :]
        if self._place == len(self.contents) - 1:
            said, parts = [*said, *parts], []
        self._results = sorted([*self._results, *results], key=lambda one: one[0])
        answers[:] = [*(part for _, part in self._results), *said]
        return parts

    def _text(self, block: Fields, parts: list[Part], _: list[tuple[int, Part]]) -> None:
        parts.append({"text": block.need("text", str)})

    def _image(self, block: Fields, parts: list[Part], _: list[tuple[int, Part]]) -> None:
        parts.append(translate_image(block))

    def _document(self, block: Fields, parts: list[Part], _: list[tuple[int, Part]]) -> None:
        parts += translate_document(block)

    def _thinking(self, block: Fields, parts: list[Part], _: list[tuple[int, Part]]) -> None:
        """A thought; an empty one carries the signature of the text before it, or else of an empty
        part.
        """
        text, signature = block.need("thinking", str), block.get("signature", str)
        signed = {"thoughtSignature": signature} if signature else {}
        if text:
            parts.append({"text": text, "thought": True, **signed})
        elif signed and parts and parts[-1].keys() == {"text"}:
            parts[-1] |= signed
        elif signed:
            parts.append({"text": "", **signed})

    def _redacted(self, block: Fields, _: list[Part], __: list[tuple[int, Part]]) -> None:
        block.need("data", str)
        block.leave(
            "data",
            "it is encrypted for the model that thought it, and Gemini refuses what it has not"
            " signed",
        )

    def _tool_use(self, block: Fields, parts: list[Part], _: list[tuple[int, Part]]) -> None:
        """A call, as the session remembers it; a signature of the block's own wins."""
        call_id, name = block.need("id", str), block.need("name", str)
        if call_id in self._waiting:
            raise TranslationError(
                block.at("id"),
                f"the call before with the id {call_id!r} has no result yet; ids must differ",
            )
        arguments, own = block.need("input", dict), block.get("signature", str)
        known = self._session.calls.get(call_id)
        if known and name in (known.name, self._session.own_names.get(known.name)):
            call, signature = _Call(known.name, known.wire_id, self._calls), own or known.signature
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
            raise TranslationError(block.at("tool_use_id"), f"the call {call_id!r} {reason}")
        call = self._waiting.pop(call_id)
        self._answered.add(call_id)
        results.append(
            (
                call.number,
                {
                    "functionResponse": {
                        **_known_id(call),
                        "name": call.name,
                        **translate_result(block),
                    }
                },
            )
        )


def _known_id(call: _Call) -> dict[str, str]:
    return {"id": call.id} if call.id else {}


_Reader = Callable[[Contents, Fields, list[Part], list[tuple[int, Part]]], None]
_READERS: Final[Mapping[str, Mapping[str, _Reader]]] = {
    "user": {
        "text": Contents._text,
        "image": Contents._image,
        "document": Contents._document,
        "tool_result": Contents._tool_result,
    },
    "assistant": {
        "text": Contents._text,
        "thinking": Contents._thinking,
        "redacted_thinking": Contents._redacted,
        "tool_use": Contents._tool_use,
    },
}
"""Role → type of a block → its reader. A type that isn't here is an error: nothing is lost in
silence.
"""
