"""The command ``harness sweep``, for millions of captured streams."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from glob import has_magic
from pathlib import Path
from typing import Any

from tqdm import tqdm

from harness.adapters.named import TIMEOUT_S
from harness.cassettes.redaction.masked_output import masked_output
from harness.cassettes.redaction.secrets import mask
from harness.dialects import DEFAULT_DIALECT
from harness.judging.laws import LAWS
from harness.judging.rows import VERDICTS
from harness.project.configuration import adapters_of
from harness.project.recordings import find_path
from harness.report.sweep_page import PAGE, most_frequent, sweep_page
from harness.stream.printable import plural, printable
from harness.sweep.contract import Settings, Target
from harness.sweep.engines import Engine, Report, RunPart, engine_named
from harness.sweep.files import Folder, is_url
from harness.sweep.parts import InputPart
from harness.sweep.run import Sweep, plan_sweep, run_sweep
from harness.sweep.stream import SweepError
from harness.sweep.summary import Summary

from .arguments import read_count, read_seconds
from .judge import NOTHING, RED, declared_of
from .named_adapter import Losses, losses_for, open_adapter
from .output import INTERRUPTED, note


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "The same command continues a sweep that was stopped."
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help=(
            "captured streams: Parquet or JSON lines with the columns of docs/scale.md, recordings"
            " in any known format or names of cassettes, folders, globs, or URLs of these"
        ),
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="the folder for the verdicts, or its URL (required)",
    )
    target = "a dialect, a name of harness_adapters, or a target of harness judge"
    parser.add_argument(
        "--adapter",
        default=DEFAULT_DIALECT,
        metavar="A",
        help=f"the adapter to judge: {target} (default: %(default)s)",
    )
    parser.add_argument(
        "--against",
        metavar="B",
        help="a baseline: only facts that it keeps and A does not keep are red (default: none)",
    )
    parser.add_argument(
        "--engine",
        default="dask",
        metavar="ENGINE",
        help=(
            "dask: processes of this machine; dask:ADDRESS: the cluster of a Dask scheduler"
            " (default: %(default)s)"
        ),
    )
    parser.add_argument(
        "--jobs",
        type=read_count,
        metavar="N",
        help="the number of processes on this machine (default: one per CPU)",
    )
    parser.add_argument(
        "--law",
        type=int,
        action="append",
        default=[],
        choices=[law.id for law in LAWS],
        metavar="N",
        help="also test this law on each stream, which takes more time (repeatable; default: none)",
    )
    parser.add_argument(
        "--losses",
        action="append",
        default=[],
        metavar="LOSSES",
        help="declared losses, as for harness judge (repeatable; default: harness_losses)",
    )
    parser.add_argument(
        "--timeout",
        type=read_seconds,
        default=TIMEOUT_S,
        metavar="S",
        help=f"seconds for one stream (default: {TIMEOUT_S:g})",
    )
    parser.set_defaults(run=_sweep)


def _sweep(parsed: argparse.Namespace) -> int:
    engine = engine_named(parsed.engine, parsed.jobs)
    declared = declared_of(parsed.losses)
    settings = Settings(
        _target(parsed.adapter, declared, parsed.timeout),
        _target(parsed.against, declared, parsed.timeout) if parsed.against else None,
        str(Path.cwd()),
        parsed.timeout,
        tuple(sorted(set(parsed.law))),
    )
    sweep = plan_sweep(list(map(_path_of, parsed.inputs)), settings, Folder(parsed.output))
    with _progress(sweep) as bar:
        try:
            summary = run_sweep(sweep, partial(_masked, engine), partial(_count, bar))
        except KeyboardInterrupt:
            note(
                f"interrupted; run the same command to continue; {parsed.output} has the finished"
                " parts"
            )
            return INTERRUPTED
    if not summary.rows:
        raise SweepError(f"{', '.join(parsed.inputs)}: there is no stream; nothing was judged")
    page = sweep_page(summary, settings, parsed.inputs)
    sweep.folder.write(PAGE, mask().text(page).encode())
    for line in _lines(summary, settings):
        print(printable(line))
    files = "1 file" if len(sweep.parts) == 1 else f"{len(sweep.parts):,} files"
    note(f"{files} of verdicts, and {sweep.folder.at(PAGE)}")
    if not summary.red and not summary.compared:
        note("nothing was compared: no stream has a fact that could be judged")
        return NOTHING
    return RED if summary.red else 0


def _masked(engine: Engine, run_part: RunPart, parts: Sequence[InputPart], report: Report) -> None:
    """Yield the engine, with the output of adapters masked in its processes as in this process."""
    engine(partial(_run_masked, run_part), parts, report)


def _run_masked(run_part: RunPart, part: InputPart) -> Summary:
    with masked_output():
        return run_part(part)


def _path_of(argument: str) -> str:
    """Return the path, glob or URL of an argument. The argument may be the name of a cassette.
    Raises `FileNotFoundError`.
    """
    is_place = is_url(argument) or has_magic(argument) or Path(argument).exists()
    return argument if is_place else str(find_path(argument))


def _progress(sweep: Sweep) -> Any:
    """Return a progress bar with the streams per second and the remaining time."""
    return tqdm(
        total=sum(part.rows for part in sweep.parts),
        unit=" streams",
        file=sys.stderr,
        leave=False,
        disable=None,
        smoothing=0.05,
        miniters=1,  # a part takes long, so each is shown
        mininterval=0,
    )


def _count(bar: Any, part: InputPart, now: bool) -> None:
    """Count a part. A part that was already finished does not change the rate."""
    if now:
        bar.update(part.rows)
    else:
        bar.total -= part.rows
        bar.refresh()


def _target(text: str, declared: Losses, timeout: float) -> Target:
    """Return the target of an argument, from which every process can make the adapter. Raises
    `AdapterError`.
    """
    adapter = open_adapter(text, {}, timeout=timeout)
    try:
        version = adapter.version()
    finally:
        adapter.close()
    losses = ", ".join(map(str, losses_for(adapter.name, declared)))
    return Target(str(adapters_of().get(text, text)), adapter.name, version, losses)


def _lines(summary: Summary, settings: Settings) -> list[str]:
    """Return the lines that show the result of a sweep."""
    counts = ", ".join(
        words.counted(summary.verdicts[verdict])
        for verdict, words in sorted(VERDICTS.items(), key=lambda item: item[0] != "passed")
        if verdict in summary.verdicts
    )
    lines = [f"{settings.adapter.title}: {plural(summary.rows, 'stream')}: {counts}"]
    if summary.variants:
        lines.append(f"{summary.variants:,} of the failed streams are not the documented wire")
    for words, aspects in (("loses", summary.worse), ("mends", summary.better)):
        lines += [
            f"{words} {aspect} of {rows:,} streams" for aspect, rows in sorted(aspects.items())
        ]
    for word, layers in sorted(summary.reasons.items()):
        for layer, reasons in sorted(layers.items()):
            for reason in most_frequent(reasons.values())[:10]:
                example = reason.examples[0]
                place = f" ({layer})" if layer else ""
                lines.append(f"{reason.rows:,} {word}{place}: {example.sentence}")
                lines.append(f"  harness show {shlex.quote(example.source)}")
    return lines
