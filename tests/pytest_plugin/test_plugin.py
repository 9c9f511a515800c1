"""Cells as pytest items: outcomes and messages."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from harness.cassettes import Cassette, Exchange, Origin, dumps
from tests.pytest_plugin.project import CASE, HELLO, run, write
from tests.support.commands import run as run_command


@pytest.mark.slow
def test_a_cell_is_an_item_and_a_pass(project: pytest.Pytester) -> None:
    result = run(project, "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["*specs/hello.yaml::hello[[]unified-llm[]] PASSED*", "*hello[[]anthropic[]] PASSED*"]
    )
    result.stdout.fnmatch_lines(
        [
            "gemini-api / anthropic*1 of 1 cell passed",
            "Origin of the recordings: 1 written by hand*",
        ]
    )


def test_a_failure_shows_its_mismatch_and_none_of_our_code(
    project: pytest.Pytester,
) -> None:
    write(
        project,
        "specs/hello.yaml",
        CASE.replace(
            "unified-llm: {$contains: [{type: TEXT_DELTA, delta: Hel",
            "unified-llm: {$contains: [{type: TEXT_DELTA, delta: Hell",
        ),
    )
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "requirement: Text comes in pieces.",
            f"at:          {Path('specs', 'hello.yaml')}:9",
            "cassette: *gemini-api/hello, exchange 1 (gemini-api; written 2026-11-21; end complete)",
            "first layer that differs: payloads",
            "  expected: *Hell*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*conformance.py*")


def test_a_failure_names_the_line_of_the_item(project: pytest.Pytester) -> None:
    items = """\
{$contains: [{type: STREAM_START},
      {type: TEXT_DELTA, delta: Hel, text_id: text_1},
      {type: TEXT_DELTA, delta: other, text_id: text_1}]}"""
    one_line = "{$contains: [{type: TEXT_DELTA, delta: Hel, text_id: text_1}]}"
    write(project, "specs/hello.yaml", CASE.replace(one_line, items))
    result = run(project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"at:          {Path('specs', 'hello.yaml')}:11"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "shown"),
    [
        (".", "specs/gemini-api/hello.yaml:9"),
        ("specs/gemini-api", "hello.yaml:9"),
        ("cassettes", "../specs/gemini-api/hello.yaml:9"),
    ],
)
@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "with a worker"])
def test_a_failure_names_its_file_relative_to_the_start_folder(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    folder: str,
    shown: str,
    options: list[str],
) -> None:
    spec = write(
        project, "specs/gemini-api/hello.yaml", CASE.replace("delta: Hel,", "delta: Hell,")
    )
    monkeypatch.chdir(project.path / folder)
    result = project.runpytest_inprocess(
        spec, "--rootdir", project.path, "-p", "no:cacheprovider", *options
    )
    result.stdout.fnmatch_lines([f"at:          {Path(shown)}"])


def commands(result: pytest.RunResult, folder: Path) -> list[str]:
    """The commands of the cells of a run whose report is in ``folder``."""
    assert result.ret in (0, 1)
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return [case["command"].replace("[ADAPTER]", "[anthropic]") for case in document["cases"]]


LAYOUTS = [
    (
        "shop",
        ["../clone/specs"],
        ["-c", "pytest.ini", "-n", "1"],
        "pytest -c pytest.ini '../clone/specs/a/hello.yaml::hello[anthropic]'",
    ),
    (
        "shop",
        ["../clone/specs/a/hello.yaml"],
        ["-c", "pytest.ini"],
        "pytest -c pytest.ini '../clone/specs/a/hello.yaml::hello[anthropic]'",
    ),
    (
        "shop",
        ["sub", "../clone/specs/a", "../clone/specs/b"],
        [],
        "pytest -c pytest.ini '../clone/specs/a/hello.yaml::hello[anthropic]'",
    ),
    (
        "shop/sub",
        ["../../clone/specs"],
        ["-c", "../pytest.ini"],
        "pytest -c ../pytest.ini '../../clone/specs/a/hello.yaml::hello[anthropic]'",
    ),
    (
        "clone",
        ["specs"],
        ["-c", "pyproject.toml", "--rootdir", "."],
        "pytest 'specs/a/hello.yaml::hello[anthropic]'",
    ),
    ("clone/specs/a", ["."], [], "pytest 'hello.yaml::hello[anthropic]'"),
    (
        "clone/specs",
        ["a/hello.yaml"],
        ["--rootdir", "../../shop"],
        "pytest --rootdir ../../shop 'a/hello.yaml::hello[anthropic]'",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("started", "named", "options", "message"), LAYOUTS)
def test_the_command_of_a_cell_runs_it_where_pytest_was_started(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    started: str,
    named: list[str],
    options: list[str],
    message: str,
) -> None:
    for folder in ("a", "b"):
        write(
            project,
            f"clone/specs/{folder}/hello.yaml",
            CASE.replace("$contains: [{type: message_stop}]", "$contains: [{type: other}]"),
        )
    write(
        project,
        "clone/pyproject.toml",
        "[tool.pytest.ini_options]\nharness_cassettes = '../cassettes'\n",
    )
    write(
        project,
        "shop/pytest.ini",
        "[pytest]\nharness_specs = ../clone/specs\nharness_cassettes = ../cassettes\n",
    )
    write(project, "shop/sub/test_own.py", "def test_own():\n    pass\n")
    monkeypatch.chdir(project.path / started)
    common = ["-p", "no:cacheprovider", "-q", "--harness-dialect", "anthropic"]
    result = project.runpytest_inprocess(
        *named, *options, *common, "--harness-report", project.path / "report"
    )
    first = commands(result, project.path / "report")[0]
    assert first == message
    again = run_command(*shlex.split(first), *common)
    assert again.status == 1, again.output
    assert "1 failed" in again.stdout
    shown = re.search(r"FAILED (.*)::hello\[anthropic\]", again.stdout)
    assert shown
    assert Path(shown[1]).samefile(
        shlex.split(message)[-1].partition("::")[0]
    )  # so is the line of pytest's own summary


def test_the_first_layer_that_differs_is_named(project: pytest.Pytester) -> None:
    broken = CASE.replace(
        "expect:\n", "expect:\n    events: {$contains: [{kind: text, text: Nope}]}\n"
    ).replace("delta: Hel,", "delta: Nope,")
    write(project, "specs/hello.yaml", broken)
    result = run(project, "-k", "unified-llm")
    result.stdout.fnmatch_lines(["first layer that differs: events"])


OUTCOMES = [
    ("level: should\n  expect:", "Hell", {"passed": 2, "warnings": 1}),
    (
        "known_failing: {unified-llm: {reason: r, link: 'https://x.example'}}\n  expect:",
        "Hell",
        {"passed": 1, "xfailed": 1},
    ),
    (
        "known_failing: {unified-llm: {reason: r, link: 'https://x.example'}}\n  expect:",
        "Hel",
        {"passed": 1, "failed": 1},
    ),
    (
        "known_failing: {unified-llm: {reason: r, link: 'https://x.example', expires: 2001-01-01}}\n  expect:",
        "Hell",
        {"passed": 1, "failed": 1},
    ),
    ("not_carried: {anthropic: [grounding]}\n  expect:", "Hel", {"passed": 1, "skipped": 1}),
    ("reviewed: no\n  expect:", "Hel", {"skipped": 2}),
    ("exchange: 2\n  expect:", "Hel", {"failed": 2}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "delta", "outcomes"), OUTCOMES)
def test_verdicts_become_outcomes(
    project: pytest.Pytester, key: str, delta: str, outcomes: dict[str, int]
) -> None:
    write(
        project,
        "specs/hello.yaml",
        CASE.replace("expect:", key).replace("delta: Hel,", f"delta: {delta},"),
    )
    run(project).assert_outcomes(**outcomes)


@pytest.mark.slow
def test_strict_turns_warnings_and_cells_not_run_into_failures(project: pytest.Pytester) -> None:
    write(
        project,
        "specs/hello.yaml",
        CASE.replace("expect:", "level: should\n  expect:").replace("delta: Hel,", "delta: Hell,"),
    )
    run(project, "--harness-strict").assert_outcomes(passed=1, failed=1)
    write(project, "specs/hello.yaml", CASE.replace("expect:", "reviewed: no\n  expect:"))
    run(project, "--harness-strict").assert_outcomes(failed=2)


def test_a_missing_cassette_is_an_error_with_its_name(project: pytest.Pytester) -> None:
    write(project, "specs/hello.yaml", CASE.replace("gemini-api/hello", "gemini-api/none"))
    result = run(project)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "error: no cassette gemini-api/none: cassettes/gemini-api/none.yaml does not exist; record or import it there*"
        ]
    )


@pytest.mark.parametrize("arguments", [(), ("--harness-accept",)])
def test_a_case_without_expectation_and_cassette_is_not_run(
    project: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    write(
        project,
        "specs/hello.yaml",
        CASE[: CASE.index("    unified-llm")].replace("gemini-api/hello", "gemini-api/none")
        + "    art:\n",
    )
    result = run(project, "-rs", *arguments)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*not run: nothing is expected yet, and no cassette gemini-api/none: *record or import it there*"
        ]
    )


@pytest.mark.slow
def test_bare_messages_are_those_of_the_gemini_api(project: pytest.Pytester) -> None:
    bare = Exchange(None, 200, {}, ((1.0, HELLO),), "complete")
    write(project, "cassettes/gemini-api/hello.yaml", dumps(Cassette((bare,), Origin("imported"))))
    run(project, "--harness-provider", "gemini-api", "-W", "error").assert_outcomes(passed=2)


@pytest.mark.slow
def test_an_answer_of_no_known_wire_is_an_error_that_says_what_to_name(
    project: pytest.Pytester,
) -> None:
    bare = Exchange(None, 200, {}, ((1.0, b'{"error": "busy"}'),), "complete")
    write(project, "cassettes/gemini-api/hello.yaml", dumps(Cassette((bare,), Origin("imported"))))
    result = run(project)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*neither URL nor body shows the wire of this answer; name it*"])


def test_a_link_to_a_cassette_outside_its_folder_is_refused(
    project: pytest.Pytester,
) -> None:
    outside = write(
        project,
        "outside.yaml",
        (project.path / "cassettes/gemini-api/hello.yaml").read_text(encoding="utf-8"),
    )
    (project.path / "cassettes/gemini-api/link.yaml").symlink_to(outside)
    write(project, "specs/hello.yaml", CASE.replace("gemini-api/hello", "gemini-api/link"))
    result = run(project)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["error: the name 'gemini-api/link' leads out of *"])


@pytest.mark.slow
def test_a_typo_in_a_spec_is_an_error_with_its_line(project: pytest.Pytester) -> None:
    write(project, "specs/hello.yaml", CASE.replace("  cassette:", "  casette:"))
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*specs/hello.yaml:7: unknown key 'casette'*"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.slow
def test_an_unreadable_features_file_is_reported_once(project: pytest.Pytester) -> None:
    write(project, "specs/other.yaml", CASE)
    write(project, "specs/features.yaml", "harness: 1\nfeatures: 7\n")
    result = run(project)
    result.assert_outcomes(errors=2)
    assert [line for line in result.outlines if line.startswith("not read: ")] == [
        "not read: specs/features.yaml:2: features must be a list, not the number 7"
    ]


@pytest.mark.parametrize("code", ["", "NAMES = [f'gemini-api/{name}' for name in 'ab']\n"])
def test_a_strict_run_fails_for_a_cassette_that_is_known_to_be_unused(
    project: pytest.Pytester, code: str
) -> None:
    text = (project.path / "cassettes/gemini-api/hello.yaml").read_text(encoding="utf-8")
    write(project, "cassettes/gemini-api/other.yaml", text)
    write(project, "shop.py", code)
    result = run(project, "--harness-strict")
    assert (result.ret == 0) == bool(code)
    named = "unused: nothing names the cassette gemini-api/other" in result.stdout.lines
    assert named == (not code)
