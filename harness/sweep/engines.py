"""The engines of a sweep. Each engine calls one function for every part, in other processes.

An engine returns the summaries in any order. It raises `WorkerLost` if processes ended. The sweep
then runs the parts without a file again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib.util import find_spec
from multiprocessing import get_context
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final

from .files import EXTRA
from .parts import Part
from .stream import SweepError
from .summary import Summary

RunPart = Callable[[Part], Summary]
Engine = Callable[[RunPart, Sequence[Part]], Iterator[tuple[Part, Summary]]]

AHEAD: Final = 4
"""The number of parts for each process that the local engine submits at a time."""


class WorkerLost(Exception):
    """Some processes ended before their parts were finished."""


def engine_named(text: str, jobs: int | None) -> Engine:
    """The engine that an option names: ``local``, ``dask`` or ``dask:ADDRESS``. "" is ``dask`` if
    Dask is installed, else ``local``. Raises `SweepError`.
    """
    jobs = jobs or os.cpu_count() or 1
    name, _, address = text.partition(":")
    if name == "local" and not address:
        return local_engine(jobs)
    if name not in ("", "dask"):
        raise SweepError(f"{text!r} is not an engine; expected local, dask or dask:ADDRESS")
    package = "distributed" if address else "dask"
    if find_spec(package):
        return cluster_engine(address) if address else dask_engine(jobs)
    if name == "dask":
        raise SweepError(f"the engine {text} needs {package}; install it: {EXTRA}")
    return local_engine(jobs)


def local_engine(jobs: int) -> Engine:
    """A process pool of the standard library. With one job, parts run in this process."""

    def run(run_part: RunPart, parts: Sequence[Part]) -> Iterator[tuple[Part, Summary]]:
        if jobs == 1:
            yield from ((part, run_part(part)) for part in parts)
            return
        following = iter(parts)
        running: dict[Future[Summary], Part] = {}
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            try:
                while True:
                    while len(running) < jobs * AHEAD and (part := next(following, None)):
                        running[pool.submit(run_part, part)] = part
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        yield running.pop(future), future.result()
            except BrokenProcessPool as error:
                raise WorkerLost(str(error)) from None
            finally:
                pool.shutdown(cancel_futures=True)

    return run


def graph(run_part: RunPart, parts: Sequence[Part]) -> list[Any]:
    """The graph of a sweep for Dask: one task for each part. The tasks are independent."""
    from dask import delayed  # the extra

    task = delayed(run_part, pure=False)
    return [task(part, dask_key_name=f"sweep-{part.name}") for part in parts]


def dask_engine(jobs: int) -> Engine:
    """Dask's scheduler for processes of this machine."""

    def run(run_part: RunPart, parts: Sequence[Part]) -> Iterator[tuple[Part, Summary]]:
        import dask  # the extra
        from dask.callbacks import Callback

        done: SimpleQueue[tuple[str, Summary] | BaseException | None] = SimpleQueue()

        def compute() -> None:
            note = Callback(posttask=lambda key, value, *_: done.put((key, value)))
            try:
                with note:
                    dask.compute(
                        *graph(run_part, parts),
                        scheduler="processes",
                        num_workers=jobs,
                        chunksize=1,
                        optimize_graph=False,
                    )
            except BaseException as error:  # noqa: BLE001  # the caller's thread raises it
                done.put(error)
            else:
                done.put(None)

        by_key = {f"sweep-{part.name}": part for part in parts}
        thread = Thread(target=compute, daemon=True)
        thread.start()
        while (item := done.get()) is not None:
            if isinstance(item, BrokenProcessPool):
                raise WorkerLost(str(item))
            if isinstance(item, BaseException):
                raise item
            yield by_key[item[0]], item[1]
        thread.join()

    return run


def cluster_engine(address: str) -> Engine:
    """A Dask cluster, which runs the same graph."""

    def run(run_part: RunPart, parts: Sequence[Part]) -> Iterator[tuple[Part, Summary]]:
        from distributed import Client, KilledWorker, as_completed  # the extra

        try:
            client = Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise SweepError(f"dask:{address}: no scheduler answered: {error}") from None
        with client:
            futures = client.compute(graph(run_part, parts), optimize_graph=False)
            by_key = {future.key: part for future, part in zip(futures, parts, strict=True)}
            for future in as_completed(futures):
                try:
                    yield by_key[future.key], future.result()
                except KilledWorker as error:
                    raise WorkerLost(str(error)) from None
                future.release()

    return run
