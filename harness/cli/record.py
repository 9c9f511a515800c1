"""The command ``harness record``: records cassettes from a live provider.

The requests come from cases, from the cassette's own recorded requests, or from the command line.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

from harness.cassettes import CassetteError, Exchange
from harness.pipeline.replay import ReplayError
from harness.project.configuration import add_folders, project_of
from harness.project.project import Project
from harness.providers import PROVIDERS
from harness.recording.asks import NotRecordable, ask_prompts
from harness.recording.endpoints import find_fault
from harness.recording.journal import left_behind
from harness.recording.policy import status_of, unusual_ends
from harness.recording.run import Spent, record_requests
from harness.recording.settings import Limits, Settings
from harness.recording.tape import MAX_ANSWER_BYTES, MAX_ANSWER_S
from harness.specs.models import Case
from harness.stream.generation import TranslationError
from harness.stream.printable import plural, printable

from .arguments import read_count, read_seconds
from .output import INTERRUPTED, note
from .record_plan import RecordingPlan, RecordingSources, name_provider, read_sources

REFUSED: Final = 1
STILL_S: Final = 15.0
"""A run without a terminal prints a waiting message after this number of seconds without progress.
"""
ANSWERED: Final = ("recorded", "loopback")
"""The origins of cassettes that can be recorded again. Written and imported cassettes can't."""

NEW_CASSETTE: Final = (
    "to record a new cassette: harness record gemini-api/hello --prompt 'Say hello' --model"
    " gemini-2.5-flash"
)
"""The way out where there is nothing to record."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument("names", nargs="*", metavar="CASE", help="cases or cassettes, by name")
    parser.add_argument(
        "--missing",
        action="store_true",
        help="record every cassette that a case names and that does not exist",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="like --missing, and also record every recorded cassette again",
    )
    parser.add_argument(
        "--prompt",
        action="append",
        metavar="TEXT",
        help=(
            "send this prompt to record cassette CASE (repeatable: the turns of a conversation;"
            " default: the prompts of the case or the cassette)"
        ),
    )
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        help=(
            "the provider to record from (default: the case's, else the cassette's folder); with"
            " --missing and --all: only this provider's cassettes"
        ),
    )
    parser.add_argument(
        "--rewrite",
        action="store_true",
        help=(
            "also overwrite cassettes that were written by hand or imported, or that can't be read"
            " (default: refuse)"
        ),
    )
    parser.add_argument("--unary", action="store_true", help="request a unary answer, not a stream")
    parser.add_argument(
        "--allow-end",
        action="append",
        choices=("cut", "reset", "aborted"),
        default=[],
        help=(
            "also keep incomplete answers with this end (repeatable; default: the ends of the old"
            " cassette)"
        ),
    )
    parser.add_argument(
        "--allow-incomplete",
        action="store_true",
        help=(
            "also keep what is not the complete answer of a model: another page, a redirect, an"
            " empty body, an answer without a finish reason (default: only if the old cassette has"
            " the same)"
        ),
    )
    add_asking(parser)
    parser.set_defaults(run=_record)


def add_asking(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that sends requests to a provider."""
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="the model (default: the model of the prompt, then HARNESS_MODEL)",
    )
    parser.add_argument(
        "--api-version",
        metavar="VERSION",
        help=(
            "such as v1beta (default: GOOGLE_GENAI_API_VERSION or CODE_ASSIST_API_VERSION, then the"
            " default of the client)"
        ),
    )
    parser.add_argument(
        "--base-url",
        type=_base_url,
        metavar="URL",
        help=(
            "the base URL of the server (default: GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL or"
            " CODE_ASSIST_ENDPOINT, then Google's URL)"
        ),
    )
    parser.add_argument(
        "--project",
        metavar="ID",
        help="for Vertex AI and Code Assist: the project (default: GOOGLE_CLOUD_PROJECT)",
    )
    parser.add_argument(
        "--location",
        metavar="NAME",
        help="for Vertex AI: the location (default: GOOGLE_CLOUD_LOCATION, then global)",
    )
    parser.add_argument(
        "--program",
        default="",
        metavar="COMMAND",
        help="for a program such as gemini-cli: its command and arguments (default: its own)",
    )
    parser.add_argument(
        "--allow-status",
        action="append",
        type=int,
        default=[],
        metavar="CODE",
        help=(
            "also keep answers of this HTTP status, 400 or higher (repeatable; default: the"
            " statuses of the old cassette)"
        ),
    )
    parser.add_argument(
        "--timeout",
        type=read_seconds,
        metavar="SECONDS",
        help=(
            "stop an answer or a connection attempt after this many seconds without a byte"
            " (default: 300), and a program after this many seconds in total (default: 600)"
        ),
    )
    parser.add_argument(
        "--answer-bytes",
        type=int,
        default=MAX_ANSWER_BYTES,
        metavar="N",
        help="stop an answer over HTTP that has more bytes (default: %(default)s)",
    )
    parser.add_argument(
        "--answer-seconds",
        type=read_seconds,
        default=MAX_ANSWER_S,
        metavar="SECONDS",
        help="stop an answer over HTTP that takes longer (default: %(default)g)",
    )
    parser.add_argument(
        "--attempts",
        type=read_count,
        default=4,
        metavar="N",
        help="at most N attempts for one request (default: 4)",
    )
    parser.add_argument(
        "--requests",
        type=read_count,
        default=50,
        metavar="N",
        help="at most N requests in the whole run, including retries (default: 50)",
    )
    parser.add_argument(
        "--output-tokens",
        type=read_count,
        default=50_000,
        metavar="N",
        help="at most N output tokens in the whole run, including thinking (default: 50000)",
    )
    add_folders(parser)


