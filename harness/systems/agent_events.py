"""Parses the output of a Gemini CLI process, piece by piece, into AgentEvents.

It uses the same framer, normalizer and translator as a replay, so it gives the same AgentEvents.
Two things differ for a live process: a turn is completed only when the CLI prints its ``result``,
and the caller reports the end of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness.dialects import DIALECTS, Payload
from harness.providers import PROVIDERS, Answer
from harness.stream.events import Error, Event, Finish
from harness.stream.framing import MAX_FRAME, Frame
from harness.stream.session import CountedIds, Session


class GeminiParser:
    """AgentEvents of one process of ``gemini --output-format stream-json``.

    ``agent_id`` and ``team`` are in every event. ``ids`` makes ids (default: counted). ``clock``
    gives the milliseconds of ``timestamp`` (default: always 0). The methods are named as in the
    original system.
    """

    def __init__(
        self,
        agent_id: str = "agent",
        team: Mapping[str, Any] | None = None,
        *,
        ids: Callable[[str], str] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._context = {"agentId": agent_id, "teamMetadata": {} if team is None else team}
        self._ids = ids or CountedIds()
        self._clock = clock
        self.reset()

    def parse_chunk(self, data: bytes) -> list[Payload]:
        """Return the events that these bytes complete. A line or a character may be split
        anywhere.
        """
        return self._parse(self._framer.feed(data))

    def flush(self) -> list[Payload]:
        """Return the events of a last line without a line end; if it is not JSON, it is a text."""
        return self._parse(self._framer.close()) + self._translate(self._normalizer.close())

    def reset(self) -> None:
        """Discard the unfinished line and all ids, for another process."""
        provider = PROVIDERS["gemini-cli"]
        self._session = Session(ids=self._ids, context=self._context)
        self._framer = provider.framer(MAX_FRAME)
        self._normalizer = provider.normalizer(Answer())
        self._translator = DIALECTS["agent-events"].translator([], self._session)

    def _parse(self, frames: Iterable[Frame]) -> list[Payload]:
        return [
            payload for frame in frames for payload in self._translate(self._normalizer.feed(frame))
        ]

    def _translate(self, events: Iterable[Event]) -> list[Payload]:
        if self._clock is not None:
            self._session.at_ms = self._clock()
        payloads: list[Payload] = []
        for event in events:
            payloads += self._translator.feed(event)
            if isinstance(event, Finish | Error):
                payloads += self._translator.close()
        return payloads
