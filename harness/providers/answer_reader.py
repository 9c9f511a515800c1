"""The common part of the readers of answers over HTTP: JSON messages, other texts, an answer whose
status reports an error, and the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

from harness.stream.events import INTERRUPTED, End, Event, Incomplete, Start, Unknown
from harness.stream.framing import Frame
from harness.stream.json_codec import Json
from harness.stream.oddities import Oddities

from .errors import read_error, read_error_text
from .provider import Answer

NO_CODE: Final = "an error without a code"
OTHER_ID: Final = "a response id that changes"


class AnswerReader(ABC):
    """One answer: see `harness.providers.provider.Normalizer`. The subclass of a wire reads its
    messages.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.oddities = Oddities()
        self._untouched = True
        self._errors = 0
        self._id: Json = None  # of the response
        self._seen: dict[str, Json] = {}  # the latest value of each fact about the whole answer
        self._texts: list[str] = []  # of a failed answer: together they are one error
        self._rest: list[str] = []  # the message in which the stream ended

    @abstractmethod
    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        """Read a message."""

    @abstractmethod
    def _release(self, out: list[Event]) -> list[str]:
        """Emit the held-back content when an error arrives or the answer was interrupted; returns
        the text that is not content yet.
        """

    @abstractmethod
    def _end(self, out: list[Event]) -> None:
        """Emit the events that are still open when the answer has ended."""

    def _fail(self, message: Json, out: list[Event]) -> None:
        """Read a message in which the provider reports an error."""
        self._errors += 1
        self._note_error(message)
        self._release(out)
        out.append(read_error(message, self._answer))

    def _note_error(self, message: Json) -> None:
        """Note an error without a code."""
        error = message.get("error") if type(message) is dict else None
        if type(error) is dict and "code" not in error:
            self.oddities.note(NO_CODE, error)

    def _note_id(self, value: Json) -> None:
        """Note a response id that differs from the one before."""
        if value is not None:
            if self._id not in (None, value):
                self.oddities.note(OTHER_ID, value)
            self._id = value

    def _is_new(self, name: str, value: Json) -> bool:
        """Return whether a fact about the whole answer is new or has changed."""
        if name in self._seen and self._seen[name] == value:
            return False
        self._seen[name] = value
        return True

    def _report_unknown(self, fields: Iterable[tuple[str, Json]], out: list[Event]) -> None:
        """Emit the unknown fields of a message that are new or have changed."""
        for key, value in fields:
            if self._is_new(f"field {key}", value):
                out.append(Unknown(f"field {key}", {key: value}))

    def _keep_alive(self, text: str, out: list[Event]) -> None:
        """Read an event without data, which only keeps the connection alive."""
        return

    def feed(self, frame: Frame) -> list[Event]:
        """Return the events that this frame completes."""
        out: list[Event] = []
        self.oddities.place = frame.offset
        message = frame.json
        if type(message) is dict:
            self._untouched = False
            self._read(message, out)
            return out
        if frame.raw is not None and not frame.raw.strip():
            if not frame.partial:
                self._keep_alive(frame.raw, out)
            return out
        self._untouched = False
        if frame.raw is not None:
            self._read_text(frame.raw, frame.partial, out)
        elif self._answer.failed and not self._errors:
            self._fail(message, out)
        else:
            self._read_items(message, out)
        return out

    def _read_items(self, message: Json, out: list[Event]) -> None:
        """Read the messages of an array, however deep; other values are unknown."""
        if type(message) is dict:
            self._read(message, out)
        elif type(message) is list and any(type(item) in (dict, list) for item in message):
            for item in message:
                self._read_items(item, out)
        else:
            out.append(Unknown("frame", message))

    def close(self, end: End = "complete") -> list[Event]:
        """Return the events that are still open when the answer has ended."""
        texts = self._texts + self._rest
        out: list[Event] = []
        if end in INTERRUPTED:
            rest = [*self._release(out), *texts]
            return [*out, Incomplete(end, "\n".join(rest))]
        if self._untouched and not self._answer.failed:
            # A whole answer without a message is an empty answer.
            out.append(Start(self._answer.model))
        self._end(out)
        if self._answer.failed and not self._errors:
            out.append(read_error_text("\n".join(texts), self._answer))
        else:
            out += [Unknown("frame", text) for text in texts]
        return out

    def _read_text(self, text: str, partial: bool, out: list[Event]) -> None:
        """Read a frame that is not JSON."""
        if partial:
            self._rest.append(text)
        elif self._answer.failed and not self._errors:
            self._texts.append(text)
        else:
            out.append(Unknown("frame", text))
