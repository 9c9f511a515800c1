"""The shape of a provider: what every wire gives the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.stream.events import End, Event
from harness.stream.framing import Frame, Framer, frame_by_content
from harness.stream.generation import GenerateRequest
from harness.stream.session import Session


@dataclass(frozen=True, slots=True)
class Answer:
    """What the frames of an answer don't tell.

    ``status``: the HTTP status. ``headers``: the response's, names in lower case. ``model``: the
    one that was asked for. ``tool_code``: whether ``<tool_code>`` in the answer's text is a call.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    model: str | None = None
    tool_code: bool = False

    @property
    def failed(self) -> bool:
        """Whether the status says that there is no answer."""
        return self.status >= 300


class Normalizer(Protocol):
    """Frames in, canonical events out; one instance an answer. Never raises for what is in a
    frame.
    """

    def feed(self, frame: Frame) -> list[Event]:
        """The events that this frame completes, perhaps none."""

    def close(self, end: End = "complete") -> list[Event]:
        """What is still owed when the answer has ended."""


@dataclass(frozen=True, slots=True)
class Provider:
    """One wire. ``tool_code``: whether its models are known to write calls as ``<tool_code>``; a
    caller may say otherwise.

    ``framer(max_frame)`` makes what cuts an answer into messages. ``wrap(asked, session)`` gives
    the body as this wire sends it, None where no request is ever sent.
    """

    name: str
    title: str
    normalizer: Callable[[Answer], Normalizer]
    tool_code: bool = False
    framer: Callable[[int], Framer] = frame_by_content
    wrap: Callable[[GenerateRequest, Session], dict[str, Any]] | None = None
