"""The command ``harness compare``, which prints the differences between two runs or two sweeps."""

from __future__ import annotations

import argparse
import shlex
from glob import has_magic
from pathlib import Path
from typing import Final

from harness.report import ReportError, compare_runs
from harness.report.compare import changes_text, refuse_strangers
from harness.report.files import read_run
from harness.stream.printable import printable
from harness.sweep.diff import SweepDifferences, compare_sweeps
from harness.sweep.files import is_url

WORSE: Final = 1
"""The exit status if the later run is worse than the earlier one, or if a run is not whole."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, time in (("base", "earlier"), ("head", "later")):
        parser.add_argument(
            name,
            metavar=name.upper(),
            help=f"results.json of the {time} run, or the output of the {time} sweep: a folder, a"
            " file of Parquet, a glob or a URL",
        )
    parser.add_argument(
        "--allow-gone", action="store_true", help="exit with status 0 even if a cell is gone"
    )
    parser.set_defaults(run=_compare)


def _compare(parsed: argparse.Namespace) -> int:
    base, head = parsed.base, parsed.head
    if _is_sweep(base) != _is_sweep(head):
        sweep, run = (base, head) if _is_sweep(base) else (head, base)
        raise ReportError(
            f"compare: {sweep} is the output of a sweep, and {run} is not; name two sweeps, or the"
            " results.json of two runs"
        )
    if _is_sweep(base):
        return _compare_sweeps(base, head)
    return _compare_runs(Path(base), Path(head), allow_gone=parsed.allow_gone)


def _is_sweep(text: str) -> bool:
    """Whether an argument names the output of a sweep, and not the results of a run."""
    path = Path(text)
    if path.is_dir():
        return any(path.glob("*.parquet"))
    is_pattern = has_magic(text) and not path.exists()
    return text.endswith(".parquet") or is_url(text) or is_pattern


def _compare_runs(base: Path, head: Path, *, allow_gone: bool) -> int:
    named_runs = [(path, read_run(path)) for path in (base, head)]
    runs = [run for _, run in named_runs]
    refuse_strangers(*runs)
    changes = compare_runs(*runs)
    print(changes_text(changes, {}), end="")
    partial = [(path, run) for path, run in named_runs if not run.plan.is_whole]
    for path, run in partial:
        print(printable(f"{path}: {run.plan.sentence}"))
    gone = any(change.kind == "gone" for change in changes) and not allow_gone
    return WORSE if gone or partial or any(change.red for change in changes) else 0


def _compare_sweeps(base: str, head: str) -> int:
    differences = compare_sweeps(base, head)
    for line in _lines(differences):
        print(printable(line))
    return WORSE if differences.worse else 0


def _lines(differences: SweepDifferences) -> list[str]:
    lines = [
        f"{differences.both:,} streams in both, {differences.only_a:,} only in BASE,"
        f" {differences.only_b:,} only in HEAD; {differences.mended:,} failed in BASE and passed in"
        " HEAD"
    ]
    for loss in differences.losses:
        place = " ".join(filter(None, (loss.provider, loss.model)))
        lines.append(f"{loss.aspect} {loss.verdict} of {loss.rows:,} streams ({place})")
        for example in loss.examples:
            lines.append(f"  {example.id}: {example.sentence}")
            lines.append(f"  harness replay {shlex.quote(example.source)}")
    if differences.new_errors:
        lines.append(f"{differences.new_errors:,} streams that only BASE could judge")
        lines += [f"  {error.id}: {error.sentence}" for error in differences.errors]
    return lines
