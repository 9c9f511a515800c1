"""Reads the facts of Gemini's messages from their events. Text is read without its splitter, so
that the text keeps each ``<tool_code>``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from harness.facts import Fact, WireFacts, arguments_of, counts_of, detail
from harness.facts import fact as stated
from harness.facts.detail import Content, Counts, Result, Signature, WrittenCall
from harness.stream.events import (
    Annotation,
    Blocked,
    CallEnd,
    CallPiece,
    CallStart,
    Code,
    CodeResult,
    Error,
    Finish,
    Media,
    Metadata,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolResult,
    Unknown,
    Usage,
)
from harness.stream.framing import Frame
from harness.stream.json_codec import Json
from harness.stream.json_path import Assembly

from ..event_facts import EventFacts, billing_fact, opaque_values
from ..provider import TIER, Answer
from ..wire_values import present
from .normalizer import GeminiNormalizer
from .raw_values import (
    annotation_facts,
    count_gemini,
    pick,
    server_tool_values,
    usage_facts,
    values_of_piece,
)
from .written_calls import find_blocks, find_written_calls

_BESIDE: Final = {"text", "thought", "thoughtSignature", "functionCall"}

_READ: Final = {
    "candidates",
    "promptFeedback",
    "usageMetadata",
    "functionCalls",
    "error",
    "response",
}
_CALL: Final = {
    *("name", "id", "args", "willContinue", "will_continue", "partialArgs", "partial_args"),
}
BOOLEANS: Final = frozenset({"thought", "willContinue", "boolValue"})
"""The fields of a part whose truth values are kinds and values of events."""
_NOTED: Final = ("field ", "candidate field ", "promptFeedback field ")
"""The places of fields that are facts. Those of a content and of a result are none."""


class GeminiFacts(EventFacts):
    """One answer: see `harness.providers.provider.FactsReader`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.facts += billing_fact("serviceTier", answer.headers.get(TIER))
        self._streamed: Assembly | None = None
        """The pieces of the arguments of the latest call, if it has some."""
        self._counts: Usage | None = None
        self._reads |= {
            Blocked: self._blocked,
            CallPiece: self._call_piece,
            Media: self._media,
            ToolResult: self._tool_result,
        }

    def _note_end(self) -> None:
        self._count()
        self._note_calls_in_text()

    def _note_calls_in_text(self) -> None:
        """Note the calls of the text so far that are not noted yet."""
        if self._answer.tool_code:
            text = "".join([fact.text for fact in self.facts if isinstance(fact, stated.Text)])
            found = [WrittenCall(*call, block=True) for call in find_blocks(text)]
            found += [WrittenCall(*call, block=False) for call in find_written_calls(text)]
            self.facts += [call for call in found if call not in self.facts]

    # ---------------------------------------------------------------- content

    def _text(self, event: Text) -> None:
        super()._text(event)
        self._sign("text", event.signature)

    def _sign(self, kind: str, signature: Json) -> None:
        if isinstance(signature, str) and signature:
            self.facts.append(Signature(kind, signature))

    def _call_start(self, event: CallStart) -> None:
        super()._call_start(event)
        self._streamed = None
        self._sign("call", event.signature)

    def _call_piece(self, event: CallPiece) -> None:
        if event.call == self._open and event.path:
            self._note_piece(event.value)
            self._streamed = self._streamed or Assembly()
            self._streamed.add(event.path, event.value)

    def _arguments_so_far(self) -> Json:
        return self._streamed.value() if self._streamed else {}

    def _note_part(self, raw: dict[str, Json]) -> None:
        self._note_names(present(raw, _BESIDE))

    def _media(self, event: Media) -> None:
        self._note_part(event.raw)
        aspect = "thoughts" if event.thought else "media"
        self.facts += (Content("media"), *opaque_values(aspect, event.data, event.uri))
        self._sign("other", event.signature)

    def _code(self, event: Code | CodeResult) -> None:
        self._note_part(event.raw)
        code = event.code if isinstance(event, Code) else event.output
        self.facts += (Content("code"), *opaque_values("code", code))
        self._sign("other", event.signature)

    def _server_tool(self, event: ServerCall | ServerResult) -> None:
        self._note_part(event.raw)
        name = "toolCall" if isinstance(event, ServerCall) else "toolResponse"
        self.facts += (Content("server_tools"), *server_tool_values(pick(event.raw, name)))
        self._sign("other", event.signature)

    def _tool_result(self, event: ToolResult) -> None:
        self._note_names(["functionResponse"])
        self.facts.append(Result.of(False, event.response))
        self._sign("other", event.signature)

    # ---------------------------------------------------------------- beside the content

    def _metadata(self, event: Metadata) -> None:
        if event.name != "service_tier":
            self._note_names(present(event.raw, set()))

    def _annotation(self, event: Annotation) -> None:
        self._note_part(event.raw)
        if event.candidate == 0:
            self.facts += annotation_facts(event.raw)

    def _usage(self, event: Usage) -> None:
        """Note the counts when others come: usual messages repeat all of them."""
        before = self._counts
        is_struct = isinstance(event.wire, Struct)
        if before is not None and not (is_struct and type(before.wire) is type(event.wire)):
            self._count()
        self._counts = event

    def _count(self) -> None:
        event, self._counts = self._counts, None
        if event is not None:
            self.facts.append(Counts(self._counts_of(event.raw)))
            self.facts += usage_facts(event.raw)

    def _counts_of(self, usage: dict[str, Json]) -> dict[str, int]:
        return count_gemini(usage)

    def _blocked(self, event: Blocked) -> None:
        self._count()
        self._note_open()
        self._note_calls_in_text()
        self.facts.append(detail.Blocked(event.reason))

    def _error(self, event: Error) -> None:
        self._count()
        self._note_calls_in_text()
        super()._error(event)

    def _error_in(self, message: dict[str, Json]) -> Json:
        inner = message.get("response")
        if isinstance(inner, dict) and message.get("candidates") is None:
            self._note_names(present(message, {"response", "error"}))
            return message.get("error") or self._error_in(inner)
        self._note_names(present(message, _READ))
        return message.get("error")

    def _unknown(self, event: Unknown) -> None:
        where = event.where
        raw = event.raw if isinstance(event.raw, dict) else {}
        if where == "call without a beginning":
            self._stray_call(pick(raw, "functionCall"))
            self._sign("piece", pick(raw, "thoughtSignature"))
        elif where == "call piece":
            for value in values_of_piece(raw) if isinstance(pick(raw, "jsonPath"), str) else ():
                self._note_piece(value)
            self._note_names(present(raw, set()))
        elif where.startswith(("part kind ", "part field ")):
            self._note_part(raw)
            kind = "other" if present(raw, _BESIDE) else "text"
            self._sign(kind, pick(raw, "thoughtSignature"))
        elif where.startswith("call field "):
            self._note_names(present(raw, {"id"}))  # a part of a streamed call may repeat it
        elif where.startswith(_NOTED) and not where.startswith("field usageMetadata."):
            self._note_names(present(raw, set()))
            self.facts += annotation_facts(raw)
        elif where == "frame":
            super()._unknown(event)

    def _stray_call(self, call: Json) -> None:
        """Note a part of a call that has no beginning."""
        if not isinstance(call, dict):
            return
        arguments = call.get("args")
        if isinstance(arguments, str):
            arguments = arguments_of(arguments.strip())
        if arguments is not None and not isinstance(arguments, dict):
            self._note_names(present(call, set()))
        else:
            left = {"partialArgs"} if pick(call, "partialArgs") else set()
            self._note_names(left | present(call, _CALL))

    def _note_piece(self, value: Json) -> None:
        if value is not None:
            self.facts.append(detail.CallPiece(value if isinstance(value, str) else ""))


