"""The input of a sweep is divided into parts, and each part into its streams."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.sweep import files, parts
from harness.sweep.files import Folder
from harness.sweep.parts import InputPart, batches, plan, stream_at
from harness.sweep.stream import CapturedStream, SweepError
from tests.support.captured import URL, body, need_scale, row, write_lines, write_parquet

OUT = Folder("out")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(*planned: InputPart) -> list[CapturedStream]:
    return [stream for part in planned for batch in batches(part) for stream in batch]


def sources(*arguments: str) -> list[str]:
    return [stream.source for stream in read(*plan(arguments, OUT))]


def write_cassette(path: Path, number: int = 1) -> None:
    exchange = Exchange(Request("POST", URL), 200, {}, ((None, body().encode()),), "complete")
    path.write_text(dumps(Cassette((exchange,) * number, Origin("written"))), encoding="utf-8")


def test_lines_are_numbered_from_1_over_all_parts(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines(here / "day.jsonl", *(row(f"s{number}") for number in range(10)))
    monkeypatch.setattr(parts, "PART_BYTES", 1000)
    planned = plan(["day.jsonl"], OUT)
    assert len(planned) > 3
    assert sum(part.rows for part in planned) == 10
    assert [stream.source for stream in read(*planned)] == [f"day.jsonl:{n}" for n in range(1, 11)]
    assert [stream.id for stream in read(*planned)] == [f"s{number}" for number in range(10)]
    assert all(stream.exchange for stream in read(*planned))


def test_a_damaged_line_is_a_stream_with_its_fault(here: Path) -> None:
    write_lines(here / "day.jsonl", row("a"), '{"id": "b", "body"', "7", row("c"))
    first, damaged, number, last = read(*plan(["day.jsonl"], OUT))
    assert (first.fault, last.fault) == ("", "")
    assert damaged.fault.startswith("the line is not JSON")
    assert number.fault == "the line is not a JSON object"


def test_a_body_in_base64_makes_a_line_a_row(here: Path) -> None:
    encoded = base64.b64encode(body().encode()).decode()
    write_lines(here / "day.jsonl", {"id": "a", "body_base64": encoded})
    (stream,) = read(*plan(["day.jsonl"], OUT))
    assert stream.exchange is not None
    assert stream.exchange.body == body().encode()


def test_a_row_group_of_parquet_is_a_part(here: Path) -> None:
    need_scale()
    columns = {"reads": [3, len(body()) - 3], "headers": {"a": "b"}, "body": body().encode()}
    write_parquet(here / "day.parquet", *(row(f"s{n}", **columns) for n in range(5)))
    planned = plan(["day.parquet"], OUT)
    assert [(part.start, part.row, part.rows) for part in planned] == [
        (0, 1, 2),
        (1, 3, 2),
        (2, 5, 1),
    ]
    (last,) = read(planned[2])
    assert (last.id, last.source) == ("s4", "day.parquet:5")
    assert last.exchange is not None
    assert len(last.exchange.reads) == 2
    assert (last.exchange.headers, last.exchange.provider) == ({"a": ["b"]}, "gemini-api")


def test_parquet_without_a_required_column_is_refused(here: Path) -> None:
    need_scale()
    write_parquet(here / "day.parquet", {"id": "a", "text": "b"})
    with pytest.raises(SweepError, match="the columns are id, text; id and body are required"):
        plan(["day.parquet"], OUT)


def test_a_file_that_is_no_parquet_is_refused(here: Path) -> None:
    need_scale()
    (here / "day.parquet").write_text("no", encoding="utf-8")
    with pytest.raises(SweepError, match=r"day\.parquet: not a readable Parquet file"):
        plan(["day.parquet"], OUT)


def test_a_folder_has_every_format_in_the_order_of_paths(here: Path) -> None:
    (here / "in").mkdir()
    write_cassette(here / "in" / "two.yaml", 2)
    (here / "in" / "answer.sse").write_text(body(), encoding="utf-8")
    write_lines(here / "in" / "day.jsonl", row("a"))
    (here / "in" / ".hidden").write_text("no", encoding="utf-8")
    assert sorted(sources("in")) == [
        "in/answer.sse:1",
        "in/day.jsonl:1",
        "in/two.yaml:1",
        "in/two.yaml:2",
    ]


def test_globs_and_several_arguments_name_files_once(here: Path) -> None:
    write_cassette(here / "a.yaml")
    write_cassette(here / "b.yaml")
    assert sources("*.yaml", "*.yaml") == ["a.yaml:1", "b.yaml:1"]


def test_a_file_of_an_unknown_format_is_a_fault_if_it_is_named(here: Path) -> None:
    (here / "in").mkdir()
    (here / "in" / "readme.md").write_text("Hello, reader.", encoding="utf-8")
    (in_folder,) = read(*plan(["in"], OUT))
    (named,) = read(*plan(["in/readme.md"], OUT))
    assert (in_folder.skipped, named.skipped) == (True, False)
    assert "text of an unknown kind" in named.fault


def test_a_damaged_recording_is_a_fault(here: Path) -> None:
    (here / "in").mkdir()
    (here / "in" / "a.yaml").write_text("interactions:\n- {\n", encoding="utf-8")
    (damaged,) = read(*plan(["in"], OUT))
    assert (damaged.exchange, damaged.skipped, damaged.source) == (None, False, "in/a.yaml")
    assert damaged.fault


def test_recordings_are_parts_of_a_bounded_number(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        write_cassette(here / f"{number}.yaml")
    monkeypatch.setattr(parts, "MAX_FILES", 2)
    assert [len(part.paths) for part in plan(["*.yaml"], OUT)] == [2, 2, 1]


def test_names_of_parts_follow_the_content_of_files(here: Path) -> None:
    write_lines(here / "day.jsonl", row("a"))
    (before,), (again,) = plan(["day.jsonl"], OUT), plan(["day.jsonl"], OUT)
    write_lines(here / "day.jsonl", row("a"), row("b"))
    (after,) = plan(["day.jsonl"], OUT)
    assert before.name == again.name != after.name


def test_the_output_is_no_input(here: Path) -> None:
    (here / "out").mkdir()
    write_lines(here / "out" / "old.jsonl", row("a"))
    write_cassette(here / "a.yaml")
    assert [part.paths for part in plan([str(here)], Folder(str(here / "out")))] == [
        (f"{here}/a.yaml",)
    ]
    with pytest.raises(SweepError, match="there is no input, only the output"):
        plan([str(here / "out")], Folder(str(here / "out")))


def test_an_argument_without_files_is_refused() -> None:
    with pytest.raises(SweepError, match=r"none\*: there is no such file"):
        plan(["none*"], OUT)


def test_urls_are_read_with_fsspec(here: Path) -> None:
    need_scale()
    write_parquet(here / "day.parquet", row("a"))
    write_lines(here / "day.jsonl", row("b"))
    write_cassette(here / "c.yaml")
    assert sources(f"file://{here}") == [
        f"file://{here}/day.jsonl:1",
        f"file://{here}/day.parquet:1",
        f"file://{here}/c.yaml:1",
    ]
    assert sources(f"file://{here}/*.jsonl") == [f"file://{here}/day.jsonl:1"]
    assert stream_at(f"file://{here}/day.parquet:1") is not None


def test_a_url_without_fsspec_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(SweepError, match="install it: pip install"):
        files.list_files("s3://bucket/day.parquet")


def test_a_place_gives_its_stream_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lines(here / "day.jsonl", *(row(f"s{number}") for number in range(10)))
    write_cassette(here / "two.yaml", 2)
    monkeypatch.setattr(parts, "PART_BYTES", 1000)
    for source in sources("day.jsonl", "two.yaml"):
        stream = stream_at(source)
        assert stream is not None
        assert stream.source == source
    assert stream_at("none.yaml:1") is None
    assert stream_at("day.jsonl") is None
    with pytest.raises(SweepError, match=r"day\.jsonl: there is no row or exchange 11; it has 10"):
        stream_at("day.jsonl:11")
