"""The common part of the readers of program output: JSON lines, other lines, and the exit."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from harness.stream.events import INTERRUPTED, End, Error, Event, Incomplete, Unknown
from harness.stream.framing import Frame
from harness.stream.json_codec import Json

from .provider import EXIT_CODE, Answer, FirstMessages, Identity


class RunReader(ABC):
    """One run: see `harness.providers.provider.Normalizer`. The subclass of a program reads its
    lines.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._stderr = answer.stderr
        self._started = False
        self._rest: list[str] = []  # of the line in which the output ended
        self._ended = False  # the run has reported its end

    @abstractmethod
    def _read(self, message: dict[str, Json], out: list[Event]) -> None:
        """Read an object."""

    def _read_exit(self) -> list[Event]:
        """Return the error of a run whose exit code reports a failure and whose output does not.
        Exit code and stderr are recorded beside the output. A run that a signal ended is only
        incomplete; its exit code adds no second error.
        """
        code, stderr = self._answer.headers.get(EXIT_CODE, "0"), self._stderr
        if self._ended or code == "0":
            return []
        message = ": ".join(filter(None, [f"exit code {code}", *stderr[:1]]))
        return [Error(message, raw={"exit_code": code, "stderr": "\n".join(stderr)})]

    def feed(self, frame: Frame) -> list[Event]:
        """Return the events that this line completes."""
        out: list[Event] = []
        message = frame.json
        if frame.raw is not None:
            if frame.partial:
                self._rest.append(frame.raw)
            else:
                out.append(Unknown("frame", frame.raw))
        elif message is None:
            out.append(Unknown("frame", "null"))
        elif type(message) is not dict:
            out.append(Unknown("line", message))
        else:
            self._read(message, out)
        return out

    def close(self, end: End = "complete") -> list[Event]:
        """Return the events at the end of the output."""
        rest, self._rest = self._rest, []
        if end in INTERRUPTED:
            return [Incomplete(end, "\n".join(rest))]
        return [*[Unknown("rest", text) for text in rest], *self._read_exit()]


def take(left: dict[str, Json], kind: type, name: str) -> Any:
    """Remove a field of this type and return its value, else None. A value of another type is left
    over; null is removed.
    """
    value = left.get(name)
    if value is None or type(value) is kind:
        left.pop(name, None)
        return value
    return None


def detect_run(
    name: str,
    first: FirstMessages,
    is_event: Callable[[dict[str, Any]], bool],
    is_document: Callable[[dict[str, Any]], bool],
    event: re.Pattern[bytes],
) -> Identity | None:
    """Return the identity of a run of the program ``name``; ``event`` finds an event after other
    output on its line. Only the body of a run is recorded: an exchange with a request is not a run.
    """
    alone = not first.has_request
    if any(map(is_event, first.messages)) or (
        alone and not first.messages and event.search(first.body, 0, 1 << 16)
    ):
        return Identity(name, generates=alone, streamed=True)
    if any(map(is_document, first.messages)):
        return Identity(name, generates=alone)
    return None
