"""The tests that use the plugin, and the data about them that it keeps in pytest's stash."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

MARKER: Final = "harness_cassette"

PASSED: Final = pytest.StashKey[bool]()
OUTPUT: Final = pytest.StashKey[str]()
USED: Final = pytest.StashKey[bool]()
"""Whether the fixture of the test's cassette was used."""
STARTED: Final = pytest.StashKey[float]()
RECORDED: Final = pytest.StashKey[dict[Path, str]]()
"""The tests that have recorded a cassette in this process, by the path of the cassette."""


def refuse_unused_marker(item: pytest.Item, *, finished: bool) -> None:
    """Fail a test whose marker has no effect, because the test uses no fixture of the cassette. A
    test with the fixture ``request`` may ask for one until it has ``finished``.
    """
    if item.get_closest_marker(MARKER) is None:
        if not finished and (name := misspelt_marker(item)):
            pytest.fail(
                f"{item.nodeid}: unknown marker {name} (did you mean {MARKER}?)", pytrace=False
            )
        return
    if item.stash.get(USED, False):
        return
    names = getattr(item, "fixturenames", ())
    if "harness_cassette" not in names and (finished or "request" not in names):
        pytest.fail(
            f"{item.nodeid}: the marker {MARKER} does nothing without a fixture that connects the"
            " client: harness_http_options (google-genai), harness_base_url (any client) or"
            " harness_cassette; nothing was recorded or replayed",
            pytrace=False,
        )


def misspelt_marker(item: pytest.Item) -> str:
    """Return the name of a marker that is like ours, or ""."""
    from difflib import get_close_matches  # only for markers with our prefix

    names = [mark.name for mark in item.iter_markers() if mark.name.startswith("harness")]
    return next((name for name in names if get_close_matches(name, [MARKER], 1, 0.8)), "")


def is_ours(item: pytest.Item) -> bool:
    """Return whether an item is a cell of a spec, or a test that uses our fixtures or marker."""
    if hasattr(item, "cell"):
        return True
    used = any(name.startswith("harness_") for name in getattr(item, "fixturenames", ()))
    return used or item.get_closest_marker(MARKER) is not None
