"""Reads the answers of the Responses API: a stream of events, or one whole response
(https://platform.openai.com/docs/api-reference/responses-streaming).

Every event has its name in ``type``, so the ``event:`` lines of the stream are not needed. A whole
response gives the events of a stream with the same items. Facts about the response are given when
they first appear and when they change, because the first and the last event have all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, Final

from harness.stream.events import (
    Annotation,
    Event,
    Finish,
    FinishClass,
    Mark,
    Media,
    Metadata,
    Start,
    Text,
    Unknown,
    Usage,
)
from harness.stream.framing import Frame
from harness.stream.json_codec import Json

from ..answer_reader import AnswerReader
from ..provider import Answer
from ..wire_values import give_others, is_empty, text_of
from .items import CALLS, Item, Items, image
from .order import BEGINNINGS, DONE, ENDS, PIECES, Order
from .usual import decode_text

_FINISHES: Final[dict[str, FinishClass]] = {
    **dict.fromkeys(("completed", "complete"), "stop"),
    "failed": "failed",
    "max_output_tokens": "length",
    "max_messages": "length",
    "incomplete": "length",
    "content_filter": "content_filter",
}
"""The statuses of a response that has ended, and the reasons of an incomplete one; any other word
is ``other``.
"""
_WAITING: Final = frozenset({"in_progress", "queued"})
"""The statuses of a response that has not ended."""
_METADATA: Final[dict[str, str]] = {
    "created_at": "created",
    "completed_at": "created",
    "service_tier": "service_tier",
    **dict.fromkeys(("previous_response_id", "conversation"), "session"),
    **dict.fromkeys(
        (
            *("moderation", "tool_usage", "input_transformations", "prompt_cache_diagnostics"),
            *("content_filters", "context_management"),
        ),
        "envelope",
    ),
}
"""Field of a response → name of the metadata; see also `_ECHO`."""
_ECHO: Final = frozenset(
    {
        *("instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text"),
        *("temperature", "top_p", "top_logprobs", "max_output_tokens", "max_tool_calls"),
        *("truncation", "metadata", "store", "background", "prompt", "prompt_cache_key"),
        *("prompt_cache_retention", "prompt_cache_options", "safety_identifier", "user"),
        *("frequency_penalty", "presence_penalty", "include", "billing", "background_options"),
        *("stream", "stream_options", "input", "access_programs", "image"),
    }
)
"""The fields of a response that repeat the request."""
_READ: Final = frozenset(
    {"id", "object", "model", "status", "usage", "output", "error", "incomplete_details", "type"}
)
_BESIDE: Final = (
    *("type", "sequence_number", "obfuscation", "output_index", "content_index", "item_id"),
    *("summary_index", "command_index", "stream_id"),
)
"""Fields beside the content of an event; ``obfuscation`` is padding."""
_STATUS: Final = re.compile(
    r"response\.(?:\w+_call|mcp_list_tools|compaction|steer)\."
    r"(?:in_progress|searching|completed|interpreting|generating|failed|compacting|accepted|pending)"
)
"""An event that reports the progress of a built-in tool."""
_TOOL_PIECES: Final[dict[str, str]] = {
    "response.code_interpreter_call_code": "code",
    "response.mcp_call_arguments": "arguments",
    "response.shell_call_command": "command",
    "response.shell_call_output_content": "content",
    "response.apply_patch_call_operation_diff": "diff",
}
"""The events with pieces of a built-in tool, and the field of the item that they are pieces of."""


class ResponsesReader(AnswerReader):
    """One answer: see `harness.providers.provider.Normalizer`."""

    strict: ClassVar[bool] = False
    """Whether it reads as the official client does: the content of items that overlap comes as on
    the wire.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._items = Items(self.oddities, wait=not self.strict)
        self._order = Order(self.oddities)
        self._started = False
        self._begun = False  # the beginning of the stream came
        self._finish: str | None = None
        self._failure: Json = None  # the error that `response.failed` repeats
        self._open: Item | None = None  # the item whose text came last
        self._place: tuple[int, int, Json] = (-1, -1, None)  # of its part, with the item's id

    def feed(self, frame: Frame) -> list[Event]:
        """Return a usual piece of text by the strict decoder, everything else by the reader."""
        item = self._open
        usual = None if item is None else decode_text(frame.message)
        place = usual and (usual.output_index, usual.content_index, usual.item_id)
        if item is None or usual is None or place != self._place:
            self._open = None
            return super().feed(frame)
        text = usual.delta
        item.texts[("output_text", usual.content_index)].append(text)
        return [Text(text)]

    def _release(self, out: list[Event]) -> list[str]:
        return self._items.release(out)

    def _end(self, out: list[Event]) -> None:
        if self._errors:
            rest = self._items.release(out)
            out += [Unknown("unfinished", item) for item in rest]
        else:
            self._items.end_all(out)

    def _read_text(self, text: str, partial: bool, out: list[Event]) -> None:
        """Accept the end mark of Chat Completions, because some servers send it here."""
        if text.strip().removeprefix("data:").strip() == "[DONE]":
            self._start(out)
            self.oddities.note(DONE)
            out.append(Mark("end", "[DONE]"))
        else:
            super()._read_text(text, partial, out)

    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        kind = message.get("type")
        if type(kind) is str:
            self._order.read(kind, message)
        read = _EVENTS.get(kind) if type(kind) is str else None
        if read is not None:
            read(self, message, out)
        elif type(kind) is str and type(message.get("response")) is dict:
            self._response(message, out)
        elif type(kind) is str and kind.startswith("response."):
            self._read_other(kind, message, out)
        elif message.get("object") == "response":
            self._order.read_whole()
            self._read_response(message, out)
        elif message.get("error") is not None or (self._answer.failed and not self._errors):
            self._error(message, out)
        elif type(kind) is str:
            self._start(out)
            out.append(Unknown(f"event {kind}", message))
        else:
            self.oddities.note("a message without a type", message)
            out.append(Unknown("frame", message))

    # ---------------------------------------------------------------- events of a stream

    def _response(self, event: dict[str, Json], out: list[Event]) -> None:
        response = event.get("response")
        if type(response) is not dict:
            self._start(out)
            out.append(Unknown(f"event {event['type']}", event))
            return
        self._begun = self._begun or event["type"] in _BEGINNINGS
        self._read_response(response, out)
        give_others("", event, ("response", *_BESIDE), out)

    def _item_added(self, event: dict[str, Json], out: list[Event]) -> None:
        if not self._around(event, "item", dict, out):
            return
        wire: dict[str, Json] = event["item"]
        item = self._items.begin(event.get("output_index"), wire, out)
        if item.kind in CALLS and type(given := wire.get(CALLS[item.kind])) is str and given:
            self._items.add(item, item.kind, 0, given, out)

    def _item_done(self, event: dict[str, Json], out: list[Event]) -> None:
        if self._around(event, "item", dict, out):
            self._items.done(event.get("output_index"), event["item"], out)

    def _piece(self, event: dict[str, Json], out: list[Event]) -> None:
        """Read a piece of a text, of reasoning or of the arguments of a call."""
        kind, owner = PIECES[event["type"].removesuffix(".delta")]
        if not self._around(event, "delta", str, out, "logprobs"):
            return
        item = self._items.find(event.get("output_index"), event.get("item_id"))
        number = _number(event)
        if item is None and owner not in CALLS:
            item = self._items.implied(event.get("output_index"), owner, out)
        if item is None or item.kind != owner:
            out.append(Unknown(f"event {event['type']}", event))
            return
        self._items.add(item, kind, number, event["delta"], out)
        if logprobs := event.get("logprobs"):
            self._items.note_logprobs(item, number, logprobs, out)
        if kind == "output_text" and item.whole is None and self._items.gives(item):
            self._open, self._place = item, (item.index, number, event.get("item_id"))

    def _whole_piece(self, event: dict[str, Json], out: list[Event]) -> None:
        """Read the end of a text, of reasoning or of arguments, which repeats its pieces."""
        kind, owner = PIECES[event["type"].removesuffix(".done")]
        field = _WHOLE[kind]
        if not self._around(event, field, str, out, "logprobs", "name"):
            return
        item = self._items.find(event.get("output_index"), event.get("item_id"))
        if item is None and owner not in CALLS:
            item = self._items.implied(event.get("output_index"), owner, out)
        if item is None or item.kind != owner:
            out.append(Unknown(f"event {event['type']}", event))
            return
        self._items.repeat(item, kind, _number(event), event[field], out)

    def _part(self, event: dict[str, Json], out: list[Event]) -> None:
        """Read the beginning or the end of a part. An empty part gives no event."""
        if not self._around(event, "part", dict, out, "status"):
            return
        part: dict[str, Json] = event["part"]
        item = self._items.find(event.get("output_index"), event.get("item_id"))
        if not is_empty(event.get("status")):
            note = Annotation("part", {"status": event["status"]})
            if item is None:
                out.append(note)
            else:
                self._items.give(item, note, out)
        if item is not None and item.kind in ("message", "reasoning"):
            self._items.part(item, _number(event), part, "part", out)
        elif part.get("text") or part.get("refusal"):
            out.append(Unknown(f"event {event['type']}", event))

    def _annotation(self, event: dict[str, Json], out: list[Event]) -> None:
        if not self._around(event, "annotation", dict, out, "annotation_index"):
            return
        item = self._items.find(event.get("output_index"), event.get("item_id"))
        if item is None:
            out.append(Annotation("citations", {"annotations": [event["annotation"]]}))
        else:
            self._items.annotate(item, event["annotation"], out)

    def _partial_image(self, event: dict[str, Json], out: list[Event]) -> None:
        if self._around(event, "partial_image_b64", str, out, *event):
            form = event.get("output_format")
            media = image(event["partial_image_b64"], form, event)
            item = self._items.find(event.get("output_index"), event.get("item_id"))
            if item is None:
                out.append(media)
            else:
                self._items.give(item, media, out)

    def _audio(self, event: dict[str, Json], out: list[Event]) -> None:
        if self._around(event, "delta", str, out, *event):
            sound = event["type"] == "response.audio.delta"
            out.append(
                Media(None, event, event["delta"], family="audio")
                if sound
                else Annotation("part", {"transcript": event["delta"]})
            )

    def _repeated(self, event: dict[str, Json], out: list[Event]) -> None:
        """Read an event that ends a piece and has no content of its own."""
        self._start(out)

    def _read_other(self, kind: str, event: dict[str, Json], out: list[Event]) -> None:
        """Read an event about a built-in tool, or an unknown one."""
        self._start(out)
        name, _, step = kind.rpartition(".")
        field = _TOOL_PIECES.get(name)
        if _STATUS.fullmatch(kind):
            shown = {key: value for key, value in event.items() if key != "sequence_number"}
            out.append(Metadata("status", shown))
        elif field is None or step not in ("added", "delta", "done"):
            out.append(Unknown(f"event {kind}", event))
        else:
            item = self._items.find(event.get("output_index"), event.get("item_id"))
            piece = event.get("delta")
            if step == "delta" and item is not None and type(piece) is dict:
                self._output(item, _number(event), piece, out)
            elif item is None or (step == "delta" and type(piece) is not str):
                out.append(Unknown(f"event {kind}", event))
            elif step == "delta":
                self._items.add(item, field, _number(event), str(piece), out)

    def _output(self, item: Item, number: int, delta: dict[str, Json], out: list[Event]) -> None:
        """Read a piece of the output of a shell, which has one field for each stream."""
        read = [name for name in ("stdout", "stderr") if type(delta.get(name)) is str]
        for name in read:
            self._items.add(item, name, number, str(delta[name]), out)
        give_others("delta.", delta, (*read,), out)

    def _keep_alive_event(self, event: dict[str, Json], out: list[Event]) -> None:
        self._start(out)
        out.append(Mark("keep_alive", event))

    def _error(self, event: dict[str, Json], out: list[Event]) -> None:
        error = event.get("error", event)
        self._failure = _failure(error)
        self._fail(event, out)

    # ---------------------------------------------------------------- beside the items

    def _start(self, out: list[Event]) -> None:
        """Emit the start, which content implies."""
        if not self._started:
            self._started = True
            out.append(Start(self._answer.model, None, implied=True))

    def _around(
        self, event: dict[str, Json], name: str, kind: type, out: list[Event], *beside: str
    ) -> bool:
        """Read the fields around the content of an event; Returns whether the content is there. An
        event without it is unknown.
        """
        self._start(out)
        if type(event.get(name)) is not kind:
            out.append(Unknown(f"event {event['type']}", event))
            return False
        give_others(f"{event['type']}.", event, (name, *_BESIDE, *beside), out)
        return True

    def _read_response(self, response: dict[str, Json], out: list[Event]) -> None:
        """Emit the facts of a response that are new."""
        self._read_names(response, out)
        echo: dict[str, Json] = {}
        for name, value in response.items():
            if name in _READ or is_empty(value):
                continue
            if name in _METADATA:
                if self._is_new(name, value):
                    out.append(Metadata(_METADATA[name], {name: value}))
            elif name in _ECHO:
                if self._is_new(name, value):
                    echo[name] = value
            elif self._is_new(f"field {name}", value):
                out.append(Unknown(f"field response.{name}", {name: value}))
        if echo:
            out.append(Metadata("echo", echo))
        usage, output = response.get("usage"), response.get("output")
        if type(usage) is dict and usage:
            out.append(read_usage(usage))
        elif usage:
            out.append(Unknown("field response.usage", {"usage": usage}))
        if type(output) is list:
            self._items.read_all(output, out, streamed=self._begun)
        elif not is_empty(output):
            out.append(Unknown("field response.output", {"output": output}))
        self._read_end(response, out)

    def _read_names(self, response: dict[str, Json], out: list[Event]) -> None:
        model, given = text_of(response.get("model")), text_of(response.get("id"))
        if not self._started:
            self._started = True
            self._seen |= {"model": model, "id": given}
            out.append(Start(model or self._answer.model, given))
        if model and self._is_new("model", model):
            out.append(Metadata("model", {"model": model}))
        if given and self._is_new("id", given):
            out.append(Metadata("id", {"id": given}))
        kind = response.get("object")
        if kind not in (None, "", "response") and self._is_new("object", kind):
            out.append(Unknown("field response.object", {"object": kind}))

    def _read_end(self, response: dict[str, Json], out: list[Event]) -> None:
        """Read the error and the status of a response."""
        error, status = response.get("error"), response.get("status")
        # `response.failed` repeats the error of the event `error`.
        if not is_empty(error) and _failure(error) != self._failure:
            self._failure = _failure(error)
            self._fail({"error": error}, out)
        details = response.get("incomplete_details")
        reason = details.get("reason") if type(details) is dict else None
        if details and type(reason) is not str and self._is_new("incomplete_details", details):
            out.append(
                Unknown("field response.incomplete_details", {"incomplete_details": details})
            )
        if type(status) is not str or not status:
            if status:
                out.append(Unknown("field response.status", {"status": status}))
        elif status in _WAITING:
            if self._is_new("status", status):
                out.append(Metadata("status", {"status": status}))
        else:
            # `incomplete` says nothing without its reason, such as `max_output_tokens`.
            word = reason if status == "incomplete" and type(reason) is str and reason else status
            if word != self._finish:
                self._finish = word
                if not self._errors:
                    self._items.end_all(out)
                out.append(Finish(_FINISHES.get(word, "other"), word))


