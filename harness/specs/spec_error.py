"""The error of a spec that cannot be used. A program that reads no spec can import it fast."""

from __future__ import annotations

from collections.abc import Sequence


class SpecError(ValueError):
    """A spec that cannot be used, by a fault of its author.

    ``problems`` holds all faults as ``(line, message)``, lines from 1. The text of the exception
    has one line ``path:line: message`` for each.
    """

    def __init__(self, path: str, problems: Sequence[tuple[int, str]]) -> None:
        self.path = path
        self.problems = list(problems)
        place = path or "line "
        super().__init__(
            "\n".join(
                f"{place}{':' if path else ''}{line}: {message}" for line, message in self.problems
            )
        )
