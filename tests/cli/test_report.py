"""``harness report`` and ``harness compare``, and the report options of pytest: input files, output
files and errors.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.cli.main import main
from harness.report import Named, Run, pack, render, schema
from harness.report.files import write_files
from tests.support.report_samples import HEADER, MIXED, result

RUN = Run(HEADER, MIXED)


def write(path: Path, run: Run) -> str:
    path.write_bytes(pack(run))
    return str(path)


def files(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.*")}


@pytest.mark.slow
def test_report_renders_results_later_as_the_run_itself_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", write(tmp_path / "r.json", RUN), "-o", str(tmp_path / "out")]) == 1
    assert files(tmp_path / "out") == render(RUN)
    counts = "4 of 11 cells passed, 1 failed, 1 error, 1 fixed, 1 warning, 1 known failing"
    others = "1 not carried, 1 not run, 1 unreviewed"
    page = tmp_path / "out" / "index.html"
    assert capsys.readouterr().out == f"{counts}, {others}: {page}\n"


def test_the_folder_of_a_report_can_be_given_for_its_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = write(tmp_path / "1.json", RUN)
    assert main(["report", results, "-o", str(tmp_path / "a")]) == 1
    assert main(["compare", str(tmp_path / "a"), results]) == 0
    assert capsys.readouterr().out.endswith(
        "0 broken, 0 fixed, 0 new, 0 gone, 0 same verdict with other details\n"
    )


def test_report_merges_shards_in_any_order(tmp_path: Path) -> None:
    first, two = (
        write(tmp_path / "1.json", Run(HEADER, MIXED[:5])),
        write(tmp_path / "2.json", Run(HEADER, MIXED[4:])),
    )
    for name, shards in (
        ("a", [first, two]),
        ("b", [two, first]),
        ("c", [str(tmp_path / "a" / "results.json"), two]),
    ):
        assert main(["report", *shards, "-o", str(tmp_path / name)]) == 1
        assert files(tmp_path / name) == render(RUN)


def test_report_shows_changes_and_ages_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = write(tmp_path / "base.json", Run(HEADER, [replace(MIXED[1], verdict="passed")]))
    head = write(tmp_path / "head.json", RUN)
    assert (
        main(
            [
                "report",
                head,
                "-o",
                str(tmp_path / "out"),
                "--baseline",
                base,
                "--date",
                "2026-12-02",
            ]
        )
        == 1
    )
    assert "1 broken" in files(tmp_path / "out")["index.html"]
    assert "(10 days old)" in files(tmp_path / "out")["gemini-api.html"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1796083200")  # 2026-12-01
    assert main(["report", head, "-o", str(tmp_path / "epoch")]) == 1
    assert "(9 days old)" in files(tmp_path / "epoch")["gemini-api.html"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["report"],
            "report: the results or the folder are missing; name the results.json of a run and the"
            " folder to write to: harness report RESULTS -o DIR; `pytest specs --harness-report DIR`"
            " writes DIR/results.json\n",
        ),
        (
            ["report", ".", "-o", "out"],
            " has no results.json; `pytest specs --harness-report .` writes it\n",
        ),
        (["report", "whole.json"], "report: the results or the folder are missing"),
        (["report", "cut.json", "-o", "out"], "cut.json: "),
        (
            ["report", "whole.json", "other.json", "-o", "out"],
            "has different results in two runs (failed and passed)",
        ),
        (["report", "whole.json", "-o", "out", "--date", "Tuesday"], "date 'Tuesday': not a date"),
        (["report", "nowhere.json", "-o", "out"], "nowhere.json: No such file"),
        (["compare", "cut.json", "whole.json"], "cut.json: "),
    ],
)
def test_bad_results_are_refused_with_status_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("whole.json"), Run(HEADER, [result()]))
    write(Path("other.json"), Run(HEADER, [result("failed")]))
    Path("cut.json").write_bytes(pack(RUN)[:-60])
    assert main(arguments) == 2
    assert words in capsys.readouterr().err
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "epoch", ["soon", "-1", "+1", "1_0", "1.5", "²", "٣", "99999999999999", "9" * 30, "9" * 5000]
)
def test_an_epoch_that_is_not_a_day_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert main(["report", write(tmp_path / "r.json", RUN), "-o", str(tmp_path / "out")]) == 2
    (output,) = capsys.readouterr().err.splitlines()
    assert output.startswith(f"harness: SOURCE_DATE_EPOCH is '{epoch[:39]}")
    assert output.endswith(
        "expected seconds since 1970-01-01 in digits, up to the year 9999; correct or unset it"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "day",
    [
        "",
        "²",
        "٢٠٢٦-١٢-٠٢",
        "99999999999999",
        "10000-01-01",
        "2026-13-01",
        "2026-02-30",
        "0000-01-01",
        "-1",
    ],
)
def test_an_invalid_day_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], day: str
) -> None:
    assert (
        main(
            [
                "report",
                write(tmp_path / "r.json", RUN),
                "-o",
                str(tmp_path / "out"),
                f"--date={day}",
            ]
        )
        == 2
    )
    assert capsys.readouterr().err == f"harness: date '{day}': not a date; write it as YYYY-MM-DD\n"
    assert not (tmp_path / "out").exists()


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()


def test_compare_prints_changes_and_fails_for_a_broken_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = write(
        tmp_path / "base.json",
        Run(HEADER, [result(), result("failed", "two"), result(case="old\n\x1b[2J")]),
    )
    head = write(tmp_path / "head.json", Run(HEADER, [result("failed"), result("passed", "two")]))
    assert main(["compare", base, head]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "broken: gemini-api/tool-calls.yaml::two-calls[anthropic] (passed → failed)",
        "fixed: gemini-api/tool-calls.yaml::two[anthropic] (failed → passed)",
        "gone: gemini-api/tool-calls.yaml::old\\n\\u001b[2J[anthropic] (passed)",
        "1 broken, 1 fixed, 0 new, 1 gone, 0 same verdict with other details",
    ]
    other = write(tmp_path / "other.json", Run(HEADER, [result(case="elsewhere")]))
    assert main(["compare", base, other, "--allow-gone"]) == 2
    assert "the baseline has none of the cells of anthropic" in capsys.readouterr().err
    assert main(["compare", base, base]) == 0
    assert (
        capsys.readouterr().out
        == "0 broken, 0 fixed, 0 new, 0 gone, 0 same verdict with other details\n"
    )


def test_files_are_not_written_through_a_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    target = tmp_path / "out" / "badges"
    target.mkdir(parents=True)
    (target / "all.svg").symlink_to(precious)
    (target / "all.svg.part").symlink_to(precious)
    write_files({"badges/all.svg": "<svg/>"}, tmp_path / "out")
    assert precious.read_text() == "mine"
    assert (target / "all.svg").read_text() == "<svg/>"
    assert not (target / "all.svg").is_symlink()


LOST = result("error", "lost", adapter="mine", provider="", origin=None)
EARLIER = Run(
    replace(HEADER, adapters=(*HEADER.adapters, Named("mine", "mine", 2))), [*MIXED, LOST]
)
OWN = (
    "notes.html",
    "mine.html",
    "old.svg",
    "badges/logo.svg",
    "badges/unknown-provider.html",
    "badges/more/deep.svg",
)


def fill(folder: Path) -> None:
    """Put the files of a larger earlier report, and files of other origin, into the folder."""
    write_files(render(EARLIER), folder)
    assert {
        "unknown-provider.html",
        "badges/unknown-provider.svg",
        "badges/unknown-provider.mine.svg",
    } <= set(files(folder))
    (folder / "badges" / "more").mkdir()
    for name in OWN:
        (folder / name).write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9"/>')
    (folder / "badges" / "a-link.svg").symlink_to(folder / "badges" / "all.svg")


def test_a_report_deletes_only_files_of_an_earlier_report(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out)
    assert main(["report", write(tmp_path / "r.json", RUN), "-o", str(out)]) == 1
    assert {
        name: text for name, text in files(out).items() if name not in (*OWN, "badges/a-link.svg")
    } == render(RUN)
    assert {*OWN, "badges/a-link.svg"} <= set(files(out))
    assert main(["report", write(tmp_path / "e.json", EARLIER), "-o", str(out)]) == 1
    assert render(EARLIER).items() <= files(out).items()


def test_a_folder_with_the_name_of_a_report_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "unknown-provider.html").mkdir()
    (tmp_path / "badges" / "old.svg").mkdir(parents=True)
    write_files(render(RUN), tmp_path)
    assert (tmp_path / "unknown-provider.html").is_dir()
    assert (tmp_path / "badges" / "old.svg").is_dir()


SPEC = """\
harness: 1
cases:
- case: hello
  requirement: Text comes.
  features: [text.streaming]
  source: https://x.example
  cassette: hello
  provider: gemini-api
  expect:
    unified-llm: {$contains: [{type: TEXT_DELTA, delta: "EXPECTED", text_id: text_1}]}
