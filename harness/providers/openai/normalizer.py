"""Chooses the readers of an answer of OpenAI's API: Responses or Chat Completions.

The first message that belongs to one of the two decides. Messages before it wait for the decision.
If no message decides, such as in an answer that is only an error, the request decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from harness.facts import WireFacts
from harness.stream.events import End, Event
from harness.stream.framing import Frame
from harness.stream.json_codec import Json, decode_object
from harness.stream.oddities import Oddities

from ..answer_reader import AnswerReader
from ..event_facts import EventFacts
from ..openai_compat.facts import ChatFacts
from ..openai_compat.normalizer import ChatReader
from ..provider import Answer
from .facts import ResponsesFacts
from .messages import is_chat, is_response
from .responses import ResponsesReader

_MAX_WAITING: Final = 16
"""The number of frames that wait for the decision."""


class _Choice:
    """Decides of which API an answer is."""

    def __init__(self, answer: Answer) -> None:
        self._asked = answer.asked
        self._frames = 0

    def is_chat(self, frame: Frame) -> bool | None:
        """Return whether the answer is of Chat Completions; None if this frame does not decide."""
        self._frames += 1
        messages = frame.json if type(frame.json) is list else [frame.json]
        if any(map(is_response, messages)):
            return False
        if any(map(is_chat, messages)):
            return True
        return self.by_request() if self._frames >= _MAX_WAITING else None

    def by_request(self) -> bool:
        """Return whether Chat Completions were asked, or nothing is known."""
        asked: dict[str, Json] = decode_object(self._asked) or {}
        return "messages" in asked or not ({"input", "previous_response_id"} & asked.keys())


class OpenAiNormalizer:
    """One answer: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._choice = _Choice(answer)
        self._reader: AnswerReader | None = None
        self._waiting: list[Frame] = []

    @property
    def oddities(self) -> Oddities:
        """Those that the chosen reader has noted."""
        return Oddities() if self._reader is None else self._reader.oddities

    def feed(self, frame: Frame) -> list[Event]:
        if self._reader is not None:
            return self._reader.feed(frame)
        self._waiting.append(frame)
        chat = self._choice.is_chat(frame)
        return [] if chat is None else self._decide(chat)

    def close(self, end: End = "complete") -> list[Event]:
        out = self._decide(self._choice.by_request()) if self._reader is None else []
        assert self._reader is not None
        return [*out, *self._reader.close(end)]

    def _decide(self, chat: bool) -> list[Event]:
        reader = ChatReader(self._answer) if chat else ResponsesReader(self._answer)
        self._reader, waiting = reader, self._waiting
        self._waiting = []
        return [event for frame in waiting for event in reader.feed(frame)]


class OpenAiFacts:
    """One answer: see `harness.providers.provider.FactsReader`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._choice = _Choice(answer)
        self._reader: EventFacts | None = None
        self._waiting: list[tuple[Frame, Iterable[Event]]] = []

    def feed(self, frame: Frame, events: Iterable[Event]) -> None:
        if self._reader is not None:
            self._reader.feed(frame, events)
            return
        self._waiting.append((frame, events))
        if (chat := self._choice.is_chat(frame)) is not None:
            self._decide(chat)

    def close(self, events: Iterable[Event]) -> WireFacts:
        reader = self._reader or self._decide(self._choice.by_request())
        return reader.close(events)

    def _decide(self, chat: bool) -> EventFacts:
        self._reader = reader = (ChatFacts if chat else ResponsesFacts)(self._answer)
        for frame, events in self._waiting:
            reader.feed(frame, events)
        return reader
