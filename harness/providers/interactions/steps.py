"""Reads the steps of an interaction, whole or as start, deltas and stop.

The index of an event names its step, so steps may overlap. A delta or stop whose index no step has
is unknown. A call whose argument pieces were not all understood never becomes a whole call.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final

from harness.stream.events import (
    Annotation,
    BlockEnd,
    BlockStart,
    CallEnd,
    CallInvalid,
    CallStart,
    CallText,
    Code,
    CodeResult,
    Event,
    Media,
    Metadata,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolResult,
    Unknown,
)
from harness.stream.json_codec import Json, decode_json
from harness.stream.oddities import Oddities

from ..wire_values import check_objects, give_others, is_empty, list_of, text_of, word_of
from .overlaps import Overlaps

_SERVER_TOOLS: Final = (
    *("google_search", "code_execution", "url_context", "google_maps", "file_search"),
    *("retrieval", "tool_search", "processing", "mcp_server_tool"),
)
_CITATIONS: Final = frozenset({"url_citation", "file_citation", "place_citation"})
_SETTINGS: Final = frozenset({"word_info", "speech_metadata"})
_NAMES: Final = ("type", "id", "call_id", "name")
"""The fields of a whole step that its boundary repeats."""
_CALL: Final = (
    ("id", (str, NoneType)),
    ("name", (str, NoneType)),
    ("arguments", (dict, NoneType)),
)
"""The fields of a call, and the types of their values."""
_STEP_OF: Final = {
    "text": "model_output",
    "text_annotation_delta": "model_output",
    "thought_summary": "thought",
    "thought_signature": "thought",
    "arguments_delta": "function_call",
}
"""The deltas that belong to one type of step."""
MEDIA: Final = ("image", "audio", "video", "document")


@dataclass(slots=True, eq=False)
class _Call:
    """A call whose step is open: its place among the calls, its name, the arguments in its start,
    the pieces of its arguments, and its deltas that were not understood.
    """

    number: int
    name: str
    given: Json
    pieces: list[str] = field(default_factory=list)
    odd: list[Json] = field(default_factory=list)


class OpenSteps:
    """The steps of one answer. ``fail`` reads the error of a step. ``texts``: the pieces of answer
    text, which the end of a stream may repeat.
    """

    def __init__(self, fail: Callable[[Json, list[Event]], None], oddities: Oddities) -> None:
        self._fail = fail
        self._oddities = oddities
        self.resumed = False
        """The stream began in the middle: a step may have started before."""
        self._calls: dict[int, _Call] = {}  # of the open steps
        self._call_count = 0
        self._latest = -1  # the index of the step that was started last
        self._open: dict[int, dict[str, Json]] = {}
        self._started: set[int] = set()
        self._overlaps = Overlaps()
        self._streamed = False
        # values that the end of a stream may repeat
        self.texts: list[str] = []
        self._thoughts: list[str] = []
        self._called: dict[int, tuple[str, Json]] = {}
        self._media: list[tuple[Json, Json]] = []

    # ---------------------------------------------------------------- start, delta, stop

    def start(
        self, index: Json, step: dict[str, Json], raw: dict[str, Json], out: list[Event]
    ) -> None:
        """Begin a step, with the content that it already has; ``raw`` is the message of that."""
        self._streamed = True
        number = index if type(index) is int else self._latest + 1
        events: list[Event] = []
        self._end_call(number, events)
        self._latest = number
        kind = word_of(step.get("type"))
        if type(step.get("type")) is not str:
            self._oddities.note("step.type", step.get("type"))
        self._open[number] = {**step, "type": kind}
        self._started.add(number)
        block_id = text_of(step.get("id")) or text_of(step.get("call_id"))
        events.append(BlockStart(kind, raw, number, block_id))
        read = STEPS.get(kind)
        if read is None:
            events.append(Unknown(f"step {kind}", step))
        else:
            known = read(self, number, step, events)
            if len(step) > 1:
                give_others(f"{kind}.", step, ("type", *known), events)
        self._overlaps.add(number, raw, events, out)

    def delta(self, index: Json, delta: dict[str, Json], out: list[Event]) -> int | None:
        """Continue a step. Returns the index of the step if further pieces of its text can be given
        as they come, else None.
        """
        self._streamed = True
        number = index if type(index) is int else self._latest
        kind = delta.get("type")
        if not self._has(number, kind != "arguments_delta"):
            if kind == "arguments_delta":
                for call in self._calls.values():  # the piece may belong to any of them
                    call.odd.append(delta)
            out.append(Unknown(f"delta {word_of(kind)} of no step", delta))
            return None
        events: list[Event] = []
        read = _DELTAS.get(kind) if type(kind) is str else None
        step = self._open[number]["type"]
        if type(kind) is not str or _STEP_OF.get(kind, step) != step:
            self._oddities.note("delta.type", delta)
        if read is None:
            if number in self._calls:
                self._calls[number].odd.append(delta)
            events.append(Unknown(f"delta {word_of(kind)}", delta))
        else:
            known = read(self, number, delta, events)
            if len(delta) > 2:
                give_others(f"{kind}.", delta, ("type", *known), events)
        self._overlaps.add(number, delta, events, out)
        return None if kind != "text" or self._overlaps.calling else number

    def stop(self, index: Json, raw: dict[str, Json], out: list[Event]) -> None:
        """End a step."""
        number = index if type(index) is int else self._latest
        if not self._has(number, True):
            out.append(Unknown("stop of no step", raw))
            return
        events: list[Event] = []
        self._end_call(number, events)
        step = self._open.pop(number)
        if step["type"] in SERVER_STEPS and not step.get(_GIVEN):
            self._server_tool(step, events)
        events.append(BlockEnd(raw, number))
        self._overlaps.add(number, raw, events, out)

    def close(self, out: list[Event]) -> None:
        """End the open calls, at the end of an answer."""
        for number in list(self._calls):
            events: list[Event] = []
            self._end_call(number, events)
            self._overlaps.add(number, None, events, out)

    def rest(self) -> list[Json]:
        """Return the messages of steps that wait for the end of an open call."""
        return self._overlaps.rest()

    def _has(self, number: int, understood: bool) -> bool:
        """Return whether a step is open. In a resumed stream, an event that is understood without
        the start of its step opens the step.
        """
        if number in self._open:
            return True
        if not understood or not self.resumed or number in self._started:
            return False
        self._open[number] = {"type": ""}
        self._started.add(number)
        return True

    def read_all(self, steps: Json, out: list[Event]) -> None:
        """Read the steps of a whole interaction. After a stream, they repeat the stream."""
        if type(steps) is not list:
            check_objects("interaction.steps", steps, self._oddities)
            if not is_empty(steps):
                out.append(Unknown("field interaction.steps", {"steps": steps}))
        elif not self._streamed:
            for index, step in enumerate(steps):
                if type(step) is dict:
                    named = {name: step[name] for name in _NAMES if step.get(name)}
                    self.start(index, step, {"index": index, "step": named}, out)
                    self.stop(index, {"index": index}, out)
                else:
                    self._oddities.note("interaction.steps", steps)
                    out.append(Unknown("step", step))
        elif steps and not self._repeats(steps):
            out.append(Metadata("snapshot", {"steps": steps}))

    def repeat(self, name: str, output: Json, out: list[Event]) -> None:
        """Read a field that repeats the text, or a medium, of the answer."""
        if name == "output_text":
            repeated = output == "".join(self.texts)
        else:
            repeated = type(output) is dict and _data(output) in self._media
        if not repeated:
            out.append(Metadata("snapshot", {name: output}))

    def _repeats(self, steps: list[Json]) -> bool:
        again = OpenSteps(lambda *_: None, Oddities())
        again.read_all(steps, [])
        return (
            "".join(again.texts) == "".join(self.texts)
            and "".join(again._thoughts) == "".join(self._thoughts)
            and again._called == self._called
        )

    # ---------------------------------------------------------------- content

    def _text(
        self, number: int, content: dict[str, Json], out: list[Event], *, thought: bool = False
    ) -> _Known:
        text = content.get("text")
        if type(text) is not str:
            self._oddities.note("content.text", text)
            out.append(Unknown("content of a thought" if thought else "content text", content))
            return tuple(content)
        (self._thoughts if thought else self.texts).append(text)
        out.append(Reasoning(text) if thought else Text(text))
        self._annotations(content.get("annotations"), out)
        return "text", "annotations"

    def _content(self, content: Json, out: list[Event], *, thought: bool = False) -> None:
        kind = content.get("type") if type(content) is dict else None
        if kind == "text":
            known = self._text(0, content, out, thought=thought)
            give_others("text.", content, ("type", *known), out)
        elif kind in MEDIA:
            self._medium(content, out, thought=thought)
        else:
            out.append(Unknown("content of a thought" if thought else "content", content))

    def _medium(self, content: dict[str, Json], out: list[Event], *, thought: bool = False) -> None:
        self._media.append(_data(content))
        out.append(
            Media(
                text_of(content.get("mime_type")),
                content,
                text_of(content.get("data")),
                text_of(content.get("uri")),
                thought,
            )
        )

    def _annotations(self, annotations: Json, out: list[Event]) -> None:
        """Emit annotations by their kind: sources, and settings beside a part."""
        if is_empty(annotations):
            return
        named: dict[str, list[Json]] = {}
        for annotation in annotations if type(annotations) is list else [annotations]:
            kind = annotation.get("type") if type(annotation) is dict else None
            kind = kind if type(kind) is str else ""
            name = "citations" if kind in _CITATIONS else "part" if kind in _SETTINGS else ""
            named.setdefault(name, []).append(annotation)
        out += [
            Annotation(name, {"annotations": items})
            if name
            else Unknown("annotation", {"annotations": items})
            for name, items in named.items()
        ]

    # ---------------------------------------------------------------- steps

    def _start_thought(self, number: int, step: dict[str, Json], out: list[Event]) -> _Known:
        if (summary := step.get("summary")) is not None:
            check_objects("step.summary", summary, self._oddities)
            for content in list_of(summary):
                self._content(content, out, thought=True)
        if signature := text_of(step.get("signature")):
            out.append(Reasoning("", signature))
        return "summary", "signature"

    def _start_output(self, number: int, step: dict[str, Json], out: list[Event]) -> _Known:
        if (contents := step.get("content")) is not None:
            check_objects("step.content", contents, self._oddities)
            for content in list_of(contents):
                self._content(content, out)
        if signature := text_of(step.get("signature")):
            out.append(Text("", signature))
        if step.get("error") is not None:
            self._fail({"error": step["error"]}, out)
        return "content", "signature", "error"

    def _start_call(self, number: int, step: dict[str, Json], out: list[Event]) -> _Known:
        self._call_count += 1
        name, given = word_of(step.get("name") or None), step.get("arguments")
        for field_name, types in _CALL:
            if type(value := step.get(field_name)) not in types:
                self._oddities.note(f"step.{field_name}", value)
        call = _Call(self._call_count, name, {} if given is None else given)
        self._calls[number] = call
        signature = text_of(step.get("signature"))
        out.append(CallStart(call.number, name, text_of(step.get("id")), signature))
        if type(given) is str:  # the whole JSON text
            call.given = {}
            self._add(call, given, out)
        return "id", "name", "arguments", "signature"

    def _start_result(self, number: int, step: dict[str, Json], out: list[Event]) -> _Known:
        if "result" in step:
            self._result(number, step, out)
        return _RESULT_FIELDS

    def _start_server_tool(self, number: int, step: dict[str, Json], out: list[Event]) -> _Known:
        if "arguments" in step or "result" in step:
            self._open[number][_GIVEN] = True
            self._server_tool(step, out)
        return _SERVER_FIELDS

    def _start_input(self, number: int, step: dict[str, Json], out: list[Event]) -> _Known:
        """Note the user's input, which a stored interaction repeats."""
        out.append(Metadata("echo", {"user_input": step}))
        return tuple(step)

    # ---------------------------------------------------------------- deltas

    def _summary(self, number: int, delta: dict[str, Json], out: list[Event]) -> _Known:
        if type(delta.get("content")) is not dict:
            self._oddities.note("delta.content", delta.get("content"))
        self._content(delta.get("content"), out, thought=True)
        return ("content",)

    def _signature(self, number: int, delta: dict[str, Json], out: list[Event]) -> _Known:
        # Empty signatures come between the summaries; the last one is full.
        if signature := text_of(delta.get("signature")):
            out.append(Reasoning("", signature))
        return ("signature",)

    def _annotated(self, number: int, delta: dict[str, Json], out: list[Event]) -> _Known:
        self._annotations(delta.get("annotations"), out)
        return ("annotations",)

    def _streamed_medium(self, number: int, delta: dict[str, Json], out: list[Event]) -> _Known:
        self._medium(delta, out)
        return tuple(delta)

    def _arguments(self, number: int, delta: dict[str, Json], out: list[Event]) -> _Known:
        piece, call = delta.get("arguments"), self._calls.get(number)
        if call is None or type(piece) is not str:
            for open_call in self._calls.values() if call is None else (call,):
                open_call.odd.append(delta)
            self._oddities.note("delta.arguments", piece)
            out.append(Unknown("delta arguments_delta", delta))
            return tuple(delta)
        self._add(call, piece, out)
        return ("arguments",)

    def _result(self, number: int, delta: dict[str, Json], out: list[Event]) -> _Known:
        step = {**self._open.get(number, {}), **delta}
        failed, response = step.get("is_error") is True, step.get("result")
        call_id, name = text_of(step.get("call_id")), text_of(step.get("name"))
        out.append(ToolResult(call_id, name, response, _message(response) if failed else None))
        return _RESULT_FIELDS

    def _streamed_tool(self, number: int, delta: dict[str, Json], out: list[Event]) -> _Known:
        step = self._open.get(number, {})
        step[_GIVEN] = True
        self._server_tool({**step, **delta}, out)
        return tuple(delta)

    def _server_tool(self, step: dict[str, Json], out: list[Event]) -> None:
        raw = {name: value for name, value in step.items() if name != _GIVEN}
        signature = text_of(raw.get("signature"))
        kind, _, role = raw["type"].rpartition("_")
        arguments, result = raw.get("arguments"), raw.get("result")
        call_id = text_of(raw.get("id")) or text_of(raw.get("call_id"))
        name = text_of(raw.get("name")) or kind
        if kind == "code_execution" and role == "call":
            code = arguments.get("code") if type(arguments) is dict else None
            out.append(Code(word_of(code), raw, signature))
        elif kind == "code_execution":
            outcome = "error" if raw.get("is_error") is True else "success"
            out.append(CodeResult(outcome, word_of(result), raw, signature))
        elif role == "call":
            given = arguments if type(arguments) is dict else None
            out.append(ServerCall(raw, signature, id=call_id, name=name, arguments=given))
        else:
            out.append(ServerResult(raw, signature, id=call_id, name=name))

    # ---------------------------------------------------------------- the open calls

    def _add(self, call: _Call, piece: str, out: list[Event]) -> None:
        call.pieces.append(piece)
        out.append(CallText(call.number, piece))

    def _end_call(self, number: int, out: list[Event]) -> None:
        """End the call of a step, if it has one: its pieces, or else the arguments of its start. A
        delta that was not understood makes it invalid.
        """
        call = self._calls.pop(number, None)
        if call is None:
            return
        text = "".join([*call.pieces, *(json.dumps(delta, sort_keys=True) for delta in call.odd)])
        arguments = call.given
        if call.odd:
            arguments = text
        elif text.strip():
            try:
                arguments = decode_json(text.encode("utf-8", "surrogatepass"))
            except ValueError:
                arguments = text
        if type(arguments) is dict:
            if text.strip() and call.given and call.given != arguments:
                out.append(Unknown("field function_call.arguments", {"arguments": call.given}))
            out.append(CallEnd(call.number, arguments))
        else:
            text = text if text.strip() else json.dumps(call.given, ensure_ascii=False)
            arguments = text
            out.append(CallInvalid(call.number, text))
        self._called[call.number] = (call.name, arguments)


