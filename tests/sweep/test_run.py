"""A sweep writes one file for each part, resumes after an interruption, and survives the loss of
its workers.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import sleep

import msgspec
import psutil
import pytest

from harness.sweep import parts
from harness.sweep.contract import Settings, judge_batch
from harness.sweep.engines import Engine, Report, RunPart, WorkerLost, engine_named, process_engine
from harness.sweep.files import Folder
from harness.sweep.output import read_summary
from harness.sweep.parts import InputPart, batches
from harness.sweep.row import StreamRow
from harness.sweep.run import MANIFEST, SUFFIX, Sweep, file_of, plan_sweep, run_sweep
from harness.sweep.stream import SweepError
from harness.sweep.summary import Summary
from tests.support.captured import (
    OWN,
    body,
    need_scale,
    row,
    write_lines,
    write_parquet,
    write_shim,
)

OUT = Folder("out")
HERE = process_engine(1)


@pytest.fixture(autouse=True)
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve streams in several parts."""
    need_scale()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parts, "PART_BYTES", 1500)
    return write_lines(tmp_path / "day.jsonl", *(row(f"s{number:02}") for number in range(12)))


def planned(settings: Settings = OWN, source: str = "day.jsonl") -> Sweep:
    return plan_sweep([source], settings, OUT)


def written_rows() -> list[StreamRow]:
    names = [name for name in OUT.names() if name.endswith(SUFFIX)]
    return sorted((row for name in names for row in read_rows(name)), key=lambda row: row.id)


def read_rows(name: str) -> Iterator[StreamRow]:
    """The rows of a finished file, without the aspects that have no verdict."""
    from pyarrow.parquet import read_table  # the extra

    for values in read_table(OUT.at(name)).to_pylist():
        values = {name: value for name, value in values.items() if value is not None}
        aspects = {aspect: word for aspect, word in values["aspects"].items() if word}
        yield msgspec.convert(
            {**values, "aspects": aspects, "laws": dict(values["laws"])}, StreamRow
        )


def test_each_part_becomes_one_file_with_its_rows() -> None:
    sweep = planned()
    summary = run_sweep(sweep, HERE)
    assert [name for name in OUT.names() if name != MANIFEST] == sorted(map(file_of, sweep.parts))
    assert len(sweep.parts) > 2
    assert [row.id for row in written_rows()] == [f"s{number:02}" for number in range(12)]
    assert (summary.rows, summary.red, summary.verdicts) == (12, 0, {"passed": 12})


def test_no_file_of_a_sweep_shows_a_secret(day: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "correct-horse-battery"
    monkeypatch.setenv("GATEWAY_TOKEN", secret)
    source = write_lines(day.with_name(f"{secret}.jsonl"), row(f"s-{secret}"), row("t"))
    target = replace(OWN.adapter, name=f"unified-{secret}")
    run_sweep(planned(replace(OWN, adapter=target), source=str(source)), HERE)
    assert len(OUT.names()) == 2
    assert secret not in " ".join(OUT.names())
    assert secret not in OUT.read(MANIFEST).decode()
    assert len(written_rows()) == 2
    assert secret not in str(written_rows())  # a Parquet file is compressed
    with pytest.raises(SweepError, match="other settings") as caught:
        planned(source=str(source))
    assert secret not in str(caught.value)


def test_the_written_rows_are_those_of_the_contract() -> None:
    sweep = planned()
    judged = [
        row for part in sweep.parts for batch in batches(part) for row in judge_batch(batch, OWN)
    ]
    assert run_sweep(sweep, HERE) == Summary.of(judged) == run_sweep(sweep, HERE)
    assert written_rows() == judged


def test_the_output_has_a_struct_of_aspects(day: Path) -> None:
    from pyarrow import parquet

    write_parquet(day.with_suffix(".parquet"), *(row(f"s{n}") for n in range(3)), group=3)
    sweep = planned(source="day.parquet")
    run_sweep(sweep, HERE)
    table = parquet.read_table(OUT.path)  # a folder of Parquet files that may have other files too
    assert table.column_names[:4] == ["id", "source", "adapter", "version"]
    aspects = table["aspects"].to_pylist()[0]
    assert (aspects["text"], aspects["media"]) == ("kept", None)


def stopped_after(number: int) -> Engine:
    """An engine that stops after this number of parts, like a killed sweep."""

    def run(run_part: RunPart, waiting: Sequence[InputPart], report: Report) -> None:
        for part in waiting[:number]:
            report(part, run_part(part))
        raise KeyboardInterrupt

    return run


def test_a_stopped_sweep_resumes_with_the_next_part() -> None:
    sweep, seen = planned(), list[tuple[str, bool]]()
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, stopped_after(2))
    unfinished = Path(OUT.at(f"{file_of(sweep.parts[-1])}.77-ab.part"))
    unfinished.write_text("{", encoding="utf-8")
    again = planned()
    summary = run_sweep(again, HERE, lambda part, now: seen.append((part.name, now)))
    assert sorted(now for _, now in seen) == [False] * 2 + [True] * (len(again.parts) - 2)
    assert summary == run_sweep(planned(), HERE)
    assert [row.id for row in written_rows()] == [f"s{number:02}" for number in range(12)]
    assert not unfinished.exists()


