"""Fixtures of the plugin's tests."""

from __future__ import annotations

import deepdiff
import jinja2
import pytest

import harness.judging.evidence
import harness.project.project
import harness.report
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from tests.pytest_plugin.project import CASE, HELLO, URL, write

# pytester drops the modules that a run imports; modules imported here are not loaded per test
assert deepdiff
assert jinja2
assert harness.judging.evidence
assert harness.project.project
assert harness.report


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
