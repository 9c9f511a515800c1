"""Settings of Python's garbage collector for work on many small objects."""

from __future__ import annotations

import gc
from typing import Final

YOUNG_OBJECTS: Final = 50_000
"""The number of new objects after which the collector runs; Python's own number is 700."""


def collect_seldom() -> None:
    """Let the collector of this process look at new objects seldom: a replay makes many, and hardly
    any refer to each other in a circle.
    """
    gc.set_threshold(YOUNG_OBJECTS)
