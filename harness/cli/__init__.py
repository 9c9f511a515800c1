"""The ``harness`` command. Each command has its own file. `run` is the entry point."""

from __future__ import annotations

import sys


def run() -> int:
    """Run the command line. Ctrl-C ends it with one line at any time, also during an import."""
    try:
        from .main import main

        return main()
    except KeyboardInterrupt:
        from signal import SIG_DFL, SIGINT, signal  # start-up time

        signal(SIGINT, SIG_DFL)  # a second Ctrl-C ends without a traceback
        print("harness: interrupted", file=sys.stderr)
        return 130
