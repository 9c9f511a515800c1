"""Reads the answers of the Interactions API: a stream of events, or one whole interaction.

Every event has its name in ``event_type``, so the ``event:`` lines of the stream are not needed. A
message of the WebSocket form may hold several events. A whole interaction gives the events of a
stream with the same steps. Metadata and the status are given when they first appear and when they
change. Only a terminal event, or a whole interaction, gives the end of an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from harness.stream.events import (
    Annotation,
    Event,
    Finish,
    Mark,
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
from ..wire_values import check_objects, give_others, is_empty
from .messages import (
    FINISHES,
    REMOVED_SCHEMA,
    STOPS,
    WAITING,
    is_batch,
    is_interaction,
    is_removed,
)
from .order import WEB_SOCKET, Order
from .steps import OpenSteps
from .usual import decode_text

_METADATA: Final[dict[str, str]] = {
    "created": "created",
    "updated": "created",
    "service_tier": "service_tier",
    **dict.fromkeys(("previous_interaction_id", "environment", "environment_id"), "session"),
    **dict.fromkeys(
        (
            *("input", "system_instruction", "tools", "generation_config", "response_format"),
            *("response_modalities", "response_mime_type", "agent_config", "safety_settings"),
            *("labels", "cached_content", "webhook_config", "store", "background", "stream"),
        ),
        "echo",
    ),
}
"""Field of an interaction → name of the metadata. ``echo`` repeats the request."""
_TIMES: Final = ("created", "updated")
_CONTINUATION: Final = ("continuation_token", "continuation_ids")
_OUTPUTS: Final = ("output_text", "output_image", "output_audio", "output_video")
_READ: Final = frozenset(
    {
        *("id", "model", "agent", "status", "usage", "steps", "errors", "error", "event_type"),
        *_OUTPUTS,
        *_CONTINUATION,
    }
)
_BESIDE: Final = (
    *("event_type", "interaction_id", "event_id", "metadata", "usage"),
    *_CONTINUATION,
)
"""Fields beside the content of an event."""
_COUNTS: Final = (
    "total_input_tokens",
    "total_output_tokens",
    "total_thought_tokens",
    "total_cached_tokens",
    "total_tool_use_tokens",
    "total_tokens",
)
_USAGE: Final = frozenset(_COUNTS) | {
    *("input_tokens_by_modality", "output_tokens_by_modality", "cached_tokens_by_modality"),
    *("tool_use_tokens_by_modality", "grounding_tool_count"),
    # `raw_prompt_token` is not documented; gemini-3-flash-preview sends it.
    *("initial_input_tokens", "raw_prompt_token"),
}


class InteractionsNormalizer(AnswerReader):
    """One answer: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._order = Order(self.oddities)
        self._steps = OpenSteps(super()._fail, self.oddities)
        self._keep_text = self._steps.texts.append
        self._started = False
        self._text_step: int | None = None  # the latest event was a piece of text of this step
        self._finish: str | None = None

    def feed(self, frame: Frame) -> list[Event]:
        usual = None if self._text_step is None else decode_text(frame.message)
        if usual is None or usual.index != self._text_step:
            self._text_step = None
            return super().feed(frame)
        text = usual.delta.text
        self._keep_text(text)
        return [Text(text)]

    def _release(self, out: list[Event]) -> list[str]:
        return [json.dumps(raw, ensure_ascii=False) for raw in self._steps.rest()]

    def _end(self, out: list[Event]) -> None:
        if not self._errors or self._steps.rest():
            self._steps.close(out)

    def _keep_alive(self, text: str, out: list[Event]) -> None:
        if not self._answer.failed:
            self._start(out)
            out.append(Mark("keep_alive", text))

    def _read_text(self, text: str, partial: bool, out: list[Event]) -> None:
        """Accept the end mark without the blank line after it."""
        if text.strip() == "[DONE]" and not (self._answer.failed and not self._errors):
            self._order.read("[DONE]")
            self._start(out)
            out.append(Mark("end", text))
        else:
            super()._read_text(text, partial, out)

    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        kind = message.get("event_type")
        if type(kind) is str and (read := _EVENTS.get(kind)) is not None:
            self._order.read(kind, message.get("index"))
            read(self, message, out)
            return
        if kind is not None and type(kind) is not str:
            self.oddities.note("event_type", kind)
        if is_batch(message):
            self.oddities.note(WEB_SOCKET, message)
            self._read_batch(message, out)
        elif is_removed(message):
            self.oddities.note(REMOVED_SCHEMA, message)
            out.append(Unknown(REMOVED_SCHEMA, message))
        # The documented form is an event `error`; the API has also sent the bare error as a line.
        elif message.get("error") is not None and "steps" not in message:
            self._fail(message, out)
        elif type(kind) is str:
            self._start(out)
            self._read_beside(message, out)
            out.append(Unknown(f"event {kind}", message))
        elif is_interaction(message):
            self._read_interaction(message, out)
        elif self._answer.failed and not self._errors:
            super()._fail(message, out)
        else:
            out.append(Unknown("frame", message))

    def _read_batch(self, batch: dict[str, Json], out: list[Event]) -> None:
        """Read a message that holds several events."""
        for event in batch["events"]:
            if type(event) is dict and type(event.get("event_type")) is str:
                self._read(event, out)
            else:
                out.append(Unknown("item of events", event))
        give_others("", batch, ("events",), out)

    # ---------------------------------------------------------------- events of a stream

    def _created(self, event: dict[str, Json], out: list[Event]) -> None:
        """Begin the answer. The WebSocket form has only the id of the interaction."""
        if "interaction" in event:
            self._interaction(event, out, ends=False)
            return
        self.oddities.note(WEB_SOCKET, event)
        if not self._started:
            self._begin({"id": event.get("interaction_id")}, out)
        self._read_around(event, (), out)

    def _connected(self, event: dict[str, Json], out: list[Event]) -> None:
        """Go on with the answer after a connection was lost."""
        self.oddities.note(WEB_SOCKET, event)
        self._read_around(event, (), out)
        out.append(Metadata("session", {"event_type": event["event_type"]}))

    def _completed(self, event: dict[str, Json], out: list[Event]) -> None:
        """End the answer. The WebSocket form has a google.rpc.Status, or nothing if all is well."""
        if "interaction" in event:
            self._interaction(event, out)
            return
        self.oddities.note(WEB_SOCKET, event)
        status = event.get("status")
        self._start(out)
        self._read_beside(event, out)
        self._read_times(event, out)
        give_others("", event, ("status", *_TIMES, *_BESIDE), out)
        if type(status) is not dict:
            self._read_status("completed" if status is None else status, out)
        elif status.get("code"):
            super()._fail({"error": status}, out)
        else:
            give_others("status.", status, ("code",), out)
            self._read_status("completed", out)

    def _stopped(self, event: dict[str, Json], out: list[Event]) -> None:
        """Read the events that end a connection before the answer is complete."""
        self.oddities.note(WEB_SOCKET, event)
        self._read_around(event, (), out)
        self._read_status(STOPS[event["event_type"]], out)

    def _interaction(self, event: dict[str, Json], out: list[Event], *, ends: bool = True) -> None:
        interaction = event.get("interaction")
        if type(interaction) is dict:
            if not self._started:
                self._begin(interaction, out)
            self._read_beside(event, out)
            self._read_interaction(interaction, out, ends=ends)
            give_others("", event, ("interaction", *_BESIDE), out)
        else:
            self.oddities.note("interaction", interaction)
            self._read_around(event, (), out)

    def _status(self, event: dict[str, Json], out: list[Event]) -> None:
        self._start(out, event.get("interaction_id"))
        self._read_beside(event, out)
        give_others("", event, ("status", *_BESIDE), out)
        self._read_status(event.get("status"), out, ends=False)

    def _step_start(self, event: dict[str, Json], out: list[Event]) -> None:
        step = event.get("step")
        if type(step) is dict:
            self._read_around(event, ("index", "step"), out)
            self._steps.start(event.get("index"), step, event, out)
        else:
            self.oddities.note("step", step)
            self._read_around(event, ("index",), out)

    def _step_delta(self, event: dict[str, Json], out: list[Event]) -> None:
        delta = event.get("delta")
        if type(delta) is dict:
            self._read_around(event, ("index", "delta"), out)
            self._text_step = self._steps.delta(event.get("index"), delta, out)
        else:
            self.oddities.note("delta", delta)
            self._read_around(event, ("index",), out)

    def _step_stop(self, event: dict[str, Json], out: list[Event]) -> None:
        self._read_around(event, ("index",), out)
        self._steps.stop(event.get("index"), event, out)

    def _error(self, event: dict[str, Json], out: list[Event]) -> None:
        if event.get("error") is None:
            self._start(out)
            out.append(Unknown("event error", event))
        else:
            self._fail(event, out)

    def _fail(self, message: Json, out: list[Event]) -> None:
        if self._started and type(message) is dict:
            self._read_beside(message, out)
        super()._fail(message, out)

    # ---------------------------------------------------------------- beside the steps

    def _start(self, out: list[Event], interaction_id: Json = None) -> None:
        """Emit the start, which content implies."""
        if not self._started:
            self._started = self._steps.resumed = True
            given = interaction_id if type(interaction_id) is str and interaction_id else None
            self._seen["id"] = given
            out.append(Start(self._answer.model, given, implied=True))

    def _begin(self, interaction: dict[str, Json], out: list[Event]) -> None:
        """Emit the start that an interaction gives."""
        self._started = True
        model, given = _model(interaction), interaction.get("id")
        self._seen["model"] = model
        self._seen["id"] = given = given if type(given) is str and given else None
        out.append(Start(model or self._answer.model, given))

    def _read_around(
        self, event: dict[str, Json], content: tuple[str, ...], out: list[Event]
    ) -> None:
        """Read all fields of an event except its content."""
        if "index" in event and len(event) == len(content) + 1 and self._started:
            return  # the usual event of a step has only its type beside its content
        self._start(out)
        self._read_beside(event, out)
        give_others("", event, (*content, *_BESIDE), out)

    def _read_beside(self, event: dict[str, Json], out: list[Event]) -> None:
        """Emit ids, tokens and counts of an event, in this order."""
        given = event.get("interaction_id")
        if given and self._is_new("id", given):
            out.append(Metadata("id", {"interaction_id": given}))
        if event.get("event_id") and self._is_new("event_id", event["event_id"]):
            out.append(Metadata("event_id", {"event_id": event["event_id"]}))
        metadata = event.get("metadata")
        if type(metadata) is dict:
            give_others("metadata.", metadata, ("usage", "total_usage"), out)
            for name in ("total_usage", "usage"):
                self._read_usage(metadata.get(name), out)
        elif metadata:
            out.append(Unknown("field metadata", {"metadata": metadata}))
        self._read_usage(event.get("usage"), out)
        self._read_continuation(event, out)

    def _read_continuation(self, holder: dict[str, Json], out: list[Event]) -> None:
        for name in _CONTINUATION:
            if holder.get(name) and self._is_new(name, holder[name]):
                out.append(Annotation("continuation_token", {name: holder[name]}))

    def _read_usage(self, usage: Json, out: list[Event]) -> None:
        if type(usage) is dict and usage:
            counts = [usage.get(name) for name in _COUNTS]
            given = (count if type(count) is int else None for count in counts)
            out.append(Usage(usage, *given))
            for name, value in usage.items():
                if name not in _USAGE and not is_empty(value) and self._is_new(f"count {name}", 0):
                    out.append(Unknown(f"field usage.{name}", {name: value}))
        elif usage is not None:
            if type(usage) is not dict:
                self.oddities.note("usage", usage)
            if usage:
                out.append(Unknown("field usage", {"usage": usage}))

    def _read_times(self, holder: dict[str, Json], out: list[Event]) -> None:
        for name in _TIMES:
            if not is_empty(holder.get(name)) and self._is_new(name, holder[name]):
                out.append(Metadata("created", {name: holder[name]}))

    def _read_interaction(
        self, interaction: dict[str, Json], out: list[Event], *, ends: bool = True
    ) -> None:
        """Emit the facts of an interaction that are new: all of them, or those in which the end of
        a stream differs from the stream. ``ends``: its status is that of the end of the answer.
        """
        if not self._started:
            self._begin(interaction, out)
        model = _model(interaction)
        if model and self._is_new("model", model):
            out.append(Metadata("model", {"model": model}))
        given = interaction.get("id")
        if given and self._is_new("id", given):
            out.append(Metadata("id", {"id": given}))
        if interaction.get("model") and interaction.get("agent"):
            out.append(Metadata("agent", {"agent": interaction["agent"]}))
        for name, value in interaction.items():
            if name in _METADATA:
                if not is_empty(value) and self._is_new(name, value):
                    out.append(Metadata(_METADATA[name], {name: value}))
            elif (
                name not in _READ
                and (name, value) != ("object", "interaction")
                and not is_empty(value)
            ):
                out.append(Unknown(f"field interaction.{name}", {name: value}))
        self._read_usage(interaction.get("usage"), out)
        self._steps.read_all(interaction.get("steps"), out)
        for name in _OUTPUTS:
            if not is_empty(interaction.get(name)):
                self._steps.repeat(name, interaction[name], out)
        self._read_continuation(interaction, out)
        errors = interaction.get("errors")
        check_objects("errors", errors, self.oddities)
        for error in errors if type(errors) is list else []:
            super()._fail({"error": error}, out)
        if interaction.get("error") is not None:
            super()._fail({"error": interaction["error"]}, out)
        self._read_status(interaction.get("status"), out, ends=ends)

    def _read_status(self, status: Json, out: list[Event], *, ends: bool = True) -> None:
        """Read a status. At the end of an answer it is the finish reason, unless it says that the
        answer goes on. Any other status is metadata.
        """
        if type(status) is not str or not status:
            if status not in (None, ""):
                self.oddities.note("status", status)
            if status:
                out.append(Unknown("field status", {"status": status}))
        elif not ends or status in WAITING:
            if self._is_new("status", status):
                out.append(Metadata("status", {"status": status}))
        elif status != self._finish:
            self._finish = status
            out.append(Finish(FINISHES.get(status, "other"), status))


_EVENTS: Final[dict[str, Callable[[InteractionsNormalizer, dict[str, Any], list[Event]], None]]] = {
    "step.delta": InteractionsNormalizer._step_delta,
    "step.start": InteractionsNormalizer._step_start,
    "step.stop": InteractionsNormalizer._step_stop,
    "interaction.created": InteractionsNormalizer._created,
    "interaction.connected": InteractionsNormalizer._connected,
    "interaction.completed": InteractionsNormalizer._completed,
    **dict.fromkeys(STOPS, InteractionsNormalizer._stopped),
    "interaction.status_update": InteractionsNormalizer._status,
    "error": InteractionsNormalizer._error,
}


def _model(interaction: dict[str, Json]) -> str | None:
    """Return the model, or the agent in its place."""
    name = interaction.get("model") or interaction.get("agent")
    return name if type(name) is str else None
