"""``harness sweep``, and ``harness compare`` of two sweeps: files, output and exit status."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.support.captured import body, need_scale, row, write_lines, write_parquet, write_shim

ALONE = ("--jobs", "1")


@pytest.fixture(autouse=True)
def day(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three streams."""
    need_scale()
    monkeypatch.syspath_prepend(str(here))
    rows = (row("a"), row("b", body=body("Rome")), row("c"))
    return write_lines(here / "day.jsonl", *rows)


def sweep(*arguments: str) -> int:
    return main(["sweep", "day.jsonl", "-o", "out", *ALONE, *arguments])


def losing(here: Path, name: str) -> str:
    return write_shim(here, name, "[1:]").text


@pytest.mark.slow
def test_a_green_sweep_exits_0_and_writes_rows_and_a_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sweep() == 0
    captured = capsys.readouterr()
    assert captured.out == "unified-llm 0.2.0: 3 streams: 3 passed\n"
    assert captured.err.endswith("harness: 1 file of verdicts, and out/_report.html\n")
    page = Path("out/_report.html").read_text(encoding="utf-8")
    assert "3 of 3 streams passed" in page
    assert "Nothing is lost, wrong or raised." in page


def test_without_the_extra_the_command_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    assert sweep() == 2
    expected = "dask is not installed; install it: pip install 'gemini-conformance[scale]'"
    assert expected in capsys.readouterr().err
    assert not Path("out").exists()


CHUNKS = """
import json

def chunks(exchange):
    for line in exchange.body.splitlines():
        if line.startswith(b"data: "):
            candidate = json.loads(line[6:])["candidates"][0]
            for part in candidate.get("content", {}).get("parts", ()):
                yield chunk({"content": part["text"]})
            if "finishReason" in candidate:
                yield chunk({}, "stop")

def chunk(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"object": "chat.completion.chunk", "choices": [choice]}

def stray(exchange):
    yield from list(chunks(exchange))[:1]
    yield {"text": "!"}
"""


@pytest.mark.parametrize(
    ("target", "printed"),
    [
        ("openai-chat = sent_chunks:chunks", "sent-chunks unknown: 3 streams: 3 passed"),
        ("shop: openai-chat = sent_chunks:chunks", "shop unknown: 3 streams: 3 passed"),
        ("shop", "shop unknown: 3 streams: 3 passed"),
        ("openai-chat = sent_chunks:stray", "stray unknown: 3 streams: 3 failed"),
    ],
)
def test_an_adapter_may_write_a_public_wire(
    target: str, printed: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "sent_chunks.py").write_text(CHUNKS, encoding="utf-8")
    (here / "pytest.ini").write_text(
        "[pytest]\nharness_adapters = shop: openai-chat = sent_chunks:chunks\n", encoding="utf-8"
    )
    assert sweep("--adapter", target, "--losses", "usage") == (0 if "passed" in printed else 1)
    assert printed in capsys.readouterr().out


def test_a_loss_exits_1_and_names_its_place(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep("--adapter", losing(here, "cut_one")) == 1
    printed = capsys.readouterr().out
    assert "3 streams: 3 failed" in printed
    assert "3 failed (facts): text lost: at character 0" in printed
    assert "harness show day.jsonl:1" in printed
    page = Path("out/_report.html").read_text(encoding="utf-8")
    assert "0 of 3 streams passed, 3 failed" in page
    assert "harness show day.jsonl:2" in page


def test_a_row_that_is_no_exchange_exits_1(day: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(day, row("a"), {"id": "b", "body": 7})
    assert sweep() == 1
    assert "1 error: body is 7; expected bytes or text" in capsys.readouterr().out


def test_declared_losses_are_no_losses(here: Path) -> None:
    assert sweep("--adapter", losing(here, "cut_declared"), "--losses", "text") == 0


SKIPS = "from harness.facts import skip\n\ndef replay(exchange):\n    skip('no room')\n    yield\n"


def test_a_sweep_that_compared_nothing_exits_2(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "skips.py").write_text(SKIPS, encoding="utf-8")
    silent = "def replay(exchange):\n    yield from ()\n"
    (here / "silent.py").write_text(silent, encoding="utf-8")
    skips = ("--adapter", "skips:replay")
    for number, arguments in enumerate(
        (
            skips,
            (*skips, "--against", write_shim(here, "whole_three").text),
            ("--adapter", "silent:replay", "--losses", "*"),
        )
    ):
        command = ["sweep", "day.jsonl", "-o", f"nothing{number}", *ALONE, *arguments]
        assert main(command) == 2, arguments
        assert "nothing was compared" in capsys.readouterr().err


def test_against_a_baseline_only_worse_is_red(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut, whole = losing(here, "cut_two"), write_shim(here, "whole_two").text
    assert sweep("--adapter", whole, "--against", cut) == 0
    assert "mends text of 3 streams" in capsys.readouterr().out
    worse = ["sweep", "day.jsonl", "-o", "worse", *ALONE, "--adapter", cut, "--against", whole]
    assert main(worse) == 1
    assert "loses text of 3 streams" in capsys.readouterr().out
    assert "Against whole-two" in Path("worse/_report.html").read_text(encoding="utf-8")


def test_laws_are_asked_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep("--law", "5") == 0
    page = Path("out/_report.html").read_text(encoding="utf-8")
    assert '<th scope="row">5</th><td>3 passed</td>' in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], "none.jsonl: No such file"),
        (["day.jsonl", "--adapter", "none"], "'none' names no adapter"),
        (["day.jsonl", "--engine", "spark"], "'spark' is not an engine"),
        (["day.jsonl", "--losses", "smell"], "--losses: 'smell' is not a declared loss"),
    ],
)
def test_bad_usage_exits_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "-o", "out", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_row_can_be_replayed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "day.jsonl:2", "--layer", "events"]) == 0
    assert '"text":"Rome"' in capsys.readouterr().out
    assert main(["show", "day.jsonl:2", "--adapter", "unified-llm"]) == 0
    assert "unified-llm: text kept" in capsys.readouterr().out
    assert main(["replay", "day.jsonl:4"]) == 2
    assert "there is no row or exchange 4; it has " in capsys.readouterr().err


