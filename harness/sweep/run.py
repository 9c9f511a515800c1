"""Runs a sweep: plans its parts, gives unfinished parts to an engine, and merges summaries."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Final

from harness.cassettes.redaction.secrets import mask
from harness.recording.atomic_file import UNFINISHED
from harness.stream.garbage_collector import collect_seldom

from .contract import Settings, judge_batch, open_adapter
from .engines import Engine, WorkerLost
from .files import Folder
from .output import read_summary, write_part
from .parts import InputPart, batches, plan
from .row import StreamRow
from .stream import CapturedStream, SweepError
from .summary import Summary

MANIFEST: Final = "_sweep.json"
"""The file in an output folder with the settings of its sweep. Readers of Parquet folders ignore
names that begin with ``_``.
"""
SUFFIX: Final = ".parquet"
MAX_LOSSES: Final = 3
"""The number of times that processes may end in succession without a finished part."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep: the parts of its input, its settings, and the folder of its output."""

    parts: tuple[InputPart, ...]
    settings: Settings
    folder: Folder


def file_of(part: InputPart) -> str:
    """Return the name of the file of a part."""
    return f"{part.name}{SUFFIX}"


def plan_sweep(arguments: Sequence[str], settings: Settings, folder: Folder) -> Sweep:
    """Return the sweep of all files of the arguments. Raises `SweepError` if the folder has the
    output of another sweep.
    """
    sweep = Sweep(tuple(plan(arguments, folder)), settings, folder)
    manifest = _manifest(settings)
    names = folder.names()
    if MANIFEST in names and folder.read(MANIFEST) != manifest:
        other_settings = folder.read(MANIFEST).decode().strip()
        raise SweepError(
            f"{folder.path} has a sweep with other settings: {other_settings}; name another folder"
        )
    known = {file_of(part) for part in sweep.parts}
    if strange := [name for name in names if name.endswith(SUFFIX) and name not in known]:
        raise SweepError(
            f"{folder.path}/{strange[0]}: made from other input, or from a file that has changed"
            f" since ({len(strange)} such files); name another folder, or delete them"
        )
    if MANIFEST not in names:
        folder.write(MANIFEST, manifest)
    return sweep


def _manifest(settings: Settings) -> bytes:
    decisive = asdict(settings)
    return mask().text(json.dumps(decisive, sort_keys=True, ensure_ascii=False)).encode() + b"\n"


def run_sweep(
    sweep: Sweep, engine: Engine, done: Callable[[InputPart, bool], None] = lambda part, now: None
) -> Summary:
    """Judge every part that has no file yet, and return the summary of all parts. ``done(part,
    now)`` is called for each part. ``now`` is False for a part that was already finished.
    """
    names = set(sweep.folder.names())
    summary = Summary()
    waiting: dict[str, InputPart] = {}
    for part in sweep.parts:
        if file_of(part) in names:
            summary.merge(read_summary(file_of(part), sweep.folder))
            done(part, False)
        else:
            waiting[part.name] = part

    def finish(part: InputPart, counts: Summary) -> None:
        summary.merge(counts)
        del waiting[part.name]
        done(part, True)

    work = partial(run_part, settings=sweep.settings, folder=sweep.folder)
    losses = 0
    while waiting:
        before = len(waiting)
        try:
            engine(work, list(waiting.values()), finish)
        except WorkerLost as error:
            losses = losses + 1 if len(waiting) == before else 0
            if losses == MAX_LOSSES:
                raise SweepError(f"processes end repeatedly: {error}") from None
    for name in sweep.folder.names():
        if name.endswith(UNFINISHED):
            sweep.folder.delete(name)
    return summary


def run_part(part: InputPart, settings: Settings, folder: Folder) -> Summary:
    """Judge one part and write its file. An engine calls this in its processes."""
    open_adapter(settings.adapter, settings)
    _relieve_collector()
    rows = _rows(part, settings)
    return write_part(file_of(part), rows, folder)


@cache
def _relieve_collector() -> None:
    """Exclude modules and adapters from the garbage collection of this process, because they are
    never freed.
    """
    gc.freeze()
    collect_seldom()


def _rows(part: InputPart, settings: Settings) -> Iterator[StreamRow]:
    try:
        for batch in batches(part):
            yield from judge_batch(batch, settings)
    except OSError as error:  # a file that became unreadable, or a damaged row group
        source = f"{part.paths[0]}:{part.row}"
        fault = f"the rest of the part can't be read: {error}"
        yield from judge_batch([CapturedStream(source, source, None, fault)], settings)
