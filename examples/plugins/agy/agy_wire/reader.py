"""The Antigravity CLI (``agy``) without a terminal: its output as ``stream-json``, one message a
line, or as ``json``, one document.

Source: https://antigravity.google/docs/cli/headless and recordings of versions 1.1.27 to 1.3.2. The
output is a list of steps, each with an index; a tool call and its result are one step. The tools
run inside the CLI, so calls and their results are both part of the answer. A final ``response``
repeats the text of the turn; only a different one gives an event. A field that is not read becomes
an `Unknown`.

``SUCCESS`` is a good end only if the turn has an answer: the CLI also reports it if an action was
denied, if its stream broke, or if it timed out. Exit code and stderr are recorded beside the
output. stderr reports a time-out and the code of a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Final, Literal

from msgspec import Struct
from msgspec.json import Decoder

from harness.providers.provider import SHAPE, Answer, FirstMessages, Identity, Provider
from harness.providers.run_reader import RunReader, detect_run, take
from harness.stream.events import (
    BlockEnd,
    BlockStart,
    CallEnd,
    CallStart,
    Error,
    Event,
    Finish,
    Metadata,
    Notice,
    Reasoning,
    Start,
    Text,
    ToolResult,
    Unknown,
    Usage,
)
from harness.stream.framing import Frame
from harness.stream.framing.json_lines import JsonLinesFramer
from harness.stream.json_codec import Json, decode_object

from .facts import AgyFacts

Object = dict[str, Json]

TIMEOUT: Final = "print timeout"
"""The words on stderr for a turn that timed out; they become its finish reason."""

_EVENTS: Final = frozenset({"init", "step_update", "result", "command_result"})
_DOCUMENT: Final = frozenset({"conversation_id", "status", "response"})
"""The fields by which the document of ``--output-format json`` is recognized."""
_CALLS: Final = frozenset({"tool", "subagent"})
_SILENT: Final = frozenset({"user_input", "system_message", "checkpoint", "finish", "unknown"})
"""The types of steps that carry no content of their own."""


class _Piece(Struct, forbid_unknown_fields=True, gc=False):
    conversation_id: str
    step_index: int
    state: Literal["ACTIVE"]
    step_type: Literal["agent_response"]
    text_delta: str


class _PieceOfText(Struct, forbid_unknown_fields=True, gc=False):
    event: Literal["step_update"]
    step_update: _Piece


decode_piece: Final = Decoder(_PieceOfText).decode
"""A strict decoder of the usual message, a piece of text. It refuses any other message, and the
reader decodes that.
"""


class AgyNormalizer(RunReader):
    """One run, of one turn or of several: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._id: str | None = None
        self._steps: set[int] = set()  # the indexes of the open steps
        self._calls: dict[int, CallStart] = {}  # by the index of the step
        self._arguments: dict[int, Json] = {}
        self._text: list[str] = []  # the pieces of the turn
        self._turns = 0
        self._sums: Object = {}  # the usage of all steps together
        self._command: Json = None
        self._failed = False

    def feed(self, frame: Frame) -> list[Event]:
        if type(frame.message) is not bytes or type(frame.usual) is not _PieceOfText:
            return super().feed(frame)
        step = frame.usual.step_update
        if step.step_index not in self._steps or step.conversation_id != self._id:
            return super().feed(frame)
        self._text.append(step.text_delta)
        return [Text(step.text_delta)]

    def _read_exit(self) -> list[Event]:
        """Return the error of a run that reports its failure only on stderr or by its exit code."""
        if not self._failed and (detail := _agy_error(self._answer.stderr)):
            return [_error(detail.get("short_error"), detail, {})]
        return super()._read_exit()

    def _read(self, message: Object, out: list[Event]) -> None:
        event = message.get("event")
        payload: Json = message.get(event) if type(event) is str else message
        named = {"event", *([event] if type(event) is str else ())}
        if event == "init" and type(payload) is dict:
            conversation = message.get("conversation_id")
            if type(conversation) is str:
                named.add("conversation_id")
            self._read_init(dict(payload), conversation, out)
        elif event == "step_update" and type(payload) is dict and _is_step(payload):
            self._read_step(payload, out)
        elif event == "result" and type(payload) is dict:
            self._read_result(payload, out)
        elif event == "command_result" and type(message.get("command")) is dict:
            named.add("command")
            self._start(None, out)
            self._command = message["command"]
            out.append(Metadata("command", {"command": self._command}))
        elif is_document(message):
            self._read_result(message, out)
            return
        else:
            self._start(None, out)
            out.append(Unknown(f"event {event}", message))
            return
        out += _unread(str(event), message, named)

    def _start(self, conversation: Json, out: list[Event]) -> None:
        """Write the implied start before the first content, and each change of the conversation."""
        known = conversation if type(conversation) is str and conversation else None
        if not self._started:
            self._started, self._id = True, known
            out.append(Start(self._answer.model, known, implied=True))
        elif known is not None and known != self._id:
            self._id = known
            out.append(Metadata("id", {"conversation_id": known}))

    def _read_init(self, left: Object, conversation: Json, out: list[Event]) -> None:
        model = take(left, str, "model") or self._answer.model
        self._started = True
        self._id = conversation if type(conversation) is str and conversation else None
        out.append(Start(model, self._id))
        session = {name: value for name, value in left.items() if value is not None}
        if session:
            out.append(Metadata("session", session))

    # Steps

    def _read_step(self, step: Object, out: list[Event]) -> None:
        left = dict(step)
        self._start(take(left, str, "conversation_id"), out)
        index, kind = left.pop("step_index"), left.pop("step_type")
        state = left.pop("state", None)
        # The last line of a step has the last piece of its text, not the whole text.
        over = state in ("DONE", "ERROR")
        if index not in self._steps:
            self._steps.add(index)
            named = {"step_index": index, "step_type": kind, "state": state}
            out.append(BlockStart(kind, named, index))
            self._turns += kind == "user_input"
        if state not in ("ACTIVE", "DONE", "ERROR"):
            out.append(Unknown(f"state {state}", {"state": state}))
        boundary: Object = {"step_index": index, "step_type": kind, "state": state}
        if over and left.get("duration_seconds") is not None:
            boundary["duration_seconds"] = left.pop("duration_seconds")
        usage = take(left, dict, "usage")
        if usage is not None:
            boundary["usage"] = usage
            # The counts of a step are those of one call of the model; events have running totals.
            self._sums = _sum(self._sums, usage)
            out.append(Usage(self._sums, **_counts(self._sums)))
        if kind == "agent_response":
            self._read_response(left, out)
        elif kind in _CALLS:
            self._read_call(index, left, out)
            if not over and left.get("subagent_info") == self._arguments[index]:
                del left["subagent_info"]  # its result, when it has ended
        elif kind not in _SILENT and kind != "error_message":
            out.append(Unknown(f"step {kind}", step))
            left.clear()
        if kind == "error_message" or (kind == "agent_response" and state == "ERROR"):
            out.append(Notice(kind, "", step))
        if over and index in self._calls:
            out.append(self._result(index, state, left))
        out += _unread("step_update", left, ())
        if over:
            self._steps.discard(index)
            out.append(BlockEnd(boundary, index))

    def _read_response(self, left: Object, out: list[Event]) -> None:
        for name in ("thinking_delta", "thinking"):
            thought = take(left, str, name)
            if thought is not None:
                out.append(Reasoning(thought))
        text = take(left, str, "text_delta")
        if text is not None:
            self._text.append(text)
            out.append(Text(text))

    def _read_call(self, index: int, left: Object, out: list[Event]) -> None:
        """Read the call, when its step is first seen. Later lines of the step repeat its name and
        its parameters; those of a subagent grow, and are its result.
        """
        info = take(left, dict, "tool_info")
        tool = dict(info or {})
        name = take(left, str, "tool_name") or take(tool, str, "name") or ""
        if tool.get("name") in (None, name):
            tool.pop("name", None)
        arguments: Json = left.get("subagent_info") if info is None else tool.get("parameters")
        if index not in self._calls:
            given = arguments if type(arguments) is dict else {}
            # The wire has no ids of calls: a call and its result are one step.
            self._calls[index] = CallStart(len(self._calls) + 1, name, str(index))
            self._arguments[index] = given
            out += [self._calls[index], CallEnd(len(self._calls), given)]
        if tool.get("parameters") in (None, self._arguments[index]):
            tool.pop("parameters", None)
        left |= {f"tool_info.{inner}": value for inner, value in tool.items()}

    def _result(self, index: int, state: Json, left: Object) -> ToolResult:
        call = self._calls[index]
        error = left.pop("tool_info.error", None)
        message = error.get("message") if type(error) is dict else error
        if type(message) is not str or not message:
            message = state if state == "ERROR" or error is not None else None
        response = left.pop("tool_info.output", None)
        if response is None:
            response = left.pop("subagent_info", None)
        raw = {"error": error} if error is not None and error != {"message": message} else None
        return ToolResult(call.id, call.name, response, message, raw=raw)

    # The end of a turn

    def _read_result(self, result: Object, out: list[Event]) -> None:
        left = {name: value for name, value in result.items() if value is not None}
        self._start(take(left, str, "conversation_id"), out)
        run: Object = {
            name: left.pop(name) for name in ("num_turns", "duration_seconds") if name in left
        }
        if run:
            out.append(Metadata("run", run))
        command = left.pop("command", None)
        if command is not None and command != self._command:
            out.append(Metadata("command", {"command": command}))
        schema = {"json_schema": left.pop("json_schema")} if "json_schema" in left else {}
        output = left.pop("structured_output", None)
        if output is not None:
            out.append(Metadata("structured_output", {"structured_output": output, **schema}))
        pieces, self._text = self._text, []
        response = take(left, str, "response")
        # The CLI damages a character that is split between two pieces; `response` has it whole.
        if response is not None and pieces and response != "".join(pieces):
            out.append(Metadata("snapshot", {"response": response}))
        measured = self._read_usage(left, run.get("num_turns"), out)
        if response and not pieces:
            out.append(Text(response))
        denied = left.pop("denied_actions", None)
        if denied:
            out.append(Notice("denied", _denied(denied), {"denied_actions": denied}))
        answered = bool("".join(pieces) if response is None else response)
        answered = answered or output is not None or command is not None
        self._read_status(left, answered=answered, measured=measured, out=out)
        end = out.pop()
        out += [*_unread("result", left, ()), end]

    def _read_usage(self, left: Object, turns: Json, out: list[Event]) -> bool:
        """Emit the counts of the result; returns whether it has any. They are the totals of the
        conversation. If these include turns that are not in this output, the sums of the steps are
        used. All zero means not measured.
        """
        usage = take(left, dict, "usage")
        if usage is None:
            return False
        counts = _counts(usage)
        measured = any(counts.values())
        resumed = type(turns) is int and turns > self._turns
        if measured and not (resumed and self._sums):
            out.append(Usage(usage, **counts))
        else:
            out.append(Metadata("usage", {"usage": usage}))
        return measured

    def _read_status(
        self, left: Object, *, answered: bool, measured: bool, out: list[Event]
    ) -> None:
        status, error = left.pop("status", None), left.pop("error", None)
        late = next((line for line in self._answer.stderr if f"{TIMEOUT} after" in line), None)
        if status == "ERROR" or (error is not None and status != "SUCCESS"):
            self._ended = self._failed = True
            detail = _agy_error(self._answer.stderr) or {}
            out.append(_error(error, detail, {"status": status, "error": error}))
            return
        if error is not None:
            left["error"] = error
        if status != "SUCCESS":
            self._ended = True
            word = status if type(status) is str else "" if status is None else str(status)
            out.append(Finish("failed", word))
        # A soft denial and a dropped stream end with SUCCESS and without an answer.
        elif not answered:
            metadata = {"status": status} | ({"stderr": late} if late else {})
            out.append(Metadata("status", metadata))
        # A run that reached its time limit ends with SUCCESS, part of the text and no counts.
        elif late and not measured:
            self._ended = True
            out += [Metadata("status", {"status": status}), Finish("length", TIMEOUT, late)]
        else:
            self._ended = True
            out.append(Finish("stop", status))


