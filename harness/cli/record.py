"""The command ``harness record``: cassettes made by asking a provider what their cases, their own
requests or the command line say.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from harness.cassettes import CassetteError, Exchange
from harness.conformance.configuration import add_folders, project_of
from harness.conformance.project import Project, yaml_files
from harness.pipeline.replay import ReplayError
from harness.providers import PROVIDERS
from harness.specs import Case
from harness.stream.generation import TranslationError
from harness.stream.printable import printable

from .record_plan import (
    Plan,
    RecordingSources,
    find_names,
    name_provider,
    plan_cassette,
    read_spoken,
)

if TYPE_CHECKING:
    from harness.recording.run import Spent
    from harness.recording.settings import Limits, Settings

REFUSED: Final = 1
INTERRUPTED: Final = 130
STILL_S: Final = 15.0
"""So long after the last news a run without a terminal says that it is still there."""
DAY_S: Final = 86_400.0
ANSWERED: Final = ("recorded", "loopback")
"""Origins of cassettes that can be had anew: what somebody wrote or imported can not."""


def add_arguments(one: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    one.add_argument("what", nargs="*", metavar="CASE", help="cases or cassettes, by name")
    one.add_argument(
        "--missing",
        action="store_true",
        help="every cassette that a case names and that does not exist",
    )
    one.add_argument(
        "--all", action="store_true", help="those, and anew every one that was recorded before"
    )
    one.add_argument(
        "--prompt",
        action="append",
        metavar="TEXT",
        help=(
            "ask this, for the cassette CASE (repeatable: the turns of a conversation; default:"
            " what the case or cassette says)"
        ),
    )
    whom = (
        "whom to ask (default: as the case says, else the cassette's folder); with --missing and"
        " --all: only this provider's cassettes"
    )
    one.add_argument("--provider", choices=PROVIDERS, help=whom)
    anew = (
        "record also over a cassette that was written by hand, imported, or can't be read (default:"
        " refuse)"
    )
    one.add_argument("--rewrite", action="store_true", help=anew)
    one.add_argument(
        "--unary", action="store_true", help="ask for the answer in one piece, not as a stream"
    )
    ends = (
        "take answers that end so, before they are whole, too (repeatable; default: as the recorded"
        " cassette ends)"
    )
    one.add_argument(
        "--allow-end", action="append", choices=("cut", "reset", "aborted"), default=[], help=ends
    )
    add_asking(one)
    one.set_defaults(run=_record)


def add_asking(one: argparse.ArgumentParser) -> None:
    """Add what every command has that asks a provider: whom, as whom, where what is asked
    stands.
    """
    one.add_argument(
        "--model",
        metavar="NAME",
        help="the model to ask (default: the prompt's, then HARNESS_MODEL)",
    )
    version = (
        "such as v1beta (default: GOOGLE_GENAI_API_VERSION or CODE_ASSIST_API_VERSION, then the"
        " client's own)"
    )
    one.add_argument("--api-version", metavar="VERSION", help=version)
    server = (
        "the server to ask (default: GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL or"
        " CODE_ASSIST_ENDPOINT, then Google's)"
    )
    one.add_argument("--base-url", type=_base_url, metavar="URL", help=server)
    one.add_argument(
        "--project",
        metavar="ID",
        help="Vertex AI, Code Assist: the project (default: GOOGLE_CLOUD_PROJECT)",
    )
    one.add_argument(
        "--location",
        metavar="NAME",
        help="Vertex AI: the location (default: GOOGLE_CLOUD_LOCATION, then global)",
    )
    one.add_argument(
        "--program",
        default="gemini",
        metavar="COMMAND",
        help="gemini-cli: the program, and arguments of yours (default: gemini)",
    )
    allowed = (
        "take answers of this HTTP status, from 400 on, too (repeatable; default: those that the"
        " recorded cassette has)"
    )
    one.add_argument(
        "--allow-status", action="append", type=int, default=[], metavar="CODE", help=allowed
    )
    silence = (
        "give up an answer that is silent for so long, and a connection (default: 300); a program"
        " after so long in all (default: 600)"
    )
    one.add_argument("--timeout", type=_seconds, metavar="SECONDS", help=silence)
    one.add_argument(
        "--attempts",
        type=read_count,
        default=4,
        metavar="N",
        help="at most N tries of one request (default: 4)",
    )
    asked = "at most N requests in the whole run, tries included (default: 50)"
    one.add_argument("--requests", type=read_count, default=50, metavar="N", help=asked)
    tokens = "at most N output tokens in the whole run, thinking included (default: 50000)"
    one.add_argument("--output-tokens", type=read_count, default=50_000, metavar="N", help=tokens)
    add_folders(one)


def read_count(text: str) -> int:
    """A limit on the command line."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is no limit; it is a number, 1 or more")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number <= DAY_S:
        raise argparse.ArgumentTypeError(
            f"{text} is no time to wait; it is a number of seconds, above 0 and at most {DAY_S:.0f}"
        )
    return number