"""
BODY = 'data: {"candidates": [{"content": {"parts": [{"text": "Hello"}],"role": "model"},"finishReason": "STOP","index": 0}]}\n\n'


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "cassettes").mkdir()
    (pytester.path / "specs").mkdir()
    (pytester.path / "cassettes" / "hello.yaml").write_text(BODY)
    (pytester.path / "specs" / "hello.yaml").write_text(SPEC.replace("EXPECTED", "Hello"))
    return pytester


@pytest.mark.slow
def test_pytest_writes_results_and_compares_with_a_baseline(
    project: pytest.Pytester,
) -> None:
    options = ["specs", "-q", "-p", "no:cacheprovider"]
    project.runpytest_inprocess(*options, "--harness-report", "before").assert_outcomes(passed=1)
    (project.path / "specs" / "hello.yaml").write_text(SPEC.replace("EXPECTED", "Bye"))
    fill(project.path / "after")
    more = [
        "--harness-report",
        "after",
        "--harness-baseline",
        "before/results.json",
        "--harness-date",
        "2026-12-02",
    ]
    project.runpytest_inprocess(*options, *more).assert_outcomes(failed=1)
    written = files(project.path / "after")
    assert not {"unknown-provider.html", "badges/unknown-provider.svg"} & set(written)
    assert set(OWN) <= set(written)
    assert {
        "index.html",
        "gemini-api.html",
        "results.json",
        "junit.xml",
        "summary.md",
        "badges/all.svg",
    } <= set(written)
    assert "1 broken" in written["index.html"]
    document = json.loads(written["results.json"])
    assert document["header"]["day"] == "2026-12-02"
    (row,) = document["results"]
    assert (row["verdict"], [view["layer"] for view in row["layers"]]) == (
        "failed",
        ["frames", "events", "payloads"],
    )
    assert len(document["streams"][0]["how"]["digest"]) == 32


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--harness-baseline", "nowhere.json"],
            "*--harness-baseline nowhere.json: No such file or directory",
        ),
        (
            ["--harness-baseline", "specs/hello.yaml"],
            "*--harness-baseline: hello.yaml*run the specs again*",
        ),
        (["--harness-date", "Tuesday"], "*--harness-date: *not a date*"),
        (["--harness-date", "99999999999999"], "*--harness-date: *not a date*"),
    ],
)
def test_report_options_are_checked_before_anything_runs(
    project: pytest.Pytester, options: list[str], words: str
) -> None:
    ran = project.runpytest_inprocess("specs", "--harness-report", "out", *options)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines([words])
    assert not (project.path / "out").exists()


@pytest.mark.parametrize("epoch", ["²", "99999999999999"])
def test_an_invalid_epoch_is_reported_before_anything_runs(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, epoch: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    ran = project.runpytest_inprocess("specs", "--harness-report", "out")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines([f"*SOURCE_DATE_EPOCH is '{epoch}'; *"])
    assert not (project.path / "out").exists()


def test_one_cell_is_counted_in_the_singular(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "one.json", Run(HEADER, [result()]))
    assert main(["report", run, "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.startswith("1 of 1 cell passed: ")


def test_a_cell_that_is_gone_fails_a_comparison_unless_it_may(tmp_path: Path) -> None:
    base = write(tmp_path / "base.json", Run(HEADER, [result(), result(case="old")]))
    head = write(tmp_path / "head.json", Run(HEADER, [result()]))
    assert main(["compare", base, head]) == 1
    assert main(["compare", base, head, "--allow-gone"]) == 0