def _is_step(payload: Object) -> bool:
    return type(payload.get("step_index")) is int and type(payload.get("step_type")) is str


def _unread(place: str, fields: Object, read: Iterable[Json]) -> list[Event]:
    return [
        Unknown(f"field {place}.{name}", {name.rpartition(".")[2]: value})
        for name, value in fields.items()
        if name not in read and value is not None
    ]


def _agy_error(stderr: Iterable[str]) -> Object | None:
    """Return the first object after ``AGY_ERROR:`` on stderr."""
    for line in stderr:
        if line.startswith("AGY_ERROR:"):
            error = decode_object(line.removeprefix("AGY_ERROR:"))
            if error is not None:
                return error
    return None


def _error(error: Json, detail: Object, raw: Object) -> Error:
    message = error.get("message") if type(error) is dict else error
    code, status = detail.get("error_code"), detail.get("status")
    return Error(
        message if type(message) is str and message else "an error without a message",
        code if type(code) is int else None,
        status if type(status) is str else None,
        raw=raw | ({"AGY_ERROR": detail} if detail else {}),
    )


def _denied(actions: Json) -> str:
    names = [
        (action.get("display_name") or action.get("action")) if type(action) is dict else action
        for action in (actions if type(actions) is list else [actions])
    ]
    return ", ".join(map(str, names))