def _base_url(text: str) -> str:
    if fault := find_fault(text):
        raise argparse.ArgumentTypeError(fault)
    return text


def settings_of(parsed: argparse.Namespace) -> Settings:
    """Return the settings from the options of `add_asking`."""
    return Settings(
        model=parsed.model,
        api_version=parsed.api_version,
        base_url=parsed.base_url,
        project=parsed.project,
        location=parsed.location,
        program=tuple(shlex.split(parsed.program)),
        timeout_s=parsed.timeout,
        answer_bytes=parsed.answer_bytes,
        answer_s=parsed.answer_seconds,
    )


def limits_of(parsed: argparse.Namespace) -> Limits:
    """Return the limits from the options of `add_asking`."""
    return Limits(parsed.attempts, parsed.requests, parsed.output_tokens)


def _record(parsed: argparse.Namespace) -> int:
    project = project_of(parsed)
    plans = list(_plans(parsed, project))
    if not plans:
        recorded = f", and no cassette in {project.cassettes} was recorded" if parsed.all else ""
        note(
            f"nothing to record: no case in {', '.join(map(str, project.specs))} names a cassette"
            f" that is missing in {project.cassettes}{recorded}; name other folders with --specs"
            f" and --cassettes; {NEW_CASSETTE}"
        )
        return 0
    spent = Spent()
    done = failed = 0
    for plan in plans:
        try:
            _record_one(plan, project, parsed, spent)
            done += 1
        except NotRecordable as error:
            note(f"{plan.name}: not recordable: {error}")
            failed += bool(parsed.names)  # with --missing or --all, this is not a failure
        except (CassetteError, ReplayError, TranslationError) as error:
            note(f"{plan.name}: {error}")
            _print_notes(error)
            failed += 1
        except KeyboardInterrupt as error:
            counts = f"{done} of {len(plans)} cassettes were recorded"
            note(f"stopped; {counts}, {plan.name} was not changed")
            _print_notes(error)
            return INTERRUPTED
    return REFUSED if failed else 0


def _print_notes(error: BaseException) -> None:
    """Print the path of the crash journal of a failed recording."""
    for place in getattr(error, "__notes__", ()):
        note(place)


def _record_one(
    plan: RecordingPlan, project: Project, parsed: argparse.Namespace, spent: Spent
) -> None:
    path = project.cassette_path(plan.name)
    if not parsed.rewrite:
        _check_place(plan.name, path, project)
    if message := left_behind(path):
        note(message)
    with Bar(plan.name) as bar:
        cassette = record_requests(
            plan.provider,
            plan.asks(),
            path,
            settings=settings_of(parsed),
            limits=limits_of(parsed),
            spent=spent,
            allow_status=parsed.allow_status,
            allow_end=parsed.allow_end,
            allow_incomplete=parsed.allow_incomplete,
            before=_old_exchanges(plan, project),
            progress=bar,
        )
    odd = [
        f"exchange {number} status {status_of(exchange)}"
        for number, exchange in enumerate(cassette.exchanges, 1)
        if status_of(exchange) != 200
    ]
    odd += [
        f"exchange {number} {exchange.end}"
        for number, exchange in enumerate(cassette.exchanges, 1)
        if exchange.end != "complete"
    ]
    odd += [
        f"exchange {number} ends with {printable(reason)}"
        for number, exchange in enumerate(cassette.exchanges, 1)
        for reason in unusual_ends(exchange)
    ]
    facts = [
        f"{plural(len(cassette.exchanges), 'exchange')} of {plan.provider}",
        f"{bar.tokens} output tokens",
        *odd,
    ]
    print(f"recorded {printable(plan.name)}: {', '.join(facts)}", flush=True)


