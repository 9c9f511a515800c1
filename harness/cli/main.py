"""The ``harness`` command: its table of commands, and its entry point.

Data goes to stdout. A message about a fault goes to stderr as one line. The exit status is 0, 1 if
there was nothing to do or a check found something, 2 for a bad file or bad usage, and 141 instead
of 0 if the reader of stdout closed it early.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from pkgutil import resolve_name
from typing import Final, NamedTuple, NoReturn

from harness.cassettes.redaction.masked_output import masked_output
from harness.stream.garbage_collector import collect_seldom
from harness.stream.printable import printable

from .output import note

BAD: Final = 2
"""The exit status for a bad file or bad usage."""
UNREAD: Final = 128 + 13
"""The exit status of a program that SIGPIPE ended. It replaces only the exit status 0."""


class Command(NamedTuple):
    """A row of the table: the function ``module:name`` that adds the arguments of the command to
    its parser, and the help line.

    The function calls ``parser.set_defaults(run=…)`` with a function from the parsed arguments to
    the exit status.
    """

    add_arguments: str
    help: str


COMMANDS: Final = {
    "replay": Command(
        "files:add_replay", "print the output of a layer for a recording, as JSON lines"
    ),
    "request": Command("files:add_request", "print the request that a prompt is translated into"),
    "show": Command("files:add_show", "print an overview of a recording, one line per frame"),
    "import": Command("files:add_import", "convert a recording of any known format to a cassette"),
    "export": Command("files:add_export", "convert a recording to plain YAML for stock vcrpy"),
    "schema": Command("files:add_schema", "print the JSON Schema of spec files, for editors"),
    "check": Command("check:add_arguments", "validate specs, features files and cassettes"),
    "scan": Command("scan:add_arguments", "search for secrets in files and recordings"),
    "report": Command("report:add_report", "write a report of one or more results files"),
    "compare": Command("report:add_compare", "print the differences between two runs"),
    "serve": Command("serve:add_arguments", "answer live clients from recordings"),
    "record": Command("record:add_arguments", "record cassettes from a live provider"),
    "judge": Command(
        "judge:add_arguments", "judge adapters by the facts that they keep of answers"
    ),
    "sweep": Command("sweep:add_sweep", "judge an adapter on millions of captured streams"),
    "sweep-diff": Command(
        "sweep:add_diff", "print the facts that one sweep kept and another loses"
    ),
    "drift": Command("drift:add_arguments", "compare a provider's answers with the recorded ones"),
    "prove": Command("prove:add_arguments", "check that the specs detect known faults"),
    "mutate": Command("mutate:add_arguments", "write variants of a recording as cassettes"),
}
"""All commands by name, in the order of ``harness --help``."""

FAULTS: Final = (
    "harness.cassettes:CassetteError",
    "harness.adapters:AdapterError",
    "harness.judging.results:ResultsError",
    "harness.sweep.stream:SweepError",
    "harness.pipeline.replay:ReplayError",
    "harness.report:ReportError",
    "harness.specs:SpecError",
    "harness.stream.generation:TranslationError",
)
"""The exceptions that a user causes. Their message is the whole output. They are imported after an
error, because their modules are slow to import.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    if isinstance(sys.stdout, TextIOWrapper):  # tests replace stdout
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    collect_seldom()
    with masked_output():
        return _run(sys.argv[1:] if arguments is None else arguments)


def _run(arguments: Sequence[str]) -> int:
    status = UNREAD
    try:
        parsed, unknown = _parser(arguments).parse_known_args(arguments)
        if unknown:
            parsed.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        run: Callable[[argparse.Namespace], int] = parsed.run
        status = run(parsed)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of stdout has closed it
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115  # the interpreter flushes it at its end
        return status or UNREAD
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{place}{error.strerror or error}")
    except tuple(map(resolve_name, FAULTS)) as error:
        from harness.specs import SpecError  # start-up time

        text = str(error)
        return _refuse(*text.split("\n") if isinstance(error, SpecError) else (text,))


class _Parser(argparse.ArgumentParser):
    """Reports bad usage in one line, like all other faults."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD, printable(f"{self.prog}: {message}; see {self.prog} --help") + "\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()  # the help, because `_run` handles a closed stdout
        super().exit(status, message)


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of a command line. It imports only the modules of the commands in ``arguments``,
    so that each command starts fast.
    """
    parser: argparse.ArgumentParser = _Parser(
        prog="harness", description="Record-and-replay conformance tests for Gemini streams."
    )
    parser.add_argument("--version", action="version", version=_version(arguments))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        description = f"{command.help[0].upper()}{command.help[1:]}."
        command_parser = commands.add_parser(name, help=command.help, description=description)
        if name in arguments:
            command_parser.set_defaults(parser=command_parser)
            resolve_name(f"{__package__}.{command.add_arguments}")(command_parser)
    return parser


def _version(arguments: Sequence[str]) -> str:
    if "--version" not in arguments:
        return ""
    from harness.report.header import (
        package_version,
    )  # slow to import, and only this option needs it

    return package_version()


def _refuse(*messages: str) -> int:
    for message in messages:
        note(message)
    return BAD
