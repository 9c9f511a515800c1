"""The strict reader of the Interactions API: events of one step after the other, by their index."""

from __future__ import annotations

from typing import ClassVar, Final

from harness.facts import Call, Fact, Facts, Finish, Text, Thought, arguments_of, facts_of_account
from harness.providers.interactions.facts import count_interactions
from harness.stream.json_codec import Json
from harness.stream.printable import short_json

from .wire_reader import Framing, Unreadable, WireReader, object_in, objects_in, text_in

_WAITING: Final = ("in_progress", "queued")
"""The statuses of an answer that has not ended."""
_TEXTS: Final = {"model_output": "content", "thought": "summary"}
"""The steps with text, and their field for it."""
_STEP_EVENTS: Final = ("step.start", "step.delta", "step.stop")
_DELTAS: Final = {
    "text": "model_output",
    "text_annotation_delta": "model_output",
    "thought_summary": "thought",
    "thought_signature": "thought",
    "arguments_delta": "function_call",
}
"""The deltas that belong to one type of step."""


class Interactions(WireReader):
    """The state of one answer: the open step with its index, the pieces of its arguments, the
    status and the counts.
    """

    framing: ClassVar[Framing] = Framing(done="[DONE]")

    def __init__(self, streamed: bool | None) -> None:
        super().__init__(streamed)
        self._step: dict[str, Json] | None = None
        self._index = -1
        self._pieces: list[str] = []
        self._has_steps = False
        self._finish: tuple[str, int] = ("", 0)
        self._counts = Facts()
        self._counted = 0

    def _read(self, message: dict[str, Json]) -> None:
        kind = message.get("event_type")
        if kind is None and message.get("error") is not None:
            self._add_error(message["error"])
        elif kind is None:
            if self._framed or not {"steps", "status"} & message.keys():
                raise Unreadable(f"{short_json(message)} is neither an event nor an interaction")
            self._read_interaction(message)
        elif kind in ("interaction.created", "interaction.completed"):
            self._read_interaction(object_in(message, "interaction"))
        elif kind == "interaction.status_update":
            self._read_status(message)
        elif kind in _STEP_EVENTS:
            self._read_step_event(str(kind), message)
        elif kind == "error" or message.get("error") is not None:
            self._add_error(message.get("error"))
        else:
            raise Unreadable(f"the event_type {short_json(kind)} is unknown")
        self._count(message.get("usage"))

    def _read_interaction(self, interaction: dict[str, Json]) -> None:
        steps = objects_in(interaction, "steps")
        for step in steps if not self._has_steps else ():  # the last event may repeat them
            self._start(step)
            self._stop()
        self._has_steps = self._has_steps or bool(steps)
        self._count(interaction.get("usage"))
        self._read_status(interaction)
        errors = objects_in(interaction, "errors")
        if error := interaction.get("error") or next(iter(errors), None):
            self._add_error(error)

    def _read_status(self, holder: dict[str, Json]) -> None:
        status = text_in(holder, "status")
        if status and status not in _WAITING:
            self._finish = status, len(self.facts) - 1

    def _read_step_event(self, kind: str, event: dict[str, Json]) -> None:
        index = event.get("index")
        if type(index) is not int:
            raise Unreadable(f"index is {short_json(index)}; expected the number of the step")
        if kind == "step.start":
            if self._step is not None:
                raise Unreadable(f"step {index} starts before step {self._index} stops")
            if index <= self._index:
                raise Unreadable(f"step {index} starts after step {self._index}")
            self._index, self._has_steps = index, True
            self._start(object_in(event, "step"))
            return
        if self._step is None or index != self._index:
            raise Unreadable(f"{kind} is for step {index}, which is not open")
        if kind == "step.stop":
            self._stop()
        else:
            self._read_delta(object_in(event, "delta"), str(self._step["type"]))

    def _start(self, step: dict[str, Json]) -> None:
        kind = step.get("type")
        if not isinstance(kind, str):
            raise Unreadable(f"step.type is {short_json(kind)}; expected a string")
        for content in objects_in(step, _TEXTS.get(kind, ""), "step."):
            self._read_content(content, kind)
        if kind == "function_call":
            for name in ("id", "name"):
                text_in(step, name, "step.")
            if step.get("arguments") is not None:
                object_in(step, "arguments", "step.")
        self._step, self._pieces = step, []

    def _read_content(self, content: dict[str, Json], kind: str) -> None:
        if content.get("type") == "text" and (text := text_in(content, "text", "content.")):
            fact: Fact = Thought(text) if kind == "thought" else Text(text)
            self._add(fact)

    def _read_delta(self, delta: dict[str, Json], step: str) -> None:
        kind = delta.get("type")
        if not isinstance(kind, str) or _DELTAS.get(kind, step) != step:
            raise Unreadable(
                f"a delta of the type {short_json(kind)} is in a step of the type {step}"
            )
        if kind == "thought_summary":
            self._read_content(object_in(delta, "content", "delta."), step)
        elif kind == "arguments_delta":
            self._pieces.append(text_in(delta, "arguments", "delta."))
        elif kind == "text":
            self._read_content(delta, step)

    def _stop(self) -> None:
        step, self._step = self._step, None
        if step is None or step["type"] != "function_call":
            return
        text = "".join(self._pieces)
        arguments = arguments_of(text) if text.strip() else step.get("arguments") or {}
        self._add(Call(text_in(step, "id") or None, text_in(step, "name"), arguments))

    def _count(self, usage: Json) -> None:
        if usage is None:
            return
        if not isinstance(usage, dict):
            raise Unreadable(f"usage is {short_json(usage)}; expected an object")
        count_interactions(self._counts, usage)
        self._counted = len(self.facts) - 1

    def close(self) -> None:
        """Note the last status and the counts where they came last."""
        reason, place = self._finish
        if reason:
            self.facts[place].append(Finish(reason))
        if self._counts.usage:
            self.facts[self._counted] += facts_of_account(self._counts)