def _sum(sums: Object, usage: Object) -> Object:
    """Return the counts of the steps so far plus those of one more step, under the wire's names."""
    added = {
        name: value + sums[name]
        for name, value in usage.items()
        if type(value) is int and type(sums.get(name)) is int
    }
    return sums | usage | added


def _counts(usage: Object) -> dict[str, int]:
    """Return the counts of one usage, whose input excludes the cache and whose output includes
    thoughts, as fields of `Usage`.
    """
    whole = {name: value for name, value in usage.items() if type(value) is int}
    cached, thoughts = whole.get("cache_read_tokens", 0), whole.get("thinking_tokens", 0)
    return {
        "input": whole.get("input_tokens", 0) + cached,
        "output": whole.get("output_tokens", 0) - thoughts,
        "reasoning": thoughts,
        "cached": cached,
        "total": whole.get("total_tokens", 0),
    }


def is_event(value: Object) -> bool:
    """Return whether an object is a message of ``--output-format stream-json``."""
    event = value.get("event")
    return (
        type(event) is str
        and event in _EVENTS
        and type(value.get("command" if event == "command_result" else event)) is dict
    )


def is_document(value: Object) -> bool:
    """Return whether an object is the document of ``--output-format json``."""
    return "event" not in value and value.keys() >= _DOCUMENT


