"""Translates canonical events into the stream of the Anthropic Messages API.

A payload is the ``data`` object of one server-sent event: ``message_start``, content blocks one
after the other, one ``message_delta``, ``message_stop``; or ``error``, and nothing after it.

A translator is in one of five states. Each state is a table: event type → reaction. In *fresh*,
there were only unknown events. In *started* the model is known, in *counted* also the first counts;
``message_start`` waits for both. The next states are *opened* and *over*. The tables do not
include the open block and the call whose arguments are still arriving; these are attributes.

A fact for which the protocol has no field is a declared loss (``LOSSES``). If it is not declared,
it becomes a payload of the type ``unknown``, which the official clients ignore. The official
clients keep signatures only in thinking blocks, so the signature of a text is in an empty thinking
block after the text. The signature of a call goes into the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from harness.stream import events as ev
from harness.stream.json_path import Assembly
from harness.stream.session import Session, Tool
from harness.stream.tool_code import infer_name

from ..dialect import Payload
from ..ending import Ending, describe_break, every_kind
from ..running_usage import RunningUsage
from .stream import (
    ERROR_TYPES,
    OF_MESSAGE,
    OWN_FIELDS,
    OWN_REASONS,
    STOP_REASONS,
    MessageWriter,
)

_METADATA_LOSSES: Final = frozenset({"id", "created", "trace_id", "credits"})
_ANNOTATION_LOSSES: Final = frozenset(
    {"citations", "grounding", "url_context", "logprobs", "safety_ratings", "token_count"}
)
_LostPart = ev.Media | ev.Code | ev.CodeResult | ev.ServerCall | ev.ServerResult

BARE_PAYLOADS: Final[Sequence[tuple[frozenset[str], str]]] = (
    (frozenset({"todos"}), "TodoWrite"),
    (frozenset({"file_path", "content"}), "Write"),
    (frozenset({"command"}), "Bash"),
)
"""Keys of a payload without a tool name, and the tool that they mean. This table has priority over
a match of schemas.
"""


class _Held(NamedTuple):
    """A call whose arguments are still arriving. Those so far are used only if it is
    interrupted.
    """

    start: ev.CallStart
    id: str
    arguments: Assembly
    texts: list[str]


class Translator:
    """One stream: ``feed`` its events, then ``close``. Ids, tool names and call signatures go to
    ``session``.
    """

    def __init__(self, tools: Sequence[Tool], session: Session) -> None:
        self._tools = tools
        self._session = session
        self._reactions: _Reactions = FRESH
        self._message = MessageWriter()
        self._model = ""
        self._usage = RunningUsage()
        self._held: _Held | None = None
        self._calls = 0
        self._own: Payload = {}  # metadata that waits for the payload with its field
        self._ending = Ending()

    def feed(self, event: ev.Event) -> list[Payload]:
        """Return the payloads that this event completes, perhaps none."""
        message = self._message
        if type(event) is ev.Usage and self._reactions is OPENED:
            self._usage.add(event)
            return []
        if (  # the hot path: text for the block that is already open
            type(event) is ev.Text
            and message.block == "text"
            and self._reactions is OPENED
            and event.text
            and not event.signature
            and not event.candidate
            and not event.role
        ):
            delta = {"type": "text_delta", "text": event.text}
            return [{"type": "content_block_delta", "index": message.index, "delta": delta}]
        kind = type(event)
        if kind in self._ending.watched:
            self._ending.note(event)
        self._reactions[kind](self, event)
        return message.take() if message.out else []

    def close(self) -> list[Payload]:
        """Return the end of the message, or an error if it did not end well; nothing after an
        error.
        """
        if self._reactions is not OVER:
            called = bool(self._calls or self._held)
            reason = STOP_REASONS[self._ending.kind(called=called)]
            if reason is None:
                self._fail("api_error", self._ending.message())
            else:
                self._stop(self._own_reason(reason))
        return self._message.take()

    def _own_reason(self, reason: str) -> str:
        """Return the stop reason of the wire, if it is one of this protocol. Clients run no tool
        after ``end_turn``.
        """
        finish = self._ending.finish
        raw = finish.raw if finish is not None and self._ending.blocked is None else ""
        is_own = raw in OWN_REASONS and (raw, reason) != ("end_turn", "tool_use")
        return raw if is_own else reason

    def _stop(self, reason: str) -> None:
        if not self._message.begun:
            self._begin()
        self._write_held()
        self._message.stop()
        if self._ending.odd_reason is not None:
            self._message.unknown(msgspec.to_builtins(self._ending.finish))
        self._message.finish(reason, self._usage_so_far(), self._own)
        self._message.end()
        self._reactions = OVER

    # The start of a message

    def _start(self, event: ev.Start) -> None:
        self._model = event.model or ""
        self._reactions = STARTED

    def _early_metadata(self, event: ev.Metadata) -> None:
        model = next(iter(event.raw.values()), None) if event.name == "model" else None
        if isinstance(model, str) and not self._model:
            self._model = model
        else:
            self._metadata(event)

    def _first_usage(self, event: ev.Usage) -> None:
        self._count(event)
        self._reactions = COUNTED

    def _first_thing(self, event: ev.Event) -> None:
        self._begin()
        self._reactions[type(event)](self, event)

    def _begin(self) -> None:
        own: Payload = {name: self._own.pop(name) for name in OF_MESSAGE if name in self._own}
        self._message.begin(self._session.next_id("msg"), self._model, self._usage_so_far(), own)
        self._reactions = OPENED

    # Content

    def _text(self, event: ev.Text) -> None:
        if event.candidate > 0:
            return
        if event.role:  # not the answer
            self._message.stop()
            self._message.unknown(msgspec.to_builtins(event))
            return
        if event.text:
            self._message.text(event.text)
        if event.signature:
            self._message.stop()
            self._message.sign(event.signature)

    def _reasoning(self, event: ev.Reasoning) -> None:
        if event.candidate > 0:
            return
        if event.redacted and event.signature and not event.text:
            self._message.redacted(event.signature)
            return
        if event.text:
            self._message.thinking(event.text)
        if event.signature:
            if not event.text:
                self._session.remember_signature(event.signature, "empty thought")
            self._message.sign(event.signature)

    def _lost_part(self, event: _LostPart) -> None:
        """End the block before a part that is a declared loss, and carry the part's signature."""
        if event.candidate > 0:
            return
        self._message.stop()
        if event.signature:
            self._session.remember_signature(event.signature, "lost part")
            self._message.sign(event.signature)

    def _boundary(self, event: ev.BlockStart | ev.BlockEnd) -> None:
        """Close the block: pieces of two blocks of the wire never share one. The rest is a declared
        loss.
        """
        if not self._held:
            self._message.stop()

    def _tool_result(self, event: ev.ToolResult) -> None:
        if event.candidate > 0:
            return
        self._message.stop()
        self._message.unknown(msgspec.to_builtins(event))

    # Calls

    def _call_start(self, event: ev.CallStart) -> None:
        if event.candidate > 0:
            return
        self._message.stop()
        call_id = self._remember(event.id, event.name, event.signature)
        self._held = _Held(event, call_id, Assembly(), [])

    def _call_piece(self, event: ev.CallPiece) -> None:
        if self._held:
            self._held.arguments.add(event.path, event.value, event.more)

    def _call_text(self, event: ev.CallText) -> None:
        if self._held:
            self._held.texts.append(event.text)

    def _call_invalid(self, event: ev.CallInvalid) -> None:
        """Emit an unknown block. The official clients raise for arguments that are not JSON, so
        such a call is an unknown payload, and the message ends in an error.
        """
        if self._held:
            start, self._held = self._held.start, None
            raw = {"kind": "invalid_call", "id": start.id, "name": start.name, "text": event.text}
            signed = {} if start.signature is None else {"signature": start.signature}
            self._message.unknown({**raw, **signed})

    def _call_end(self, event: ev.CallEnd) -> None:
        if self._held:
            self._write_call(self._held.id, self._held.start.name, event.arguments)
            self._message.stop()
            self._held = None

    def _nameless_call(self, event: ev.NamelessCall) -> None:
        if event.candidate > 0:
            return
        name = self._infer_name(event.payload)
        if name is None:
            self._text(ev.Text(event.raw, event.signature))
        else:
            self._write_call(self._remember(None, name, event.signature), name, event.payload)
            self._message.stop()

    def _infer_name(self, payload: dict[str, Any]) -> str | None:
        declared = {tool.name for tool in self._tools}
        for keys, name in BARE_PAYLOADS:
            if keys <= payload.keys() and (name in declared or not declared):
                return name
        return infer_name(payload, self._tools)

    def _remember(self, wire_id: str | None, name: str, signature: str | None) -> str:
        call_id = self._session.call_id(wire_id, "toolu")
        self._session.remember(call_id, name, signature, wire_id)
        return call_id

    def _write_held(self) -> None:
        """Write the open call, if there is one, with its arguments so far."""
        if self._held:
            so_far = "".join(self._held.texts) or self._held.arguments.value()
            self._write_call(self._held.id, self._held.start.name, so_far)
            self._held = None

    def _write_call(self, call_id: str, name: str, arguments: dict[str, Any] | str) -> None:
        self._message.call(call_id, self._session.own_names.get(name, name), arguments)
        self._calls += 1

    # Beside the content

    def _start_again(self, event: ev.Start) -> None:
        if event.model:
            self._metadata(ev.Metadata("model", {"model": event.model}))

    def _metadata(self, event: ev.Metadata) -> None:
        if event.name in OWN_FIELDS:
            self._own |= event.raw
        elif event.name not in _METADATA_LOSSES and (
            event.name != "model" or self._model not in event.raw.values()
        ):
            self._message.unknown(event.raw)

    def _annotation(self, event: ev.Annotation) -> None:
        if event.name not in _ANNOTATION_LOSSES and event.candidate <= 0:
            self._message.unknown(event.raw)

    def _unknown(self, event: ev.Unknown) -> None:
        if event.candidate <= 0:
            self._message.unknown(event.raw)

    def _notice(self, event: ev.Notice) -> None:
        self._message.unknown(event.raw)

    def _count(self, event: ev.Usage) -> None:
        self._usage.add(event)

    def _usage_so_far(self) -> Payload:
        counts = self._usage.counts
        usage = {
            "input_tokens": counts.get("input", 0),
            "output_tokens": counts.get("output", 0) + counts.get("reasoning", 0),
        }
        if "cached" in counts:
            usage["cache_read_input_tokens"] = counts["cached"]
        if "cache_write" in counts:
            usage["cache_creation_input_tokens"] = counts["cache_write"]
        # Anthropic's `input_tokens` exclude the tokens of the cache; those of an event include
        # them.
        if "input" in counts:
            usage["input_tokens"] -= counts.get("cached", 0) + counts.get("cache_write", 0)
        return usage

    # The end by an error

    def _error(self, event: ev.Error) -> None:
        self._fail(
            ERROR_TYPES.get(event.status if event.code is None else event.code, "api_error"),
            event.message,
        )

    def _incomplete(self, event: ev.Incomplete) -> None:
        self._fail("api_error", describe_break(event))

    def _fail(self, kind: str, message: str) -> None:
        """Write an error, and before it the unknown payloads that waited for message_start, the
        metadata that waited for message_delta, and the open call.
        """
        if self._message.waiting or (self._own and not self._message.begun):
            self._begin()
        for name, value in self._own.items():
            self._message.unknown({name: value})
        self._write_held()
        self._message.fail(kind, message)
        self._reactions = OVER

    def _ignore(self, event: ev.Event) -> None:
        """Emit nothing: nothing follows an error, a mark has no content, and `Ending` has seen the
        event.
        """


