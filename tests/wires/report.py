"""Compares the gaps of the installed SDKs with those that are accepted, and writes the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from harness.cassettes.yaml import parse

from .probe import Gap, gaps
from .sources import Source

ACCEPTED = Path(__file__).with_name("accepted.yaml")
"""The lock file: provider → outcome → reason → labels. ``*`` is any text."""

Lock = Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]


@dataclass
class Report:
    """``versions``: the SDKs that were read; ``missing``: those that are not installed. ``fed``: the
    number of samples. ``new``: the gaps that are not accepted. ``stale``: the accepted gaps
    (provider, outcome, label) that are no gaps any more.
    """

    versions: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    fed: int = 0
    accepted: int = 0
    new: list[Gap] = field(default_factory=list)
    stale: list[tuple[str, str, str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The report as text: the versions, then one line for each gap that is not accepted."""
        header = f"{self.fed} samples from {', '.join(self.versions) or 'no SDK'}"
        rows = [f"{gap.source}: {gap.label}: {gap.outcome}" for gap in self.new]
        rows += [
            f"{provider}: {label}: no longer {outcome}; remove it from {ACCEPTED.name}"
            for provider, outcome, label in self.stale
        ]
        missing = [f"not installed: {name}" for name in self.missing]
        last = f"{len(self.new)} new, {len(self.stale)} stale, {self.accepted} accepted"
        return [header, *missing, *rows, last]


def compare(sources: Sequence[Source], lock: Lock) -> Report:
    """The report on some SDKs. One that is not installed is skipped."""
    report = Report()
    accepted = {
        (provider, outcome, label)
        for provider, outcomes in lock.items()
        for outcome, reasons in outcomes.items()
        for labels in reasons.values()
        for label in labels
    }
    fed: set[tuple[str, str]] = set()
    used: set[tuple[str, str, str]] = set()
    for source in sources:
        version = source.version()
        if version is None:
            report.missing.append(source.name)
            continue
        report.versions += [version] if version not in report.versions else []
        gaps_of_source, labels = gaps(source)
        report.fed += len(labels)
        fed |= {(source.provider, label) for label in labels}
        for gap in gaps_of_source:
            here = {
                (provider, outcome, label)
                for provider, outcome, label in accepted
                if (provider, outcome) == (source.provider, gap.outcome)
                and fnmatchcase(gap.label, label)
            }
            used |= here
            if here:
                report.accepted += 1
            else:
                report.new.append(gap)
    report.stale = sorted(
        (provider, outcome, label)
        for provider, outcome, label in accepted - used
        if any(provider == of and fnmatchcase(name, label) for of, name in fed)
    )
    return report


def read_lock(path: Path = ACCEPTED) -> Lock:
    """The accepted gaps. Raises `YamlError` for a damaged file."""
    lock: Lock = parse(path.read_bytes())
    return lock
