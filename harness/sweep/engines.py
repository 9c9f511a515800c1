"""The engine of a sweep: Dask calls one function for every part, in processes of this machine or on
a cluster.

An engine reports the summaries in any order. It raises `WorkerLost` if processes ended. The sweep
then runs the parts without a file again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread
from typing import Any

from .files import need
from .parts import InputPart
from .stream import SweepError
from .summary import Summary

RunPart = Callable[[InputPart], Summary]
Report = Callable[[InputPart, Summary], None]
Engine = Callable[[RunPart, Sequence[InputPart], Report], None]


class WorkerLost(Exception):
    """Some processes ended before their parts were finished."""


def engine_named(text: str, jobs: int | None) -> Engine:
    """Return the engine that an option names: ``dask`` or ``dask:ADDRESS``. Raises `SweepError`."""
    name, _, address = text.partition(":")
    if name != "dask":
        raise SweepError(f"{text!r} is not an engine; expected dask or dask:ADDRESS")
    need("dask", "pyarrow", *(["distributed"] if address else []))
    return cluster_engine(address) if address else process_engine(jobs or os.cpu_count() or 1)


def graph(run_part: RunPart, parts: Sequence[InputPart]) -> list[Any]:
    """Return the graph of a sweep for Dask: one task for each part. The tasks are independent."""
    from dask import delayed  # the extra

    task = delayed(run_part, pure=False)
    return [task(part, dask_key_name=f"sweep-{part.name}") for part in parts]


def process_engine(jobs: int) -> Engine:
    """Return Dask's scheduler for processes of this machine. With one job, parts run in this
    process.
    """

    def run(run_part: RunPart, parts: Sequence[InputPart], report: Report) -> None:
        import dask  # the extra
        from dask.callbacks import Callback

        by_key = {f"sweep-{part.name}": part for part in parts}
        try:
            with Callback(posttask=lambda key, summary, *_: report(by_key[key], summary)):
                dask.compute(
                    *graph(run_part, parts),
                    scheduler="processes" if jobs > 1 else "synchronous",
                    num_workers=jobs,
                    initializer=end_with_parent,
                    chunksize=1,
                    optimize_graph=False,
                )
        except BrokenProcessPool as error:
            raise WorkerLost(str(error)) from None

    return run


def end_with_parent() -> None:
    """Let this worker process end as soon as its parent has ended. Otherwise the processes of a
    sweep that was killed would wait for ever.
    """
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_after, args=(parent.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)  # the main thread may be in native code


def cluster_engine(address: str) -> Engine:
    """Return a Dask cluster, which runs the same graph."""

    def run(run_part: RunPart, parts: Sequence[InputPart], report: Report) -> None:
        from distributed import Client, KilledWorker, as_completed  # the extra

        try:
            client = Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise SweepError(f"dask:{address}: no scheduler answered: {error}") from None
        with client:
            futures = client.compute(graph(run_part, parts), optimize_graph=False)
            by_key = {future.key: part for future, part in zip(futures, parts, strict=True)}
            try:
                for future in as_completed(futures):
                    report(by_key[future.key], future.result())
                    future.release()
            except KilledWorker as error:
                raise WorkerLost(str(error)) from None

    return run