_WHOLE: Final = {
    **dict.fromkeys(("output_text", "summary_text", "reasoning_text"), "text"),
    "refusal": "refusal",
    "function_call": "arguments",
    "custom_tool_call": "input",
}
"""A part, and the field of its end that repeats it."""
_BEGINNINGS: Final = frozenset({"response.created", "response.queued"})

_EVENTS: Final[dict[str, Callable[[ResponsesReader, dict[str, Any], list[Event]], None]]] = {
    **{f"{name}.delta": ResponsesReader._piece for name in PIECES},
    **{f"{name}.done": ResponsesReader._whole_piece for name in PIECES},
    **dict.fromkeys(
        (*BEGINNINGS, *ENDS),
        ResponsesReader._response,
    ),
    "response.output_item.added": ResponsesReader._item_added,
    "response.output_item.done": ResponsesReader._item_done,
    **dict.fromkeys(
        (
            *("response.content_part.added", "response.content_part.done"),
            *("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"),
        ),
        ResponsesReader._part,
    ),
    "response.output_text.annotation.added": ResponsesReader._annotation,
    "response.image_generation_call.partial_image": ResponsesReader._partial_image,
    "response.audio.delta": ResponsesReader._audio,
    "response.audio.transcript.delta": ResponsesReader._audio,
    "response.audio.done": ResponsesReader._repeated,
    "response.audio.transcript.done": ResponsesReader._repeated,
    "keepalive": ResponsesReader._keep_alive_event,
    "error": ResponsesReader._error,
}


