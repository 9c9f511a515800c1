"""The second reader of the Interactions API: reads a raw body slowly and plainly, as a stream of
events or as whole interactions.

The index of an event names its step, and steps may overlap. One call is read at a time: what other
steps have is noted when that call has ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from harness.facts import Run, arguments_of
from harness.providers.wire_values import camel, names_in, present, strings
from harness.stream.json_codec import Json
from tests.readers.account import Facts, note_error
from tests.readers.reader import MessageReader

_COUNTS: Final = {
    "total_input_tokens": "promptTokenCount",
    "total_output_tokens": "candidatesTokenCount",
    "total_thought_tokens": "thoughtsTokenCount",
    "total_cached_tokens": "cachedContentTokenCount",
    "total_tool_use_tokens": "toolUsePromptTokenCount",
    "total_tokens": "totalTokenCount",
}
"""A count of the wire, and the name of the fact."""
_USAGE: Final = {
    *_COUNTS,
    *(f"{of}_tokens_by_modality" for of in ("input", "output", "cached", "tool_use")),
    *("grounding_tool_count", "initial_input_tokens", "raw_prompt_token"),
}
"""The fields of usage that are no news."""

_WAITING: Final = ("in_progress", "queued", "idle")
"""The statuses of an answer that has not ended."""
_STATUSES: Final = (
    *("completed", "requires_action", "incomplete", "budget_exceeded", "failed", "cancelled"),
    *("requires_continuation", "reconnection_required", *_WAITING),
)
_REMOVED: Final = (
    *("interaction.start", "interaction.complete"),
    *("content.start", "content.delta", "content.stop"),
)
"""The events of the schema that was removed on 8 June 2026."""
_STOPS: Final = {
    "interaction.cancelled": "cancelled",
    "interaction.canceled": "cancelled",
    "reconnection_required": "reconnection_required",
}
"""The events of the WebSocket form that end a connection, and the finish reason of each."""
_BOTH: Final = ("interaction.created", "interaction.completed")
_BESIDE: Final = {"event_type", "interaction_id", "metadata", "usage"}
"""The fields beside the content of an event that are read."""
_CONTENTS: Final = {
    "interaction.created": {"interaction"},
    "interaction.completed": {"interaction"},
    "interaction.status_update": {"status"},
    "step.start": {"index", "step"},
    "step.delta": {"index", "delta"},
    "step.stop": {"index"},
}
"""The fields with the content of an event."""
_INTERACTION: Final = {
    *("id", "model", "agent", "status", "usage", "steps", "errors", "error", "event_type"),
    *("output_text", "output_image", "output_audio", "output_video"),
}
_SERVER_TOOLS: Final = (
    *("google_search", "code_execution", "url_context", "google_maps", "file_search"),
    *("retrieval", "tool_search", "processing", "mcp_server_tool"),
)
_SERVER_STEPS: Final = {f"{tool}_{part}" for tool in _SERVER_TOOLS for part in ("call", "result")}
_SERVER_FIELDS: Final = {
    *("id", "call_id", "name", "server_name", "arguments", "result", "is_error"),
    *("search_type", "retrieval_type", "signature"),
}
_MEDIA: Final = ("image", "audio", "video", "document")
_WORDS: Final = ("type", "status", "search_type", "retrieval_type", "language")
"""Fields of server tools whose values are words of an enumeration."""
_CITATIONS: Final = {
    "url_citation": "url",
    "file_citation": "document_uri",
    "place_citation": "url",
}
_Note = Callable[[], object]


def gather_interactions(body: bytes, status: int = 200, *, interrupted: bool = False) -> Facts:
    """Return the facts in a raw body: server-sent events, JSON lines, one interaction, or an error.

    ``interrupted``: the connection ended before the answer did. A call that is open is then
    incomplete.
    """
    reader = _Reader(status)
    reader.read_all(body)
    return reader.finish(interrupted)


@dataclass(eq=False)
class _Call:
    """A call: its number and its name, the arguments of its start, its pieces, and its deltas that
    were not understood.
    """

    number: int
    name: str
    given: Json
    pieces: list[str] = field(default_factory=list)
    odd: list[Json] = field(default_factory=list)


class _Reader(MessageReader):
    """The state of one reading.

    The first fields are of the wire: the open calls and the open steps by index, the indexes that a
    step had, whether the stream began in the middle, and the content that its end may repeat. The
    last ones are of the notes: the step of the call that is noted, the text of its arguments so
    far, and the notes of other steps that wait for its end.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self._calls: dict[int, _Call] = {}
        self._steps: dict[int, dict[str, Json]] = {}
        self._had: set[int] = set()
        self._began: bool | None = None
        self._resumed = False
        self._latest = -1
        self._streamed = False
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._called: dict[int, tuple[str, Json]] = {}
        self._media: list[Json] = []
        self._failed = False
        self._notes: list[_Note] = []
        self._waiting: list[tuple[int, list[_Note]]] = []
        self._calling: int | None = None
        self._arguments = ""
        self._part = 0

    def _read_object(self, message: dict[str, Json]) -> None:
        kind, events = message.get("event_type"), message.get("events")
        if "event_type" not in message and isinstance(events, list):
            for event in events:
                if isinstance(event, dict) and isinstance(event.get("event_type"), str):
                    self._read_object(event)
                else:
                    self.facts.others |= names_in(event)
            self._note_fields(message, {"events"})
        elif kind in _REMOVED or isinstance(message.get("outputs"), list):
            self.facts.others |= names_in(message)
        elif isinstance(kind, str):
            self._read_event(message, kind)
        elif message.get("error") is not None and "steps" not in message:
            self._read_error(message)
        elif _is_interaction(message):
            self._began = True
            self._read_interaction(message)
            self._read_status(message.get("status"))
        elif self._status >= 300 and not self._failed:
            self._read_error(message)
        else:
            self.facts.others |= names_in(message)

    def finish(self, interrupted: bool) -> Facts:
        """Return the facts of the whole body."""
        facts = self.facts
        facts.open_call, self._is_invalid = self._calling is not None, False
        if not interrupted and (self._waiting or not self._failed):
            for index in list(self._calls):
                self._close_call(index)
                self._give(index)
        facts.open_call &= not self._is_invalid
        self._show_call()
        self._note_end()
        facts.ended_well = facts.ended_well and facts.finish != "failed"
        return facts

    # ---------------------------------------------------------------- events

    def _read_event(self, event: dict[str, Json], kind: str) -> None:
        known = kind in {*_BOTH, *_CONTENTS, *_STOPS, "interaction.connected", "error"}
        error = event.get("error")
        if error is not None and (kind == "error" or not known):
            if self._began:
                self._read_beside(event)
            self._note_fields(event, {*_BESIDE, "error", "index", "step", "delta"})
            self._read_error(event)
            return
        if self._began is None:
            self._began = True
            whole = kind in _BOTH and isinstance(event.get("interaction"), dict)
            bare = kind == "interaction.created" and "interaction" not in event
            self._resumed = not (whole or bare)
        interaction = event.get("interaction")
        if kind == "error":
            self.facts.others |= names_in(event)
            return
        self._read_beside(event)
        if not known:
            self.facts.others |= names_in(event)
            return
        read = _CONTENTS.get(kind, set())
        if kind == "interaction.completed" and "interaction" not in event:
            read = {"status"}
        contents = (event.get(name) for name in ("interaction", "step", "delta") if name in read)
        if not all(isinstance(content, dict) for content in contents):
            read = read & {"index"}
        self._note_fields(event, _BESIDE | read)
        if kind in _BOTH and isinstance(interaction, dict):
            self._read_interaction(interaction)
            if kind == "interaction.completed":
                self._read_status(interaction.get("status"))
            elif interaction.get("status"):
                self.facts.others.add("status")
        elif kind == "interaction.completed" and "interaction" not in event:
            self._read_completed(event)
        elif kind == "interaction.connected":
            self.facts.others.add("eventType")
        elif kind in _STOPS:
            self.facts.finish = _STOPS[kind]
        elif kind == "interaction.status_update":
            self.facts.others |= {"status"} if event.get("status") else set()
        elif kind.startswith("step."):
            self._read_step_event(kind, event)

    def _read_beside(self, event: dict[str, Json]) -> None:
        if event.get("interaction_id"):
            self.facts.others.add("responseId")
        metadata = event.get("metadata")
        if isinstance(metadata, dict):
            self._note_fields(metadata, {"usage", "total_usage"})
            self._count(metadata.get("total_usage"))
            self._count(metadata.get("usage"))
        elif metadata:
            self.facts.others.add("metadata")
        self._count(event.get("usage"))

    def _read_step_event(self, kind: str, event: dict[str, Json]) -> None:
        step, delta, index = event.get("step"), event.get("delta"), event.get("index")
        if type(index) is not int:
            index = self._latest + (kind == "step.start")
        if kind == "step.start" and isinstance(step, dict):
            self._start(index, step)
        elif kind == "step.delta" and isinstance(delta, dict):
            self._streamed = True
            self._read_delta(index, delta)
        elif kind == "step.stop" and self._has(index, True):
            self._stop(index)
        elif kind == "step.stop":
            self.facts.others |= names_in(event)

    def _read_interaction(self, interaction: dict[str, Json]) -> None:
        facts = self.facts
        self._note_fields(interaction, _INTERACTION | {"object"})
        if interaction.get("object") not in (None, "", [], {}, "interaction"):
            facts.others.add("object")
        name = interaction.get("model") or interaction.get("agent")
        facts.others |= {"modelVersion"} if isinstance(name, str) and name else set()
        facts.others |= {"responseId"} if interaction.get("id") else set()
        self._count(interaction.get("usage"))
        facts.add_billing("service_tier", interaction.get("service_tier"))
        steps = interaction.get("steps")
        if not isinstance(steps, list):
            facts.others |= present({"steps": steps}, set())
        elif not self._streamed:
            self._read_steps(steps)
        elif steps and not self._repeats(steps):
            facts.others.add("steps")
        if (output := interaction.get("output_text")) and output != "".join(self._texts):
            facts.others.add("outputText")
        for name in ("output_image", "output_audio", "output_video"):
            output = interaction.get(name)
            if output and not (isinstance(output, dict) and _data(output) in self._media):
                facts.others |= present({name: output}, set())
        errors = interaction.get("errors")
        for error in errors if isinstance(errors, list) else []:
            self._read_error({"error": error})
        if interaction.get("error") is not None:
            self._read_error({"error": interaction["error"]})

    def _read_completed(self, event: dict[str, Json]) -> None:
        """Read the last event of the WebSocket form, whose status is a google.rpc.Status."""
        status = event.get("status")
        if isinstance(status, dict) and status.get("code"):
            self._read_error({"error": status})
        elif isinstance(status, dict) or status is None:
            self._note_fields(status or {}, {"code"})
            self.facts.finish = "completed"
        else:
            self._read_status(status)

    def _repeats(self, steps: list[Json]) -> bool:
        """Return whether steps at the end have the text, thoughts and calls of the stream."""
        again = _Reader(200)
        again._read_steps(steps)
        first, second = (
            ("".join(reader._texts), "".join(reader._thoughts), reader._called)
            for reader in (self, again)
        )
        return first == second

    def _read_status(self, status: Json) -> None:
        if status in _WAITING or (status and not isinstance(status, str)):
            self.facts.others.add("status")
        elif isinstance(status, str) and status:
            self.facts.finish = status

    def _read_steps(self, steps: list[Json]) -> None:
        """Note the whole steps of an interaction."""
        for index, step in enumerate(steps):
            if isinstance(step, dict):
                self._start(index, step)
                self._stop(index)
            else:
                self.facts.unreadable.append(json.dumps(step))

    # ---------------------------------------------------------------- steps

    def _start(self, index: int, step: dict[str, Json]) -> None:
        kind = _word(step.get("type"))
        self._streamed = True
        self._close_call(index)
        self._latest = index
        self._steps[index] = {**step, "type": kind}
        self._had.add(index)
        signature = _text(step.get("signature"))
        self._notes.append(self._begin_part)
        if kind == "thought":
            for item in _list(step.get("summary")):
                self._notes.append(self._begin_part)
                self._read_content(item, thought=True)
            self._sign("thought", signature)
            self._others(step, {"type", "summary", "signature"})
        elif kind == "model_output":
            for item in _list(step.get("content")):
                self._read_content(item)
            self._sign("text", signature)
            if step.get("error") is not None:
                self._failed = True
                self._notes.append(lambda: self._note_error({"error": step["error"]}))
            self._others(step, {"type", "content", "signature", "error"})
        elif kind == "function_call":
            self._start_call(index, step, signature)
            self._others(step, {"type", "id", "name", "arguments", "signature"})
        elif kind == "user_input":
            self._names(step)
        elif kind == "function_result":
            if "result" in step:
                self._read_result(step)
            self._others(step, {"type", "call_id", "name", "result", "is_error"})
        elif kind in _SERVER_STEPS:
            if {"arguments", "result"} & step.keys():
                self._steps[index]["read"] = True
                self._read_server_tool(kind, step)
            self._others(step, _SERVER_FIELDS | {"type"})
        else:
            self._names(step)
        self._give(index)

    def _stop(self, index: int) -> None:
        self._close_call(index)
        step = self._steps.pop(index)
        kind = _word(step.get("type"))
        if kind in _SERVER_STEPS and "read" not in step:
            self._read_server_tool(kind, step)
        self._give(index)

    def _has(self, index: int, understood: bool) -> bool:
        """Return whether a step is open. In a stream that begins in the middle, an event that can
        be understood without the start of its step opens the step.
        """
        if index not in self._steps and understood and self._resumed and index not in self._had:
            self._steps[index] = {}
            self._had.add(index)
        return index in self._steps

    def _read_delta(self, index: int, delta: dict[str, Json]) -> None:
        kind, signature = _word(delta.get("type")), delta.get("signature")
        if not self._has(index, kind != "arguments_delta"):
            for call in self._calls.values() if kind == "arguments_delta" else ():
                call.odd.append(delta)
            self.facts.others |= names_in(delta)
            return
        step = self._steps.get(index, {})
        if kind == "thought_summary":
            self._read_content(delta.get("content"), thought=True)
            self._others(delta, {"type", "content"})
        elif kind == "thought_signature":
            self._sign("thought", _text(signature))
            self._others(delta, {"type", "signature"})
        elif kind == "text" or kind in _MEDIA:
            self._read_content(delta)
        elif kind == "text_annotation_delta":
            self._read_annotations(delta.get("annotations"))
            self._others(delta, {"type", "annotations"})
        elif kind == "arguments_delta":
            self._read_arguments(index, delta)
        elif kind == "function_result":
            self._read_result({**step, **delta})
            self._others(delta, {"type", "call_id", "name", "result", "is_error"})
        elif kind in _SERVER_STEPS:
            self._read_server_tool(kind, {**step, **delta})
            step["read"] = True
        else:
            if index in self._calls:
                self._calls[index].odd.append(delta)
            self._names(delta)
        self._give(index)

    # ---------------------------------------------------------------- calls

    def _start_call(self, index: int, step: dict[str, Json], signature: str | None) -> None:
        arguments, name = step.get("arguments"), str(step.get("name") or "")
        whole = isinstance(arguments, str) or arguments is None
        call = _Call(len(self._called) + len(self._calls), name, {} if whole else arguments)
        self._calls[index] = call
        self._notes.append(lambda: self._begin_call(index, name, _text(step.get("id")), signature))
        if isinstance(arguments, str):
            self._add_piece(call, arguments)

    def _add_piece(self, call: _Call, piece: str) -> None:
        call.pieces.append(piece)
        self._notes.append(lambda: self._note_piece(piece))

    def _read_arguments(self, index: int, delta: dict[str, Json]) -> None:
        piece, call = delta.get("arguments"), self._calls.get(index)
        if call is None or not isinstance(piece, str):
            for open_call in self._calls.values() if call is None else (call,):
                open_call.odd.append(delta)
            self._names(delta)
        else:
            self._add_piece(call, piece)
            self._others(delta, {"type", "arguments"})

    def _close_call(self, index: int) -> None:
        """End the open call of a step. Arguments that are not an object, or that were not all
        understood, make it invalid.
        """
        call = self._calls.pop(index, None)
        if call is None:
            return
        text = "".join([*call.pieces, *(json.dumps(delta, sort_keys=True) for delta in call.odd)])
        arguments = call.given
        if text.strip():
            arguments = text if call.odd else arguments_of(text)
        if isinstance(arguments, dict):
            if call.given and call.given != arguments:
                self._notes.append(lambda: self.facts.others.add("arguments"))
            self._notes.append(lambda: self._end_call(arguments))
        else:
            if not text.strip():
                arguments = text = json.dumps(call.given, ensure_ascii=False)
            self._notes.append(lambda: self._end_invalid_call(text))
        self._called[call.number] = (call.name, arguments)

    # ---------------------------------------------------------------- content

    def _read_content(self, content: Json, *, thought: bool = False) -> None:
        kind = content.get("type") if isinstance(content, dict) else None
        text = content.get("text") if kind == "text" else None
        if isinstance(text, str):
            (self._thoughts if thought else self._texts).append(text)
            self._notes.append(lambda: self._add(text, thought))
            self._read_annotations(content.get("annotations"))
            self._others(content, {"type", "text", "annotations"})
        elif kind in _MEDIA:
            self._media.append(_data(content))
            self._notes.append(lambda: self._note_medium(content, thought))
            self._others(content, {"type", "data", "uri"})
        else:
            self._names(content)

    def _read_annotations(self, annotations: Json) -> None:
        for annotation in _list(annotations):
            self._notes.append(lambda: self.facts.others.add("annotations"))
            kind = str(annotation.get("type")) if isinstance(annotation, dict) else ""
            if kind in _CITATIONS:
                self._pass_on("citations", annotation.get(_CITATIONS[kind]))
            else:
                self._names(annotation)

    def _read_result(self, step: dict[str, Json]) -> None:
        self._notes.append(lambda: self.facts.others.add("functionResponse"))
        failed, result = step.get("is_error") is True, step.get("result")
        self._notes.append(lambda: self.facts.add_result(failed, result))

    def _read_server_tool(self, kind: str, step: dict[str, Json]) -> None:
        code = kind.startswith("code_execution")
        self._sign("other", _text(step.get("signature")))
        passed_on = {"id", "call_id", "arguments", "result", "is_error"} if code else set()
        self._others(step, {"type", "signature", "read"} | passed_on)
        arguments, result = step.get("arguments"), step.get("result")
        self._notes.append(lambda: self._note_tool(code))
        if code:
            code_text = arguments.get("code") if isinstance(arguments, dict) else None
            self._pass_on("code", code_text, result)
        else:
            values = [*strings(arguments, _WORDS), *strings(result, _WORDS)]
            self._pass_on("server_tools", step.get("id") or step.get("call_id"), *values)

    # ---------------------------------------------------------------- notes

    def _others(self, holder: dict[str, Json], known: set[str]) -> None:
        self._notes.append(lambda: self._note_fields(holder, known))

    def _names(self, value: Json) -> None:
        self._notes.append(lambda: self.facts.others.update(names_in(value)))

    def _pass_on(self, aspect: str, *values: Json) -> None:
        self._notes.append(lambda: self.facts.add_opaque(aspect, *values))

    def _sign(self, kind: str, signature: str | None) -> None:
        if signature:
            self._notes.append(lambda: self.facts.signatures.append((kind, signature)))

    def _give(self, index: int) -> None:
        """Write the notes of a message of a step, and those that have waited for it."""
        notes, self._notes = self._notes, []
        self._waiting.append((index, notes))
        while True:
            of_call = (at for at, (step, _) in enumerate(self._waiting) if step == self._calling)
            first = next(of_call, None) if self._calling is not None else 0
            if first is None or first >= len(self._waiting):
                return
            for note in self._waiting.pop(first)[1]:
                note()

    def _begin_part(self) -> None:
        self._part = len(self.facts.thoughts)

    def _add(self, text: str, thought: bool) -> None:
        facts = self.facts
        begins = thought and self._part == len(facts.thoughts)
        facts.order.append(Run("thought" if thought else "text", len(text), begins=begins))
        (facts.add_thought if thought else facts.add_text)(text)

    def _note_medium(self, content: dict[str, Json], thought: bool) -> None:
        self.facts.media += 1
        aspect = "thoughts" if thought else "media"
        self.facts.add_opaque(aspect, content.get("data"), content.get("uri"))

    def _note_tool(self, code: bool) -> None:
        self.facts.code += code
        self.facts.server_tools += not code

    def _begin_call(
        self, index: int, name: str, call_id: str | None, signature: str | None
    ) -> None:
        facts = self.facts
        self._calling, self._arguments = index, ""
        facts.calls.append((name, {}))
        facts.marks.append((call_id, signature))
        facts.places.append(len(facts.text))
        facts.order.append(Run("call"))
        facts.signed_before.append(len(facts.signatures))
        if signature:
            facts.signatures.append(("call", signature))

    def _note_piece(self, piece: str) -> None:
        self._arguments += piece
        self.facts.pieces.append(piece)

    def _end_call(self, arguments: Json) -> None:
        self._calling, self._is_invalid = None, False
        self.facts.calls[-1] = (self.facts.calls[-1][0], arguments)

    def _end_invalid_call(self, text: str) -> None:
        facts = self.facts
        self._calling, self._is_invalid = None, True  # the last call
        facts.invalid_calls.append((facts.calls[-1][0], text))
        columns: tuple[list[Any], ...] = (facts.calls, facts.marks, facts.places)
        for column in (*columns, facts.signed_before):
            column.pop()
        del facts.order[max(at for at, run in enumerate(facts.order) if run.kind == "call")]

    def _show_call(self) -> None:
        """Set the arguments of the call that is noted to those so far."""
        if self._calling is not None and self._arguments.strip():
            self.facts.calls[-1] = (self.facts.calls[-1][0], arguments_of(self._arguments))

    def _count(self, usage: Json) -> None:
        if isinstance(usage, dict):
            self._note_fields(usage, _USAGE)
            self.facts.usage |= {
                _COUNTS.get(name, camel(name)): value
                for name, value in usage.items()
                if type(value) is int
            }
        elif usage:
            self.facts.others.add("usage")

    def _read_error(self, holder: dict[str, Json]) -> None:
        self._failed = True
        self._note_error(holder)

    def _note_error(self, holder: dict[str, Json]) -> None:
        self.facts.open_call = self._calling is not None
        self._show_call()
        note_error(self.facts, holder.get("error", holder), self._status)


def _is_interaction(message: dict[str, Json]) -> bool:
    """Return whether an object without an event type is an interaction, and not that of another
    API.
    """
    kind = message.get("object")
    if isinstance(kind, str) or "type" in message:
        return kind == "interaction"
    return "steps" in message or message.get("status") in _STATUSES


def _list(value: Json) -> list[Json]:
    """Return the items of a list, or the one value instead of a list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _data(content: dict[str, Json]) -> tuple[Json, Json]:
    return content.get("data"), content.get("uri")


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""
