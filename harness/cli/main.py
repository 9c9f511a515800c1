"""The ``harness`` command: its table of commands, and its entry point.

Data goes to stdout. A message about a fault goes to stderr as one line. `COMMANDS` has the meaning
of the exit statuses.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import TextIOWrapper
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn

from harness.stream.garbage_collector import collect_seldom
from harness.stream.printable import printable

from .output import note

BAD: Final = 2
"""The exit status for a bad file or bad usage."""
UNREAD: Final = 128 + 13
"""The exit status of a program that SIGPIPE ended. It replaces only the exit status 0."""


SCRIPT: Final = "--print-completion"


class Command(NamedTuple):
    """A row of the table: the function ``module:name`` that adds the arguments of the command to
    its parser, the help line, an example, and the meaning of each exit status except those that all
    commands share.

    The function calls ``parser.set_defaults(run=…)`` with a function from the parsed arguments to
    the exit status.
    """

    add_arguments: str
    help: str
    example: str
    statuses: Mapping[int, str] = MappingProxyType({})

    @property
    def epilog(self) -> str:
        """The end of the help: the example and all exit statuses."""
        given = sorted({**SHARED, **self.statuses}.items())
        statuses = "; ".join(f"{status}: {meaning}" for status, meaning in given)
        return f"Example: `{self.example}`. Exit status: {statuses}."


SHARED: Final = {
    0: "success",
    2: "a bad file, or bad usage",
    130: "stopped by Ctrl-C",
    141: "success, but the reader of the output closed it",
}
"""The exit statuses of every command."""

COMMANDS: Final = {
    "demo": Command(
        "demo:add_arguments",
        "judge three small adapters that come along, two of them faulty",
        "harness demo",
        {0: "the faults were found", 1: "the faults were not found"},
    ),
    "replay": Command(
        "files:add_replay",
        "print the output of a layer for a recording, as JSON lines",
        "harness replay gemini-api/text:1",
        {1: "no answer of a model, or an answer of another provider than --provider"},
    ),
    "request": Command(
        "files:add_request",
        "print the request that a prompt is translated into",
        "harness request prompt.json --dialect unified-llm",
    ),
    "show": Command(
        "files:add_show",
        "print an overview of a recording, one line per frame",
        "harness show gemini-api/text:1",
        {1: "no answer of a model, or an answer of another provider than --provider"},
    ),
    "import": Command(
        "files:add_import",
        "convert a recording of any known format to a cassette, or for stock vcrpy",
        "harness import answer.txt -o cassettes/gemini-api/hello.yaml",
        {1: "--in-place found nothing to convert"},
    ),
    "check": Command(
        "check:add_arguments",
        "validate specs, features files and cassettes, and prove that specs detect faults",
        "harness check",
        {
            1: "a file has a problem, there is nothing to check, or, with --prove, a fault is not"
            " detected, a case fails without a fault, or nothing was changed"
        },
    ),
    "review": Command(
        "review:add_arguments",
        "go through the changes of expectations that are not reviewed",
        "harness review",
        {0: "nothing is left to review", 1: "a change is not reviewed"},
    ),
    "scan": Command(
        "scan:add_arguments",
        "search for secrets in files and recordings",
        "harness scan cassettes",
        {
            0: "no secret",
            1: "a secret, or a packed file that is not read",
            2: "a file that can't be read, no file, or bad usage",
        },
    ),
    "report": Command(
        "report:add_arguments",
        "write a report of one or more results files",
        "harness report reports/results.json -o page",
        {
            0: "the report is green",
            1: "a verdict is red, a planned cell was not judged, a spec could not be read, or"
            " nothing was compared",
        },
    ),
    "compare": Command(
        "compare:add_arguments",
        "print the differences between two runs or two sweeps",
        "harness compare before/results.json after/results.json",
        {
            1: "a cell is broken, new and red, or gone, a run did not judge all its cells, or the"
            " later sweep loses something"
        },
    ),
    "serve": Command(
        "serve:add_arguments",
        "answer live clients from recordings",
        "harness serve gemini-api/text",
    ),
    "record": Command(
        "record:add_arguments",
        "record cassettes from a live provider",
        "harness record gemini-api/hello --prompt 'Say hello' --model gemini-2.5-flash",
        {1: "a cassette was not recorded"},
    ),
    "judge": Command(
        "judge:add_arguments",
        "judge adapters by the facts that they keep of answers",
        "harness judge shim:replay --cassettes gemini-api/text:1",
        {
            0: "everything is kept or declared",
            1: "something is lost, wrong or raised, or a planned cell was not judged",
            2: (
                "bad usage, a named recording that does not exist or can't be read, nothing to"
                " judge, or nothing was compared"
            ),
        },
    ),
    "corpus": Command(
        "corpus:add_arguments",
        "list and fetch public recordings of other projects",
        "harness corpus list",
        {1: "a recording was not fetched"},
    ),
    "sweep": Command(
        "sweep:add_arguments",
        "judge an adapter on millions of captured streams",
        "harness sweep streams.parquet --adapter shim:replay -o sweep",
        {
            0: "everything is kept or declared",
            1: "something is lost, or a stream could not be judged",
        },
    ),
    "drift": Command(
        "drift:add_arguments",
        "compare a provider's answers with the recorded ones",
        "harness drift gemini-api/hello",
        {
            0: "no difference, or only information",
            1: "a notable difference",
            3: "a breaking difference",
            4: "the provider could not be asked",
        },
    ),
}
"""All commands by name, in the order of ``harness --help``."""

FAULTS: Final = (
    "harness.cassettes:CassetteError",
    "harness.adapters:AdapterError",
    "harness.judging.rows:ResultsError",
    "harness.sweep.stream:SweepError",
    "harness.pipeline.replay:ReplayError",
    "harness.report:ReportError",
    "harness.specs.spec_error:SpecError",
    "harness.stream.generation:TranslationError",
)
"""The exceptions that a user causes. Their message is the whole output. They are imported after an
error, because their modules are slow to import.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Returns the exit status."""
    if isinstance(sys.stdout, TextIOWrapper):  # tests replace stdout
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    given = sys.argv[1:] if arguments is None else arguments
    if list(given) in (["-h"], ["--help"]):  # it has no text of a user, and must be fast
        return _run(given)
    from harness.cassettes.redaction.masked_output import masked_output  # start-up time

    collect_seldom()
    with masked_output():
        return _run(given)


def _run(arguments: Sequence[str]) -> int:
    status = UNREAD
    try:
        parsed, unknown = parser_of(arguments).parse_known_args(arguments)
        if unknown:
            parsed.parser.error(
                f"unrecognized arguments: {' '.join(unknown)}{parsed.parser.guess(unknown[0])}"
            )
        run: Callable[[argparse.Namespace], int] = parsed.run
        status = run(parsed)
        sys.stdout.flush()
        return status
    except (SystemExit, KeyboardInterrupt):  # the modules of `FAULTS` are not needed
        raise
    except BrokenPipeError:  # the reader of stdout has closed it
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115  # the interpreter flushes it at its end
        return status or UNREAD
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{place}{error.strerror or error}")
    except tuple(map(resolve_name, FAULTS)) as error:
        from harness.specs.spec_error import SpecError  # start-up time

        text = str(error)
        return _refuse(*text.split("\n") if isinstance(error, SpecError) else (text,))


_NO_VALUE: Final = re.compile(r"argument (\S+?)(?:/\S+)?: expected (?:one|at least one) argument$")


class Parser(argparse.ArgumentParser):
    """Reports bad usage in one line, like all other faults."""

    way_out: str = ""
    """A command to begin with. The error for missing arguments has it."""

    def error(self, message: str) -> NoReturn:
        if self.way_out and message.startswith("the following arguments are required"):
            message = f"{message}; {self.way_out}"
        match = _NO_VALUE.match(message)
        action = self._option_string_actions.get(match[1]) if match else None
        if action is not None and action.choices:
            message += f": {', '.join(map(str, action.choices))}"
        self.exit(BAD, printable(f"{self.prog}: {message}; see {self.prog} --help") + "\n")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        sys.stdout.flush()  # the help, because `_run` handles a closed stdout
        super().exit(status, message)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print the help or an error. argparse would drop a `BrokenPipeError`."""
        if message:
            (file or sys.stderr).write(message)

    def guess(self, option: str) -> str:
        """Return a hint to the option that is most like an unknown one, or ""."""
        known = [name for name in self._option_string_actions if name.startswith("--")]
        return near(option.partition("=")[0], known) if option.startswith("--") else ""


