"""Measures sweeps on generated streams of 20 frames: ``python -m benchmarks.scale [--streams N …]``.

It needs the extra ``scale``. Times depend on the machine and on its other work, so each is printed
with the load average and the processor time, and with the time of ``orjson.loads`` on the same
messages in the same minute.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter, process_time, sleep
from typing import Any

import orjson
import psutil
import pyarrow as pa
from distributed import Client, LocalCluster
from pyarrow import parquet

from harness.adapters import RunOptions, Subject
from harness.judging.aspects import transcript_of
from harness.providers import PROVIDERS
from harness.sweep.contract import Settings, Target, judge_batch, open_adapter
from harness.sweep.diff import compare_sweeps
from harness.sweep.engines import Engine, cluster_engine, process_engine
from harness.sweep.files import Folder
from harness.sweep.parts import InputPart
from harness.sweep.run import plan_sweep, run_sweep
from harness.sweep.stream import CapturedStream, stream_of_row

from .measure import MODEL, PROMPT, URL, processor_times

FRAMES = 20
GROUP = 2000
"""Streams in a row group, so in a task."""
TEMPLATES = 500
SETTINGS = Settings(Target("unified-llm", "unified-llm", "0"))
WORDS = [
    "the",
    "model",
    "streams",
    "an",
    "answer",
    "of",
    "several",
    "words",
    "piece",
    "by",
    "piece",
]
NUMBER = b"response-00000000"


def template(number: int) -> tuple[bytes, list[int]]:
    """A body with its reads: text; in some a thought first, in some a signed call last."""
    random = Random(number)
    reads = []
    for frame in range(1, FRAMES + 1):
        part: dict[str, Any] = {"text": " ".join(random.choices(WORDS, k=14)) + " "}
        if frame == 1 and number % 4 == 1:
            part["thought"] = True
        if frame == FRAMES and number % 4 == 2:
            call = {"name": "lookUp", "args": {"city": "Oslo", "number": number}}
            part = {"functionCall": call, "thoughtSignature": f"{number:064}"}
        candidate: dict[str, Any] = {"content": {"parts": [part], "role": "model"}, "index": 0}
        if frame == FRAMES:
            candidate["finishReason"] = "STOP"
        usage = {
            "promptTokenCount": 12,
            "candidatesTokenCount": 14 * frame,
            "totalTokenCount": 14 * frame + 12,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 12}],
        }
        message = {
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": MODEL,
            "responseId": NUMBER.decode(),
        }
        reads.append(b"data: " + json.dumps(message).encode() + b"\r\n\r\n")
    return b"".join(reads), [len(read) for read in reads]


def rows(start: int, stop: int, templates: Sequence[tuple[bytes, list[int]]]) -> pa.Table:
    """The streams of these numbers; each body is different."""
    numbers = range(start, stop)
    chosen = [templates[number % len(templates)] for number in numbers]
    bodies = [
        body.replace(NUMBER, b"response-%08d" % number)
        for number, (body, _) in zip(numbers, chosen, strict=True)
    ]
    return pa.table(
        {
            "id": [f"s{number:08d}" for number in numbers],
            "body": bodies,
            "reads": [sizes for _, sizes in chosen],
            "end": ["complete"] * len(numbers),
            "request": [{"url": URL, "method": "POST", "body": PROMPT}] * len(numbers),
        }
    )


def generate(streams: int, path: Path) -> None:
    """Write a Parquet file with this number of streams."""
    templates = [template(number) for number in range(TEMPLATES)]
    schema = rows(0, 1, templates).schema
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, streams, GROUP):
            writer.write_table(rows(start, min(streams, start + GROUP), templates))


def cost_of_a_stream(rounds: int) -> dict[str, float]:
    """Microseconds of processor time for each step of one stream."""
    templates = [template(number) for number in range(200)]
    streams: list[CapturedStream] = [
        stream_of_row(row, f"generated:{number}")
        for number, row in enumerate(rows(0, 200, templates).to_pylist(), 1)
    ]
    exchanges = [stream.exchange for stream in streams if stream.exchange]
    options = RunOptions(provider="gemini-api")
    adapter = open_adapter(SETTINGS.adapter, SETTINGS)
    subject = Subject(adapter, options)
    oracle = PROVIDERS["gemini-api"].facts
    messages = [data[6:-4] for exchange in exchanges for _, data in exchange.reads]

    def each(step: Callable[[Any], object], items: Sequence[Any]) -> Callable[[], object]:
        """Call the step for each item. No result is kept, because the garbage collector would scan
        it.
        """
        return lambda: deque(map(step, items), maxlen=0)

    steps: dict[str, Callable[[], object]] = {
        "orjson.loads of its frames": each(orjson.loads, messages),
        "oracle": each(oracle, exchanges),
        "adapter": each(subject.output, exchanges),
        "adapter with its facts": each(
            lambda exchange: transcript_of(adapter, subject.output(exchange)), exchanges
        ),
        "verdict, all in all": lambda: judge_batch(streams, SETTINGS),
    }
    times = processor_times(rounds, *steps.values())
    return {name: 1e6 * seconds / 200 for name, seconds in zip(steps, times, strict=True)}


class Watch:
    """Prints processor time and memory of this process and its workers while streams are judged."""

    def __init__(self) -> None:
        self._streams = 0
        self._marks = [10_000 * 2**number for number in range(20)]
        self._last = (0, perf_counter(), processor_seconds())

    def note(self, part: InputPart, now: bool) -> None:
        """Note a part that is done."""
        self._streams += part.rows
        if self._streams < self._marks[0]:
            return
        while self._streams >= self._marks[0]:
            self._marks.pop(0)
        streams, wall, used = self._last
        self._last = (self._streams, perf_counter(), processor_seconds())
        count = self._streams - streams
        mark = {
            "streams": self._streams,
            "seconds": self._last[1] - wall,
            "processor, microseconds a stream": 1e6 * (self._last[2] - used) / count,
            "largest worker now, MB": largest_worker(),
            "load": os.getloadavg()[0],
        }
        print(json.dumps(mark), flush=True)


def sweep(
    source: Path, engine: Engine, done: Callable[[InputPart, bool], None] = lambda part, now: None
) -> dict[str, Any]:
    """Sweep a file into a new folder; the time, and the rows with their ids."""
    folder = source.parent / "verdicts"
    shutil.rmtree(folder, ignore_errors=True)
    planned = plan_sweep([str(source)], SETTINGS, Folder(str(folder)))
    load, started, used = os.getloadavg()[0], perf_counter(), processor_seconds()
    summary = run_sweep(planned, engine, done)
    seconds, used = perf_counter() - started, processor_seconds() - used
    ids = parquet.read_table(folder, columns=["id"])["id"]
    assert summary.verdicts == {"passed": summary.rows}, summary.verdicts
    assert len(ids) == len(ids.unique()) == summary.rows
    return {
        "streams": summary.rows,
        "seconds": seconds,
        "microseconds a stream": 1e6 * seconds / summary.rows,
        "processor, microseconds a stream": 1e6 * used / summary.rows,
        "load": [load, os.getloadavg()[0]],
    }


def processor_seconds() -> float:
    """Seconds of processor time of this process, and of the processes that it started: those that
    have ended, and those that run.
    """
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ended = sum(usage.ru_utime + usage.ru_stime for usage in times)
    return float(ended + sum(worker.user + worker.system for worker, _ in workers()))


def workers() -> list[tuple[Any, float]]:
    """The processor times and the memory in megabytes of each process that this one started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found.append((process.cpu_times(), process.memory_info().rss / 2**20))
    return found


