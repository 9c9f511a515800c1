"""Compares what the harness judges now with the ledger: ``make ledger``.

    python -m tests.ledger [--accept REASON]

It prints the differences by kind, and its exit status is 1 if there are some. ``--accept`` writes
the ledger, and adds a line with the reason to accepted.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from . import run as runs
from .compare import differences, entry, lines_of
from .rows import FOLDER, read, write

ACCEPTED = Path(__file__).with_name("accepted.md")
DIFFERENT = 1
REFUSED = 2
RENEW = "make ledger-outputs records them"


def main(
    arguments: list[str] | None = None,
    run: Callable[[], runs.Run] = runs.run,
    folder: Path = FOLDER,
    accepted: Path = ACCEPTED,
) -> int:
    """Compare, and accept the differences if there is a reason. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make ledger", description="Compare with the ledger.")
    parser.add_argument("--accept", metavar="REASON", help="write the ledger, with this reason")
    reason: str | None = parser.parse_args(arguments).accept
    if reason is not None and not reason.split():
        print('make ledger: the reason is missing; write make ledger ACCEPT="Place: the reason"')
        return REFUSED
    started = time.monotonic()
    now = run()
    for name, places in now.stale.items():
        if places:
            print(f"{name}: {len(places)} exchanges without a stored output ({RENEW})")
    before = read(folder)
    found = list(differences(before, now.ledger, now.stale))
    rows = sum(map(len, now.ledger.values()))
    for line in lines_of(found):
        print(line)
    print(f"{rows:,} rows, {len(found):,} differences, {time.monotonic() - started:.0f} s")
    if not found:
        return 0
    if reason is None:
        print('if they are right: make ledger ACCEPT="Place: the reason", in the same commit')
        return DIFFERENT
    write(now.ledger, folder)
    day = datetime.now(UTC).date().isoformat()
    with accepted.open("a", encoding="utf-8") as file:
        file.write(entry(day, " ".join(reason.split()), found) + "\n")
    print(f"accepted: {accepted.name} has the reason")
    return 0


if __name__ == "__main__":
    sys.exit(main())