def state_messages(messages: Iterable[Json]) -> Iterator[Fact]:
    """Yield the facts of messages that are already parsed, as a shim states them. A call that never
    ends is none.
    """
    starts: dict[int, CallStart] = {}
    finish: Finish | None = None
    noted: dict[str, int] = {}
    normalizer = GeminiNormalizer(Answer())
    events = [event for message in messages for event in normalizer.feed(Frame(0, message))]
    events += [event for event in normalizer.close() if not isinstance(event, CallEnd)]
    for event in events:
        if getattr(event, "candidate", 0) > 0:
            continue
        match event:
            case Text(text=text) if text and not event.role:
                yield stated.Text(text)
            case Reasoning(text=text) if text:
                yield stated.Thought(text)
            case CallStart():
                starts[event.call] = event
            case CallEnd() if event.call in starts:
                start = starts[event.call]
                yield stated.Call(start.id or None, start.name, event.arguments)
            case Finish():
                finish = event
            case Usage():
                noted |= count_gemini(event.raw)
            case Error():
                yield stated.Error(event.code, event.message)
            case Blocked():
                yield stated.Error(None, f"blocked: {event.reason}")
    if finish is not None:
        yield stated.Finish(finish.raw)
    if counts := counts_of(noted):
        yield stated.Usage(**counts)


def read_messages(messages: Iterable[Json]) -> WireFacts:
    """Return the facts of messages that are already parsed."""
    answer = Answer()
    normalizer, reader = GeminiNormalizer(answer), GeminiFacts(answer)
    for message in messages:
        frame = Frame(0, message)
        reader.feed(frame, normalizer.feed(frame))
    return reader.close(normalizer.close())
