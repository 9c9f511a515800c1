"""Chooses the reader of an answer of OpenAI's API: Responses or Chat Completions.

The first message that belongs to one of the two decides. Messages before it wait for the decision.
If no message decides, such as in an answer that is only an error, the request decides.
"""

from __future__ import annotations

from typing import Final

from harness.stream.events import End, Event
from harness.stream.framing import Frame
from harness.stream.json_codec import Json, decode_object

from ..answer_reader import AnswerReader
from ..openai_compat.normalizer import ChatReader
from ..provider import Answer
from .messages import is_chat, is_response
from .responses import ResponsesReader

_MAX_WAITING: Final = 16
"""The number of frames that wait for the decision."""


class OpenAiNormalizer:
    """One answer: see `harness.providers.provider.Normalizer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._reader: AnswerReader | None = None
        self._waiting: list[Frame] = []

    def feed(self, frame: Frame) -> list[Event]:
        if self._reader is not None:
            return self._reader.feed(frame)
        self._waiting.append(frame)
        messages = frame.json if type(frame.json) is list else [frame.json]
        if any(map(is_response, messages)):
            return self._decide(ResponsesReader(self._answer))
        if any(map(is_chat, messages)):
            return self._decide(ChatReader(self._answer))
        if len(self._waiting) >= _MAX_WAITING:
            return self._decide(self._requested())
        return []

    def close(self, end: End = "complete") -> list[Event]:
        out = self._decide(self._requested()) if self._reader is None else []
        assert self._reader is not None
        return [*out, *self._reader.close(end)]

    def _decide(self, reader: AnswerReader) -> list[Event]:
        self._reader, waiting = reader, self._waiting
        self._waiting = []
        return [event for frame in waiting for event in reader.feed(frame)]

    def _requested(self) -> AnswerReader:
        """Return the reader of the API that was asked; that of Chat Completions if that is not
        known.
        """
        asked: dict[str, Json] = decode_object(self._answer.asked) or {}
        is_chat_request = "messages" in asked or not (
            {"input", "previous_response_id"} & asked.keys()
        )
        return ChatReader(self._answer) if is_chat_request else ResponsesReader(self._answer)
