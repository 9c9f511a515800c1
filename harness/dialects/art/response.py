"""Translates canonical events into the StreamEvents of the ART framework's Gemini adapter.

A payload is one StreamEvent, ``{type, data, tokenType?, threadId, traceId, sessionId?}``: ``TOKEN``
for each piece of text or thought, one ``METADATA`` with the latest value of every count, then
``END``; or ``ERROR``, then ``END``. The caller gives ``threadId``, ``traceId``, ``sessionId`` and
``callContext`` in ``session.context``.

A streamed answer is passed on piece by piece. A unary answer is held back to its end, and becomes
at most two tokens: the thoughts and the text. The times of METADATA are milliseconds since the
request, by the recording's clock; they are absent if the recording has no clock.

A fact for which StreamEvents have no field is a declared loss (``LOSSES``). If it is not declared,
it becomes an event of the type ``UNKNOWN`` with the wire's object as its ``data``; consumers ignore
types that they do not know. The model that answered is a declared loss, because METADATA has no
field for it. If the model changes in the middle of an answer, an UNKNOWN reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from harness.facts import losses_of_model
from harness.stream import events as ev
from harness.stream.generation import TranslationError
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload
from ..ending import Ending, EndKind, every_kind
from ..losses import BESIDE_CONTENT, usual_losses

LOSSES: Final = losses_of_model(
    {
        "text[block]": "calls that the model wrote as text",
        "calls": "calls of tools that the application runs",
        "usage[failed]": "token counts of a blocked prompt, and of an answer that failed",
        "model": "the model that answered, unless it changes in the middle of the answer",
        **BESIDE_CONTENT,
        **usual_losses("ids signatures finish_message blocks"),
    }
)
_METADATA_LOSSES: Final = frozenset({"id"})
_ANNOTATION_LOSSES: Final = frozenset(
    {"citations", "grounding", "url_context", "logprobs", "safety_ratings"}
)

CONTEXTS: Final[Mapping[str, str]] = {
    "AGENT_THOUGHT": "AGENT_THOUGHT_",
    "FINAL_SYNTHESIS": "FINAL_SYNTHESIS_",
}
"""``callContext`` → the prefix of its token types; any other context has no prefix."""

COUNTS: Final[Mapping[str, str]] = {
    "input": "inputTokens",
    "output": "outputTokens",
    "reasoning": "thinkingTokens",
}
"""A count of `events.Usage` → its field of METADATA."""

BAD_ENDS: Final[Mapping[EndKind, str]] = {
    "invalid_call": "",
    "nothing": "Invalid response structure from {}: ",
}
"""The ends that are an error, with the beginning of its message, into which the name of the source
is put. All others are METADATA, which has the finish reason in the wire's own word.
"""
SDK: Final = "Gemini SDK"
"""The name of the source of Gemini's answers; that of other answers is the vendor."""

ORDER: Final[Mapping[str, Mapping[str, str]]] = {
    "fresh": {"TOKEN": "fresh", "UNKNOWN": "fresh", "METADATA": "closing", "ERROR": "closing"},
    "closing": {"END": "ended"},
    "ended": {},
}


