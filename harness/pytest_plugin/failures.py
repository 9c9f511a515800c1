"""The warning and the failure of an item, and the reason why an item has no result."""

from __future__ import annotations

from typing import NamedTuple


class HarnessWarning(UserWarning):
    """A case of level ``should`` failed, or a file looks like a spec but is not one."""


class HarnessFailure(Exception):
    """A cell is red. The text is the whole output for it."""


class Gap(NamedTuple):
    """Why a planned cell has no result. ``skipped``: its item was skipped on purpose, so the cell
    is not an error.
    """

    reason: str
    skipped: bool = False