def test_a_row_of_parquet_can_be_replayed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_parquet(here / "day.parquet", row("a"), row("b"), row("c", body=body("Rome")))
    assert main(["replay", "day.parquet:3", "--layer", "events"]) == 0
    assert '"text":"Rome"' in capsys.readouterr().out


def test_a_row_that_is_no_exchange_cannot_be_replayed(
    day: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines(day, {"id": "b", "body": 7})
    assert main(["replay", "day.jsonl:1"]) == 2
    assert "day.jsonl:1: body is 7" in capsys.readouterr().err


@pytest.mark.slow
def test_compare_names_what_the_later_sweep_loses(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut, whole = losing(here, "cut_three"), write_shim(here, "whole_three").text
    for name, target in (("a", whole), ("b", cut)):
        main(["sweep", "day.jsonl", "-o", name, *ALONE, "--adapter", target])
    capsys.readouterr()
    assert main(["compare", "a", "b"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("3 streams in both, 0 only in BASE, 0 only in HEAD;")
    assert "text lost of 3 streams (gemini-api gemini-x)" in printed
    assert "harness replay day.jsonl:1" in printed
    assert main(["compare", "b", "a/*.parquet"]) == 0


def test_compare_of_sweeps_without_duckdb_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["compare", "a.parquet", "b.parquet"]) == 2
    assert "install it: pip install 'gemini-conformance[scale]'" in capsys.readouterr().err


def test_a_sweep_is_not_compared_with_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "reports/results.json", "s3://verdicts/a"]) == 2
    expected = (
        "harness: compare: s3://verdicts/a is the output of a sweep, and reports/results.json is"
        " not; name two sweeps, or the results.json of two runs\n"
    )
    assert capsys.readouterr().err == expected


@pytest.mark.slow
def test_the_default_engine_runs_in_processes() -> None:
    assert main(["sweep", "day.jsonl", "-o", "out", "--jobs", "2"]) == 0
    assert len([*Path("out").glob("*.parquet")]) == 1


def test_an_interrupted_sweep_says_how_to_continue(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.cli.sweep.run_sweep", interrupt)
    assert sweep() == 130
    assert "run the same command to continue; out has the finished" in capsys.readouterr().err


def test_a_terminal_shows_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert sweep() == 0
    shown = capsys.readouterr().err
    assert re.search(r"3/3 \[\d\d:\d\d<\d\d:\d\d,.* streams/s\]", shown)
    assert sweep() == 0
    assert "3/3" not in capsys.readouterr().err  # no rate, since no work was done


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_refused_because_nothing_was_judged(
    capsys: pytest.CaptureFixture[str], content: str
) -> None:
    Path("day.jsonl").write_text(content, encoding="utf-8")
    assert sweep("--adapter", "art") == 2
    assert capsys.readouterr().err == (
        "harness: day.jsonl: there is no row and no recording, so nothing was judged; check that"
        " the capture has written streams, or name another file\n"
    )
    assert not Path("out").exists()


def test_a_table_without_rows_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema({"id": pa.string(), "body": pa.string()})
    parquet.write_table(schema.empty_table(), here / "day.parquet")
    assert main(["sweep", "day.parquet", "-o", "out", *ALONE]) == 2
    assert "day.parquet: there is no row and no recording" in capsys.readouterr().err


def test_an_empty_file_beside_streams_is_an_error_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("lost.jsonl").write_text("", encoding="utf-8")
    assert main(["sweep", "day.jsonl", "lost.jsonl", "-o", "out", *ALONE]) == 1
    assert "1 error: the file is empty; restore it" in capsys.readouterr().out
    assert "the file is empty" in Path("out/_report.html").read_text(encoding="utf-8")