class Translator:
    """One stream: ``feed`` its events, then ``close``."""

    def __init__(self, tools: Sequence[Tool], session: Session) -> None:
        self._tools = tools
        self._session = session
        self._out: list[Payload] = []
        self._over = False
        self._ending = Ending()
        self._held: dict[str, str] = {}  # token type without its context → text, of a unary answer
        self._model: str | None = None
        self._metadata: Payload = {}
        self._usage: dict[str, Any] = {}
        self._begun = False
        self._first_token_ms: float | None = None

    def feed(self, event: ev.Event) -> list[Payload]:
        """Return the StreamEvents that this event completes, perhaps none."""
        if not self._over and getattr(event, "candidate", 0) <= 0:
            self._ending.note(event)
            _REACTIONS[type(event)](self, event)
        return self._take()

    def close(self) -> list[Payload]:
        """Return METADATA and END, or an error if the answer was not understood; nothing after an
        error.
        """
        if not self._over:
            kind = self._ending.kind()
            if kind in BAD_ENDS:
                vendor = self._session.vendor
                source = SDK if vendor == "gemini" else vendor
                self._fail("Error", BAD_ENDS[kind].format(source) + self._ending.message())
            else:
                self._write_held()
                self._write("METADATA", self._metadata_so_far())
                self._end()
        return self._take()

    def _text(self, event: ev.Text) -> None:
        if event.role:  # not the answer
            self._write("UNKNOWN", msgspec.to_builtins(event))
        else:
            self._token("LLM_RESPONSE", event.text)

    def _reasoning(self, event: ev.Reasoning) -> None:
        self._token("LLM_THINKING", event.text)

    def _nameless_call(self, event: ev.NamelessCall) -> None:
        if infer_name(event.payload, self._tools) is None:
            self._token("LLM_RESPONSE", event.raw)

    def _finish(self, event: ev.Finish) -> None:
        self._metadata["stopReason"] = event.raw

    def _blocked(self, event: ev.Blocked) -> None:
        self._fail("Error", f"Gemini API call blocked: {event.reason}")

    def _error(self, event: ev.Error) -> None:
        code = event.status if event.code is None else event.code
        self._fail("ApiError", event.message, {} if code is None else {"code": code})

    def _incomplete(self, event: ev.Incomplete) -> None:
        self._fail("StreamError", _describe_end(event))

    def _start(self, event: ev.Start) -> None:
        if event.model is not None:
            if self._model and event.model != self._model:
                self._write("UNKNOWN", {"model": event.model})
            self._model = event.model

    def _metadata_event(self, event: ev.Metadata) -> None:
        if event.name == "model":
            if self._model not in event.raw.values():
                self._write("UNKNOWN", event.raw)
        elif event.name not in _METADATA_LOSSES:
            self._write("UNKNOWN", event.raw)

    def _annotation(self, event: ev.Annotation) -> None:
        if event.name not in _ANNOTATION_LOSSES:
            self._write("UNKNOWN", event.raw)

    def _raw(self, event: ev.Unknown | ev.Notice | ev.ServerCall | ev.ServerResult) -> None:
        self._write("UNKNOWN", event.raw)

    def _tool_result(self, event: ev.ToolResult) -> None:
        self._write("UNKNOWN", msgspec.to_builtins(event))

    def _lost(self, event: ev.Event) -> None:
        """Emit nothing: a declared loss."""

    def _token(self, kind: str, text: str) -> None:
        if not text:
            return
        if not self._begun:
            self._begun, self._first_token_ms = True, self._session.at_ms
        if self._session.streamed:
            self._write("TOKEN", text, kind)
        else:
            self._held[kind] = self._held.get(kind, "") + text

    def _write_held(self) -> None:
        """Write the tokens of a unary answer, thoughts first."""
        for kind in ("LLM_THINKING", "LLM_RESPONSE"):
            if kind in self._held:
                self._write("TOKEN", self._held.pop(kind), kind)

    def _count(self, event: ev.Usage) -> None:
        self._usage.update(event.raw)
        for name, field in COUNTS.items():
            count = getattr(event, name)
            if count is not None:
                self._metadata[field] = count

    def _metadata_so_far(self) -> Payload:
        """Return LLMMetadata: the latest value of every field that has one."""
        later = {
            "providerRawUsage": self._usage or None,
            "timeToFirstTokenMs": self._first_token_ms,
            "totalGenerationTimeMs": self._session.at_ms,
            "traceId": self._context("traceId", "trace"),
        }
        return self._metadata | {
            field: value for field, value in later.items() if value is not None
        }

    def _fail(self, name: str, message: str, more: Mapping[str, Any] | None = None) -> None:
        self._write_held()
        self._write("ERROR", {"name": name, "message": message, **(more or {})})
        self._end()

    def _end(self) -> None:
        self._write("END", None)
        self._over = True

    def _write(self, kind: str, data: Any, token_kind: str | None = None) -> None:
        payload: Payload = {"type": kind, "data": data}
        if token_kind is not None:
            payload["tokenType"] = (
                CONTEXTS.get(self._session.context.get("callContext", ""), "") + token_kind
            )
        payload["threadId"] = self._context("threadId", "thread")
        payload["traceId"] = self._context("traceId", "trace")
        if "sessionId" in self._session.context:
            payload["sessionId"] = self._session.context["sessionId"]
        self._out.append(payload)

    def _context(self, name: str, default: str) -> Any:
        return self._session.context.get(name, default)

    def _take(self) -> list[Payload]:
        out = self._out
        self._out = []
        return out


_REACTIONS: Final[Mapping[type[ev.Event], Callable[[Translator, Any], None]]] = every_kind(
    "art",
    {
        ev.Text: Translator._text,
        ev.Reasoning: Translator._reasoning,
        ev.NamelessCall: Translator._nameless_call,
        ev.Usage: Translator._count,
        ev.Finish: Translator._finish,
        ev.Blocked: Translator._blocked,
        ev.Error: Translator._error,
        ev.Incomplete: Translator._incomplete,
        ev.Start: Translator._start,
        ev.Metadata: Translator._metadata_event,
        ev.Annotation: Translator._annotation,
        ev.Unknown: Translator._raw,
        ev.Notice: Translator._raw,
        ev.ServerCall: Translator._raw,
        ev.ServerResult: Translator._raw,
        ev.ToolResult: Translator._tool_result,
        **dict.fromkeys(
            (
                ev.CallStart,
                ev.CallPiece,
                ev.CallText,
                ev.CallEnd,
                ev.CallInvalid,
                ev.Media,
                ev.Code,
                ev.CodeResult,
                ev.BlockStart,
                ev.BlockEnd,
                ev.Mark,
            ),
            Translator._lost,
        ),
    },
)


def _describe_end(event: ev.Incomplete) -> str:
    inside = f", {len(event.rest)} characters into a message" if event.rest else ""
    return f"the stream ended before it was complete ({event.end}){inside}"


def refuse(error: TranslationError, session: Session) -> list[Payload]:
    """Return the whole stream for a prompt that can't be translated, for which no call is made."""
    translator = Translator([], session)
    translator._fail("ARTError", str(error), {"code": "PROMPT_TRANSLATION_FAILED"})
    return translator._take()