def test_a_finished_sweep_is_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = run_sweep(planned(), HERE)

    def refuse(run_part: RunPart, waiting: Sequence[InputPart], report: Report) -> None:
        raise AssertionError(waiting)

    assert run_sweep(planned(), refuse) == summary


def test_other_settings_are_refused_in_the_same_folder() -> None:
    run_sweep(planned(), HERE)
    with pytest.raises(SweepError, match="out has a sweep with other settings"):
        planned(replace(OWN, laws=(5,)))


def test_other_input_is_refused_in_the_same_folder(day: Path) -> None:
    run_sweep(planned(), HERE)
    write_lines(day, row("new"))
    with pytest.raises(SweepError, match="made from other input, or from a file that has changed"):
        planned()


def test_more_input_is_added_to_the_same_folder(day: Path) -> None:
    run_sweep(planned(), HERE)
    write_lines(day.with_name("day2.jsonl"), row("t"))
    sweep = plan_sweep(["day.jsonl", "day2.jsonl"], OWN, OUT)
    assert run_sweep(sweep, HERE).rows == 13


@pytest.mark.parametrize("bad", [{"status": 2**31}, {"status": -(2**70)}])
def test_a_row_that_no_column_can_have_is_a_row_with_an_error(
    day: Path, bad: dict[str, object]
) -> None:
    write_lines(day, row("a"), row("b") | bad, row("c"))
    summary = run_sweep(planned(), HERE)
    assert (summary.rows, summary.verdicts) == (3, {"passed": 2, "error": 1})
    (faulty,) = [row for row in written_rows() if row.verdict == "error"]
    assert faulty.sentence.startswith("the row can't be written: ")
    assert faulty.id == "b"
    run_sweep(planned(), HERE)  # the output is whole


def test_a_part_whose_file_is_gone_is_rows_with_an_error(day: Path) -> None:
    sweep = planned()
    day.unlink()
    summary = run_sweep(sweep, HERE)
    assert summary.verdicts == {"error": len(sweep.parts)}
    assert all("can't be read" in row.sentence for row in written_rows())


def test_lost_workers_are_asked_again_at_most_three_times() -> None:
    calls: list[int] = []

    def losing(run_part: RunPart, waiting: Sequence[InputPart], report: Report) -> None:
        calls.append(len(waiting))
        report(waiting[0], run_part(waiting[0]))
        raise WorkerLost("killed")

    sweep = planned()
    assert run_sweep(sweep, losing).rows == 12
    assert calls == list(range(len(sweep.parts), 0, -1))

    def dead(run_part: RunPart, waiting: Sequence[InputPart], report: Report) -> None:
        raise WorkerLost("killed")

    for name in OUT.names():
        OUT.delete(name)
    with pytest.raises(SweepError, match="processes end repeatedly: killed"):
        run_sweep(planned(), dead)


@pytest.mark.slow
def test_an_adapter_that_ends_workers_loses_only_its_row(day: Path) -> None:
    rows = [row(f"s{number:02}") for number in range(6)]
    write_lines(day, *rows[:3], row("poison", body=body("die")), *rows[3:])
    settings = Settings(write_shim(day.parent, "deadly"), folder=str(day.parent))
    sweep = planned(settings)
    summary = run_sweep(sweep, engine_named("dask", 2))
    assert summary.verdicts == {"passed": 6, "error": 1}
    assert sorted(row.id for row in written_rows()) == ["poison", *(row["id"] for row in rows)]


def end_once(run_part: RunPart, part: InputPart) -> Summary:
    """Run a part. The first process that runs one is killed."""
    with suppress(FileExistsError):
        Path("killed").touch(exist_ok=False)
        os.kill(os.getpid(), signal.SIGKILL)
    return run_part(part)


