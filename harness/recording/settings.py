"""Defines the values of a recording run: requests, settings and limits, and the interface of a
driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from harness.pipeline.replay import ReplayError

from .tape import MAX_ANSWER_BYTES, MAX_ANSWER_S

SILENCE_S: Final = 300.0
"""The number of seconds without a byte after which an answer is given up. Models can think for
minutes.
"""


class MissingLibrary(ReplayError):
    """A library that recording needs is not installed; the message has the install command."""


class MissingCredentials(ReplayError):
    """There is no key or token; the message names the places for one."""


@dataclass(frozen=True, slots=True)
class GenerateAsk:
    """One request; ``body`` is the JSON object to send; for a program, ``{"prompt": text}``."""

    body: Mapping[str, Any]
    model: str | None = None
    streamed: bool = True


@dataclass(frozen=True, slots=True)
class Settings:
    """The provider's address and the credentials. None: the value is from the environment."""

    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    api_version: str | None = None
    base_url: str | None = None
    project: str | None = None
    location: str | None = None
    credentials: Any = field(default=None, repr=False)
    program: tuple[str, ...] = ()
    """The program to run; empty for the program of the provider."""
    arguments: tuple[str, ...] = ()
    timeout_s: float | None = None
    """For HTTP, the seconds without a byte or a connection after which a request is given up (None:
    `SILENCE_S`). For a program, its total seconds (None: `gemini_cli.TIME_LIMIT_S`).
    """
    answer_bytes: int = MAX_ANSWER_BYTES
    """The maximum size of an answer over HTTP."""
    answer_s: float = MAX_ANSWER_S
    """The maximum seconds of an answer over HTTP."""

    @property
    def silence_s(self) -> float:
        """The maximum seconds without a byte of an answer."""
        return self.timeout_s or SILENCE_S


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a recording run."""

    attempts: int = 4
    """The maximum of attempts for one request."""
    requests: int = 50
    """The maximum of requests in the whole run, retries included."""
    output_tokens: int = 50_000
    """The maximum of output tokens in the whole run, thinking tokens included."""


class Driver(Protocol):
    """Sends requests to one provider; the exchanges are recorded by the recording of the driver."""

    def ask(self, ask: GenerateAsk) -> None:
        """Send a request and read the whole answer. Raises `ReplayError` for a fault of the user.
        Other errors of the client are ignored if an exchange was recorded.
        """

    def close(self) -> None: ...
