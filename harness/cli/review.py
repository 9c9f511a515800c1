"""The command ``harness review``: goes through the expectations that nobody has reviewed."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Final

from harness.project.configuration import add_folders, project_of
from harness.project.review import Review, SpecChange
from harness.stream.printable import listed, plural, printable

from .output import note, paint

LEFT: Final = 1
"""The exit status if changes are left."""
MOST_LINES: Final = 60
"""The number of lines of one side of a change, and of a recording, that a terminal shows."""

MOST_PAIRS: Final = 20
MOST_CHARACTERS: Final = 200
"""The number of pairs of values at the paths of a change, and of the characters of a pair."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_folders(parser)
    parser.add_argument("--list", action="store_true", help="only print the changes, for scripts")
    parser.set_defaults(run=_review)


def _review(parsed: argparse.Namespace) -> int:
    review = Review(project_of(parsed))
    changes = review.changes()
    if not changes:
        print(f"nothing to review: {printable(_why_nothing(review))}")
        return 0
    if parsed.list:
        for change in changes:
            print("\n".join(_shown(change)))
    else:
        _ask_all(review)
    left = len(review.changes())
    if parsed.list:
        note(f"{plural(left, 'change')} not reviewed")
    else:
        counts = {"accepted": review.accepted, "rejected": review.rejected}
        decided = [f"{count} {word}" for word, count in counts.items() if count]
        print(", ".join([*decided, f"{left} left"]))
    return LEFT if left else 0


def _why_nothing(review: Review) -> str:
    """Return the reason why there is no change, and what makes one."""
    folders = ", ".join(str(root) for root in review.folders)
    if not review.has_specs:
        return f"there is no spec in {folders}; name another folder with --specs"
    return (
        f"no case in {folders} has the mark `reviewed: no`; `pytest --harness-accept` sets it where"
        " it fills an empty expectation, `pytest --harness-update` where it rewrites one that does"
        " not hold"
    )


def _ask_all(review: Review) -> None:
    """Ask about each change, until all are decided or skipped, or the input ends."""
    skipped: set[str] = set()
    while change := next((one for one in review.changes() if one.id not in skipped), None):
        print("\n".join(_shown(change)), flush=True)
        answer = _ask(review, change)
        if answer == "q":
            return
        if answer == "s":
            skipped.add(change.id)
        elif answer in ("A", "R"):
            group = [one for one in review.group(change) if one.id not in skipped]
            review.decide(group, accept=answer == "A")
        else:
            review.decide([change], accept=answer == "a")


def _ask(review: Review, change: SpecChange) -> str:
    """Return one of a, r, s, q, and A and R for a group."""
    many = f", [A]ccept or [R]eject all {change.same}" if change.same > 1 else ""
    words = f"[a]ccept, [r]eject, [s]kip{many}, [w]ire, [q]uit? "
    while True:
        print(words, end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            print()
            return "q"
        answer = line.strip()[:1]
        if not sys.stdin.isatty():
            print(printable(answer))  # a terminal shows what is typed
        if answer in ("a", "r", "s", "q") or (many and answer in ("A", "R")):
            return answer
        if answer == "w":
            for number, text in enumerate(review.wire(change)):
                if number == MOST_LINES:
                    print("  …")
                    break
                print(f"  {printable(text)}")


def _shown(change: SpecChange) -> Iterator[str]:
    """Yield the lines that show a change in the terminal."""
    hunk = change.hunk
    place = f"{os.path.relpath(change.path)}:{hunk.new_at + 1}  {hunk.place}"
    same = (
        f"  (the same change in {plural(change.same - 1, 'other place')})"
        if change.same > 1
        else ""
    )
    yield ""
    yield paint(printable(place + same), "bold")
    for sign, tone, lines in (("-", "red", hunk.old), ("+", "green", hunk.new)):
        for line in lines[:MOST_LINES]:
            yield paint(printable(f"{sign} {line}"), tone)
        if len(lines) > MOST_LINES:
            yield f"  … {len(lines) - MOST_LINES} more lines"
    if hunk.paths and len(change.pairs) > 1:
        counted = [f"{_short(values)} ×{count}" for values, count in change.pairs]
        yield printable(f"  all changes at {_short(hunk.paths)}: {listed(counted, MOST_PAIRS)}")


def _short(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
