"""The messages of a command."""

from __future__ import annotations

import sys

from harness.stream.printable import printable


def note(message: str) -> None:
    """Print a message to standard error, on one line."""
    print(printable(f"harness: {message}"), file=sys.stderr, flush=True)
