"""Translation of canonical events into the StreamEvents of the ART framework's Gemini adapter.

A payload is one StreamEvent, ``{type, data, tokenType?, threadId, traceId, sessionId?}``: ``TOKEN``
for each piece of text or thought, one ``METADATA`` with the latest of every count, then ``END``; or
``ERROR``, then ``END``. Who asks is the caller's to say: ``threadId``, ``traceId``, ``sessionId``
and ``callContext`` come from ``session.context``, by those names.

A streamed answer is passed on as it comes. A unary one is held back to its end and told in at most
two tokens, the thoughts and the text. The times of METADATA are the recording's clock, in
milliseconds since the request, and are absent where it has none.

What StreamEvents have no place for is a declared loss (``LOSSES``) or, if it isn't declared, an
event of the type ``UNKNOWN``, with the wire's object as its ``data``: consumers choose by type and
pass over it. The model that answered is such a loss: METADATA has no field for it, and it may
differ from the one that was asked (an alias such as ``gemini-flash-latest``). Only that another one
goes on in the middle of an answer is told, as UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from harness.stream import events as ev
from harness.stream.generation import TranslationError
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload

LOSSES: Final[Mapping[str, str]] = {
    "candidates": "every candidate but the first",
    "tool-calls": "calls of tools that the application runs",
    "signatures": "thought signatures",
    "media": "images, sounds and files",
    "code-execution": "code that the server runs, and what it printed",
    "grounding": "grounding metadata",
    "citations": "citation metadata",
    "url-context": "what was fetched for the URL context",
    "logprobs": "log probabilities",
    "safety-ratings": "safety ratings",
    "finish-message": "the text beside a finish reason or a block reason",
    "response-id": "the id of the response",
    "model": "the model that answered, unless another one goes on in the middle of the answer",
    "blocked-usage": "token counts of a blocked prompt",
}
_METADATA_LOSSES: Final = frozenset({"id"})
_ANNOTATION_LOSSES: Final = frozenset(
    {"citations", "grounding", "url_context", "logprobs", "safety_ratings"}
)

CONTEXTS: Final[Mapping[str, str]] = {
    "AGENT_THOUGHT": "AGENT_THOUGHT_",
    "FINAL_SYNTHESIS": "FINAL_SYNTHESIS_",
}
"""``callContext`` → what its token types begin with; any other context, and none, begins with
nothing.
"""

COUNTS: Final[Mapping[str, str]] = {
    "input": "inputTokens",
    "output": "outputTokens",
    "reasoning": "thinkingTokens",
}
"""A count of `events.Usage` → its field of METADATA."""

ORDER: Final[Mapping[str, Mapping[str, str]]] = {
    "fresh": {"TOKEN": "fresh", "UNKNOWN": "fresh", "METADATA": "told", "ERROR": "told"},
    "told": {"END": "ended"},
    "ended": {},
}


class Translator:
    """One stream: ``feed`` its events, then ``close``."""

    def __init__(self, tools: Sequence[Tool], session: Session) -> None:
        self._tools = tools
        self._session = session
        self._out: list[Payload] = []
        self._over = False
        self._answered = (
            False  # something of the answer has come: a content, a reason, an annotation
        )
        self._held: dict[str, str] = {}  # token type without its context → text, of a unary answer
        self._model: str | None = None
        self._metadata: Payload = {}
        self._usage: dict[str, Any] = {}
        self._begun = False
        self._first_token_ms: float | None = None

    def feed(self, event: ev.Event) -> list[Payload]:
        """The StreamEvents that this event completes, perhaps none."""
        if not self._over and getattr(event, "candidate", 0) <= 0:
            self._answered = self._answered or _is_of_the_answer(event)
            self._react(event)
        return self._take()

    def close(self) -> list[Payload]:
        """METADATA and END, or what is wrong with an answer that holds no candidate; nothing after
        an error.
        """
        if not self._over:
            if self._answered:
                self._write_held()
                self._write("METADATA", self._metadata_so_far())
                self._end()
            else:
                self._fail(
                    "Error",
                    "Invalid response structure from Gemini SDK: the answer holds no candidate",
                )
        return self._take()

    def _react(self, event: ev.Event) -> None:
        match event:
            case ev.Text(text=text) if not event.role:
                self._token("LLM_RESPONSE", text)
            case ev.Reasoning(text=text):
                self._token("LLM_THINKING", text)
            case ev.NamelessCall(payload=payload, raw=raw):
                if infer_name(payload, self._tools) is None:
                    self._token("LLM_RESPONSE", raw)
            case ev.Usage():
                self._count(event)
            case ev.Finish(raw=raw):
                self._metadata["stopReason"] = raw
            case ev.Blocked(reason=reason):
                self._fail("Error", f"Gemini API call blocked: {reason}")
            case ev.Error(message=message):
                code = event.status if event.code is None else event.code
                self._fail("ApiError", message, {} if code is None else {"code": code})
            case ev.Incomplete():
                self._fail("StreamError", _sentence_of(event))
            case _:
                self._react_aside(event)

    def _react_aside(self, event: ev.Event) -> None:
        """What is neither a token, nor a field of METADATA, nor an end."""
        match event:
            case ev.Start(model=str(model)):
                if self._model and model != self._model:
                    self._write("UNKNOWN", {"model": model})
                self._model = model
            case ev.Metadata(name="model", raw=raw):
                if self._model not in raw.values():
                    self._write("UNKNOWN", raw)
            case ev.Metadata(name=name, raw=raw):
                if name not in _METADATA_LOSSES:
                    self._write("UNKNOWN", raw)
            case ev.Annotation(name=name, raw=raw):
                if name not in _ANNOTATION_LOSSES:
                    self._write("UNKNOWN", raw)
            case (
                ev.Unknown(raw=raw)
                | ev.Notice(raw=raw)
                | ev.ServerCall(raw=raw)
                | ev.ServerResult(raw=raw)
            ):
                self._write("UNKNOWN", raw)
            case ev.ToolResult() | ev.Text():  # a text that is not the answer
                self._write("UNKNOWN", msgspec.to_builtins(event))

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
        """The tokens of a unary answer, thoughts first."""
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
        """LLMMetadata: the latest value of every field, without those that never came."""
        later = {
            "providerRawUsage": self._usage or None,
            "timeToFirstTokenMs": self._first_token_ms,
            "totalGenerationTimeMs": self._session.at_ms,
            "traceId": self._said("traceId", "trace"),
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
        payload["threadId"] = self._said("threadId", "thread")
        payload["traceId"] = self._said("traceId", "trace")
        if "sessionId" in self._session.context:
            payload["sessionId"] = self._session.context["sessionId"]
        self._out.append(payload)

    def _said(self, name: str, default: str) -> Any:
        return self._session.context.get(name, default)

    def _take(self) -> list[Payload]:
        out = self._out
        self._out = []
        return out


def _is_of_the_answer(event: ev.Event) -> bool:
    """Whether a candidate must have come for this event; an unknown thing may stand anywhere."""
    return not isinstance(event, ev.Unknown) and getattr(event, "candidate", None) == 0


def _sentence_of(event: ev.Incomplete) -> str:
    inside = f", {len(event.rest)} characters into a message" if event.rest else ""
    return f"the stream ended before it was complete ({event.end}){inside}"


def refuse(error: TranslationError, session: Session) -> list[Payload]:
    """The whole stream for a prompt that can't be translated: no call is made."""
    translator = Translator([], session)
    translator._fail("ARTError", str(error), {"code": "PROMPT_TRANSLATION_FAILED"})
    return translator._take()
