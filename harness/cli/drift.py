"""The command ``harness drift``: records cassettes again without replacing the old ones, and prints
how the shape of the answers has changed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.cassettes import Cassette, CassetteError
from harness.pipeline.replay import ReplayError
from harness.project.configuration import project_of
from harness.project.project import Project
from harness.providers import PROVIDERS
from harness.recording.drift import SEVERITIES, Drift, compare_cassettes
from harness.recording.policy import RecordingRefused, errors_of, status_of
from harness.recording.run import Spent, record_requests
from harness.stream.generation import TranslationError
from harness.stream.printable import printable

from .output import INTERRUPTED, note
from .record import ANSWERED, NEW_CASSETTE, Bar, add_asking, limits_of, settings_of
from .record_plan import RecordingPlan, read_sources

NOTABLE: Final = 1
BREAKING: Final = 3
NOT_ASKED: Final = 4
"""The exit statuses. 2 is bad usage, as in all commands."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="CASE",
        help="cases or cassettes by name (default: every cassette that was recorded)",
    )
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        help="only cassettes of this provider (default: all providers)",
    )
    add_asking(parser)
    parser.set_defaults(run=_drift)


def _drift(parsed: argparse.Namespace) -> int:
    project = project_of(parsed)
    plans = list(_plans(parsed, project))
    if not plans:
        note(
            f"nothing to compare: no cassette in {project.cassettes} was recorded from"
            f" {parsed.provider or 'a provider'}; name another folder with --cassettes;"
            f" {NEW_CASSETTE}"
        )
        return 0
    spent = Spent()
    counts: Counter[str] = Counter()
    failed = 0
    for plan in plans:
        try:
            drifts = _compare(plan, project, parsed, spent)
        except (CassetteError, ReplayError, TranslationError) as error:
            message = str(error)
            if isinstance(error, RecordingRefused) and error.quoted:
                # The provider's message is text of an answer. Drift never prints such text.
                message = message.replace(f": {error.quoted}", "")
            note(f"{plan.name}: {message}")
            failed += 1
        except KeyboardInterrupt:
            note(f"stopped at {plan.name}")
            return INTERRUPTED
        else:
            counts.update(drift.severity for drift in drifts)
            _print(plan.name, drifts)
            sys.stdout.flush()
    counted = ", ".join(f"{counts[severity]} {severity}" for severity in SEVERITIES)
    print(f"{len(plans) - failed} of {len(plans)} cassettes compared: {counted}")
    return (
        BREAKING
        if counts["breaking"]
        else NOT_ASKED
        if failed
        else NOTABLE
        if counts["notable"]
        else 0
    )


def _compare(
    plan: RecordingPlan, project: Project, parsed: argparse.Namespace, spent: Spent
) -> list[Drift]:
    """Record into a temporary folder and compare. The folder is beside the cassettes, so that the
    project's redaction rules apply.
    """
    recorded = project.cassette(plan.name)
    allowed = {*parsed.allow_status, *_errors(recorded)}
    here = project.cassettes.parent
    with (
        TemporaryDirectory(prefix=".harness-drift-", dir=here) as folder,
        Bar(plan.name) as bar,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # a client's warning may contain the answer
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
            },  # an incomplete answer is a difference to report
            before=None,
            progress=bar,
        )
    return compare_cassettes(recorded, now)


def _errors(cassette: Cassette) -> Iterator[int]:
    """Yield the statuses and codes of the recorded errors, which may occur again."""
    for exchange in cassette.exchanges:
        yield status_of(exchange)
        yield from (error["code"] for error in errors_of(exchange) if error.get("code"))


def _print(name: str, drifts: list[Drift]) -> None:
    if not drifts:
        print(f"{name}: no drift")
        return
    print(f"{name}:")
    for drift in drifts:
        print(
            f"  {drift.severity:<8}  exchange {drift.exchange}  {printable(drift.path)}:"
            f" {printable(drift.difference)}  [{drift.feature}]"
        )


def _plans(parsed: argparse.Namespace, project: Project) -> Iterator[RecordingPlan]:
    """Yield the cassettes to record again. Raises `CassetteError` for unknown names."""
    sources = read_sources(project, parsed.names)
    wanted = (
        sources.find(parsed.names, parsed.provider)
        if parsed.names
        else dict.fromkeys(_recorded(project))
    )
    for name, case in wanted.items():
        first = project.cassette(name).exchanges[:1]
        streamed = all(exchange.streamed is not False for exchange in first)
        if parsed.provider in (None, sources.provider(name, case)):
            yield sources.plan(name, case, streamed=streamed)


def _recorded(project: Project) -> Iterator[str]:
    """Yield the recorded cassettes in which all exchanges have requests."""
    for name in project.cassette_names:
        cassette = project.cassette(name)
        if cassette.origin.kind in ANSWERED and all(
            exchange.request for exchange in cassette.exchanges
        ):
            yield name
