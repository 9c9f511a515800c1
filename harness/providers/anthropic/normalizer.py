"""Reads the answers of the Messages API: a stream of events, or one whole message.

Every event has its name in ``type``, so the ``event:`` lines of the stream are not needed. A whole
message gives the events of a stream with the same blocks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from harness.stream.events import Event, Finish, Mark, Metadata, Start, Text, Unknown
from harness.stream.framing import Frame
from harness.stream.json_codec import Json

from ..answer_reader import AnswerReader
from ..errors import read_error
from ..provider import Answer
from ..wire_values import give_others, is_empty
from .blocks import Blocks
from .messages import FINISHES
from .order import Order
from .usage import COUNTS, Counts
from .usual import decode_text

_METADATA: Final = (
    *("container", "context_management", "diagnostics", "input_transformations"),
    *("stop_sequence", "stop_details"),
)
"""Facts about the whole answer, in a message, a ``message_delta`` or its ``delta``."""
_READ: Final = ("type", "role", "id", "model", "content", "usage", "stop_reason", *_METADATA)


class MessagesNormalizer(AnswerReader):
    """One answer: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self._blocks = Blocks(self.oddities)
        self._order = Order(self.oddities)
        self._counts = Counts()
        self._started = False
        self._early: list[Event] = []  # marks before the start
        self._text_index: int | None = None  # the block of the latest event, a piece of text

    def feed(self, frame: Frame) -> list[Event]:
        usual = None if self._text_index is None else decode_text(frame.message)
        if usual is None or usual.index != self._text_index:
            self._text_index = None
            return super().feed(frame)
        return [Text(usual.delta.text)]

    def _release(self, out: list[Event]) -> list[str]:
        return [json.dumps(part) for part in self._blocks.rest()]

    def _end(self, out: list[Event]) -> None:
        self._release_early(out)
        if self._errors:
            out += [Unknown("unfinished", part) for part in self._blocks.rest()]
        else:
            self._blocks.end_all(out)

    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        kind = message.get("type")
        if type(kind) is str and (read := _EVENTS.get(kind)) is not None:
            self._order.read(kind, message)
            read(self, message, out)
        elif message.get("error") is not None or (self._answer.failed and not self._errors):
            self.oddities.note("an error without its type", message)
            self._fail(message, out)
        else:
            out.append(Unknown(f"event {kind}" if type(kind) is str else "frame", message))

    # ---------------------------------------------------------------- events

    def _message_start(self, event: dict[str, Json], out: list[Event]) -> None:
        message = event.get("message")
        if type(message) is not dict:
            out.append(Unknown("event message_start", event))
            return
        if message.get("content"):
            self.oddities.note("content in message_start", message["content"])
        self._message(message, out)
        give_others("", event, ("type", "message"), out)

    def _message(self, message: dict[str, Json], out: list[Event]) -> None:
        """Read a whole message, or the one with which a stream begins. A second one in the same
        stream, which some proxies send, changes the id and the model.
        """
        if self._started:
            self._blocks.end_all(out)
        names = {
            name: value
            for name in ("id", "model")
            if type(value := message.get(name)) is str and value and self._is_new(name, value)
        }
        if self._started:
            out += [Metadata(name, {name: value}) for name, value in names.items()]
        else:
            self._start(out, names.get("model"), names.get("id"), implied=False)
        self._read_metadata(message, out)
        # An unknown field would begin the content.
        self._read_usage("message.usage", message.get("usage"), out)
        give_others("message.", message, _READ, out)
        if message.get("role") not in (None, "assistant"):
            out.append(Unknown("field message.role", {"role": message["role"]}))
        self._blocks.read_all(message.get("content"), out)
        self._read_finish(message, out)

    def _block(self, event: dict[str, Json], out: list[Event]) -> None:
        self._start(out)
        self._blocks.read(event, out)
        index = event.get("index")
        if out and type(out[-1]) is Text and type(index) is int and self._blocks.is_text(index):
            self._text_index = index

    def _message_delta(self, event: dict[str, Json], out: list[Event]) -> None:
        delta = event.get("delta")
        if type(delta) is not dict:
            out.append(Unknown("event message_delta", event))
            return
        self._start(out)
        if self._blocks.in_call:
            self.oddities.note("message_delta in a call")
        for holder in (event, delta):
            self._read_metadata(holder, out)
        give_others("", event, ("type", "delta", "usage", *_METADATA), out)
        give_others("delta.", delta, ("stop_reason", *_METADATA), out)
        usage = event.get("usage")
        if type(usage) is dict and usage.get("output_tokens") is None:
            self.oddities.note("usage.output_tokens")
        self._read_usage("usage", usage, out)
        self._read_finish(delta, out)

    def _message_stop(self, event: dict[str, Json], out: list[Event]) -> None:
        self._start(out)
        give_others("", event, ("type",), out)
        out.append(Mark("end", event))

    def _ping(self, event: dict[str, Json], out: list[Event]) -> None:
        (out if self._started else self._early).append(Mark("keep_alive", event))

    def _error(self, event: dict[str, Json], out: list[Event]) -> None:
        if event.get("error") is None and not self._answer.failed:
            out.append(Unknown("event error", event))
        else:
            self._fail(event, out)

    def _fail(self, message: Json, out: list[Event]) -> None:
        """Read an error. Its type is the status; ``details`` may have a more exact code."""
        self._errors += 1
        error = read_error(message, self._answer)
        own = message.get("error") if type(message) is dict else None
        if type(own) is dict:
            kind, details = own.get("type"), own.get("details")
            if error.status is None and type(kind) is str and kind:
                error.status = kind
            code = details.get("error_code") if type(details) is dict else None
            if type(code) is str and code:
                error.reasons = [*error.reasons, code]
        out.append(error)
        self._release_early(out)

    # ---------------------------------------------------------------- beside the blocks

    def _start(
        self,
        out: list[Event],
        model: str | None = None,
        message_id: str | None = None,
        *,
        implied: bool = True,
    ) -> None:
        """Emit the start, which content implies."""
        if not self._started:
            self._started = True
            out.append(Start(model or self._answer.model, message_id, implied))
            self._release_early(out)

    def _release_early(self, out: list[Event]) -> None:
        if self._early and not (self._started or self._errors):
            self._start(out)
        out += self._early
        self._early.clear()

    def _read_metadata(self, holder: dict[str, Json], out: list[Event]) -> None:
        for name in _METADATA:
            value = holder.get(name)
            if not is_empty(value) and self._is_new(name, value):
                out.append(Metadata(name, {name: value}))

    def _read_usage(self, place: str, usage: Json, out: list[Event]) -> None:
        if type(usage) is dict:
            for name in COUNTS:
                if type(count := usage.get(name, 0)) is not int and count is not None:
                    self.oddities.note(f"usage.{name}", count)
            if usage:
                out.append(self._counts.read(usage))
            return
        self.oddities.note(place, usage)
        if not is_empty(usage):
            out.append(Unknown("field usage", {"usage": usage}))

    def _read_finish(self, holder: dict[str, Json], out: list[Event]) -> None:
        reason, details = holder.get("stop_reason"), holder.get("stop_details")
        if type(reason) is str and reason:
            explanation = details.get("explanation") if type(details) is dict else None
            message = explanation if type(explanation) is str and explanation else None
            out.append(Finish(FINISHES.get(reason, "other"), reason, message))
        elif not (reason is None or reason == ""):
            self.oddities.note("stop_reason", reason)
            if not is_empty(reason):
                out.append(Unknown("field stop_reason", {"stop_reason": reason}))


_EVENTS: Final[dict[str, Callable[[MessagesNormalizer, dict[str, Any], list[Event]], None]]] = {
    **dict.fromkeys(
        ("content_block_delta", "content_block_start", "content_block_stop"),
        MessagesNormalizer._block,
    ),
    "message_start": MessagesNormalizer._message_start,
    "message": MessagesNormalizer._message,
    "message_delta": MessagesNormalizer._message_delta,
    "message_stop": MessagesNormalizer._message_stop,
    "ping": MessagesNormalizer._ping,
    "error": MessagesNormalizer._error,
}