def _base_url(text: str) -> str:
    from harness.recording.endpoints import find_fault

    if fault := find_fault(text):
        raise argparse.ArgumentTypeError(fault)
    return text


def settings_of(parsed: argparse.Namespace) -> Settings:
    """Where and as whom the options of `add_asking` ask."""
    import shlex

    from harness.recording.settings import Settings

    return Settings(
        model=parsed.model,
        api_version=parsed.api_version,
        base_url=parsed.base_url,
        project=parsed.project,
        location=parsed.location,
        program=tuple(shlex.split(parsed.program)),
        timeout_s=parsed.timeout,
    )


def limits_of(parsed: argparse.Namespace) -> Limits:
    """What a run may cost by the options of `add_asking`."""
    from harness.recording.settings import Limits

    return Limits(parsed.attempts, parsed.requests, parsed.output_tokens)


def _record(parsed: argparse.Namespace) -> int:
    from harness.recording.asks import NotRecordable
    from harness.recording.run import Spent

    project = project_of(parsed)
    plans = list(_plans(parsed, project))
    if not plans:
        print("harness: nothing to record", file=sys.stderr)
        return 0
    spent = Spent()
    done = failed = 0
    for plan in plans:
        try:
            _record_one(plan, project, parsed, spent)
            done += 1
        except NotRecordable as error:
            print(printable(f"harness: {plan.name}: not recordable: {error}"), file=sys.stderr)
            failed += bool(parsed.what)  # nobody has asked for this one
        except (CassetteError, ReplayError, TranslationError) as error:
            print(printable(f"harness: {plan.name}: {error}"), file=sys.stderr)
            failed += 1
        except KeyboardInterrupt:
            stopped = (
                f"stopped; {done} of {len(plans)} cassettes are recorded, {plan.name} is as it was"
            )
            print(printable(f"harness: {stopped}"), file=sys.stderr)
            return INTERRUPTED
    return REFUSED if failed else 0


def _record_one(plan: Plan, project: Project, parsed: argparse.Namespace, spent: Spent) -> None:
    from harness.recording.journal_writer import left_behind
    from harness.recording.policy import status_of
    from harness.recording.run import record_requests

    path = project.cassette_path(plan.name)
    if not parsed.rewrite:
        _check_place(plan.name, path, project)
    if left := left_behind(path):
        print(printable(f"harness: {left}"), file=sys.stderr)
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
            before=_anew(plan, project),
            progress=bar,
        )
    count = len(cassette.exchanges)
    odd = [
        f"exchange {number} status {status_of(one)}"
        for number, one in enumerate(cassette.exchanges, 1)
        if status_of(one) != 200
    ]
    odd += [
        f"exchange {number} {one.end}"
        for number, one in enumerate(cassette.exchanges, 1)
        if one.end != "complete"
    ]
    told = [
        f"{count} exchange{'' if count == 1 else 's'} of {plan.provider}",
        f"{bar.tokens} output tokens",
        *odd,
    ]
    print(f"recorded {printable(plan.name)}: {', '.join(told)}")


def _check_place(name: str, path: Path, project: Project) -> None:
    """Raises `CassetteError` where a cassette stands that no provider answered: it can't be had
    again.
    """
    if not path.exists():
        return
    way_out = "name another cassette, or record over it with --rewrite"
    try:
        kind = project.cassette(name).origin.kind
    except CassetteError as error:
        raise CassetteError(
            f"{error}; nothing is recorded over what can't be read: {way_out}"
        ) from None
    if kind not in ANSWERED:
        made = "written by hand" if kind == "written" else kind
        raise CassetteError(
            f"{path} was {made}, and only what a provider answered is recorded over; {way_out}"
        )


