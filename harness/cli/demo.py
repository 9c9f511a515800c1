"""The command ``harness demo``: judges three small adapters that come along, two with the fault of
a public thread, and shows the page.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.project.suite import CASSETTES as SUITE
from harness.report.files import INDEX

from . import judge
from .output import note

ADAPTERS: Final = ("careful", "last_call", "no_empty_text")
"""The functions of `demo_adapters`."""

CASSETTES: Final = (
    "gemini-api/text",
    "gemini-api/unary",
    "gemini-api/thoughts",
    "gemini-api/tool-calls",
    "gemini-api/parallel-calls",
    "gemini-api/signatures-text",
    "gemini-api/signatures-calls",
    "gemini-api/finish-reasons",
    "gemini-api/blocked-prompts",
    "gemini-api/usage",
)
FAULTS: Final = """
last-call keeps one call of each message: the other tools never run
  https://github.com/jeremychone/rust-genai/issues/173
no-empty-text drops empty texts, and with them the signature that the next request needs
  https://github.com/vercel/ai/pull/12402
"""
NEXT: Final = """
The page: {page}
The same by hand:
  {command}
Judge your own adapter (a function, a client, a program or a gateway):
  harness judge --init function -o shim.py
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "It needs no network, no project and no key."
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("harness-demo"),
        metavar="DIR",
        help="the folder for the page (default: harness-demo)",
    )
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="do not open the page (default: open it if a person is at the terminal)",
    )
    parser.set_defaults(run=_demo)


def _demo(parsed: argparse.Namespace) -> int:
    targets = [f"{name.replace('_', '-')} = harness.cli.demo_adapters:{name}" for name in ADAPTERS]
    cassettes = [str(SUITE / f"{name}.yaml") for name in CASSETTES]
    arguments = [*targets, "--cassettes", *cassettes, "--report", str(parsed.output)]
    print("Three small adapters read ten recordings with 70 answers.")
    print("Two have the fault of a public thread:")
    print(FAULTS, flush=True)
    judge_parser = argparse.ArgumentParser()
    judge.add_arguments(judge_parser)
    given = judge_parser.parse_args(arguments)
    status: int = given.run(given)
    page = parsed.output / INDEX
    shown = shlex.join(["harness", "judge", targets[1], "--cassettes", "gemini-api/parallel-calls"])
    print(NEXT.format(page=page, command=shown), end="", flush=True)
    if not parsed.no_browser and sys.stdout.isatty():
        open_page(page)
    if status != judge.RED:
        note("the faults were not found; please report this")
        return status or judge.RED
    return 0


def open_page(page: Path) -> None:
    """Open the page of a file in the browser of the desktop, if there is one. Does not wait for it,
    and never fails.
    """
    has_desktop = sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if not has_desktop:  # a browser in the terminal would block it
        return
    nothing = subprocess.DEVNULL
    with suppress(OSError):
        subprocess.Popen(  # noqa: S603  # the interpreter itself, with our own path
            [sys.executable, "-m", "webbrowser", page.resolve().as_uri()],
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )
