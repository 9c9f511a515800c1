"""Decides whether to repeat a failed call, and after how many seconds.

Source: https://github.com/strongdm/attractor/blob/main/unified-llm-spec.md (retry policy).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from .errors import SDKError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of retries and the exponential waits before them.

    Each wait is multiplied by a random factor from 0.5 to 1.5 and limited to ``max_delay``. If the
    provider asks for a wait, that wait is used; if it is longer than ``max_delay``, there is no
    retry.
    """

    max_retries: int = 2
    base_delay: float = 1.0
    """Seconds before the first retry."""
    max_delay: float = 60.0
    """Seconds."""
    multiplier: float = 2.0
    """The factor from one wait to the next."""
    chance: Callable[[], float] = random.random
    """Gives random numbers from 0 to 1."""
    on_retry: Callable[[SDKError, int, float], None] | None = None
    """Called before each wait with the error, the number of the retry (from 1) and the seconds."""

    def wait(self, error: SDKError, retries: int) -> float | None:
        """Return the seconds until the next retry, after ``retries`` earlier ones; None: no
        retry.
        """
        if not error.retryable or retries >= self.max_retries:
            return None
        asked: float | None = getattr(error, "retry_after", None)
        if asked is not None and asked > self.max_delay:
            return None
        own = self.base_delay * self.multiplier**retries * (0.5 + self.chance())
        seconds = min(own, self.max_delay) if asked is None else asked
        if self.on_retry is not None:
            self.on_retry(error, retries + 1, seconds)
        return seconds
