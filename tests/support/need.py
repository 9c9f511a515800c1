"""Skips a test if the machine lacks something, unless HARNESS_REQUIRE names it."""

from __future__ import annotations

import os

import pytest


def need(name: str, there: object, reason: str) -> None:
    """Continue if ``there`` is true. Otherwise skip with the reason, or fail if HARNESS_REQUIRE
    (names joined by commas) contains the name.
    """
    if there:
        return
    if name in os.environ.get("HARNESS_REQUIRE", "").split(","):
        pytest.fail(f"{name} is required here: {reason}")
    pytest.skip(reason)