_GLUED: Final = re.compile(
    rb'\{\s*"event"\s*:\s*"(?:init|step_update|result|command_result)"\s*,\s*"'
)


def _detect(first: FirstMessages) -> Identity | None:
    return detect_run("agy", first, is_event, is_document, _GLUED)


PROVIDER: Final = Provider(
    name="agy",
    title="Antigravity CLI",
    vendor="gemini",
    normalizer=AgyNormalizer,
    facts_reader=AgyFacts,
    shape=SHAPE | {"event"},
    detect=_detect,
    framer=partial(JsonLinesFramer, is_message=is_event, usual=decode_piece),
    program=True,
    drift=(
        (r"^step_update\.(?:tool|subagent)_", ("agy.tools",)),
        (
            r"^result\.(?:status|error|denied_actions)\b",
            ("agy.errors", "breaking", "breaking", "breaking"),
        ),
        (r"^result\.response$", ("agy.final-response",)),
        (r"^(?:step_update|result)\.usage\b", ("usage.totals",)),
        (r"^step_update\.state$", ("agy.steps", "breaking", "notable", "breaking")),
        (r"^step_update\.step_type$", ("agy.steps",)),
        (r"^(?:event|init|step_update|result)\b", ("agy.stream-json",)),
        (r"^command\b", ("agy.commands",)),
    ),
    driver="agy_wire.driver:AgyDriver",
    variant_table="agy_wire.variants:TABLE",
)
