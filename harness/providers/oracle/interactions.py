"""The oracle of the Interactions API: reads a raw body slowly and plainly, as a stream of events or
as whole interactions.

Steps do not overlap on the wire. In a damaged stream, content of another step closes the open call,
with the arguments that it has so far.
"""

from __future__ import annotations

import json
from typing import Final

from harness.facts import Facts, Run, arguments_of
from harness.stream.json_codec import Json

from .gemini import camel, names_in, present, strings
from .reader import MessageReader, note_error

COUNTS: Final = {
    "total_input_tokens": "promptTokenCount",
    "total_output_tokens": "candidatesTokenCount",
    "total_thought_tokens": "thoughtsTokenCount",
    "total_cached_tokens": "cachedContentTokenCount",
    "total_tool_use_tokens": "toolUsePromptTokenCount",
    "total_tokens": "totalTokenCount",
}
"""A count of the wire, and the name of the fact."""

_WAITING: Final = ("in_progress", "queued")
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
_WORDS: Final = ("type", "status", "search_type", "language")
"""Fields of server tools whose values are words of an enumeration."""
_CITATIONS: Final = {
    "url_citation": "url",
    "file_citation": "document_uri",
    "place_citation": "url",
}


def gather_interactions(body: bytes, status: int = 200, *, interrupted: bool = False) -> Facts:
    """The facts in a raw body: server-sent events, JSON lines, one interaction, or an error.

    ``interrupted``: the connection ended before the answer did. A call that is open is then
    incomplete.
    """
    reader = _Reader(status)
    reader.read_all(body)
    return reader.finish(interrupted)


def gather_step(step: dict[str, Json]) -> Facts:
    """The media, code, server tools and signatures of one part that is passed on unchanged."""
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