def largest_worker() -> float:
    """The memory of the largest worker now, in megabytes."""
    return max((memory for _, memory in workers()), default=0.0)


def memory_of_processes() -> float:
    """The largest memory of any process that has ended, in megabytes."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def on_processes(sizes: Sequence[int], folder: Path) -> Iterator[dict[str, Any]]:
    """Sweeps of these sizes in processes of this machine."""
    for size in sizes:
        source = folder / f"streams-{size}.parquet"
        if not source.exists():
            generate(size, source)
        result = sweep(source, process_engine(os.cpu_count() or 1), Watch().note)
        yield {**result, "largest process, MB": memory_of_processes()}


def on_cluster(size: int, folder: Path, count: int, *, kill: bool = False) -> dict[str, Any]:
    """A sweep with ``distributed`` on worker processes of this machine; ``kill``: one of them is
    killed after a third of the parts.
    """
    source = folder / f"streams-{size}.parquet"
    if not source.exists():
        generate(size, source)
    finished = 0
    with LocalCluster(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:

        def note(part: InputPart, now: bool) -> None:
            nonlocal finished
            finished += 1
            if kill and finished == size // GROUP // 3:
                worker = next(iter(cluster.workers.values()))
                worker.process.process._process.kill()

        with Client(cluster) as client:  # the adapter is imported before the measurement
            client.run(judge_batch, [], SETTINGS)
        own = process_time()
        result = sweep(source, cluster_engine(cluster.scheduler_address), note)
        own = 1e6 * (process_time() - own) / size
        largest = largest_worker()
    return {
        "workers": count,
        "killed": kill,
        **result,
        "of this process with the scheduler": own,
        "largest process, MB": largest,
    }


def overhead_of_a_task(tasks: int = 2000) -> float:
    """Microseconds that the scheduler of ``distributed`` needs for a task that does nothing."""
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(partial(pow, 2), range(100), pure=False))
        started = perf_counter()
        client.gather(client.map(partial(pow, 2), range(tasks), pure=False))
        return 1e6 * (perf_counter() - started) / tasks


def difference_of_two(folder: Path) -> dict[str, float]:
    """Seconds to compare the last output with itself."""
    output = str(folder / "verdicts")
    load, started = os.getloadavg()[0], perf_counter()
    found = compare_sweeps(output, output)
    assert not found.worse
    return {"rows": found.both, "seconds": perf_counter() - started, "load before": load}


def main() -> None:
    """Measure, print, and write the results as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--streams", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--cluster", type=int, default=20_000, metavar="N", help="0: no cluster")
    parser.add_argument("--folder", type=Path, help="keeps the generated streams (default: none)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = parsed.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        results: dict[str, Any] = {"microseconds a stream": cost_of_a_stream(9)}
        print(json.dumps(results, indent=2), flush=True)
        results["processes"] = []
        for result in on_processes(parsed.streams, folder):
            results["processes"].append(result)
            print(json.dumps(result), flush=True)
        if parsed.streams:
            results["comparison of two sweeps"] = difference_of_two(folder)
            print(json.dumps(results["comparison of two sweeps"]), flush=True)
        if parsed.cluster:
            results["scheduler, microseconds a task"] = overhead_of_a_task()
            sleep(1)
            results["cluster"] = [
                on_cluster(parsed.cluster, folder, 1),
                on_cluster(parsed.cluster, folder, 2),
                on_cluster(parsed.cluster, folder, 2, kill=True),
            ]
            one, two, _ = results["cluster"]
            spent = "processor, microseconds a stream"
            results["efficiency of 2 workers"] = one["seconds"] / two["seconds"] / 2
            results["efficiency by processor time"] = one[spent] / two[spent]
            names = (
                "scheduler, microseconds a task",
                "cluster",
                "efficiency of 2 workers",
                "efficiency by processor time",
            )
            print(json.dumps({name: results[name] for name in names}, indent=2), flush=True)
    if parsed.json:
        parsed.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