def read_usage(usage: dict[str, Json]) -> Usage:
    """Return the counts of one ``usage``. ``output_tokens`` includes those of the reasoning."""
    counts: dict[str, int | None] = {}
    for key, name in (("input_tokens", "input"), ("output_tokens", "output")):
        counts[name] = _count(usage, key)
    of_input, of_output = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    counts["cached"] = _count(of_input, "cached_tokens")
    counts["cache_write"] = _count(of_input, "cache_write_tokens")
    counts["reasoning"] = reasoning = _count(of_output, "reasoning_tokens")
    counts["total"] = _count(usage, "total_tokens")
    if reasoning is not None and counts["output"] is not None:
        counts["output"] -= reasoning
    return Usage(usage, **counts)


def _count(holder: Json, name: str) -> int | None:
    value = holder.get(name) if type(holder) is dict else None
    return value if type(value) is int else None


def _number(event: dict[str, Json]) -> int:
    """Return the number of a part within its item."""
    numbers = (event.get(f"{name}_index") for name in ("content", "summary", "command"))
    return next((number for number in numbers if type(number) is int), 0)


def _failure(error: Json) -> Json:
    """Return the code and the message of an error, which two events may both have."""
    own = error if type(error) is dict else {}
    return [own.get("code"), own.get("message")] if own else error
