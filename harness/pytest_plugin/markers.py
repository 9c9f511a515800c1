"""The tests that use the plugin, and the data about them that it keeps in pytest's stash."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

MARKER: Final = "harness_cassette"

PASSED: Final = pytest.StashKey[bool]()
OUTPUT: Final = pytest.StashKey[str]()
STARTED: Final = pytest.StashKey[float]()
RECORDED: Final = pytest.StashKey[dict[Path, str]]()
"""The tests that have recorded a cassette in this process, by the path of the cassette."""

FILLED: Final = "harness_filled"
"""The property of a test report with the name of an item with a filled expectation."""


def is_ours(item: pytest.Item) -> bool:
    """Whether an item is a cell of a spec, or a test that uses our fixtures or marker."""
    if hasattr(item, "cell"):
        return True
    used = any(name.startswith("harness_") for name in getattr(item, "fixturenames", ()))
    return used or item.get_closest_marker(MARKER) is not None
