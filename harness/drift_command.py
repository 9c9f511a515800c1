"""The command ``harness drift``: asks for recorded cassettes anew, beside them, and says how the shape of the answers has changed."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from .asking import TranslationError
from .cassette import Cassette, CassetteError
from .drifting import SEVERITIES, Drift, compare_cassettes
from .matching import visible
from .project import Project, yaml_files
from .providers import PROVIDERS, identify
from .record_command import (
    INTERRUPTED,
    Bar,
    Plan,
    add_asking,
    find_conversations,
    find_names,
    name_provider,
    plan_cassette,
    read_count,
    settings_of,
)
from .replaying import ReplayError, replay

if TYPE_CHECKING:
    from .recording.engine import Ask, Limits

NOTABLE: Final = 1
BREAKING: Final = 3
NOT_ASKED: Final = 4
"""Exit statuses; 2 is bad usage, as everywhere."""


def add_to(commands: Any) -> None:
    """Add the command to the subparsers of ``harness``."""
    one = commands.add_parser("drift", help="ask a live provider anew and compare the shape of its answers with the recorded ones")
    one.add_argument("what", nargs="*", metavar="CASE", help="cases or cassettes by name (default: every cassette that was recorded)")
    one.add_argument("--provider", choices=PROVIDERS, help="only cassettes of this provider")
    add_asking(one)
    one.add_argument("--requests", type=read_count, default=50, metavar="N", help="requests of the whole run, tries included (default: 50)")
    one.add_argument("--output-tokens", type=read_count, default=50_000, metavar="N", help="tokens of the whole run (default: 50000)")
    one.set_defaults(run=_drift)


class Budget:
    """What the run may still cost: cassette after cassette draws on it."""

    def __init__(self, attempts: int, requests: int, output_tokens: int) -> None:
        self.attempts = attempts
        self.requests = requests
        self.output_tokens = output_tokens

    def limits(self) -> Limits:
        """The limits of the next cassette; raises `CassetteError` if nothing is left."""
        from .recording.engine import Limits

        if self.requests < 1 or self.output_tokens < 1:
            raise CassetteError("not asked: the budget of this run is used up; raise --requests or --output-tokens, or name less")
        return Limits(self.attempts, self.requests, self.output_tokens)

    def take(self, bar: Bar) -> None:
        """What a recording has cost is gone, whether it was kept or not."""
        self.requests -= bar.requests
        self.output_tokens -= bar.tokens


def _drift(parsed: argparse.Namespace) -> int:
    from .recording.refusing import RecordingRefused

    project = Project([parsed.specs], parsed.cassettes)
    plans = list(_plans(parsed, project))
    if not plans:
        print("harness: nothing was recorded from a provider, so nothing can have drifted", file=sys.stderr)
        return 0
    budget = Budget(parsed.attempts, parsed.requests, parsed.output_tokens)
    found: Counter[str] = Counter()
    failed = 0
    for plan in plans:
        try:
            drifts = _compare(plan, project, parsed, budget)
        except (CassetteError, ReplayError, TranslationError) as error:
            told = str(error)
            if isinstance(error, RecordingRefused) and error.said:
                told = told.replace(f": {error.said}", "")  # the provider's words are a body
            print(visible(f"harness: {plan.name}: {told}"), file=sys.stderr)
            failed += 1
        except KeyboardInterrupt:
            print(visible(f"harness: stopped at {plan.name}"), file=sys.stderr)
            return INTERRUPTED
        else:
            found.update(one.severity for one in drifts)
            _tell(plan.name, drifts)
    counted = ", ".join(f"{found[severity]} {severity}" for severity in SEVERITIES)
    print(f"{len(plans) - failed} of {len(plans)} cassettes compared: {counted}")
    return BREAKING if found["breaking"] else NOT_ASKED if failed else NOTABLE if found["notable"] else 0


def _compare(plan: Plan, project: Project, parsed: argparse.Namespace, budget: Budget) -> list[Drift]:
    """Record anew into a folder that goes away: beside the cassettes, so that the project's rules for secrets hold there too."""
    from .recording.engine import record_requests

    recorded = project.cassette(plan.name)
    allowed = {*parsed.allow_status, *_errors(recorded)}
    with TemporaryDirectory(prefix=".harness-drift-", dir=project.cassettes.parent) as folder, Bar(plan.name) as bar:
        try:
            with warnings.catch_warnings(action="ignore"):  # a client's warning may quote the answer
                now = record_requests(
                    plan.provider,
                    plan.asks(),
                    Path(folder, "now.yaml"),
                    settings=settings_of(parsed),
                    limits=budget.limits(),
                    allow_status=allowed,
                    before=None,
                    progress=bar,
                )
        finally:
            budget.take(bar)
    return compare_cassettes(recorded, now)


def _errors(cassette: Cassette) -> Iterator[int]:
    """The statuses and codes of the errors that the cassette is about: to get one again is no bad moment."""
    from .recording.refusing import errors_of

    for exchange in cassette.exchanges:
        if exchange.status >= 400:
            yield exchange.status
        yield from (error["code"] for error in errors_of(exchange) if error.get("code"))


def _tell(name: str, drifts: list[Drift]) -> None:
    if not drifts:
        print(f"{name}: no drift")
        return
    print(f"{name}:")
    for one in drifts:
        print(f"  {one.severity:<8}  exchange {one.exchange}  {visible(one.path)}: {visible(one.says)}  [{one.feature}]")


def _plans(parsed: argparse.Namespace, project: Project) -> Iterator[Plan]:
    """What to ask anew; raises `CassetteError` for names of nothing."""
    spoken = find_conversations(project)
    for name in find_names(parsed.what, spoken, project) if parsed.what else _recorded(project):
        cassette = project.cassette(name)
        cases = spoken.get(name, [])
        provider = next((case.provider for case in cases if case.provider), None) or name_provider(name)
        if parsed.provider not in (None, provider):
            continue
        if provider == "gemini-cli":
            yield Plan(name, provider, _asks_runs(cassette, name))
        else:
            yield plan_cassette(name, provider, cases, project, streamed=_streamed(cassette))


def _recorded(project: Project) -> Iterator[str]:
    """The cassettes that hold what a provider answered and what it was asked."""
    for file in yaml_files(project.cassettes):
        name = file.relative_to(project.cassettes).with_suffix("").as_posix()
        cassette = project.cassette(name)
        if cassette.origin.kind in ("recorded", "loopback") and all(exchange.request for exchange in cassette.exchanges):
            yield name


def _streamed(cassette: Cassette) -> bool:
    request = cassette.exchanges[0].request if cassette.exchanges else None
    return request is None or identify(request.method, request.url, request.body, b"").streamed


def _asks_runs(cassette: Cassette, name: str) -> Callable[[], list[Ask]]:
    """The prompts that the Gemini CLI said it was given, each run again."""

    def asks() -> list[Ask]:
        from .recording.engine import Ask

        prompts = []
        for number, exchange in enumerate(cassette.exchanges, 1):
            events = replay(exchange, provider="gemini-cli", layer="events")
            said = next((event["raw"].get("content") for event in events if event.get("name") == "echo"), None)
            if not isinstance(said, str):
                raise CassetteError(f"run {number} of {name} does not say what it was asked; only stream-json does")
            model = next((event.get("model") for event in events if event["kind"] == "start"), None)
            prompts.append(Ask({"prompt": said}, model))
        return prompts

    return asks
