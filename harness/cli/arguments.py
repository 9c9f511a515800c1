"""Types of arguments that several commands take."""

from __future__ import annotations

import argparse
from typing import Final

DAY_S: Final = 86_400.0


def read_count(text: str) -> int:
    """Read a limit from the command line."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a limit; use a number, 1 or more")
    return number


def read_seconds(text: str) -> float:
    """Read a time in seconds from the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number <= DAY_S:
        raise argparse.ArgumentTypeError(
            f"{text} is not a time; use a number of seconds, above 0 and at most {DAY_S:.0f}"
        )
    return number
