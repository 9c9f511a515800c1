"""Faults of the same proxy where it finds calls in text: its first state parses ``<tool_code>``,
its later one does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from harness.dialects import Payload
from harness.dialects.anthropic.response import BARE_PAYLOADS, Translator
from harness.providers.gemini.parts import Parts
from harness.stream import events as ev
from harness.stream.tool_code import Block, Splitter, infer_name, parse_body

from .pipeline import Table

TOOL_CODE = Table("anthropic")


@TOOL_CODE.splitter
class BodyInPiecesIsLost(Splitter):
    """A body that comes in pieces is put together with its beginning doubled, is no JSON then, and
    is dropped (the first state).
    """

    def feed(self, text: str) -> list[str | Block]:
        begun = "".join(self._body or ()).strip()
        found = super().feed(text)
        return found[1:] if begun and found and isinstance(found[0], Block) else found


@TOOL_CODE.splitter
class BodyInPiecesIsDoubled(Splitter):
    """A body that comes in pieces is put together with its beginning doubled (the first state, told
    as text).
    """

    def feed(self, text: str) -> list[str | Block]:
        begun = "".join(self._body or ()).strip()
        found = super().feed(text)
        if begun and found and isinstance(found[0], Block):
            body = begun + found[0].body
            found[0] = Block(body, f"<tool_code>{body}</tool_code>")
        return found


@TOOL_CODE.splitter
class SplitStartTagLeaks(Splitter):
    """A start tag that is cut is not stitched: the block leaks as text (the first state)."""

    def feed(self, text: str) -> list[str | Block]:
        found = super().feed(text)
        if self._body is None and self._held:
            found.append(self._held)
            self._held = ""
        return found


@TOOL_CODE.splitter
class SplitEndTagMissed(Splitter):
    """An end tag that is cut is not stitched: the block never ends (the first state, without its
    doubling).
    """

    def feed(self, text: str) -> list[str | Block]:
        found = super().feed(text)
        if self._body is not None and self._held:
            self._body.append(self._held)
            self._held = ""
        return found


@TOOL_CODE.splitter
class UnfinishedBlockSwallowed(Splitter):
    """A block that never ends is dropped, and all text after it (the first state)."""

    def close(self) -> str:
        unfinished = self._body is not None
        held = super().close()
        return "" if unfinished else held


@TOOL_CODE.splitter
class MalformedBlockDropped(Splitter):
    """A block whose body cannot be read is dropped in silence (the first state)."""

    def feed(self, text: str) -> list[str | Block]:
        return [
            piece
            for piece in super().feed(text)
            if isinstance(piece, str) or parse_body(piece.body)
        ]


@TOOL_CODE.splitter
class OnlyBareJson(Splitter):
    """A body in a fence, or one that is a Python call, is dropped in silence (the first state)."""

    def feed(self, text: str) -> list[str | Block]:
        return [
            piece
            for piece in super().feed(text)
            if isinstance(piece, str) or piece.body.strip().startswith("{")
        ]


@TOOL_CODE.splitter
class TextAfterTheCalls(Splitter):
    """The calls of a text come first, then its text in one piece, whatever stood where (the first
    state).
    """

    def feed(self, text: str) -> list[str | Block]:
        found = super().feed(text)
        blocks, texts = (
            [piece for piece in found if isinstance(piece, Block)],
            [piece for piece in found if isinstance(piece, str)],
        )
        return [*blocks, *(["".join(texts)] if texts else [])]


@TOOL_CODE.splitter
class ToolCodeStaysText(Splitter):
    """Blocks are not looked for at all: the call stays text (the later state)."""

    def feed(self, text: str) -> list[str | Block]:
        return [text] if text else []


@TOOL_CODE.parts
class WrapperIsTheInput(Parts):
    """The whole object is the tool's input, with the keys that wrap its name and arguments (the
    first state).
    """

    def _read_block(self, block: Block, candidate: int) -> Any:
        signed, others = super()._read_block(block, candidate)
        if isinstance(signed, ev.CallStart) and block.body.strip().startswith("{"):
            others = [ev.CallEnd(signed.call, json.loads(block.body))]
        return signed, others


@TOOL_CODE.events
def name_argument_is_the_tool(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """An argument called ``name`` is taken for the name of the tool (the first state)."""
    for event in events:
        name = event.payload.get("name") if isinstance(event, ev.NamelessCall) else None
        if isinstance(event, ev.NamelessCall) and name:
            yield ev.CallStart(event.call, str(name), None, event.signature)
            yield ev.CallEnd(event.call, event.payload)
        else:
            yield event


@TOOL_CODE.translator
class KnownNamesThoughOthersAreDeclared(Translator):
    """``command`` is Bash, ``todos`` TodoWrite, ``file_path`` Write although no such tool is
    declared (the first state).
    """

    def _infer_name(self, payload: dict[str, Any]) -> str | None:
        return next(
            (name for keys, name in BARE_PAYLOADS if keys <= payload.keys()), None
        ) or infer_name(payload, self._tools)


@TOOL_CODE.translator
class CallWithoutAName(Translator):
    """A body that fits no tool is a call with an empty name (the first state)."""

    def _infer_name(self, payload: dict[str, Any]) -> str | None:
        return super()._infer_name(payload) or ""


@TOOL_CODE.parts
class BlockGoesOnOverOtherParts(Parts):
    """An open block is not ended by a part that is no text: the text after that part belongs to it
    (the first state).
    """

    def release(self, candidate: int, out: list[ev.Event]) -> None:
        """Nothing but the end of the answer ends a block."""

    def release_all(self, out: list[ev.Event]) -> None:
        for candidate in self._splitters or ():
            super().release(candidate, out)


@TOOL_CODE.translator
class SignatureOfALaterThought(Translator):
    """A call out of ``<tool_code>`` is remembered with the signature of a thought that comes after
    it (the first state).
    """

    def feed(self, event: ev.Event) -> list[Payload]:
        if isinstance(event, ev.Reasoning) and event.signature:
            for call_id, call in list(self._session.calls.items()):
                self._session.remember(call_id, call.name, call.signature or event.signature)
        return super().feed(event)