class _Reader(MessageReader):
    """The state of one reading: the index, the pieces and the first arguments of the open call, the
    steps that have no end yet, and the media.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self._call: tuple[int, list[str], Json] | None = None
        self._steps: dict[int, dict[str, Json]] = {}
        self._latest = -1
        self._media: list[Json] = []
        self._streamed = False

    def _read_object(self, message: dict[str, Json]) -> None:
        if message.get("event_type") in _REMOVED or isinstance(message.get("outputs"), list):
            self.facts.others |= names_in(message)
        elif isinstance(message.get("event_type"), str):
            self._read_event(message)
        elif message.get("error") is not None and "steps" not in message:
            self._read_error(message)
        elif _is_interaction(message):
            self._read_interaction(message)
        else:
            if self._status >= 300 and not self.facts.errors:
                self._read_error(message)
            else:
                self.facts.others |= names_in(message)

    def finish(self, interrupted: bool) -> Facts:
        """Return the facts of the whole body."""
        facts = self.facts
        facts.open_call = self._call is not None
        if interrupted or facts.errors:
            self._show_call()
        else:
            self._close_call()
        self._note_end()
        facts.ended_well = facts.ended_well and facts.finish != "failed"
        return facts

    def _read_event(self, event: dict[str, Json]) -> None:
        kind = event["event_type"]
        self._note_fields(event, _EVENT)
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
        if kind in ("interaction.created", "interaction.completed"):
            interaction = event.get("interaction")
            self._read_interaction(interaction if isinstance(interaction, dict) else {})
        elif kind == "step.start" and isinstance(step, dict):
            self._streamed = True
            self._start(index, step)
        elif kind == "step.delta" and isinstance(delta, dict):
            self._streamed = True
            self._read_delta(index, delta)
        elif kind == "step.stop":
            self._stop(index)
        elif kind == "interaction.status_update":
            self._read_status(event.get("status"))
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
        self._read_status(interaction.get("status"))

    def _repeats(self, steps: list[Json]) -> bool:
        """Whether steps at the end have the text, thoughts and calls of the stream."""
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
        self._close_call()
        self._latest = index
        self._steps[index] = {**step}
        signature = step.get("signature")
        known = {"type", "signature"}
        if kind == "thought":
            known |= {"summary"}
            for item in _list(step.get("summary")):
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
            if isinstance(arguments, str):
                self._call = (index, [arguments], {})
            else:
                self._call = (index, [], {} if arguments is None else arguments)
            facts.calls.append((str(step.get("name") or ""), {}))
            facts.marks.append((step.get("id") or None, signature or None))
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

    def _stop(self, index: int) -> None:
        self._close_call()
        step = self._steps.pop(index, {})
        kind = _word(step.get("type"))
        if kind in _SERVER_STEPS and "read" not in step:
            self._read_server_tool(kind, step)

    def _show_call(self) -> bool:
        """Set the arguments of the open call to those so far; returns whether there are any."""
        text = "".join(self._call[1]) if self._call else ""
        if text.strip():
            self.facts.calls[-1] = (self.facts.calls[-1][0], arguments_of(text))
        return bool(text.strip())

    def _close_call(self) -> None:
        """End the open call. Arguments that are not an object make it invalid."""
        if self._call is None:
            return
        if not self._show_call():
            self.facts.calls[-1] = (self.facts.calls[-1][0], self._call[2])
        self._call = None
        name, arguments = self.facts.calls[-1]
        if not isinstance(arguments, dict):
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            self.facts.calls.pop()
            self.facts.marks.pop()
            self.facts.places.pop()
            self.facts.signed_before.pop()
            self.facts.invalid_calls.append((name, text))

    def _read_delta(self, index: int, delta: dict[str, Json]) -> None:
        kind, signature = _word(delta.get("type")), delta.get("signature")
        if self._call and (index != self._call[0] or kind != "arguments_delta"):
            self._close_call()
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
            self.facts.others |= names_in(delta)

    def _read_arguments(self, index: int, delta: dict[str, Json]) -> None:
        piece = delta.get("arguments")
        if self._call is None or not isinstance(piece, str):
            self.facts.others |= names_in(delta)
            return
        self._call[1].append(piece)
        self.facts.pieces.append(piece)
        self._note_fields(delta, {"type", "arguments"})

    def _read_content(self, content: Json, *, thought: bool = False) -> None:
        if not isinstance(content, dict):
            self.facts.others |= names_in(content)
            return
        kind, text = content.get("type"), content.get("text")
        if kind == "text" and isinstance(text, str):
            self.facts.order.append(Run("thought" if thought else "text", len(text)))
            if thought:
                self.facts.add_thought(text)
            else:
                self.facts.add_text(text)
            self._read_annotations(content.get("annotations"))
            self._note_fields(content, {"type", "text", "annotations"})
        elif kind in _MEDIA:
            self.facts.media += 1
            self._media.append(content)
            self.facts.add_opaque("media", content.get("data"), content.get("uri"))
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
            values = [*_shown(arguments), *_shown(result)]
            facts.add_opaque("server_tools", step.get("id") or step.get("call_id"), *values)

    def _sign(self, kind: str, signature: Json) -> None:
        if isinstance(signature, str) and signature:
            self.facts.signatures.append((kind, signature))

    def _count(self, usage: Json) -> None:
        if isinstance(usage, dict):
            count_interactions(self.facts, usage)

    def _note_fields(self, holder: dict[str, Json], known: set[str]) -> None:
        """Note the names of the other fields that have a value."""
        self.facts.others |= present(holder, known)

    def _read_error(self, holder: dict[str, Json]) -> None:
        self.facts.open_call = self._call is not None
        self._show_call()
        note_error(self.facts, holder.get("error", holder), self._status)


def _is_interaction(message: dict[str, Json]) -> bool:
    """Whether an object without an event type is an interaction, and not that of another API."""
    kind = message.get("object")
    if isinstance(kind, str) or "type" in message:
        return kind == "interaction"
    return "steps" in message or message.get("status") in _STATUSES


def _list(value: Json) -> list[Json]:
    """The items of a list, or the one value instead of a list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _data(content: dict[str, Json]) -> Json:
    return content.get("data") or content.get("uri")


def _word(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _code_fields(kind: str) -> set[str]:
    """The fields of code that the server runs, which are facts of their own."""
    code = kind.startswith("code_execution")
    return {"id", "call_id", "arguments", "result", "is_error"} if code else set()


def _shown(value: Json) -> list[str]:
    """The strings of a value, without the words of enumerations."""
    if isinstance(value, list):
        return [text for item in value for text in _shown(item)]
    if isinstance(value, dict):
        return [text for name, item in value.items() if name not in _WORDS for text in _shown(item)]
    return list(strings(value))
