"""Questions about requests as items: those of the specs, and with an option those of the package."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.judging.questions.question import own_questions
from harness.pytest_plugin.collection import pytest_ignore_collect
from harness.pytest_plugin.paths import QUESTIONS
from harness.report.files import read_run
from tests.pytest_plugin.project import run, write

SHIM = """
import json, urllib.request

PROVIDERS = ("gemini-api", "openai-compat")

def replay(at):
    body = {"contents": [{"role": "user", "parts": [{"text": at.prompt}]}]}
    if "openai" in at.base_url or at.settings.get("temperature") is None or not KEEPS:
        generation = {}
    else:
        generation = {"temperature": at.settings["temperature"]}
    method = "streamGenerateContent?alt=sse" if at.stream else "generateContent"
    url = f"{at.base_url}/v1beta/models/{at.model}:{method}"
    data = json.dumps({**body, "generationConfig": generation}).encode()
    urllib.request.urlopen(urllib.request.Request(url, data)).read()
    return []
"""
BOATS = """\
harness: 1
questions:
- question: boats
  asks: A boat.
  ask: {messages: [{user: [A boat.]}], settings: {temperature: 0.0}}
- question: pictures
  asks: A picture.
  ask: {messages: [{user: [{image: {data: png-1, type: image/png}}]}]}
"""
ONE_WIRE = ("--harness-provider", "gemini-api")


@pytest.fixture
def asked(project: pytest.Pytester) -> pytest.Pytester:
    """A project with an adapter that drops a zero."""
    write(project, "shim.py", f"KEEPS = False\n{SHIM}")
    write(project, "specs/shop/questions.yaml", BOATS)
    project.makeini("[pytest]\nharness_adapters = mine: facts = serve: shim:replay\n")
    return project


def questions(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run only the questions for the adapter."""
    return run(project, "--harness-dialect", "mine", "-k", "not hello", *arguments)


def test_a_question_of_the_specs_fails_with_its_finding(asked: pytest.Pytester) -> None:
    result = questions(asked, *ONE_WIRE, "-rsf")

    result.assert_outcomes(failed=2, skipped=2, deselected=1)
    result.stdout.fnmatch_lines(
        [
            "settings lost: temperature 0.0 is not sent",
            "at:          specs/shop/questions.yaml:3",
            "  asked    settings.temperature = 0.0",
            "  question boats: A boat.",
            "  run: harness judge mine --questions boats",
            "SKIPPED * not run: messages: the adapter does not read it",
            "FAILED specs/shop/questions.yaml::boats-gemini-api[[]mine[]]*",
        ]
    )
    result.stdout.no_fnmatch_line("*and 1 more*")


def test_an_item_is_selected_by_its_id_and_by_k(asked: pytest.Pytester) -> None:
    write(asked, "shim.py", f"KEEPS = True\n{SHIM}")
    name = "specs/shop/questions.yaml::boats-gemini-api-unary[mine]"
    one = asked.runpytest_inprocess("-p", "no:cacheprovider", name)
    one.assert_outcomes(passed=1)
    several = questions(asked, "-k", "boats and unary")
    several.assert_outcomes(passed=2, deselected=7)  # on both wires of PROVIDERS


def test_questions_of_the_package_are_asked_with_the_option(asked: pytest.Pytester) -> None:
    result = questions(
        asked, *ONE_WIRE, "--harness-questions", "settings-zero", "--harness-report", "r"
    )

    result.assert_outcomes(failed=2, deselected=1)
    result.stdout.fnmatch_lines(
        ["FAILED *questions.yaml::settings-zero-gemini-api-unary[[]mine[]]*"]
    )
    rows = read_run(asked.path / "r").results
    assert {(row.case, row.adapter, row.turn, row.verdict) for row in rows} == {
        ("settings-zero", "mine", "question", "failed"),
        ("settings-zero (unary)", "mine", "question", "failed"),
    }
    assert all("--harness-questions settings-zero" in row.command for row in rows)


ANSWER = """
import json, urllib.request
from harness.facts import Finish, Text

PROVIDERS = ("gemini-api",)

def replay(at):
    body = {"contents": [{"role": "user", "parts": [{"text": at.prompt}]}]}
    method = "streamGenerateContent?alt=sse" if at.stream else "generateContent"
    url = f"{at.base_url}/v1beta/models/{at.model}:{method}"
    try:
        with urllib.request.urlopen(url, json.dumps(body).encode()) as answer:
            whole = answer.read()
    except OSError:
        whole = b""
    lines = [line[6:] for line in whole.splitlines() if line[:6] == b"data: "] or [whole]
    for message in map(json.loads, filter(None, lines)):
        parts = message["candidates"][0]["content"]["parts"]
        yield message, [Text(part["text"]) for part in parts]
    yield "end", [Finish("STOP")]
"""


