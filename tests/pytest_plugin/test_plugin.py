"""The plugin, in a project of its own: items, outcomes, messages, options, reports."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import deepdiff
import pytest

import harness.conformance.project
import harness.report
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cassettes.load import read_recording

pytest_plugins = ["pytester"]

assert deepdiff
assert harness.conformance.project
# imported here, so that pytester, which forgets what a run imports, does not load them anew for
# every test
assert harness.report

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
HELLO = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Hel"}],"role": "model"},"index": 0}],"modelVersion": "gemini-x"}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": "lo"}],"role": "model"},"finishReason": "STOP","index": 0}]}\r\n\r\n'
)
CASE = """\
harness: 1
cases:
- case: hello
  requirement: Text comes in pieces.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: gemini-api/hello
  expect:
    unified-llm: {$contains: [{type: TEXT_DELTA, delta: Hel, text_id: text_1}]}
    anthropic: {$contains: [{type: message_stop}]}
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one cassette and one spec."""
    monkeypatch.delenv("CI", raising=False)
    exchange = Exchange(
        Request("POST", URL), 200, {}, ((1.0, HELLO[:50]), (9.0, HELLO[50:])), "complete"
    )
    write(
        pytester,
        "cassettes/gemini-api/hello.yaml",
        dumps(Cassette((exchange,), Origin("written", date="2026-11-21"))),
    )
    write(pytester, "specs/hello.yaml", CASE)
    return pytester


def write(pytester: pytest.Pytester, name: str, text: str) -> Path:
    path = pytester.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_inprocess(
        "specs", "-p", "no:cacheprovider", "-W", "default", *arguments
    )


def test_a_cell_is_an_item_and_a_pass(project: pytest.Pytester) -> None:
    result = run(project, "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["*specs/hello.yaml::hello[[]unified-llm[]] PASSED*", "*hello[[]anthropic[]] PASSED*"]
    )
    result.stdout.fnmatch_lines(
        ["gemini-api / anthropic*1 passed", "The one stream is written by hand*"]
    )


def test_a_failure_shows_requirement_layer_path_expected_and_got_and_nothing_of_our_code(
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


@pytest.mark.parametrize(
    ("folder", "shown"),
    [
        (".", "specs/gemini-api/hello.yaml:9"),
        ("specs/gemini-api", "hello.yaml:9"),
        ("cassettes", "../specs/gemini-api/hello.yaml:9"),
    ],
)
@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "with a worker"])
def test_a_failure_names_its_file_as_it_is_found_from_where_pytest_was_started(
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
    result = project.runpytest_subprocess(
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


@pytest.mark.parametrize(("started", "named", "options", "told"), LAYOUTS)
def test_the_command_of_a_cell_runs_it_where_pytest_was_started(
    project: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    started: str,
    named: list[str],
    options: list[str],
    told: str,
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
    result = project.runpytest_subprocess(
        *named, *options, *common, "--harness-report", project.path / "report"
    )
    first = commands(result, project.path / "report")[0]
    assert first == told
    again = subprocess.run(
        [sys.executable, "-m", *shlex.split(first), *common],
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert "1 failed" in again.stdout
    shown = re.search(r"FAILED (.*)::hello\[anthropic\]", again.stdout)
    assert shown
    assert Path(shown[1]).samefile(
        shlex.split(told)[-1].partition("::")[0]
    )  # so is the line of pytest's own summary


SHOP = "[pytest]\nharness_adapters =\n    turn = shop:replay\n    turn2 = shop:replay\n"


def test_an_adapter_that_no_case_expects_anything_of_is_told_with_the_way_out(
    project: pytest.Pytester,
) -> None:
    project.makeini(SHOP)
    write(project, "shop.py", "def replay(exchange):\n    return [{'say': 'Hel'}]\n")
    write(project, "specs/hello.yaml", CASE + "    turn:\n")
    for options in ([], ["-n", "1"]):
        result = project.runpytest_subprocess(
            "-p", "no:cacheprovider", "-q", "--harness-dialect", "turn2", *options
        )
        assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
        result.stdout.fnmatch_lines(
            [
                "turn2: no case expects anything of turn2; write `turn2:` without a value * --harness-accept, * --harness-laws"
            ]
        )
    told = run(
        project, "-q", "--harness-dialect", "turn2", "--harness-dialect", "turn", "-k", "nothing"
    )
    told.stdout.fnmatch_lines(["turn2: no case *"])
    told.stdout.no_fnmatch_line("turn: no case *")


def test_specs_that_are_configured_and_not_run_are_told(
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
    told = f"harness_specs names {way}, which pytest was not told to run: name it after `pytest`, or in `testpaths`"
    assert told in result.outlines
    result = project.runpytest_inprocess(
        "-p", "no:cacheprovider", "-q", "../specs", "-k", "nothing"
    )
    assert told not in result.outlines
    write(
        project,
        "shop/pytest.ini",
        "[pytest]\ntestpaths = ../specs\nharness_specs = ../specs\nharness_cassettes = ../cassettes\n",
    )
    project.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "with a worker"])
def test_what_was_filled_in_is_said_at_the_end(
    project: pytest.Pytester, options: list[str]
) -> None:
    project.makeini(SHOP)
    write(project, "shop.py", "def replay(exchange):\n    return [{'say': 'Hel'}]\n")
    write(project, "specs/hello.yaml", CASE + "    turn:\n")
    result = project.runpytest_subprocess(
        "specs", "-p", "no:cacheprovider", "-q", "--harness-accept", *options
    )
    assert [line for line in result.outlines if line.startswith("filled in")] == [
        "filled in: specs/hello.yaml::hello[turn], `reviewed: no`"
    ]
    assert "  reviewed: no\n" in (project.path / "specs" / "hello.yaml").read_text(encoding="utf-8")
    again = project.runpytest_subprocess(
        "specs", "-p", "no:cacheprovider", "-q", "--harness-accept"
    )
    again.stdout.no_fnmatch_line("filled in: *")


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


def test_strict_makes_warnings_and_what_does_not_run_failures(project: pytest.Pytester) -> None:
    write(
        project,
        "specs/hello.yaml",
        CASE.replace("expect:", "level: should\n  expect:").replace("delta: Hel,", "delta: Hell,"),
    )
    run(project, "--harness-strict").assert_outcomes(passed=1, failed=1)
    write(project, "specs/hello.yaml", CASE.replace("expect:", "reviewed: no\n  expect:"))
    run(project, "--harness-strict").assert_outcomes(failed=2)


def test_a_missing_cassette_is_an_error_that_says_so(project: pytest.Pytester) -> None:
    write(project, "specs/hello.yaml", CASE.replace("gemini-api/hello", "gemini-api/none"))
    result = run(project)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "error: no cassette gemini-api/none: cassettes/gemini-api/none.yaml does not exist; record or import one there*"
        ]
    )


@pytest.mark.parametrize("arguments", [(), ("--harness-accept",)])
def test_nothing_expected_of_a_missing_cassette_is_not_run_and_says_both(
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
            "*not run: nothing is expected yet, and no cassette gemini-api/none: *record or import one there*"
        ]
    )


def test_a_recording_that_does_not_tell_its_provider_is_judged_as_the_default_and_the_guess_is_said(
    project: pytest.Pytester,
) -> None:
    bare = Exchange(None, 200, {}, ((1.0, HELLO),), "complete")
    write(project, "cassettes/gemini-api/hello.yaml", dumps(Cassette((bare,), Origin("imported"))))
    result = run(project, "--harness-provider", "gemini-api")
    result.assert_outcomes(passed=2, warnings=2)
    result.stdout.fnmatch_lines(
        [
            "*HarnessWarning: cassette gemini-api/hello: neither URL nor body tells its provider, *`provider:` in the case*"
        ]
    )
    result.stdout.no_fnmatch_line("*conformance.py*")
    strict = run(project, "-W", "error")
    strict.assert_outcomes(failed=2)
    strict.stdout.no_fnmatch_line("*Error*")
    write(
        project, "specs/hello.yaml", CASE.replace("  expect:", "  provider: vertex-ai\n  expect:")
    )
    run(project, "-W", "error").assert_outcomes(passed=2)


def test_a_cassette_reached_by_a_link_out_of_its_folder_is_refused(
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


def test_a_typo_in_a_spec_is_an_error_with_its_line(project: pytest.Pytester) -> None:
    write(project, "specs/hello.yaml", CASE.replace("  cassette:", "  casette:"))
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*specs/hello.yaml:7: unknown key 'casette'*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_spec_that_can_not_be_read_stands_in_summary_and_report(project: pytest.Pytester) -> None:
    write(project, "specs/typo.yaml", CASE.replace("  cassette:", "  casette:"))
    result = run(project, "--continue-on-collection-errors", "--harness-report", "out")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["not read: specs/typo.yaml:7: unknown key 'casette'*"])
    page = (project.path / "out/index.html").read_text(encoding="utf-8")
    assert "specs/typo.yaml:7: unknown key" in page
    assert str(project.path) not in page


def test_features_that_can_not_be_read_are_said_once(project: pytest.Pytester) -> None:
    write(project, "specs/other.yaml", CASE)
    write(project, "specs/features.yaml", "harness: 1\nfeatures: 7\n")
    result = run(project)
    result.assert_outcomes(errors=2)
    assert [line for line in result.outlines if line.startswith("not read: ")] == [
        "not read: specs/features.yaml:2: features must be a list, not the number 7"
    ]


@pytest.mark.parametrize(
    ("option", "name"), [("--harness-dialect", "anthropc"), ("--harness-provider", "gemini")]
)
def test_a_mistyped_name_is_bad_usage_and_not_a_run_of_nothing(
    project: pytest.Pytester, option: str, name: str
) -> None:
    result = run(project, option, name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{option} {name}: unknown; known are *"])


def test_a_report_where_a_file_stands_is_bad_usage(project: pytest.Pytester) -> None:
    write(project, "taken", "mine")
    assert run(project, "--harness-report", "taken/in").ret == pytest.ExitCode.USAGE_ERROR


def test_the_report_does_not_write_through_a_link(project: pytest.Pytester) -> None:
    outside = write(project, "outside.html", "mine")
    (project.path / "out").mkdir()
    (project.path / "out/index.html").symlink_to(outside)
    run(project, "--harness-report", "out").assert_outcomes(passed=2)
    assert outside.read_text(encoding="utf-8") == "mine"
    assert "Gemini compatibility" in (project.path / "out/index.html").read_text(encoding="utf-8")


def test_other_yaml_is_left_alone(project: pytest.Pytester) -> None:
    write(project, "specs/openapi.yaml", "openapi: 3.1.0\n")
    write(project, "specs/latin.yaml", "x: 1\n").write_bytes(b"\xff\xfe")
    write(project, "elsewhere/hello.yaml", CASE)
    result = project.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)


def test_a_spec_elsewhere_runs_when_it_is_named(project: pytest.Pytester) -> None:
    write(project, "elsewhere/hello.yaml", CASE)
    project.runpytest_inprocess("elsewhere/hello.yaml", "-p", "no:cacheprovider").assert_outcomes(
        passed=2
    )


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


def test_help_says_of_every_option_and_setting_with_a_value_what_it_is_by_default(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    told = project.runpytest_inprocess("--help").stdout.str()
    valued = re.findall(
        r"^  (?:--harness-[a-z]+=|harness_[a-z]+ \().*(?:\n {10}.*)*", told, re.MULTILINE
    )
    assert len(valued) == 9
    assert [option for option in valued if "default: " not in option] == []


def test_accept_fills_what_is_empty_and_waits_for_review(project: pytest.Pytester) -> None:
    path = write(
        project,
        "specs/hello.yaml",
        CASE[: CASE.index("    unified-llm")] + "    unified-llm:\n    anthropic:  # later\n",
    )
    run(project).assert_outcomes(skipped=2)
    run(project, "--harness-accept", "-rs").stdout.fnmatch_lines(
        ["*unreviewed: filled in hello.yaml; read it, then delete `reviewed: no`"]
    )
    text = path.read_text(encoding="utf-8")
    assert '"delta": "Hel"' in text
    assert "reviewed: no" in text
    assert "# later" in text
    run(project).assert_outcomes(skipped=2)
    path.write_text(text.replace("  reviewed: no\n", ""), encoding="utf-8")
    run(project).assert_outcomes(passed=2)


def test_accept_fills_nothing_in_where_the_adapter_raises_and_says_so(
    project: pytest.Pytester,
) -> None:
    write(project, "broken_adapter.py", "def run(exchange):\n    raise KeyError('parts')\n")
    project.makeini("[pytest]\nharness_adapters = mine = broken_adapter:run\n")
    path = write(project, "specs/hello.yaml", CASE[: CASE.index("    unified-llm")] + "    mine:\n")
    result = run(project, "--harness-accept")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*nothing could be filled in: the adapter raised KeyError at broken_adapter.py:2: 'parts'*"
        ]
    )
    assert "    mine:\n" in path.read_text(encoding="utf-8")


def test_a_spec_without_its_first_line_is_told(project: pytest.Pytester) -> None:
    write(project, "specs/lost.yaml", CASE.removeprefix("harness: 1\n"))
    result = run(project)
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["*lost.yaml: has `cases:` but does not begin with `harness: 1`*"])


def test_a_folder_of_specs_that_is_not_there_is_a_mistake(project: pytest.Pytester) -> None:
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


def test_a_link_that_leads_round_is_not_walked(project: pytest.Pytester) -> None:
    (project.path / "specs" / "self").symlink_to(".")
    (project.path / "specs" / "up").symlink_to("..")
    project.runpytest_subprocess("specs", "-p", "no:cacheprovider", timeout=60).assert_outcomes(
        passed=2
    )


def test_accept_is_refused_in_ci(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(project, "--harness-accept")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_report_is_the_same_bytes_with_workers(project: pytest.Pytester) -> None:
    write(
        project,
        "specs/other.yaml",
        CASE.replace("delta: Hel,", "delta: Hell,").replace("case: hello", "case: other"),
    )
    for folder, workers in (("alone", ["-p", "no:xdist"]), ("two", ["-n", "2"])):
        project.runpytest_subprocess(
            "specs", "-p", "no:cacheprovider", "--harness-report", folder, *workers
        ).assert_outcomes(passed=3, failed=1)
    pages = {path.name: path.read_bytes() for path in (project.path / "alone").rglob("*.*")}
    assert set(pages) >= {"index.html", "gemini-api.html", "vertex-ai.html", "code-assist.html"}
    assert pages == {path.name: path.read_bytes() for path in (project.path / "two").rglob("*.*")}
    assert "other" in pages["gemini-api.html"].decode()


def test_last_failed_and_exitfirst_work(project: pytest.Pytester) -> None:
    write(project, "specs/hello.yaml", CASE.replace("delta: Hel,", "delta: Hell,"))
    project.runpytest_inprocess("specs").assert_outcomes(passed=1, failed=1)
    project.runpytest_inprocess("specs", "--lf").assert_outcomes(failed=1)
    project.runpytest_inprocess("specs", "-x").assert_outcomes(failed=1)


def test_the_fixture_replays_for_hand_written_tests(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        def test_it(harness_replay):
            kinds = [event["kind"] for event in harness_replay("gemini-api/hello", layer="events")]
            assert kinds == ["start", "text", "text", "finish"]
            assert harness_replay("cassettes/gemini-api/hello.yaml", dialect="anthropic")[-1] == {"type": "message_stop"}
        """
    )
    project.runpytest_inprocess(
        "test_the_fixture_replays_for_hand_written_tests.py", "-p", "no:cacheprovider"
    ).assert_outcomes(passed=1)


def test_it_stands_beside_pytest_recording(project: pytest.Pytester) -> None:
    result = run(project, "--record-mode=none")
    result.assert_outcomes(passed=2)


HEAVY = ["pydantic", "vcr", "deepdiff", "google.genai", "jinja2", "msgspec", "yaml", "h11"]
LOAD = f"""
import sys, pytest
from importlib import import_module
from time import perf_counter
began = perf_counter()
import harness.pytest_plugin
for name in harness.pytest_plugin.pytest_plugins:
    import_module(name)
print(1000 * (perf_counter() - began), *sorted({set(HEAVY)} & set(sys.modules)))
"""


def test_loading_the_plugin_imports_nothing_heavy_and_takes_no_time() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", LOAD], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(5)
    ]
    assert [heavy for _, *heavy in runs] == [[]] * 5
    assert min(float(milliseconds) for milliseconds, *_ in runs) <= 50


def test_a_run_without_specs_is_not_changed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"import sys\ndef test_it(): assert not {set(HEAVY) - {'yaml'}} & set(sys.modules)"
    )
    result = pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*Gemini*")


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
