"""--harness-update rewrites the parts of expectations that no longer hold."""

from __future__ import annotations

import pytest

from harness.project.review import before_update
from tests.pytest_plugin.project import CASE, run, write

INI = "[pytest]\nharness_adapters =\n    mine = mine:payloads\n"
MINE = """\
from itertools import count

numbers = count()


def payloads(exchange):
    return [
        {"type": "start", "run_id": f"r{next(numbers)}"},
        {"type": "text", "text": "Hel", "n": 1},
        {"type": "end", "sdk_version": "9.1"},
    ]
"""
EXPECTED = """\
    mine:
    - {type: start}
    # the text
    - {type: text, text: {$re: H.*}}
    - {type: end, reason: null}  # over
"""
UPDATED = """\
    mine:
    - {type: start, "run_id": {"$any": "string"}}
    # the text
    - {type: text, text: {$re: H.*}, "n": 1}
    - {"type": "end", "sdk_version": {"$any": "string"}}  # over
"""
SPEC = CASE.partition("    unified-llm")[0] + EXPECTED


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "with workers"])
def test_changed_expectations_are_rewritten_and_marked(
    project: pytest.Pytester, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    project.makeini(INI)
    write(project, "mine.py", MINE)
    path = write(project, "specs/hello.yaml", SPEC)
    arguments = ["specs", "-p", "no:cacheprovider", "-q"]
    result = project.runpytest_inprocess(*arguments, "--harness-update", *options)
    assert result.ret == 0
    assert [line for line in result.outlines if "specs/hello.yaml::" in line] == [
        "updated: specs/hello.yaml::hello[mine], `reviewed: no`"
    ]
    assert "1 expectation rewritten, not yet reviewed: harness review" in result.outlines
    assert "Nothing was compared." not in result.outlines
    expected = SPEC.replace(EXPECTED, UPDATED).replace("hello\n", "hello\n  reviewed: no\n", 1)
    assert path.read_text(encoding="utf-8") == expected
    assert before_update(path) == SPEC
    again = project.runpytest_inprocess(*arguments, "--harness-update")
    again.assert_outcomes(skipped=1)
    assert "Nothing was compared." in again.outlines
    assert "1 cell not reviewed: `harness review` goes through it" in again.outlines
    assert path.read_text(encoding="utf-8") == expected


@pytest.mark.slow
def test_an_operator_is_never_rewritten_and_known_failures_stay(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    project.makeini(INI)
    write(project, "mine.py", MINE)
    text = SPEC.replace("H.*", "X.*")
    path = write(project, "specs/hello.yaml", text)
    result = run(project, "--harness-update")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "not updated: specs/hello.yaml::hello[[]mine]: *hello.yaml:9: expect.mine: an operator at"
            " [[]1[]].text refuses the new value; change it by hand"
        ]
    )
    assert path.read_text(encoding="utf-8") == text
    known = "  known_failing:\n    mine: {reason: It is so., link: 'https://example.com'}\n"
    write(project, "specs/hello.yaml", SPEC + known)
    run(project, "--harness-update").assert_outcomes(xfailed=1)
    assert path.read_text(encoding="utf-8") == SPEC + known


@pytest.mark.slow
def test_accept_says_that_it_changes_no_red_cell(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    project.makeini(INI)
    write(project, "mine.py", MINE)
    path = write(project, "specs/hello.yaml", SPEC)
    result = run(project, "--harness-accept")
    (way_out,) = [line for line in result.outlines if line.startswith("intended?")]
    assert way_out == (
        "intended? pytest 'specs/hello.yaml::hello[mine]' --harness-update, then harness review"
    )
    result.stdout.fnmatch_lines(
        [
            "1 red cell not changed: --harness-accept fills empty expectations only; --harness-update"
            " rewrites those that no longer hold"
        ]
    )
    assert path.read_text(encoding="utf-8") == SPEC


@pytest.mark.slow
def test_update_does_not_run_in_ci(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    write(project, "specs/hello.yaml", CASE)
    result = run(project, "--harness-update")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--harness-update does not run in CI*"])


@pytest.mark.slow
def test_a_value_that_another_run_would_not_give_is_filled_in_as_any(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    project.makeini(INI)
    write(project, "mine.py", MINE)
    path = write(project, "specs/hello.yaml", CASE.partition("    unified-llm")[0] + "    mine:\n")
    result = run(project, "--harness-accept")
    result.assert_outcomes(skipped=1)
    assert "1 expectation filled in, not yet reviewed: harness review" in result.outlines
    assert path.read_text(encoding="utf-8").endswith(
        '      - {"type": "start", "run_id": {"$any": "string"}}\n'
        '      - {"type": "text", "text": "Hel", "n": 1}\n'
        '      - {"type": "end", "sdk_version": {"$any": "string"}}\n'
    )
