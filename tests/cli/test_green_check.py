"""An expectation that accepts every answer is refused. The table is in docs/github-actions.md."""

from __future__ import annotations

import pytest

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main
from tests.cli.project import BODY, URL, write
from tests.conftest import FEWER_PLUGINS
from tests.support.commands import run

STREAM = """\
harness: 1
cases:
- case: a
  requirement: r
  features: [text.streaming]
  source: https://ai.google.dev
  cassette: gemini-api/a
  expect:
    unified-llm: {expected}
"""
REQUEST = """\
harness: 1
cases:
- case: a
  requirement: r
  features: [text.streaming]
  source: https://ai.google.dev
  prompt:
    anthropic: {{messages: [{{role: user, content: hello}}]}}
  expect:
    anthropic: {expected}
"""
REFUSED = "the expectation accepts every answer; expect a part of the"
OF_EVERY_ANSWER = [
    "{$any: true}",
    "{$any: array}",
    "{$same: all}",
    "{$contains: []}",
    "{$contains: {}}",
    "{$contains: [{$any: true}]}",
    "{$contains: [{$any: object}]}",
    "{$contains: [{$contains: {}}]}",
    "{$contains: [{$same: first}]}",
    "{$contains: [{$same: first}, {$same: second}]}",
    "{$contains: [{$any: true}, {$contains: {}}, {$any: object}]}",
]
OF_EVERY_REQUEST = [
    "{$any: true}",
    "{$any: object}",
    "{$contains: {}}",
    "{request: {$any: true}}",
    "{request: {$any: object}}",
    "{request: {$contains: {}}}",
]
OF_SOME_ANSWERS = [
    "[]",
    "[{$any: true}]",
    "{$unordered: [{$any: true}, {$any: true}]}",
    "{$contains: [{$contains: {type: FINISH}}]}",
    "{$contains: [{$any: true}, {$contains: {type: FINISH}}]}",
    "{$contains: [{$same: twice}, {$same: twice}]}",
    "{$literal: []}",
]


@pytest.fixture(autouse=True)
def project() -> None:
    request = Request("POST", URL.partition("&")[0], {}, b"{}")
    exchange = Exchange(request, 200, {}, ((None, BODY),), "complete")
    write("cassettes/gemini-api/a.yaml", dumps(Cassette((exchange,), Origin("written"))))


@pytest.mark.parametrize("expected", OF_EVERY_ANSWER)
def test_an_expectation_that_accepts_every_answer_is_refused(
    expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("specs/a.yaml", STREAM.format(expected=expected))
    assert main(["check"]) == 1
    output = capsys.readouterr().out
    assert f"specs/a.yaml:9: expect.unified-llm: {REFUSED} answer" in output


@pytest.mark.parametrize("expected", OF_EVERY_REQUEST)
def test_an_expectation_that_accepts_every_request_is_refused(
    expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("specs/a.yaml", REQUEST.format(expected=expected))
    assert main(["check"]) == 1
    output = capsys.readouterr().out
    assert f"specs/a.yaml:10: expect.anthropic: {REFUSED} request" in output


@pytest.mark.parametrize("expected", OF_SOME_ANSWERS)
def test_an_expectation_that_accepts_some_answers_is_valid(expected: str) -> None:
    write("specs/a.yaml", STREAM.format(expected=expected))
    assert main(["check"]) == 0


def test_a_run_of_pytest_refuses_it_too() -> None:
    write("specs/a.yaml", STREAM.format(expected="{$contains: [{$any: true}]}"))
    ended = run("pytest", "specs", "-p", "no:cacheprovider", *FEWER_PLUGINS)
    assert ended.status == pytest.ExitCode.INTERRUPTED
    assert f"a.yaml:9: expect.unified-llm: {REFUSED} answer" in ended.stdout
