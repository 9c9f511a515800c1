"""A whole run: report, workers, other plugins, startup."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from harness.cassettes import Cassette, Exchange, dumps
from harness.cassettes.load import read_recording
from tests.pytest_plugin.project import CASE, HELLO, run, write


def test_summary_and_report_list_an_unreadable_spec(project: pytest.Pytester) -> None:
    write(project, "specs/typo.yaml", CASE.replace("  cassette:", "  casette:"))
    result = run(project, "--continue-on-collection-errors", "--harness-report", "out")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["not read: specs/typo.yaml:7: unknown key 'casette'*"])
    page = (project.path / "out/index.html").read_text(encoding="utf-8")
    assert "specs/typo.yaml:7: unknown key" in page
    assert str(project.path) not in page


def test_a_report_folder_that_is_a_file_is_bad_usage(project: pytest.Pytester) -> None:
    write(project, "taken", "mine")
    assert run(project, "--harness-report", "taken/in").ret == pytest.ExitCode.USAGE_ERROR


def test_the_report_does_not_write_through_a_link(project: pytest.Pytester) -> None:
    outside = write(project, "outside.html", "mine")
    (project.path / "out").mkdir()
    (project.path / "out/index.html").symlink_to(outside)
    run(project, "--harness-report", "out").assert_outcomes(passed=2)
    assert outside.read_text(encoding="utf-8") == "mine"
    assert "<h1>test_the_report" in (project.path / "out/index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_report_is_the_same_bytes_with_workers(project: pytest.Pytester) -> None:
    write(
        project,
        "specs/other.yaml",
        CASE.replace("delta: Hel,", "delta: Hell,").replace("case: hello", "case: other"),
    )
    for folder, workers in (("alone", ["-p", "no:xdist"]), ("two", ["-n", "2"])):
        project.runpytest_inprocess(
            "specs", "-p", "no:cacheprovider", "--harness-report", folder, *workers
        ).assert_outcomes(passed=3, failed=1)
    pages = {path.name: path.read_bytes() for path in (project.path / "alone").rglob("*.*")}
    assert {name for name in pages if name.endswith(".html")} == {"index.html", "gemini-api.html"}
    assert pages == {path.name: path.read_bytes() for path in (project.path / "two").rglob("*.*")}
    assert "other" in pages["gemini-api.html"].decode()


def test_a_cell_that_runs_again_counts_once(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                runtestprotocol(item, nextitem=nextitem)
            return True
        """
    )
    result = run(project)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["2 of 2 cells passed"])


@pytest.mark.slow
def test_last_failed_and_exitfirst_work(project: pytest.Pytester) -> None:
    write(project, "specs/hello.yaml", CASE.replace("delta: Hel,", "delta: Hell,"))
    project.runpytest_inprocess("specs").assert_outcomes(passed=1, failed=1)
    project.runpytest_inprocess("specs", "--lf").assert_outcomes(failed=1)
    project.runpytest_inprocess("specs", "-x").assert_outcomes(failed=1)


@pytest.mark.slow
def test_the_fixture_replays_for_hand_written_tests(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest
        from harness.cassettes import CassetteError

        def test_it(harness_replay):
            kinds = [event["kind"] for event in harness_replay("gemini-api/hello", layer="events")]
            assert kinds == ["start", "text", "text", "finish"]
            assert harness_replay("cassettes/gemini-api/hello.yaml", dialect="anthropic")[-1] == {"type": "message_stop"}

        def test_a_name_of_the_suite(harness_replay):
            calls = harness_replay("gemini-api/tool-calls", exchange=2)
            assert calls == harness_replay("gemini-api/tool-calls:2")

        def test_an_unknown_name(harness_replay):
            with pytest.raises(CassetteError, match="did you mean gemini-api/hello"):
                harness_replay("gemini-api/hallo")
        """
    )
    project.runpytest_inprocess(
        "test_the_fixture_replays_for_hand_written_tests.py", "-p", "no:cacheprovider"
    ).assert_outcomes(passed=3)


@pytest.mark.slow
def test_the_plugin_works_beside_pytest_recording(project: pytest.Pytester) -> None:
    result = run(project, "--record-mode=none")
    result.assert_outcomes(passed=2)


HEAVY = ["pydantic", "vcr", "deepdiff", "google.genai", "jinja2", "msgspec", "yaml", "h11"]


LOAD = f"""
import sys, pytest
from importlib import import_module
import harness.pytest_plugin
for name in harness.pytest_plugin.pytest_plugins:
    import_module(name)
print(*sorted({set(HEAVY)} & set(sys.modules)))
"""


@pytest.mark.slow
def test_loading_the_plugin_imports_no_large_library() -> None:
    command = [sys.executable, "-c", LOAD]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.slow
def test_a_run_without_specs_is_not_changed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"import sys\ndef test_it(): assert not {set(HEAVY) - {'yaml'}} & set(sys.modules)"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*Gemini*")


@pytest.mark.slow
def test_model_text_can_not_break_a_terminal(project: pytest.Pytester) -> None:
    path = project.path / "cassettes/gemini-api/hello.yaml"
    cassette = read_recording(path.read_bytes(), "x")
    body = HELLO.replace(b"Hel", json.dumps("\x1b[2J\u202e")[1:-1].encode())
    exchange = Exchange(cassette.exchanges[0].request, 200, {}, ((None, body),), "complete")
    path.write_text(dumps(Cassette((exchange,), cassette.origin)), encoding="utf-8")
    result = run(project, "-k", "unified-llm")
    result.assert_outcomes(failed=1, deselected=1)
    assert "\x1b[2J" not in result.stdout.str()
    assert "\u202e" not in result.stdout.str()
