"""Faults of the same proxy with calls in text.

Its first version parses ``<tool_code>``, its later version does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from harness.dialects.anthropic.response import BARE_PAYLOADS
from harness.stream import events as ev
from harness.stream.tool_code import END, START, Splitter, ToolCodeBlock, infer_name, parse_body

from .pipeline import Items, Table, Wrapper
from .tool_code_reader import AnySplitter, ToolCodeReader

TOOL_CODE = Table("anthropic")


def splitter(fault: type[AnySplitter]) -> type[AnySplitter]:
    """The fault splits text instead of our `Splitter`."""

    class Reader(ToolCodeReader):
        __doc__ = fault.__doc__

        def make_splitter(self) -> AnySplitter:
            return fault()

    Reader.__name__ = fault.__name__
    TOOL_CODE.tool_code(Reader)
    return fault


def edited(
    edit: Callable[[list[str | ToolCodeBlock]], list[str | ToolCodeBlock]],
) -> type[AnySplitter]:
    """Our `Splitter`, whose pieces are changed by ``edit``; name and docstring are those of
    ``edit``.
    """

    class Edited:
        __doc__ = edit.__doc__

        def __init__(self) -> None:
            self.inner = Splitter()

        def feed(self, text: str) -> list[str | ToolCodeBlock]:
            return edit(self.inner.feed(text))

        def close(self) -> str:
            return self.inner.close()

    Edited.__name__ = edit.__name__
    return splitter(Edited)


class Watched:
    """Our `Splitter` with ``held``, the text that it holds back."""

    def __init__(self) -> None:
        self.inner = Splitter()
        self.held = ""

    def feed(self, text: str) -> list[str | ToolCodeBlock]:
        pieces = self.inner.feed(text)
        self.held += text
        for piece in pieces:
            self.held = self.held[len(piece if isinstance(piece, str) else piece.raw) :]
        return pieces

    def close(self) -> str:
        self.held = ""
        return self.inner.close()

    @property
    def body(self) -> str:
        """The body of the open block so far."""
        return self.held.removeprefix(START).strip() if self.held.startswith(START) else ""


@splitter
class BodyInPiecesIsLost(Watched):
    """When a body that comes in pieces is joined, its beginning is doubled; the result is not JSON
    and is dropped (the first version).
    """

    def feed(self, text: str) -> list[str | ToolCodeBlock]:
        begun = self.body
        pieces = super().feed(text)
        return pieces[1:] if begun and pieces and isinstance(pieces[0], ToolCodeBlock) else pieces


@splitter
class BodyInPiecesIsDoubled(Watched):
    """When a body that comes in pieces is joined, its beginning is doubled (the first version; the
    block becomes text).
    """

    def feed(self, text: str) -> list[str | ToolCodeBlock]:
        begun = self.body
        pieces = super().feed(text)
        if begun and pieces and isinstance(pieces[0], ToolCodeBlock):
            body = begun + pieces[0].body
            pieces[0] = ToolCodeBlock(body, f"{START}{body}{END}")
        return pieces


@splitter
class SplitStartTagLeaks(Watched):
    """A start tag that is cut is not joined, so the block leaks as text (the first version)."""

    def feed(self, text: str) -> list[str | ToolCodeBlock]:
        pieces = super().feed(text)
        return pieces if self.held.startswith(START) else [*pieces, *filter(None, [self.close()])]


@splitter
class SplitEndTagMissed(Watched):
    """An end tag that is cut is not joined, so the block never ends (the first version, without its
    doubling).
    """

    missed = ""

    def feed(self, text: str) -> list[str | ToolCodeBlock]:
        if self.missed:
            self.missed += text
            return []
        pieces = super().feed(text)
        if self.held.startswith(START) and self.held.endswith(tuple(BEGINNINGS)):
            self.missed = self.close()
        return pieces

    def close(self) -> str:
        missed, self.missed = self.missed, ""
        return missed + super().close()


BEGINNINGS = [END[:length] for length in range(1, len(END))]


@splitter
class UnfinishedBlockSwallowed(Watched):
    """A block that never ends is dropped with all text after it (the first version)."""

    def close(self) -> str:
        unfinished = self.held.startswith(START)
        held = super().close()
        return "" if unfinished else held


@edited
def malformed_block_dropped(pieces: list[str | ToolCodeBlock]) -> list[str | ToolCodeBlock]:
    """A block whose body cannot be read is dropped without a warning (the first version)."""
    return [piece for piece in pieces if isinstance(piece, str) or parse_body(piece.body)]


@edited
def only_bare_json(pieces: list[str | ToolCodeBlock]) -> list[str | ToolCodeBlock]:
    """A body in a fence or in Python syntax is dropped without a warning (the first version)."""
    return [
        piece for piece in pieces if isinstance(piece, str) or piece.body.strip().startswith("{")
    ]


@edited
def text_after_the_calls(pieces: list[str | ToolCodeBlock]) -> list[str | ToolCodeBlock]:
    """The calls of a text come first, and then its text in one piece, whatever their order was (the
    first version).
    """
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    return [*(piece for piece in pieces if isinstance(piece, ToolCodeBlock)), *filter(None, [text])]


@TOOL_CODE.tool_code
class ToolCodeStaysText(ToolCodeReader):
    """Blocks are not searched, so the call stays text (the later version)."""

    def read(self, events: Iterator[ev.Event]) -> Iterator[ev.Event]:
        return events


@TOOL_CODE.tool_code
class WrapperIsTheInput(ToolCodeReader):
    """The tool's input is the whole object, with the keys that wrap its name and arguments (the
    first version).
    """

    def read_block(self, block: ToolCodeBlock, candidate: int) -> Any:
        signed, others = super().read_block(block, candidate)
        if isinstance(signed, ev.CallStart) and block.body.strip().startswith("{"):
            others = [ev.CallEnd(signed.call, json.loads(block.body))]
        return signed, others


@TOOL_CODE.events
def name_argument_is_the_tool(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """An argument called ``name`` is used as the name of the tool (the first version)."""
    for event in events:
        name = event.payload.get("name") if isinstance(event, ev.NamelessCall) else None
        if isinstance(event, ev.NamelessCall) and name:
            yield ev.CallStart(event.call, str(name), None, event.signature)
            yield ev.CallEnd(event.call, event.payload)
        else:
            yield event


@TOOL_CODE.events
def known_names_though_others_are_declared(events: Iterator[ev.Event]) -> Iterator[ev.Event]:
    """``command`` means Bash, ``todos`` means TodoWrite, ``file_path`` means Write, although no
    such tool is declared (the first version).
    """
    for event in events:
        name = None
        if isinstance(event, ev.NamelessCall):
            name = next(
                (name for keys, name in BARE_PAYLOADS if keys <= event.payload.keys()), None
            )
        if isinstance(event, ev.NamelessCall) and name:
            yield ev.CallStart(event.call, name, None, event.signature)
            yield ev.CallEnd(event.call, event.payload)
        else:
            yield event


@TOOL_CODE.wrapper
class CallWithoutAName(Wrapper):
    """A body that fits no tool is a call with an empty name (the first version)."""

    def feed(self, event: ev.Event) -> Items:
        if not isinstance(event, ev.NamelessCall) or self.has_name(event.payload):
            return super().feed(event)
        start = ev.CallStart(event.call, "", None, event.signature)
        return [*super().feed(start), *super().feed(ev.CallEnd(event.call, event.payload))]

    def has_name(self, payload: dict[str, Any]) -> bool:
        bare = any(keys <= payload.keys() for keys, _ in BARE_PAYLOADS)
        return infer_name(payload, self.tools) is not None or (bare and not self.tools)


@TOOL_CODE.tool_code
class BlockGoesOnOverOtherParts(ToolCodeReader):
    """A part that is not text does not end an open block, so the text after that part is read as
    part of the block (the first version).
    """

    def ends_block(self, event: ev.Event) -> bool:
        return False


@TOOL_CODE.wrapper
class SignatureOfALaterThought(Wrapper):
    """A call from ``<tool_code>`` is remembered with the signature of a later thought (the first
    state).
    """

    def feed(self, event: ev.Event) -> Items:
        if isinstance(event, ev.Reasoning) and event.signature:
            for call_id, call in list(self.session.calls.items()):
                self.session.remember(call_id, call.name, call.signature or event.signature)
        return super().feed(event)
