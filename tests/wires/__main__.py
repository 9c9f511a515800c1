"""``python -m tests.wires [--npm NODE_MODULES]``: list what the installed SDKs know and we do not."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from .report import compare, read_lock
from .sources import SOURCES, use_node_modules


def main() -> int:
    """Print the report; returns 1 if a gap is not accepted or an accepted one is gone, 2 if no SDK
    is installed.
    """
    parser = ArgumentParser("python -m tests.wires", description=__doc__)
    parser.add_argument("--npm", type=Path, metavar="NODE_MODULES", help="the Node SDKs")
    chosen = parser.parse_args()
    if chosen.npm:
        use_node_modules(chosen.npm)
    report = compare(SOURCES, read_lock())
    print("\n".join(report.lines()))
    if not report.versions:
        return 2
    return 1 if report.new or report.stale else 0


if __name__ == "__main__":
    sys.exit(main())
