"""The command ``harness drift``: asks for recorded cassettes anew, beside them, and says how the
shape of the answers has changed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from harness.cassettes import Cassette, CassetteError
from harness.conformance.configuration import project_of
from harness.conformance.project import Project, yaml_files
from harness.pipeline.replay import ReplayError
from harness.providers import PROVIDERS, detect_provider
from harness.recording.drift import SEVERITIES, Drift, compare_cassettes
from harness.stream.generation import TranslationError
from harness.stream.printable import printable

from .record import INTERRUPTED, Bar, add_asking, limits_of, settings_of
from .record_plan import Plan, find_names, plan_cassette, read_spoken

if TYPE_CHECKING:
    from harness.recording.run import Spent

NOTABLE: Final = 1
BREAKING: Final = 3
NOT_ASKED: Final = 4
"""Exit statuses; 2 is bad usage, as everywhere."""


def add_arguments(one: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    one.add_argument(
        "what",
        nargs="*",
        metavar="CASE",
        help="cases or cassettes by name (default: every cassette that was recorded)",
    )
    one.add_argument(
        "--provider", choices=PROVIDERS, help="only cassettes of this provider (default: of all)"
    )
    add_asking(one)
    one.set_defaults(run=_drift)


def _drift(parsed: argparse.Namespace) -> int:
    from harness.recording.policy import RecordingRefused
    from harness.recording.run import Spent

    project = project_of(parsed)
    plans = list(_plans(parsed, project))
    if not plans:
        print(
            "harness: nothing was recorded from a provider, so nothing can have drifted",
            file=sys.stderr,
        )
        return 0
    spent = Spent()
    found: Counter[str] = Counter()
    failed = 0
    for plan in plans:
        try:
            drifts = _compare(plan, project, parsed, spent)
        except (CassetteError, ReplayError, TranslationError) as error:
            told = str(error)
            if isinstance(error, RecordingRefused) and error.quoted:
                told = told.replace(f": {error.quoted}", "")  # the provider's words are a body
            print(printable(f"harness: {plan.name}: {told}"), file=sys.stderr)
            failed += 1
        except KeyboardInterrupt:
            print(printable(f"harness: stopped at {plan.name}"), file=sys.stderr)
            return INTERRUPTED
        else:
            found.update(one.severity for one in drifts)
            _tell(plan.name, drifts)
    counted = ", ".join(f"{found[severity]} {severity}" for severity in SEVERITIES)
    print(f"{len(plans) - failed} of {len(plans)} cassettes compared: {counted}")
    return (
        BREAKING
        if found["breaking"]
        else NOT_ASKED
        if failed
        else NOTABLE
        if found["notable"]
        else 0
    )


def _compare(plan: Plan, project: Project, parsed: argparse.Namespace, spent: Spent) -> list[Drift]:
    """Record anew into a folder that goes away: beside the cassettes, so that the project's rules
    for secrets hold there too.
    """
    from harness.recording.run import record_requests

    recorded = project.cassette(plan.name)
    allowed = {*parsed.allow_status, *_errors(recorded)}
    here = project.cassettes.parent
    with (
        TemporaryDirectory(prefix=".harness-drift-", dir=here) as folder,
        Bar(plan.name) as bar,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # a client's warning may quote the answer
        now = record_requests(
            plan.provider,
            plan.asks(),
            Path(folder, "now.yaml"),
            settings=settings_of(parsed),
            limits=limits_of(parsed),
            spent=spent,
            allow_status=allowed,
            allow_end={
                "cut",
                "reset",
                *(exchange.end for exchange in recorded.exchanges),
            },  # to break off is another shape
            before=None,
            progress=bar,
        )
    return compare_cassettes(recorded, now)


def _errors(cassette: Cassette) -> Iterator[int]:
    """The statuses and codes of the errors that the cassette is about: to get one again is no bad
    moment.
    """
    from harness.recording.policy import errors_of, status_of

    for exchange in cassette.exchanges:
        yield status_of(exchange)
        yield from (error["code"] for error in errors_of(exchange) if error.get("code"))


def _tell(name: str, drifts: list[Drift]) -> None:
    if not drifts:
        print(f"{name}: no drift")
        return
    print(f"{name}:")
    for one in drifts:
        print(
            f"  {one.severity:<8}  exchange {one.exchange}  {printable(one.path)}:"
            f" {printable(one.says)}  [{one.feature}]"
        )


def _plans(parsed: argparse.Namespace, project: Project) -> Iterator[Plan]:
    """What to ask anew; raises `CassetteError` for names of nothing."""
    spoken = read_spoken(project)
    found = (
        find_names(parsed.what, spoken, project, parsed.provider)
        if parsed.what
        else dict.fromkeys(_recorded(project))
    )
    for name, case in found.items():
        cassette = project.cassette(name)
        provider = spoken.provider(name, case)
        if parsed.provider in (None, provider):
            yield plan_cassette(name, provider, case, spoken, project, streamed=_streamed(cassette))


def _recorded(project: Project) -> Iterator[str]:
    """The cassettes that hold what a provider answered and what it was asked."""
    for file in yaml_files(project.cassettes):
        name = file.relative_to(project.cassettes).with_suffix("").as_posix()
        cassette = project.cassette(name)
        if cassette.origin.kind in ("recorded", "loopback") and all(
            exchange.request for exchange in cassette.exchanges
        ):
            yield name


def _streamed(cassette: Cassette) -> bool:
    request = cassette.exchanges[0].request if cassette.exchanges else None
    return (
        request is None or detect_provider(request.method, request.url, request.body, b"").streamed
    )