_Known = tuple[str, ...]
"""The names of the fields that a reader has read."""
_GIVEN: Final = "\0given"
"""Marks the started step of a server tool whose call or result was emitted."""
_SERVER_FIELDS: Final[_Known] = (
    *("id", "call_id", "name", "server_name", "arguments", "result", "is_error"),
    *("search_type", "retrieval_type", "signature"),
)
SERVER_STEPS: Final = frozenset(
    f"{tool}_{role}" for tool in _SERVER_TOOLS for role in ("call", "result")
)

_RESULT_FIELDS: Final[_Known] = ("call_id", "name", "result", "is_error")
_Read = Callable[[OpenSteps, int, dict[str, Any], list[Event]], _Known]

STEPS: Final[dict[str, _Read]] = {
    "thought": OpenSteps._start_thought,
    "model_output": OpenSteps._start_output,
    "function_call": OpenSteps._start_call,
    "function_result": OpenSteps._start_result,
    "user_input": OpenSteps._start_input,
    **dict.fromkeys(SERVER_STEPS, OpenSteps._start_server_tool),
}
_DELTAS: Final[dict[str, _Read]] = {
    "text": OpenSteps._text,
    "thought_summary": OpenSteps._summary,
    "thought_signature": OpenSteps._signature,
    "text_annotation_delta": OpenSteps._annotated,
    "arguments_delta": OpenSteps._arguments,
    "function_result": OpenSteps._result,
    **dict.fromkeys(MEDIA, OpenSteps._streamed_medium),
    **dict.fromkeys(SERVER_STEPS, OpenSteps._streamed_tool),
}


def _data(content: dict[str, Json]) -> tuple[Json, Json]:
    return content.get("data"), content.get("uri")


def _message(response: Json) -> str:
    """Return the message of a failed tool."""
    if type(response) is dict:
        for name in ("error", "message"):
            if type(response.get(name)) is str:
                return str(response[name])
    return response if type(response) is str else json.dumps(response, ensure_ascii=False)
