"""Skips a test whose machine lacks something, unless HARNESS_REQUIRE names it."""

from __future__ import annotations

import os

import pytest


def need(name: str, there: object, reason: str) -> None:
    """Go on if ``there`` is true; else skip with the reason, or fail where HARNESS_REQUIRE (names
    joined by commas) has the name.
    """
    if there:
        return
    if name in os.environ.get("HARNESS_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here: {reason}")
    pytest.skip(reason)