def test_each_fault_of_a_service_is_an_item(asked: pytest.Pytester) -> None:
    write(asked, "shim.py", ANSWER)
    names = ("--harness-questions", "bad-key", "--harness-questions", "cancelled")
    result = questions(asked, *ONE_WIRE, *names, "--harness-report", "r", "-rsf")

    result.assert_outcomes(failed=2, skipped=1, deselected=1)
    result.stdout.fnmatch_lines(
        [
            "attempts lost: no request got the answer, only HTTP 401, and the adapter reports*",
            "  question bad-key: The service answers each request with 401.",
            "  run: harness judge mine --cassettes gemini-api/text:1 --questions bad-key",
            "SKIPPED *not run: the adapter does not read at.cancel*",
            "FAILED *::bad-key-gemini-api-text-1[[]mine[]]*",
        ]
    )
    rows = read_run(asked.path / "r").results
    assert {(row.case, row.verdict) for row in rows} == {
        ("bad-key", "failed"),
        ("bad-key (unary)", "failed"),
        ("cancelled", "not-run"),
    }
    junit = (asked.path / "r" / "junit.xml").read_text(encoding="utf-8")
    assert 'classname="questions" name="gemini-api: bad-key[mine]"' in junit


@pytest.mark.slow  # a second of waiting, and a process
def test_a_client_that_hangs_at_a_failing_service_is_stopped(
    asked: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "harness.adapters.named.make_adapter.__kwdefaults__", {"timeout": 1.0, "guest": False}
    )
    write(asked, "shim.py", ANSWER.replace('whole = b""', "import time; time.sleep(60)"))
    result = questions(asked, *ONE_WIRE, "--harness-questions", "bad-key", "-k", "client-complete")

    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["error: shim:replay did not return within 1 s*"])


def test_none_asks_no_question_and_an_unknown_name_is_an_error(asked: pytest.Pytester) -> None:
    assert questions(asked, "--harness-questions", "none").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result = run(asked, "--harness-questions", "boat")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--harness-questions: unknown name 'boat' (did you mean boats?)*"]
    )


def test_a_declared_loss_is_no_fault_and_a_selection_does_not_judge_others(
    asked: pytest.Pytester,
) -> None:
    ini = (asked.path / "tox.ini").read_text(encoding="utf-8").rstrip()
    asked.makeini(f"{ini}\nharness_losses = mine: settings[temperature], limits[pattern]\n")
    result = run(asked, "--harness-dialect", "mine", "--deselect", "specs/hello.yaml")

    result.assert_outcomes(passed=4, skipped=4, deselected=1)
    result.stdout.no_fnmatch_line("*limits*")


def test_a_known_failure_of_a_question_is_expected(asked: pytest.Pytester) -> None:
    ini = (asked.path / "tox.ini").read_text(encoding="utf-8").rstrip()
    asked.makeini(f"{ini}\nharness_known_failing = mine: boats settings = A zero is dropped.\n")
    result = questions(asked, *ONE_WIRE, "-rx")

    result.assert_outcomes(xfailed=2, skipped=2, deselected=1)
    result.stdout.fnmatch_lines(["XFAIL *boats-gemini-api[[]mine[]]*A zero is dropped.*"])


def test_a_file_that_is_not_valid_is_an_error(asked: pytest.Pytester) -> None:
    write(asked, "specs/shop/questions.yaml", BOATS.replace("asks: A boat.", "aks: A boat."))
    result = questions(asked)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["specs/shop/questions.yaml:4: unknown key 'aks'*"])
    named = questions(asked, "--harness-questions", "boats")
    assert named.ret == pytest.ExitCode.USAGE_ERROR


def test_a_question_that_the_run_did_not_reach_has_a_result(asked: pytest.Pytester) -> None:
    questions(asked, *ONE_WIRE, "-x", "--harness-report", "r")

    missing = [row for row in read_run(asked.path / "r").results if row.missing]
    assert {(row.question, row.turn) for row in missing} == {
        ("boats", "question"),
        ("pictures", "question"),
    }


@pytest.mark.parametrize(("option", "ignored"), [(["all"], False), (["none"], None), (None, None)])
def test_the_questions_of_a_package_in_a_virtual_environment_are_not_ignored(
    option: list[str] | None, ignored: bool | None
) -> None:
    config: Any = SimpleNamespace(
        getoption=lambda name: option,
        getini=lambda name: [] if name == "harness_specs" else "cassettes",
        rootpath=Path("/nosuch"),
    )
    for path in (QUESTIONS, QUESTIONS.parent, QUESTIONS.parents[4]):
        assert pytest_ignore_collect(path, config) is ignored


def test_the_file_of_the_package_is_where_the_plugin_looks_for_it() -> None:
    text = QUESTIONS.read_text(encoding="utf-8")
    assert all(f"question: {question.name}\n" in text for question in own_questions())
