"""Translates canonical events into the StreamEvents of the unified LLM specification.

A block of text or reasoning is a run of pieces of one kind; any other content closes it. Nothing is
lost: an object of the wire that has no field of its own becomes a PROVIDER_EVENT with the object as
``raw``. FINISH carries the whole Response, which is made of the same pieces.

Source: https://github.com/strongdm/attractor/blob/main/unified-llm-spec.md (StreamEvent, Response,
FinishReason, Usage, errors).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import to_builtins

from harness.stream import events as ev
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload
from ..ending import Ending, every_kind
from ..running_usage import RunningUsage
from .blocks import NO_BLOCK, NO_MARKS, OpenBlock, OpenCall, media_part, provider_event
from .protocol import COUNTS, FINISH_REASONS, error_of, incomplete_error, stream_error


class UnifiedLlmTranslator:
    """One stream: see `harness.dialects.dialect.Translator`."""

    def __init__(self, tools: Sequence[Tool], session: Session) -> None:
        self.tools = tools
        self.session = session
        self.state = "fresh"  # fresh → open → over
        self.block = NO_BLOCK
        self.blocks = 0
        self.model = ""
        self.id = ""
        self.content: list[dict[str, Any]] = []
        self.call: OpenCall | None = None
        self.called = False
        self.other_calls: set[int] = set()
        self.usage = RunningUsage()
        self.ending = Ending()

    def feed(self, event: ev.Event) -> list[Payload]:
        if type(event) is ev.Usage:
            self.usage.add(event)
            return []
        if type(event) is ev.Text:
            block, text = self.block, event.text
            if (  # the usual text: a later piece of the open block; this is the hot path
                block.is_usual
                and text
                and event.signature is None
                and not event.candidate
                and not event.role
                and not event.refusal
            ):
                block.pieces.append(text)
                return [{"type": "TEXT_DELTA", "delta": text, "text_id": block.id}]
        kind = type(event)
        if self.state == "over":
            return []
        if kind in self.ending.watched:
            self.ending.note(event)
        if kind in _SCOPED and (
            event.call in self.other_calls  # type: ignore[attr-defined]  # all kinds of this set have it
            if kind in _OF_A_CALL
            else event.candidate > 0  # type: ignore[attr-defined]  # all other kinds of `_SCOPED` have it
        ):
            return self._other_candidate(event)
        return _HANDLERS[kind](self, event)

    def close(self) -> list[Payload]:
        if self.state == "over":
            return []
        if not self.ending.understood:
            return self._fail(stream_error(self.ending.message()))
        payloads = [*self._open(), *self._close_block()]
        self.state = "over"
        finish: Payload = {"type": "FINISH", "finish_reason": self._finish_reason()}
        usage = self._total_usage()
        if usage:
            finish["usage"] = usage
        finish["response"] = self._response(finish["finish_reason"], usage)
        return [*payloads, finish]

    # ---------------------------------------------------------------- content

    def _open(self) -> list[Payload]:
        if self.state == "fresh":
            self.state = "open"
            return [{"type": "STREAM_START"}]
        return []

    def _start(self, event: ev.Start) -> list[Payload]:
        self.model = event.model or self.model
        self.id = event.id or self.id
        return self._open()

    def _text(self, event: ev.Text) -> list[Payload]:
        if event.role:  # not the answer
            return [*self._open(), *self._close_block(), provider_event(to_builtins(event))]
        return self._piece("text", event.text, event.signature, _REFUSAL if event.refusal else {})

    def _reasoning(self, event: ev.Reasoning) -> list[Payload]:
        marks: dict[str, Any] = {"redacted": True} if event.redacted else {}
        if event.id is not None:
            marks["id"] = event.id
        return self._piece("reasoning", event.text, event.signature, marks)

    def _piece(
        self, kind: str, text: str, signature: str | None, marks: Mapping[str, Any] = NO_MARKS
    ) -> list[Payload]:
        """Emit a piece of text or reasoning. A piece with other marks begins a new block."""
        if not text and signature is None:
            return []
        payloads = self._open()
        if self.block.kind != kind or self.block.marks != marks:
            payloads += self._close_block()
            self.block = self._new_block(kind, marks)
            payloads.append(
                {"type": "TEXT_START", "text_id": self.block.id, **marks}
                if kind == "text"
                else {"type": "REASONING_START"}
            )
        block = self.block
        if text:
            block.pieces.append(text)
            block.is_usual = kind == "text" and not marks
            payloads.append(
                {"type": "TEXT_DELTA", "delta": text, "text_id": block.id}
                if kind == "text"
                else {"type": "REASONING_DELTA", "reasoning_delta": text}
            )
        if signature is not None:
            block.signatures.append(signature)
        return payloads

    def _new_block(self, kind: str, marks: Mapping[str, Any]) -> OpenBlock:
        if kind == "text":
            self.blocks += 1
        return OpenBlock(kind, f"text_{self.blocks}", marks)

    def _close_block(self) -> list[Payload]:
        block, self.block = self.block, NO_BLOCK
        if block.kind == "none":
            return []
        signature = {**block.marks, **block.signature()}
        text = "".join(block.pieces)
        if block.kind == "text":
            self.content.append({"kind": "text", "text": text, **signature})
            return [{"type": "TEXT_END", "text_id": block.id, **signature}]
        self.content.append(
            {"kind": "thinking", "thinking": {"text": text, "redacted": False, **signature}}
        )
        return [{"type": "REASONING_END", **signature}]

    def _part(
        self, event: ev.Media | ev.Code | ev.CodeResult | ev.ServerCall | ev.ServerResult
    ) -> list[Payload]:
        payloads = [*self._open(), *self._close_block(), provider_event(event.raw)]
        self.content.append(
            media_part(event)
            if isinstance(event, ev.Media)
            else {"kind": "provider", "raw": event.raw}
        )
        return payloads

    def _tool_result(self, event: ev.ToolResult) -> list[Payload]:
        raw = to_builtins(event)
        payloads = [*self._open(), *self._close_block(), provider_event(raw)]
        self.content.append({"kind": "provider", "raw": raw})
        return payloads

    def _metadata(self, event: ev.Metadata) -> list[Payload]:
        """Put the model and the response id into the Response, also if they arrive late."""
        match event.name, next(iter(event.raw.values()), None):
            case "model", str(model):
                self.model = model
            case "id", str(reply_id):
                self.id = reply_id
        return self._aside(event)

    def _unknown(self, event: ev.Unknown) -> list[Payload]:
        """Emit an unknown part. Like any part, it closes the block before it, and has a position in
        the message.
        """
        if event.where != "part" and not event.where.startswith("part kind"):
            return self._aside(event)
        payloads = [*self._open(), *self._close_block(), provider_event(event.raw)]
        self.content.append({"kind": "provider", "raw": event.raw})
        return payloads

    def _usage(self, event: ev.Usage) -> list[Payload]:
        self.usage.add(event)
        return []

    def _boundary(self, event: ev.BlockStart | ev.BlockEnd) -> list[Payload]:
        """Close the block: pieces of two blocks of the wire never share one."""
        return [*self._open(), *self._close_block(), provider_event(event.raw)]

    def _mark(self, event: ev.Mark) -> list[Payload]:
        if event.name in ("signature", "tag"):  # the item has one; the tag is not of the text
            return []
        return [*self._open(), provider_event(to_builtins(event))]

    def _aside(self, event: ev.Annotation | ev.Metadata | ev.Notice | ev.Unknown) -> list[Payload]:
        return [*self._open(), provider_event(event.raw)]

    def _other_candidate(self, event: ev.Event) -> list[Payload]:
        """Pass on an event of another candidate, because only candidate 0 is the answer. The pieces
        and the end of a call belong to the candidate of its start.
        """
        if isinstance(event, ev.CallStart):
            self.other_calls.add(event.call)
        return [*self._open(), provider_event(to_builtins(event))]

    # ---------------------------------------------------------------- calls

    def _call_start(self, event: ev.CallStart) -> list[Payload]:
        payloads = [*self._open(), *self._close_block()]
        call_id = self.session.call_id(event.id, "call")
        self.session.remember(call_id, event.name, event.signature, event.id)
        self.call = OpenCall(call_id, event.name, event.signature)
        return [
            *payloads,
            {"type": "TOOL_CALL_START", "tool_call": {"id": call_id, "name": event.name}},
        ]

    def _call_piece(self, event: ev.CallPiece) -> list[Payload]:
        if self.call is not None:
            self.call.arguments.add(event.path, event.value, event.more)
        return []

    def _call_text(self, event: ev.CallText) -> list[Payload]:
        if self.call is None:
            return []
        tool_call = {"id": self.call.id, "name": self.call.name}
        self.call.streamed = True
        return [{"type": "TOOL_CALL_DELTA", "delta": event.text, "tool_call": tool_call}]

    def _call_invalid(self, event: ev.CallInvalid) -> list[Payload]:
        """End a call whose arguments are not an object, with their text instead."""
        call, self.call = self.call, None
        if call is None:
            return []
        return [self._ended_call(call.id, call.name, event.text, call.signature)]

    def _call_end(self, event: ev.CallEnd) -> list[Payload]:
        call, self.call = self.call, None
        if call is None:
            return []
        return [self._ended_call(call.id, call.name, event.arguments, call.signature)]

    def _ended_call(
        self, call_id: str, name: str, arguments: dict[str, Any] | str, signature: str | None
    ) -> Payload:
        self.called = True
        tool_call: dict[str, Any] = {"id": call_id, "name": name, "arguments": arguments}
        if signature is not None:
            tool_call["signature"] = signature
        self.content.append({"kind": "tool_call", "tool_call": {**tool_call, "type": "function"}})
        return {"type": "TOOL_CALL_END", "tool_call": tool_call}

    def _nameless_call(self, event: ev.NamelessCall) -> list[Payload]:
        name = infer_name(event.payload, self.tools)
        if name is None:
            return self._piece("text", event.raw, event.signature)
        started = self._call_start(ev.CallStart(event.call, name, None, event.signature))
        return [*started, *self._call_end(ev.CallEnd(event.call, event.payload))]

    # ---------------------------------------------------------------- ends

    def _end(self, event: ev.Finish | ev.Blocked) -> list[Payload]:
        return [*self._open(), *self._close_block()]

    def _error(self, event: ev.Error) -> list[Payload]:
        return self._fail(error_of(event))

    def _incomplete(self, event: ev.Incomplete) -> list[Payload]:
        return self._fail(incomplete_error(event))

    def _fail(self, error: dict[str, Any]) -> list[Payload]:
        """Close the open block or call with its content so far; then write the error, and nothing
        after it.
        """
        payloads = self._close_block()
        if self.call is not None and (self.call.signature or not self.call.streamed):
            payloads.append(self.call.broken_off())
        failed: Payload = {"type": "ERROR", "error": error}
        if self.ending.finish or self.ending.blocked:
            failed["finish_reason"] = self._finish_reason()
        usage = self._total_usage()
        if usage:
            failed["usage"] = usage
        self.state = "over"
        return [*payloads, failed]

    def _finish_reason(self) -> dict[str, Any]:
        """Return the finish reason. A block reason replaces it. The message of an invalid call is
        used if the wire has none.
        """
        ending, finish = self.ending, {}
        if ending.blocked:
            finish = {"raw": ending.blocked.reason, "message": ending.blocked.message}
        elif ending.finish:
            finish = {"raw": ending.finish.raw, "message": ending.finish.message}
        if ending.invalid and finish.get("message") is None:
            finish["message"] = ending.invalid
        given = {name: text for name, text in finish.items() if text is not None}
        return {"reason": FINISH_REASONS[ending.kind(called=self.called)], **given}

    def _total_usage(self) -> dict[str, Any]:
        counts, raw = self.usage.counts, self.usage.raw
        usage = {field: counts[name] for name, field in COUNTS if name in counts}
        return {**usage, "raw": raw} if raw else {}

    def _response(self, finish_reason: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": self.id or self.session.next_id("response"),
            "model": self.model,
            "provider": self.session.vendor,
            "message": {"role": "assistant", "content": self.content},
            "finish_reason": finish_reason,
            **({"usage": usage} if usage else {}),
            "warnings": [],
        }


_Reactions = Mapping[type[ev.Event], Callable[[UnifiedLlmTranslator, Any], list[Payload]]]

_HANDLERS: Final[_Reactions] = every_kind(
    "unified-llm",
    {
        ev.Usage: UnifiedLlmTranslator._usage,
        ev.Text: UnifiedLlmTranslator._text,
        ev.Reasoning: UnifiedLlmTranslator._reasoning,
        ev.Start: UnifiedLlmTranslator._start,
        ev.CallStart: UnifiedLlmTranslator._call_start,
        ev.CallPiece: UnifiedLlmTranslator._call_piece,
        ev.CallText: UnifiedLlmTranslator._call_text,
        ev.CallEnd: UnifiedLlmTranslator._call_end,
        ev.CallInvalid: UnifiedLlmTranslator._call_invalid,
        ev.NamelessCall: UnifiedLlmTranslator._nameless_call,
        ev.Finish: UnifiedLlmTranslator._end,
        ev.Blocked: UnifiedLlmTranslator._end,
        ev.Error: UnifiedLlmTranslator._error,
        ev.Incomplete: UnifiedLlmTranslator._incomplete,
        ev.Media: UnifiedLlmTranslator._part,
        ev.Code: UnifiedLlmTranslator._part,
        ev.CodeResult: UnifiedLlmTranslator._part,
        ev.ServerCall: UnifiedLlmTranslator._part,
        ev.ServerResult: UnifiedLlmTranslator._part,
        ev.ToolResult: UnifiedLlmTranslator._tool_result,
        ev.Annotation: UnifiedLlmTranslator._aside,
        ev.Metadata: UnifiedLlmTranslator._metadata,
        ev.Notice: UnifiedLlmTranslator._aside,
        ev.Unknown: UnifiedLlmTranslator._unknown,
        ev.BlockStart: UnifiedLlmTranslator._boundary,
        ev.BlockEnd: UnifiedLlmTranslator._boundary,
        ev.Mark: UnifiedLlmTranslator._mark,
    },
)
_OF_A_CALL: Final = frozenset({ev.CallPiece, ev.CallText, ev.CallEnd, ev.CallInvalid})
_SCOPED: Final = _OF_A_CALL | {kind for kind in _HANDLERS if "candidate" in kind.__struct_fields__}
_REFUSAL: Final = {"refusal": True}