_Reactions = Mapping[type[ev.Event], Callable[[Translator, Any], None]]

_OPENED: Final[_Reactions] = {
    ev.Text: Translator._text,
    ev.Reasoning: Translator._reasoning,
    ev.CallStart: Translator._call_start,
    ev.CallPiece: Translator._call_piece,
    ev.CallText: Translator._call_text,
    ev.CallEnd: Translator._call_end,
    ev.CallInvalid: Translator._call_invalid,
    ev.NamelessCall: Translator._nameless_call,
    ev.ToolResult: Translator._tool_result,
    ev.Media: Translator._lost_part,
    ev.Code: Translator._lost_part,
    ev.CodeResult: Translator._lost_part,
    ev.ServerCall: Translator._lost_part,
    ev.ServerResult: Translator._lost_part,
    ev.BlockStart: Translator._boundary,
    ev.BlockEnd: Translator._boundary,
    ev.Start: Translator._start_again,
    ev.Metadata: Translator._metadata,
    ev.Annotation: Translator._annotation,
    ev.Usage: Translator._count,
    ev.Notice: Translator._notice,
    ev.Unknown: Translator._unknown,
    **dict.fromkeys((ev.Blocked, ev.Finish, ev.Mark), Translator._ignore),
    ev.Error: Translator._error,
    ev.Incomplete: Translator._incomplete,
}
OPENED: Final = every_kind("anthropic", _OPENED)
COUNTED: Final[_Reactions] = {
    **dict.fromkeys(OPENED, Translator._first_thing),
    ev.Metadata: Translator._early_metadata,
    **dict.fromkeys((ev.BlockStart, ev.BlockEnd, ev.Mark), Translator._ignore),
}
STARTED: Final[_Reactions] = {**COUNTED, ev.Usage: Translator._first_usage}
_EARLY_END: Final[_Reactions] = {ev.Error: Translator._error, ev.Incomplete: Translator._incomplete}
FRESH: Final[_Reactions] = {
    **COUNTED,
    ev.Start: Translator._start,
    ev.Unknown: Translator._unknown,
    **_EARLY_END,
}
OVER: Final[_Reactions] = dict.fromkeys(OPENED, Translator._ignore)
