"""Settings of Python's garbage collector for work on many small objects."""

from __future__ import annotations

import gc
from typing import Final

YOUNG_OBJECTS: Final = 50_000
"""The number of new objects after which the collector runs; Python's default is 700."""


def collect_seldom() -> None:
    """Make the collector of this process run seldom: a replay makes many objects, and hardly any of
    them form cycles.
    """
    gc.set_threshold(YOUNG_OBJECTS)