@pytest.mark.slow
def test_a_worker_process_that_is_killed_loses_nothing() -> None:
    def killing(run_part: RunPart, waiting: Sequence[InputPart], report: Report) -> None:
        process_engine(2)(partial(end_once, run_part), waiting, report)

    summary = run_sweep(planned(), killing)
    assert Path("killed").exists()
    assert summary.verdicts == {"passed": 12}
    assert [row.id for row in written_rows()] == [f"s{number:02}" for number in range(12)]


def sleep_in_a_worker(part: InputPart) -> Summary:
    """Run a part that lasts longer than the test."""
    Path(f"worker-{os.getpid()}").touch()
    sleep(600)
    raise AssertionError("the process still runs")


def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait at most a minute."""
    for _ in range(600):
        if is_true():
            return
        sleep(0.1)
    pytest.fail("a minute was not enough")


KILLED = """
from harness.sweep import parts
from harness.sweep.engines import process_engine
from tests.sweep.test_run import planned, sleep_in_a_worker

if __name__ == "__main__":
    parts.PART_BYTES = 1500
    process_engine(2)(sleep_in_a_worker, planned().parts, lambda part, summary: None)
"""


@pytest.mark.slow
def test_the_processes_of_a_killed_sweep_end(tmp_path: Path) -> None:
    Path("sweep.py").write_text(KILLED, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, "sweep.py"], env=environment) as sweep:
        wait_until(lambda: len(list(tmp_path.glob("worker-*"))) == 2)
        sweep.kill()
    workers = [int(path.name.partition("-")[2]) for path in tmp_path.glob("worker-*")]
    wait_until(lambda: not any(map(psutil.pid_exists, workers)))


@pytest.mark.slow
def test_processes_write_the_same_rows_as_one_process() -> None:
    expected = run_sweep(planned(), HERE)
    written = {name: OUT.read(name) for name in OUT.names()}
    for name in written:
        OUT.delete(name)
    assert run_sweep(planned(), process_engine(2)) == expected
    assert {name: OUT.read(name) for name in OUT.names()} == written


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle_loses_nothing(day: Path) -> None:
    """The first worker of the cluster is killed after the first part."""
    from distributed import LocalCluster

    write_lines(day, *(row(f"s{number:03}") for number in range(120)))
    sweep = planned()
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        killed: list[int] = []

        def kill(part: InputPart, now: bool) -> None:
            if not killed:
                (worker, *_) = cluster.workers.values()
                killed.append(worker.pid)
                worker.process.process._process.kill()

        summary = run_sweep(sweep, engine_named(f"dask:{cluster.scheduler_address}", None), kill)
    assert killed
    assert summary.verdicts == {"passed": 120}
    assert [row.id for row in written_rows()] == [f"s{number:03}" for number in range(120)]


@pytest.mark.parametrize(
    ("text", "package"), [("dask", "dask"), ("dask", "pyarrow"), ("dask:host:1", "distributed")]
)
def test_an_engine_without_its_packages_names_the_extra(
    text: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    expected = f"{package} is not installed; install it: pip install 'gemini-conformance[scale]'"
    with pytest.raises(SweepError, match=re.escape(expected)):
        engine_named(text, 1)


@pytest.mark.parametrize("text", ["spark", "local", ""])
def test_an_unknown_engine_is_refused(text: str) -> None:
    with pytest.raises(SweepError, match="is not an engine; expected dask or dask:ADDRESS"):
        engine_named(text, 1)


def test_the_summaries_of_the_files_make_that_of_the_sweep() -> None:
    sweep = planned()
    summary = run_sweep(sweep, HERE)
    merged = Summary()
    for part in sweep.parts:
        merged.merge(read_summary(file_of(part), OUT))
    assert merged == summary


def test_a_file_has_another_name_until_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = planned()

    def die(path: Path, target: str) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            run_sweep(sweep, HERE)
    assert OUT.names() == [MANIFEST]
    assert run_sweep(planned(), HERE).rows == 12


def test_an_output_may_be_at_a_url(tmp_path: Path) -> None:
    folder = Folder(f"file://{tmp_path}/there")
    sweep = plan_sweep(["day.jsonl"], OWN, folder)
    assert run_sweep(sweep, HERE) == run_sweep(sweep, HERE)
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == folder.names()
    assert sum(name.endswith(".parquet") for name in folder.names()) == len(sweep.parts)