def _anew(plan: Plan, project: Project) -> tuple[Exchange, ...]:
    """The exchanges that are asked for anew; none if there are none that can be read."""
    if not plan.anew or not project.cassette_path(plan.name).exists():
        return ()
    try:
        return project.cassette(plan.name).exchanges
    except CassetteError:
        return ()


class Bar:
    """How far a recording is, on a terminal; elsewhere nothing is drawn, and a line says now and
    then that it still waits.
    """

    def __init__(self, name: str) -> None:
        from harness.recording.settings import MissingLibrary

        try:
            from tqdm import tqdm
        except ImportError:
            raise MissingLibrary(
                "tqdm is not installed; pip install 'gemini-conformance[record]'"
            ) from None
        self.requests = 0
        self.tokens = 0
        self._name = name
        self._bar = tqdm(desc=name, unit=" requests", file=sys.stderr, leave=False, disable=None)
        self._news, self._what = time.monotonic(), "for request 1"
        self._over = threading.Event()

    def __enter__(self) -> Self:
        if self._bar.disable:
            threading.Thread(target=self._say_still, name="harness-still", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._bar.close()

    def _say_still(self) -> None:
        while not self._over.wait(STILL_S):
            silent = time.monotonic() - self._news
            if silent >= STILL_S:
                print(
                    printable(
                        f"harness: {self._name}: waiting {self._what}, {silent:.0f} s so far"
                    ),
                    file=sys.stderr,
                    flush=True,
                )

    def asked(self, requests: int, output_tokens: int) -> None:
        self._news, self._what = time.monotonic(), f"for request {requests + 1}"
        self._bar.update(requests - self.requests)
        self.requests, self.tokens = requests, output_tokens
        self._bar.set_postfix_str(f"{output_tokens} tokens")

    def waiting(self, seconds: float, why: str) -> None:
        self._what = (
            f"{seconds:.0f} s after {why} to request {self.requests}, then for request"
            f" {self.requests + 1}"
        )
        self._bar.set_postfix_str(f"{self.tokens} tokens, waiting {seconds:.0f} s: {why}")


def _plans(parsed: argparse.Namespace, project: Project) -> Iterator[Plan]:
    """What to record, in the order of the names; raises `CassetteError` for names of nothing."""
    from harness.recording.asks import ask_prompts

    if parsed.prompt:
        if len(parsed.what) != 1 or parsed.missing or parsed.all:
            raise CassetteError(
                "--prompt is recorded as one cassette: name it, such as gemini-api/hello, and"
                " nothing else"
            )
        name, prompts = parsed.what[0], parsed.prompt
        provider = parsed.provider or _asked_provider(name)
        yield Plan(
            name,
            provider,
            lambda: ask_prompts(prompts, provider, streamed=not parsed.unary),
            anew=False,
        )
        return
    if bool(parsed.what) + parsed.missing + parsed.all != 1:
        raise CassetteError("say what to record: names of cases or cassettes, --missing, or --all")
    spoken = read_spoken(project)
    found = (
        find_names(parsed.what, spoken, project, parsed.provider)
        if parsed.what
        else _wanted(spoken, project, everything=parsed.all)
    )
    for name, case in found.items():
        provider = spoken.provider(name, case)
        if parsed.what:
            yield plan_cassette(
                name, parsed.provider or provider, case, spoken, project, streamed=not parsed.unary
            )
        elif parsed.provider in (None, provider):
            yield plan_cassette(
                name, provider, case, spoken, project, streamed=not parsed.unary, named=False
            )


def _wanted(
    spoken: RecordingSources, project: Project, *, everything: bool
) -> dict[str, Case | None]:
    """Cassettes that are missing; with ``everything`` also those that a provider answered before.
    What was written by hand stays.
    """
    names = {name for name in spoken.cassettes if not project.cassette_path(name).exists()}
    if everything:
        for file in yaml_files(project.cassettes):
            name = file.relative_to(project.cassettes).with_suffix("").as_posix()
            if project.cassette(name).origin.kind in ANSWERED:
                names.add(name)
    return {name: spoken.request(name) for name in sorted(names)}


def _asked_provider(name: str) -> str:
    """`name_provider` for a cassette that nobody has asked for yet; raises `CassetteError` for a
    folder that is no provider.
    """
    folder, slash, _ = name.partition("/")
    if slash and folder not in (*PROVIDERS, ".."):
        raise CassetteError(
            f"{folder} of {name} is no provider; known are {', '.join(PROVIDERS)}: name the folder"
            " so, or say --provider"
        )
    return name_provider(name)
