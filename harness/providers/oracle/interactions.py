"""The oracle of the Interactions API: reads a raw body slowly and plainly, as a stream of events or
as whole interactions. The index of an event names its step; steps may overlap.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from harness.facts import Facts, Run, arguments_of
from harness.stream.json_codec import Json

from .reader import MessageReader, note_error
from .values import camel, names_in, strings

COUNTS: Final = {
    "total_input_tokens": "promptTokenCount",
    "total_output_tokens": "candidatesTokenCount",
    "total_thought_tokens": "thoughtsTokenCount",
    "total_cached_tokens": "cachedContentTokenCount",
    "total_tool_use_tokens": "toolUsePromptTokenCount",
    "total_tokens": "totalTokenCount",
}
"""A count of the wire, and the name of the fact."""
_USAGE: Final = {
    *COUNTS,
    *(f"{of}_tokens_by_modality" for of in ("input", "output", "cached", "tool_use")),
    *("grounding_tool_count", "initial_input_tokens", "raw_prompt_token"),
}
"""The fields of usage that are no news."""

_WAITING: Final = ("in_progress", "queued", "idle")
"""The statuses of an answer that has not ended."""
_STATUSES: Final = (
    *("completed", "requires_action", "incomplete", "budget_exceeded", "failed", "cancelled"),
    *("requires_continuation", *_WAITING),
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
_TIMES: Final = ("created", "updated")
_EVENT: Final = {
    *("event_type", "index", "step", "delta", "interaction", "metadata", "interaction_id"),
    *("id", "status", "usage", "error"),
}
_INTERACTION: Final = {
    *("id", "object", "model", "agent", "status", "usage", "steps", "errors", "error"),
    *("output_text", "output_image", "output_audio", "output_video", "event_type"),
}
_SERVER_TOOLS: Final = (
    *("google_search", "code_execution", "url_context", "google_maps", "file_search"),
    *("retrieval", "tool_search", "processing", "mcp_server_tool"),
)
_SERVER_STEPS: Final = {f"{tool}_{part}" for tool in _SERVER_TOOLS for part in ("call", "result")}
_MEDIA: Final = ("image", "audio", "video", "document")
_WORDS: Final = ("type", "status", "search_type", "retrieval_type", "language")
"""Fields of server tools whose values are words of an enumeration."""
_CITATIONS: Final = {
    "url_citation": "url",
    "file_citation": "document_uri",
    "place_citation": "url",
}


def gather_interactions(body: bytes, status: int = 200, *, interrupted: bool = False) -> Facts:
    """Return the facts in a raw body: server-sent events, JSON lines, one interaction, or an error.

    ``interrupted``: the connection ended before the answer did. A call that is open is then
    incomplete.
    """
    reader = _Reader(status)
    reader.read_all(body)
    return reader.finish(interrupted)


def gather_step(step: dict[str, Json]) -> Facts:
    """Return the media, code, server tools and signatures of one part that is passed on
    unchanged.
    """
    reader = _Reader(200)
    if step["type"] in _MEDIA:
        reader._read_content(step)
    elif step["type"] in _SERVER_STEPS:
        reader._read_server_tool(step["type"], step)
    return reader.facts


def count_interactions(facts: Facts, usage: dict[str, Json]) -> None:
    """Note every whole number of ``usage``."""
    facts.usage |= {
        COUNTS.get(name, camel(name)): value
        for name, value in usage.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


@dataclass(eq=False)
class _Call:
    """A call: the arguments of its start, its pieces, and its deltas that were not understood."""

    given: Json
    pieces: list[str] = field(default_factory=list)
    odd: list[Json] = field(default_factory=list)

    def text(self) -> str:
        return "".join([*self.pieces, *(json.dumps(delta, sort_keys=True) for delta in self.odd)])


class _Reader(MessageReader):
    """The state of one reading: the open calls and the open steps by index, the indexes that a step
    had, whether the stream began in the middle, and the media.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self._calls: dict[int, _Call] = {}
        self._in_order: list[_Call] = []  # the item for each of `Facts.calls`
        self._steps: dict[int, dict[str, Json]] = {}
        self._had: set[int] = set()
        self._resumed: bool | None = None
        self._latest = -1
        self._media: list[Json] = []
        self._part = 0
        self._streamed = False

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
            self._read_event(message)
        elif message.get("error") is not None and "steps" not in message:
            self._read_error(message)
        elif _is_interaction(message):
            self._read_interaction(message)
            self._read_status(message.get("status"))
        else:
            if self._status >= 300 and not self.facts.errors:
                self._read_error(message)
            else:
                self.facts.others |= names_in(message)

    def finish(self, interrupted: bool) -> Facts:
        """Return the facts of the whole body."""
        facts = self.facts
        facts.open_call = bool(self._calls)
        if interrupted or facts.errors:
            self._show_open_call()
        else:
            for index in list(self._calls):
                self._close_call(index)
        self._note_end()
        facts.ended_well = facts.ended_well and facts.finish != "failed"
        return facts

    def _read_event(self, event: dict[str, Json]) -> None:
        kind = event["event_type"]
        self._note_fields(event, _EVENT | ({*_TIMES} if kind == "interaction.completed" else set()))
        if event.get("interaction_id"):
            self.facts.others.add("responseId")
        metadata = event.get("metadata")
        if isinstance(metadata, dict):
            self._note_fields(metadata, {"usage", "total_usage"})
            self._count(metadata.get("total_usage"))
            self._count(metadata.get("usage"))
        self._count(event.get("usage"))
        step, delta, index = event.get("step"), event.get("delta"), event.get("index")
        if not isinstance(index, int) or isinstance(index, bool):
            index = self._latest + (kind == "step.start")
        interaction = event.get("interaction")
        if self._resumed is None and not (kind == "error" and event.get("error") is not None):
            names = ("interaction.created", "interaction.completed")
            bare = kind == "interaction.created" and "interaction" not in event
            self._resumed = not (bare or (kind in names and isinstance(interaction, dict)))
        if kind in ("interaction.created", "interaction.completed") and isinstance(
            interaction, dict
        ):
            self._read_interaction(interaction)
            if kind == "interaction.completed":
                self._read_status(interaction.get("status"))
            elif interaction.get("status"):
                self.facts.others.add("status")
        elif kind == "interaction.created":
            pass
        elif kind == "interaction.completed":
            if "interaction" not in event:
                self._read_completed(event)
        elif kind == "interaction.connected":
            self.facts.others.add("eventType")
        elif kind in _STOPS:
            self.facts.finish = _STOPS[kind]
        elif kind == "step.start" and isinstance(step, dict):
            self._streamed = True
            self._start(index, step)
        elif kind == "step.delta" and isinstance(delta, dict):
            self._streamed = True
            self._read_delta(index, delta)
        elif kind == "step.stop":
            self._stop(index, event)
        elif kind == "interaction.status_update":
            self.facts.others |= {"status"} if event.get("status") else set()
        elif event.get("error") is not None:
            self._read_error(event)
        elif kind in ("step.start", "step.delta"):
            self._note_fields(event, _EVENT - {"step", "delta"})
        else:
            self.facts.others |= names_in(event)

    def _read_interaction(self, interaction: dict[str, Json]) -> None:
        facts = self.facts
        self._note_fields(interaction, _INTERACTION)
        facts.others |= (
            {"modelVersion"} if interaction.get("model") or interaction.get("agent") else set()
        )
        facts.others |= {"responseId"} if interaction.get("id") else set()
        self._count(interaction.get("usage"))
        facts.add_billing("service_tier", interaction.get("service_tier"))
        steps = interaction.get("steps")
        steps = steps if isinstance(steps, list) else []
        if not self._streamed:
            self._read_steps(steps)
        elif steps and not self._repeats(steps):
            facts.others.add("steps")
        if (output := interaction.get("output_text")) and output != facts.text:
            facts.others.add("outputText")
        for name in ("output_image", "output_audio", "output_video"):
            output = interaction.get(name)
            if isinstance(output, dict) and output and _data(output) not in map(_data, self._media):
                facts.others.add(camel(name))
        errors = interaction.get("errors")
        for error in errors if isinstance(errors, list) else []:
            self._read_error({"error": error})
        if interaction.get("error") is not None:
            self._read_error(interaction)

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
            (facts.text, facts.thoughts, facts.calls, facts.invalid_calls)
            for facts in (self.facts, again.facts)
        )
        return first == second

    def _read_status(self, status: Json) -> None:
        if status in _WAITING:
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

    def _start(self, index: int, step: dict[str, Json]) -> None:
        facts, kind = self.facts, _word(step.get("type"))
        self._close_call(index)
        self._latest = index
        self._steps[index] = {**step}
        self._had.add(index)
        signature = step.get("signature")
        known = {"type", "signature"}
        if kind == "thought":
            known |= {"summary"}
            self._part = len(facts.thoughts)
            for item in _list(step.get("summary")):
                self._part = len(facts.thoughts)
                self._read_content(item, thought=True)
            self._sign("thought", signature)
        elif kind == "model_output":
            known |= {"content", "error"}
            for item in _list(step.get("content")):
                self._read_content(item)
            if step.get("error") is not None:
                self._read_error(step)
            self._sign("text", signature)
        elif kind == "function_call":
            known |= {"id", "name", "arguments"}
            arguments = step.get("arguments")
            call = _Call({} if arguments is None else arguments)
            if isinstance(arguments, str):
                call = _Call({}, [arguments])
            self._calls[index] = call
            self._in_order.append(call)
            facts.calls.append((str(step.get("name") or ""), {}))
            facts.marks.append((_text(step.get("id")), _text(signature)))
            facts.places.append(len(facts.text))
            facts.order.append(Run("call"))
            facts.signed_before.append(len(facts.signatures))
            self._sign("call", signature)
        elif kind == "user_input":
            facts.others |= names_in(step)
            known |= step.keys()
        elif kind == "function_result":
            known |= {"call_id", "name", "result", "is_error"}
            if "result" in step:
                self._read_result(step)
        elif kind in _SERVER_STEPS:
            known |= step.keys()
            if {"arguments", "result"} & step.keys():
                self._read_server_tool(kind, step)
                self._steps.pop(index)
        self._note_fields(step, known)

    def _stop(self, index: int, event: dict[str, Json] | None = None) -> None:
        if not self._has(index, True):
            self.facts.others |= names_in(event)
            return
        self._close_call(index)
        step = self._steps.pop(index)
        kind = _word(step.get("type"))
        if kind in _SERVER_STEPS and "read" not in step:
            self._read_server_tool(kind, step)

    def _has(self, index: int, understood: bool) -> bool:
        """Return whether a step is open. In a stream that begins in the middle, an event that can
        be understood without the start of its step opens the step.
        """
        if index not in self._steps and understood and self._resumed and index not in self._had:
            self._steps[index] = {}
            self._had.add(index)
        return index in self._steps

    def _columns(self) -> tuple[list[Any], ...]:
        """Return the lists that have one item for each call."""
        facts = self.facts
        return self._in_order, facts.calls, facts.marks, facts.places, facts.signed_before

    def _remove(self, call: _Call) -> None:
        at = self._in_order.index(call)
        for column in self._columns():
            column.pop(at)

    def _show_open_call(self) -> None:
        """Keep one open call, as the last one: the call that began last, with the arguments so far.
        The others never became calls.
        """
        for index in list(self._calls)[:-1]:
            self._remove(self._calls.pop(index))
        for call in self._calls.values():
            at = self._in_order.index(call)
            for column in self._columns():
                column.append(column.pop(at))
            if (text := call.text()).strip():
                self.facts.calls[-1] = (self.facts.calls[-1][0], arguments_of(text))

    def _close_call(self, index: int) -> None:
        """End the open call of a step. Arguments that are not an object, or that were not all
        understood, make it invalid.
        """
        call = self._calls.pop(index, None)
        if call is None:
            return
        at, text = self._in_order.index(call), call.text()
        name, arguments = self.facts.calls[at][0], call.given
        if text.strip():
            arguments = text if call.odd else arguments_of(text)
        self.facts.calls[at] = (name, arguments)
        if not isinstance(arguments, dict):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            self._remove(call)
            self.facts.invalid_calls.append((name, text))

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
            self._note_fields(delta, {"type", "content"})
        elif kind == "thought_signature":
            self._sign("thought", signature)
            self._note_fields(delta, {"type", "signature"})
        elif kind == "text" or kind in _MEDIA:
            self._read_content(delta)
        elif kind == "text_annotation_delta":
            self._read_annotations(delta.get("annotations"))
            self._note_fields(delta, {"type"})
        elif kind == "arguments_delta":
            self._read_arguments(index, delta)
        elif kind == "function_result":
            self._read_result({**step, **delta})
            self._note_fields(delta, {"type", "call_id", "name", "result", "is_error"})
        elif kind in _SERVER_STEPS:
            self._read_server_tool(kind, {**step, **delta})
            step["read"] = True
        else:
            if index in self._calls:
                self._calls[index].odd.append(delta)
            self.facts.others |= names_in(delta)

    def _read_arguments(self, index: int, delta: dict[str, Json]) -> None:
        piece, call = delta.get("arguments"), self._calls.get(index)
        if call is None or not isinstance(piece, str):
            for open_call in self._calls.values() if call is None else (call,):
                open_call.odd.append(delta)
            self.facts.others |= names_in(delta)
            return
        call.pieces.append(piece)
        self.facts.pieces.append(piece)
        self._note_fields(delta, {"type", "arguments"})

    def _read_content(self, content: Json, *, thought: bool = False) -> None:
        if not isinstance(content, dict):
            self.facts.others |= names_in(content)
            return
        kind, text = content.get("type"), content.get("text")
        if kind == "text" and isinstance(text, str):
            begins = thought and self._part == len(self.facts.thoughts)
            self.facts.order.append(Run("thought" if thought else "text", len(text), begins=begins))
            if thought:
                self.facts.add_thought(text)
            else:
                self.facts.add_text(text)
            self._read_annotations(content.get("annotations"))
            self._note_fields(content, {"type", "text", "annotations"})
        elif kind in _MEDIA:
            self.facts.media += 1
            self._media.append(content)
            aspect = "thoughts" if thought else "media"
            self.facts.add_opaque(aspect, content.get("data"), content.get("uri"))
            self._note_fields(content, {"type", "data", "uri"})
        else:
            self.facts.others |= names_in(content)

    def _read_annotations(self, annotations: Json) -> None:
        for annotation in _list(annotations):
            kind = str(annotation.get("type")) if isinstance(annotation, dict) else ""
            if kind in _CITATIONS:
                self.facts.others.add("annotations")
                self.facts.add_opaque("citations", annotation.get(_CITATIONS[kind]))
            else:
                self.facts.others |= names_in(annotation)

    def _read_result(self, step: dict[str, Json]) -> None:
        self.facts.others.add("functionResponse")
        self.facts.add_result(step.get("is_error") is True, step.get("result"))

    def _read_server_tool(self, kind: str, step: dict[str, Json]) -> None:
        facts = self.facts
        self._sign("other", step.get("signature"))
        self._note_fields(step, {"type", "signature", "read"} | _code_fields(kind))
        arguments, result = step.get("arguments"), step.get("result")
        if kind.startswith("code_execution"):
            facts.code += 1
            code = arguments.get("code") if isinstance(arguments, dict) else None
            facts.add_opaque("code", code, result)
        else:
            facts.server_tools += 1
            values = [*strings(arguments, _WORDS), *strings(result, _WORDS)]
            facts.add_opaque("server_tools", step.get("id") or step.get("call_id"), *values)

    def _sign(self, kind: str, signature: Json) -> None:
        if isinstance(signature, str) and signature:
            self.facts.signatures.append((kind, signature))

    def _count(self, usage: Json) -> None:
        if isinstance(usage, dict):
            count_interactions(self.facts, usage)
            self._note_fields(usage, _USAGE)

    def _read_error(self, holder: dict[str, Json]) -> None:
        self.facts.open_call = bool(self._calls)
        self._show_open_call()
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


def _data(content: dict[str, Json]) -> Json:
    return content.get("data") or content.get("uri")


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _code_fields(kind: str) -> set[str]:
    """Return the fields of code that the server runs, which are facts of their own."""
    code = kind.startswith("code_execution")
    return {"id", "call_id", "arguments", "result", "is_error"} if code else set()
