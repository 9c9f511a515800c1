"""The warning and the failure of an item."""

from __future__ import annotations


class HarnessWarning(UserWarning):
    """A case of level ``should`` failed, or a file looks like a spec but is not one."""


class HarnessFailure(Exception):
    """A cell is red. The text is the whole output for it."""
