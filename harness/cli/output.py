"""The messages of a command, and an exit status that several commands share."""

from __future__ import annotations

import sys
from typing import Final

from harness.stream.printable import printable

INTERRUPTED: Final = 130
"""The exit status of a command that Ctrl-C stopped."""


def note(message: str) -> None:
    """Print a message to standard error, on one line."""
    print(printable(f"harness: {message}"), file=sys.stderr, flush=True)