def _check_place(name: str, path: Path, project: Project) -> None:
    """Raise `CassetteError` if the cassette exists and was not recorded, because it can't be
    recorded again.
    """
    if not path.exists():
        return
    way_out = "name another cassette, or overwrite it with --rewrite"
    try:
        kind = project.cassette(name).origin.kind
    except CassetteError as error:
        raise CassetteError(
            f"{error}; a file that can't be read is not overwritten: {way_out}"
        ) from None
    if kind not in ANSWERED:
        origin = "written by hand" if kind == "written" else kind
        raise CassetteError(
            f"{path} was {origin}, and only recorded cassettes are overwritten; {way_out}"
        )


def _old_exchanges(plan: RecordingPlan, project: Project) -> tuple[Exchange, ...]:
    """Return the exchanges that the recording replaces; () if they can't be read."""
    if plan.new or not project.cassette_path(plan.name).exists():
        return ()
    try:
        return project.cassette(plan.name).exchanges
    except CassetteError:
        return ()


class Bar:
    """A progress bar on a terminal. Without a terminal, it prints a line if the run waits long."""

    def __init__(self, name: str) -> None:
        from tqdm import tqdm  # slow to import

        self.requests = 0
        self.tokens = 0
        self._name = name
        self._bar = tqdm(desc=name, unit=" requests", file=sys.stderr, leave=False, disable=None)
        self._last_news, self._waits_for = time.monotonic(), "for request 1"
        self._over = threading.Event()

    def __enter__(self) -> Self:
        if self._bar.disable:
            threading.Thread(target=self._say_still, name="harness-still", daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._bar.close()

    def _say_still(self) -> None:
        while not self._over.wait(STILL_S):
            silent = time.monotonic() - self._last_news
            if silent >= STILL_S:
                note(f"{self._name}: waiting {self._waits_for}, {silent:.0f} s so far")

    def asked(self, requests: int, output_tokens: int) -> None:
        self._last_news, self._waits_for = time.monotonic(), f"for request {requests + 1}"
        self._bar.update(requests - self.requests)
        self.requests, self.tokens = requests, output_tokens
        self._bar.set_postfix_str(f"{output_tokens} tokens")

    def waiting(self, seconds: float, why: str) -> None:
        self._waits_for = (
            f"{seconds:.0f} s because request {self.requests} got {why}, then for request"
            f" {self.requests + 1}"
        )
        self._bar.set_postfix_str(f"{self.tokens} tokens, waiting {seconds:.0f} s: {why}")


def _plans(parsed: argparse.Namespace, project: Project) -> Iterator[RecordingPlan]:
    """Yield the cassettes to record, in the order of the names. Raises `CassetteError` for an
    unknown name.
    """
    if parsed.prompt:
        if len(parsed.names) != 1 or parsed.missing or parsed.all:
            raise CassetteError(
                "--prompt records one cassette: name only that one, such as gemini-api/hello"
            )
        name, prompts = parsed.names[0], parsed.prompt
        provider = parsed.provider or _new_provider(name)
        yield RecordingPlan(
            name,
            provider,
            lambda: ask_prompts(prompts, provider, streamed=not parsed.unary),
            new=True,
        )
        return
    if bool(parsed.names) + parsed.missing + parsed.all != 1:
        raise CassetteError(
            f"name what to record: cases or cassettes, --missing, or --all; {NEW_CASSETTE}"
        )
    sources = read_sources(project, parsed.names)
    wanted = (
        sources.find(parsed.names, parsed.provider)
        if parsed.names
        else _wanted(sources, everything=parsed.all)
    )
    for name, case in wanted.items():
        if parsed.names:
            yield sources.plan(name, case, parsed.provider, streamed=not parsed.unary)
        elif parsed.provider in (None, sources.provider(name, case)):
            yield sources.plan(name, case, streamed=not parsed.unary, named=False)


def _wanted(sources: RecordingSources, *, everything: bool) -> dict[str, Case | None]:
    """Return the missing cassettes; with ``everything`` also the recorded cassettes."""
    project = sources.project
    names = {name for name in sources.cassettes if not project.has_cassette(name)}
    if everything:
        names |= {
            name
            for name in project.cassette_names
            if project.cassette(name).origin.kind in ANSWERED
        }
    return {name: sources.request(name) for name in sorted(names)}


def _new_provider(name: str) -> str:
    """Return the provider of a new cassette, from its folder. Raises `CassetteError` if the folder
    is not the name of a provider.
    """
    folder, slash, _ = name.partition("/")
    if slash and folder not in (*PROVIDERS, ".."):
        raise CassetteError(
            f"{folder} of {name} is not a provider; expected {', '.join(PROVIDERS)}: use one as"
            " the folder, or add --provider"
        )
    return name_provider(name)
