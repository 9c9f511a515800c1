"""Several tests that name one cassette, and a failed test that names its crash journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import load
from tests.recording.clients import part_of
from tests.support.raw_server import raw_server, streaming

pytestmark = pytest.mark.slow

EVENT = b'data: {"candidates": [{"content": {"parts": [{"text": "t"}]},"finishReason": "STOP"}]}\r\n\r\n'

SUITE = """
import urllib.request
import pytest

@pytest.mark.parametrize("prompt", %s)
@pytest.mark.harness_cassette("gemini-api/shared")
def test_asks(harness_base_url, prompt):
    body = b'{"contents": [{"parts": [{"text": "%%b"}]}]}' %% prompt
    url = harness_base_url + "/v1/models/m:streamGenerateContent?alt=sse"
    with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
        assert b'"t"' in answer.read()
"""
OWN_PROMPTS = SUITE % [b"%d" % number for number in range(6)]
ONE_PROMPT = SUITE % ([b"hi"] * 6)


def record(pytester: pytest.Pytester, url: str, mode: str, *arguments: str) -> pytest.RunResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOOGLE_GEMINI_BASE_URL", url)
        return run(pytester, "--harness-record", mode, *arguments)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    # workers leave sockets open, which a later test of the same process would report
    start = pytester.runpytest_subprocess if "-n" in arguments else pytester.runpytest_inprocess
    return start("-p", "no:cacheprovider", "-W", "default", *arguments)


@pytest.fixture
def path(pytester: pytest.Pytester) -> Path:
    (pytester.path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return pytester.path / "cassettes/gemini-api/shared.yaml"


@pytest.mark.parametrize("mode", ["once", "rewrite"])
def test_a_second_test_that_asks_something_else_fails(
    pytester: pytest.Pytester, path: Path, mode: str
) -> None:
    pytester.makepyfile(test_suite=ONE_PROMPT)
    with raw_server(streaming(EVENT)) as url:
        if mode == "rewrite":
            record(pytester, url, "once").assert_outcomes(passed=6)
        pytester.makepyfile(test_suite=OWN_PROMPTS)
        result = record(pytester, url, mode)
    result.assert_outcomes(passed=1, failed=5, warnings=5)
    result.stdout.fnmatch_lines(
        ["*[[]0[]] has recorded the cassette in this run; give this test its own cassette"]
    )
    assert len(load(path).exchanges) == 1
    run(pytester, "test_suite.py::test_asks[0]").assert_outcomes(passed=1)


@pytest.mark.parametrize("mode", ["once", "rewrite"])
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "two processes"])
def test_tests_that_ask_the_same_share_a_cassette(
    pytester: pytest.Pytester, path: Path, mode: str, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(ONE_PROMPT)
    with raw_server(streaming(EVENT)) as url:
        result = record(pytester, url, mode, *workers)
        outcomes = result.parseoutcomes()
        if outcomes.get("passed") != 6:  # two workers recorded at the same time
            result.stdout.fnmatch_lines(["*another recording has written this cassette meanwhile*"])
        assert len(load(path).exchanges) == 1
    run(pytester).assert_outcomes(passed=6)


def test_a_failed_test_names_its_journal_at_once(pytester: pytest.Pytester, path: Path) -> None:
    pytester.makepyfile(ONE_PROMPT + "    raise AssertionError('the test failed')\n")
    with raw_server(streaming(EVENT)) as url:
        result = record(pytester, url, "once", "-k", "hi0")
    result.assert_outcomes(failed=1, deselected=5, warnings=1)
    result.stdout.fnmatch_lines(
        [f"*the reads so far are kept in {part_of(path)}; `harness import *"]
    )
    assert load(part_of(path)).exchanges[0].body == EVENT


def test_a_refused_recording_names_its_journal(pytester: pytest.Pytester, path: Path) -> None:
    pytester.makepyfile(ONE_PROMPT)
    quota = EVENT + b'data: {"error": {"code": 429, "message": "no more"}}\r\n\r\n'
    with raw_server(streaming(quota)) as url:
        result = record(pytester, url, "once", "-k", "hi0")
    result.assert_outcomes(passed=1, errors=1, deselected=5)
    result.stdout.fnmatch_lines(
        [f"*the reads so far are kept in {part_of(path)}; `harness import *"]
    )