class _PrintCompletion(argparse.Action):
    """Prints the script of a shell with which it completes all commands and options."""

    def __call__(self, parser: argparse.ArgumentParser, *given: Any) -> NoReturn:
        try:
            import shtab  # the extra
        except ImportError:
            parser.error(
                f"{SCRIPT} needs shtab; install it: pip install 'gemini-conformance[completion]'"
            )
        whole, (_, shell, *_) = parser_of([*COMMANDS]), given
        (commands,) = (
            action.choices.values()
            for action in whole._actions
            if isinstance(action, argparse._SubParsersAction)
        )
        for action in (action for command in commands for action in command._actions):
            if action.choices is None and action.nargs != 0:
                action.complete = shtab.FILE
        print(shtab.complete(whole, shell))
        parser.exit()


def near(word: str, known: Iterable[str]) -> str:
    """Return `` (did you mean judge?)`` for a word like a known one, else ""."""
    from difflib import get_close_matches  # slow to import

    guesses = get_close_matches(word[:80], list(known), 1)
    return f" (did you mean {guesses[0]}?)" if guesses else ""


def parser_of(arguments: Sequence[str]) -> Parser:
    """Return the parser of a command line. It has the arguments of the commands that ``arguments``
    name, and imports only their modules, so that each command starts fast.
    """
    parser = Parser(
        prog="harness",
        description="Record-and-replay conformance tests for Gemini streams.",
        epilog="harness COMMAND --help shows the options of a command, and its exit statuses.",
    )
    parser.way_out = (
        "begin with `harness demo`, or write a shim with `harness judge --init function -o shim.py`"
    )
    parser.add_argument("--version", action="version", version=_version(arguments))
    parser.add_argument(
        SCRIPT,
        choices=["bash", "zsh", "fish"],
        action=_PrintCompletion,
        help="print the completion script of a shell; it needs shtab",
    )
    word = next((text for text in arguments if not text.startswith("-")), "")
    if SCRIPT in arguments[:1]:
        word = ""
    if word and word not in COMMANDS:
        parser.error(
            f"unknown command {word!r}{near(word, COMMANDS)}; commands are {', '.join(COMMANDS)}"
        )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        description = f"{command.help[0].upper()}{command.help[1:]}."
        if name not in arguments and word:
            continue
        command_parser = commands.add_parser(name, help=command.help, description=description)
        if name in arguments:
            command_parser.set_defaults(parser=command_parser)
            command_parser.way_out = f"for example: {command.example}"
            resolve_name(f"{__package__}.{command.add_arguments}")(command_parser)
            own = f"{command_parser.epilog} " if command_parser.epilog else ""
            command_parser.epilog = own + command.epilog
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
