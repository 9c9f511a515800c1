"""The specs, cells and folders that a run selects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pytest_plugin.project import CASE, SHOP, run, write


@pytest.mark.slow
def test_an_adapter_without_an_expectation_is_reported(
    project: pytest.Pytester,
) -> None:
    project.makeini(SHOP)
    write(project, "shop.py", "def replay(exchange):\n    return [{'say': 'Hel'}]\n")
    write(project, "specs/hello.yaml", CASE + "    turn:\n")
    for options in ([], ["-n", "1"]):
        result = project.runpytest_inprocess(
            "-p", "no:cacheprovider", "-q", "--harness-dialect", "turn2", *options
        )
        assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
        result.stdout.fnmatch_lines(
            [
                "turn2: no case has an expectation for turn2; write `turn2:` without a value * --harness-accept, * --harness-laws"
            ]
        )
    output = run(
        project, "-q", "--harness-dialect", "turn2", "--harness-dialect", "turn", "-k", "nothing"
    )
    output.stdout.fnmatch_lines(["turn2: no case *"])
    output.stdout.no_fnmatch_line("turn: no case *")


@pytest.mark.slow
def test_configured_specs_that_are_not_run_are_reported(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        project,
        "shop/pytest.ini",
        "[pytest]\nharness_specs = ../specs\nharness_cassettes = ../cassettes\n",
    )
    monkeypatch.chdir(project.path / "shop")
    result = project.runpytest_inprocess("-p", "no:cacheprovider", "-q")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    way = Path("..", "specs")
    message = f"harness_specs names {way}, which pytest did not collect: name it after `pytest`, or in `testpaths`"
    assert message in result.outlines
    result = project.runpytest_inprocess(
        "-p", "no:cacheprovider", "-q", "../specs", "-k", "nothing"
    )
    assert message not in result.outlines
    write(
        project,
        "shop/pytest.ini",
        "[pytest]\ntestpaths = ../specs\nharness_specs = ../specs\nharness_cassettes = ../cassettes\n",
    )
    project.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("option", "name", "hint"),
    [
        ("--harness-dialect", "anthropc", "anthropic"),
        ("--harness-provider", "gemini", "gemini-api"),
    ],
)
def test_a_mistyped_name_is_bad_usage(
    project: pytest.Pytester, option: str, name: str, hint: str
) -> None:
    result = run(project, option, name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{option}: unknown name '{name}' (did you mean {hint}?); *"])


@pytest.mark.slow
def test_other_yaml_files_are_ignored(project: pytest.Pytester) -> None:
    write(project, "specs/openapi.yaml", "openapi: 3.1.0\n")
    write(project, "specs/latin.yaml", "x: 1\n").write_bytes(b"\xff\xfe")
    write(project, "elsewhere/hello.yaml", CASE)
    result = project.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_spec_elsewhere_runs_when_it_is_named(project: pytest.Pytester) -> None:
    write(project, "elsewhere/hello.yaml", CASE)
    project.runpytest_inprocess("elsewhere/hello.yaml", "-p", "no:cacheprovider").assert_outcomes(
        passed=2
    )


@pytest.mark.slow
def test_dialect_and_provider_select(project: pytest.Pytester) -> None:
    run(project, "--harness-dialect", "anthropic").assert_outcomes(passed=1)
    run(project, "--harness-provider", "gemini-api").assert_outcomes(passed=2)
    run(project, "--harness-provider", "vertex-ai").assert_outcomes()
    run(project, "-k", "anthropic").assert_outcomes(passed=1, deselected=1)


def test_ini_names_the_folders(project: pytest.Pytester) -> None:
    (project.path / "specs").rename(project.path / "rules")
    (project.path / "cassettes").rename(project.path / "tapes")
    project.makeini("[pytest]\nharness_specs = rules\nharness_cassettes = tapes\n")
    project.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


def test_help_shows_the_default_of_options_and_settings(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    output = project.runpytest_inprocess("--help").stdout.str()
    valued = re.findall(
        r"^  (?:--harness-[a-z]+=|harness_[a-z_]+ \().*(?:\n {10}.*)*", output, re.MULTILINE
    )
    assert len(valued) == 13
    assert [option for option in valued if "default: " not in option] == []


def test_a_spec_without_its_first_line_is_a_warning(project: pytest.Pytester) -> None:
    write(project, "specs/lost.yaml", CASE.removeprefix("harness: 1\n"))
    result = run(project)
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["*lost.yaml: has `cases:` but does not begin with `harness: 1`*"])


def test_a_missing_folder_of_specs_is_bad_usage(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nharness_specs = spec\n")
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*harness_specs: there is no folder */spec; *"])


def test_specs_beside_the_project_are_found(project: pytest.Pytester) -> None:
    inner = project.mkdir("inner")
    (inner / "pytest.ini").write_text(
        "[pytest]\nharness_specs = ../specs\nharness_cassettes = ../cassettes\n", encoding="utf-8"
    )
    run(project, "-c", str(inner / "pytest.ini"), "specs").assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_circular_link_is_not_walked(project: pytest.Pytester) -> None:
    (project.path / "specs" / "self").symlink_to(".")
    (project.path / "specs" / "up").symlink_to("..")
    project.runpytest_subprocess("specs", "-p", "no:cacheprovider", timeout=60).assert_outcomes(
        passed=2
    )
