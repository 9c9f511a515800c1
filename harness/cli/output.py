"""The messages of a command, and an exit status that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sized
from typing import Final, TextIO, TypeVar

from harness.stream.printable import printable

INTERRUPTED: Final = 130
"""The exit status of a command that Ctrl-C stopped."""


def note(message: str) -> None:
    """Print a message to standard error, on one line."""
    print(printable(f"harness: {message}"), file=sys.stderr, flush=True)


_Item = TypeVar("_Item")


def with_progress(
    items: Iterable[_Item], name: str, unit: str, total: int | None = None
) -> Iterator[_Item]:
    """Yield the items, with a bar on a terminal's stderr once the work has taken two seconds.
    ``total``: the number of items, if they have no length.
    """
    if not sys.stderr.isatty():
        yield from items
        return
    from tqdm import tqdm  # slow to import

    yield from tqdm(
        items,
        desc=name,
        unit=f" {unit}",
        total=len(items) if isinstance(items, Sized) else total,
        delay=2,
        leave=False,
        disable=None,
        file=sys.stderr,
    )


def is_coloured(stream: TextIO) -> bool:
    """Return whether a stream gets colours: a terminal that has them. ``NO_COLOR`` and
    ``FORCE_COLOR`` decide first.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


_CODES: Final = {"green": "32", "red": "31", "yellow": "33", "bold": "1"}


def coloured(line: str, tone: str) -> str:
    """Return a line in a colour: green, red, yellow or bold; else as it is."""
    return f"\x1b[{_CODES[tone]}m{line}\x1b[0m" if tone in _CODES else line


def paint(line: str, tone: str) -> str:
    """Return a line in a colour, if stdout gets colours."""
    return coloured(line, tone) if is_coloured(sys.stdout) else line
