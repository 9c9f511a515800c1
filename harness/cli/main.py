"""The shell's door: ``harness replay``, ``request``, ``show``, ``import``, ``export`` and
``schema``; the other commands add themselves.

Data goes to stdout, one line about what went wrong to stderr. Exit status: 0; 1 nothing to replay,
or something found; 2 a bad file or bad usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, NoReturn

from harness.cassettes import Cassette, CassetteError, Exchange
from harness.cassettes.importers import FORMATS
from harness.cassettes.load import load
from harness.cassettes.redaction.secrets import guard
from harness.conformance.configuration import add_specs, project_of
from harness.dialects import DIALECTS
from harness.pipeline.replay import DEFAULT_PROVIDER, ReplayError, is_answer, replay
from harness.pipeline.request import request
from harness.providers import PROVIDERS
from harness.report.header import package_version
from harness.specs import LAYERS, SpecError, json_schema
from harness.stream.generation import TranslationError
from harness.stream.json_codec import decode_json
from harness.stream.printable import printable, printable_lines

from . import check, drift, mutate, prove, record, report, scan, serve

NOTHING: Final = 1
BAD: Final = 2

_ANY: Final = "a recording of any format that is read"
_WHOSE: Final = (
    "replay as this provider's (default: as its address or body tells, else gemini-api's)"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parsed = _parser().parse_args(arguments)
    if isinstance(sys.stdout, TextIOWrapper):  # what somebody put in its place writes as that does
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    run: Callable[[argparse.Namespace], int] = parsed.run
    try:
        return run(parsed)
    except BrokenPipeError:  # whoever read has seen enough
        # it stays open for the interpreter's last flush
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
        return 0
    except (CassetteError, ReplayError, SpecError, TranslationError) as error:
        print(printable(f"harness: {error}"), file=sys.stderr)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(printable(f"harness: {place}{error.strerror or error}"), file=sys.stderr)
    return BAD


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a command in one line, as every other fault is said."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD, printable(f"{self.prog}: {message}; see {self.prog} --help") + "\n")


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
        prog="harness", description="Record-and-replay conformance tests for Gemini streams."
    )
    parser.add_argument("--version", action="version", version=package_version())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_looking(commands)
    _add_files(commands)
    for command in (report, serve, scan, record, drift, prove, mutate):
        command.add_to(commands)
    return parser


def _add_looking(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """What prints what something is made into."""
    one = commands.add_parser(
        "replay", help="print what a layer makes of a recording, one JSON object a line"
    )
    one.add_argument("file", type=Path, help=_ANY)
    one.add_argument("--provider", choices=PROVIDERS, help=_WHOSE)
    one.add_argument(
        "--dialect",
        choices=DIALECTS,
        default="unified-llm",
        help="the event model of the payloads (default: unified-llm)",
    )
    one.add_argument(
        "--layer",
        choices=("payloads", "events", "frames"),
        default="payloads",
        help="what is printed (default: payloads)",
    )
    cuts = (
        "where the body is cut into reads: as it came, nowhere, or behind each byte (default:"
        " recorded)"
    )
    one.add_argument(
        "--cuts", choices=("recorded", "whole", "bytes"), default="recorded", help=cuts
    )
    one.add_argument(
        "--exchange",
        type=int,
        metavar="N",
        help="only the N-th exchange, from 1 (default: all that generate)",
    )
    one.set_defaults(run=_replay)

    one = commands.add_parser("request", help="print the request that a prompt is sent as")
    one.add_argument("file", type=Path, help="the prompt of the event model, as JSON")
    one.add_argument(
        "--dialect",
        choices=DIALECTS,
        required=True,
        help="the event model of the prompt (required)",
    )
    whose = f"whose request it becomes (default: {DEFAULT_PROVIDER})"
    one.add_argument("--provider", choices=PROVIDERS, default=DEFAULT_PROVIDER, help=whose)
    one.add_argument(
        "--options",
        type=Path,
        metavar="FILE",
        help="art: the options that go with it, as JSON (default: none)",
    )
    one.set_defaults(run=_request)

    one = commands.add_parser("show", help="print a recording at a glance, one line a frame")
    one.add_argument("file", type=Path, help=_ANY)
    one.add_argument("--list", action="store_true", help="list the exchanges instead")
    one.add_argument("--provider", choices=PROVIDERS, help=_WHOSE)
    one.add_argument(
        "--exchange",
        type=int,
        metavar="N",
        help="only the N-th exchange, from 1 (default: all that generate)",
    )
    one.set_defaults(run=_show)


def _add_files(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """What reads and writes files of specs and recordings."""
    check.add_to(commands)

    one = commands.add_parser("import", help="turn somebody's recording into a cassette of ours")
    one.add_argument(
        "file", type=Path, help=f"{_ANY}: {', '.join(known.title for known in FORMATS)}"
    )
    one.add_argument(
        "-o", "--output", type=Path, metavar="CASSETTE", help="the file to write (default: stdout)"
    )
    for name, meaning in (
        ("source", "where the recording is from"),
        ("commit", "at which commit"),
        ("licence", "under which licence"),
    ):
        one.add_argument(
            f"--{name}", metavar="TEXT", help=f"{meaning} (default: what the recording says)"
        )
    one.set_defaults(run=_import)

    one = commands.add_parser(
        "export", help="turn a recording into plain YAML that stock vcrpy replays"
    )
    one.add_argument("file", type=Path, help=_ANY)
    one.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the file to write (default: stdout)"
    )
    one.set_defaults(run=_export)

    one = commands.add_parser(
        "schema", help="print the JSON Schema of this project's spec files, for editors"
    )
    add_specs(one, "the specs folder, perhaps with features of its own")
    one.set_defaults(run=_schema, cassettes=None)


def _replay(parsed: argparse.Namespace) -> int:
    found = False
    for number, exchange in _numbered(load(parsed.file), parsed):
        if parsed.exchange is None and not is_answer(exchange, parsed.provider):
            continue
        if exchange.generates and parsed.provider is None and exchange.provider is None:
            _note(
                f"exchange {number}: neither URL nor body tells the provider; replayed as"
                " gemini-api"
            )
        with warnings.catch_warnings(action="ignore"):  # the note above says it
            payloads = replay(
                exchange,
                provider=parsed.provider,
                dialect=parsed.dialect,
                layer=parsed.layer,
                cuts=parsed.cuts,
            )
        for payload in payloads:
            print(printable(json.dumps(payload, ensure_ascii=False, separators=(",", ":"))))
        found = True
    if not found:
        _note(
            f"{parsed.file}: nothing to replay; no exchange generates (harness show --list says"
            " what they are)"
        )
    return 0 if found else NOTHING


def _request(parsed: argparse.Namespace) -> int:
    options = _json(parsed.options) if parsed.options else None
    if options is not None and type(options) is not dict:
        raise TranslationError(str(parsed.options), "the options are no JSON object")
    with warnings.catch_warnings(record=True, action="always") as seen:
        body = request(
            _json(parsed.file), dialect=parsed.dialect, provider=parsed.provider, options=options
        )
    for warning in seen:
        _note(str(warning.message))
    print(printable(json.dumps(body, ensure_ascii=False, separators=(",", ":"))))
    return 0


def _json(path: Path) -> Any:
    try:
        return decode_json(path.read_bytes())
    except ValueError as error:
        raise TranslationError(str(path), f"not JSON: {error}") from None


def _show(parsed: argparse.Namespace) -> int:
    from harness.pipeline.show import list_exchanges, show_frames

    cassette = load(parsed.file)
    if parsed.list:
        for line in list_exchanges(cassette):
            print(printable(line))
        return 0
    found = False
    for number, exchange in _numbered(cassette, parsed):
        if exchange.generates:
            found = True
            print(
                f"exchange {number}: {exchange.provider or 'provider not told'}, status"
                f" {exchange.status}, end {exchange.end}"
            )
            for line in show_frames(exchange, parsed.provider):
                print(printable(line))
    if not found:
        _note(f"{parsed.file}: no exchange generates (--list says what they are)")
    return 0 if found else NOTHING


def _import(parsed: argparse.Namespace) -> int:
    cassette = load(parsed.file)
    given = {
        name: getattr(parsed, name)
        for name in ("source", "commit", "licence")
        if getattr(parsed, name)
    }
    cassette = replace(cassette, origin=replace(cassette.origin, **given))
    _write(guard().dumps(cassette, str(parsed.file)), parsed.output)
    return 0


def _export(parsed: argparse.Namespace) -> int:
    _write(guard().export(load(parsed.file), str(parsed.file)), parsed.output)
    return 0


def _schema(parsed: argparse.Namespace) -> int:
    project, schema = project_of(parsed), json_schema()
    case = schema["$defs"]["Case"]["properties"]
    case["features"]["items"]["enum"] = [feature.id for feature in project.features()]
    case["provider"]["enum"] = list(PROVIDERS)
    columns = (*LAYERS, *DIALECTS, *(one.dialect for one in project.adapters.values()))
    case["expect"]["properties"] = dict.fromkeys(
        columns, case["expect"].pop("additionalProperties")
    )
    case["expect"]["additionalProperties"] = False
    print(json.dumps(schema, indent=2))
    return 0


def _write(text: str, target: Path | None) -> None:
    if target is None:
        # On its way to a file the text is what it is; a person's terminal it may not command.
        sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
        return
    if target.exists() or target.is_symlink():
        raise CassetteError(f"{target} exists already; name another file, or delete it first")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode())
    _note(f"wrote {target}")


def _numbered(cassette: Cassette, parsed: argparse.Namespace) -> list[tuple[int, Exchange]]:
    numbered, wanted = list(enumerate(cassette.exchanges, 1)), parsed.exchange
    if wanted is None:
        return numbered
    if not 1 <= wanted <= len(numbered):
        raise ReplayError(
            f"{parsed.file}: there is no exchange {wanted}; it has {len(numbered)} (harness show"
            " --list says which)"
        )
    return numbered[wanted - 1 : wanted]


def _note(text: str) -> None:
    print(printable(f"harness: {text}"), file=sys.stderr)
