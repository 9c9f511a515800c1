"""The fixture `harness_server`."""

from __future__ import annotations

import pytest

from harness.cassettes import dumps
from tests.server.socket_client import PATH, answered, tape

pytestmark = pytest.mark.slow

USES = """\
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ADDRESSES = set()


def ask(server, text="hi"):
    ADDRESSES.add(server.base_url)
    body = ('{"contents": [{"parts": [{"text": "%s"}], "role": "user"}]}' % text).encode()
    with urllib.request.urlopen(urllib.request.Request(server.base_url + "PATH", body)) as answer:
        return answer.read()


def test_by_name(harness_server):
    harness_server.add("gemini-api/hello")
    assert ask(harness_server) == b'data: {"responseId": "r"}\\r\\n\\r\\n'


def test_by_path_and_in_another_manner(harness_server):
    harness_server.add(Path("cassettes/gemini-api/hello.yaml"))
    harness_server.behave(match="path")
    assert ask(harness_server, "anything")


def test_nothing_of_the_tests_before_is_left(harness_server):
    with pytest.raises(urllib.error.HTTPError):
        ask(harness_server)
    assert harness_server.misses
    assert len(ADDRESSES) == 1
"""


def test_the_fixture_is_one_server_per_worker(
    pytester: pytest.Pytester,
) -> None:
    pytester.mkdir("cassettes").joinpath("gemini-api").mkdir()
    pytester.path.joinpath("cassettes/gemini-api/hello.yaml").write_text(
        dumps(tape(answered())), encoding="utf-8"
    )
    pytester.makepyfile(USES.replace("PATH", PATH))
    pytester.runpytest("-q", "-p", "no:cacheprovider").assert_outcomes(passed=3)
