"""The common part of the second readers: reads messages, text that is not JSON, errors and the end
of a body.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod

from harness.facts import CONTINUATION
from harness.providers.wire_values import present
from harness.stream.json_codec import Json
from tests.readers.account import Facts, note_error

from .body import read_body


class MessageReader(ABC):
    """Reads messages into one `Facts`. The subclass of a wire reads its messages."""

    def __init__(self, status: int) -> None:
        self.facts = Facts()
        self._status = status

    @abstractmethod
    def _read_object(self, message: dict[str, Json]) -> None:
        """Note the facts of one message."""

    def read_all(self, body: bytes) -> None:
        """Note the facts of a whole body."""
        for message in read_body(body):
            if isinstance(message, str):
                self.facts.unreadable.append(message)
            else:
                self.read(message[0])

    def read(self, message: Json) -> None:
        """Note the facts of one JSON value of the body."""
        if isinstance(message, dict):
            self._read_object(message)
        elif isinstance(message, list) and message:
            for item in message:
                self.read(item)
        else:
            self.facts.unreadable.append(json.dumps(message))

    def _note_fields(self, holder: dict[str, Json], known: set[str]) -> None:
        """Note the names of the other fields that have a value."""
        if not holder.keys() - known <= self.facts.others:  # nearly always they are noted
            self.facts.others |= present(holder, known)

    def _note_end(self) -> None:
        """Note whether the answer ended well, and the status of a failed one without an error."""
        facts = self.facts
        if self._status >= 300:
            if not facts.errors:
                note_error(facts, None, self._status)
            facts.at_error = Facts(errors=facts.errors[:1])  # the status came before the body
        facts.ended_well = not (facts.finish in (None, *CONTINUATION) or facts.is_malformed)
