"""The options of the command line and the settings of pytest's configuration.

They are checked before anything runs.
"""

from __future__ import annotations

import os
from typing import Final

import pytest

from .markers import MARKER
from .mask import usage_error

MODES: Final = ("none", "once", "rewrite")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness", "Gemini conformance specs")
    group.addoption(
        "--harness-provider",
        action="append",
        metavar="NAME",
        help="run only the cases of this provider (repeatable; default: all)",
    )
    group.addoption(
        "--harness-dialect",
        action="append",
        metavar="NAME",
        help="run only the cells of this dialect or adapter (repeatable; default: all)",
    )
    group.addoption(
        "--harness-accept",
        action="store_true",
        help="fill empty expectations with the actual values, marked as unreviewed",
    )
    group.addoption(
        "--harness-update",
        action="store_true",
        help=(
            "rewrite the parts of exact expectations that no longer hold, marked as unreviewed;"
            " `harness review` shows them"
        ),
    )
    group.addoption(
        "--harness-strict",
        action="store_true",
        help="also fail for a failed case of level `should` and for a cell that is not run",
    )
    group.addoption(
        "--harness-laws",
        action="store_true",
        help=(
            "also test every exchange of the cassettes by the laws: one item for each law, exchange"
            " and adapter"
        ),
    )
    group.addoption(
        "--harness-questions",
        action="append",
        metavar="NAME",
        help=(
            "ask the adapters this question about their requests (repeatable); all: also every"
            " question of the package; none: no question (default: those in the specs)"
        ),
    )
    group.addoption(
        "--harness-report",
        metavar="DIR",
        help=(
            "write a report to DIR: index.html and a page per provider, results.json, junit.xml,"
            " summary.md and badges (default: none)"
        ),
    )
    baseline = (
        "with --harness-report: results.json of an earlier run; the report shows the changes since"
        " that run (default: none)"
    )
    group.addoption("--harness-baseline", metavar="RESULTS", help=baseline)
    day = (
        "with --harness-report: show the ages of cassettes on that day (default: the day of"
        " SOURCE_DATE_EPOCH, else no ages)"
    )
    group.addoption("--harness-date", metavar="YYYY-MM-DD", help=day)
    group.addoption(
        "--harness-record",
        choices=MODES,
        default="none",
        help=(
            "cassettes of tests: none only answers, once records missing cassettes, rewrite records"
            " all cassettes again (default: none)"
        ),
    )
    parser.addini(
        "harness_specs",
        "folders of specs, relative to the configuration file (default: specs)",
        type="paths",
        default=[],
    )
    parser.addini(
        "harness_adapters",
        "your adapters, one per line: NAME = TARGET or NAME: DIALECT = TARGET (default: none)",
        type="linelist",
        default=[],
    )
    parser.addini(
        "harness_losses",
        "aspects that an adapter does not carry: ADAPTER: ASPECT, ASPECT[CONDITION] (default:"
        " none)",
        type="linelist",
        default=[],
    )
    parser.addini(
        "harness_known_failing",
        "known failures of an adapter: ADAPTER: PATTERN = REASON LINK (default: none)",
        type="linelist",
        default=[],
    )
    parser.addini(
        "harness_allowed_hosts",
        "names that clients may use for this machine, such as host.docker.internal (default:"
        " only loopback names)",
        type="args",
        default=[],
    )
    parser.addini(
        "harness_cassettes",
        "the folder of cassettes, relative to the rootdir (default: cassettes)",
        default="cassettes",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(name, allow_status=(), allow_end=(), allow_incomplete=False, ordered=True): the"
        " cassette that records and answers this test's client; allow_status: HTTP statuses of"
        " errors that may be recorded; allow_end: ends of incomplete answers that may be recorded"
        " (cut, reset, aborted); allow_incomplete: whether something else than the complete answer"
        " of a model may be recorded; ordered: whether another order of requests is reported",
    )
    for option in ("--harness-accept", "--harness-update"):
        if config.getoption(option) and os.environ.get("CI"):
            raise usage_error(
                f"{option} does not run in CI (the environment variable CI is set), because a"
                " person must review expectations; run it on your machine"
            )
    for root in config.getini("harness_specs"):
        if not root.is_dir():
            raise usage_error(
                f"harness_specs: there is no folder {root}; create it or correct the path"
            )
    names = ("dialect", "provider", "questions", "report", "baseline", "date")
    settings = ("adapters", "losses", "known_failing")
    given = [config.getoption(f"--harness-{name}") for name in names]
    if any(given) or any(config.getini(f"harness_{name}") for name in settings):
        from .checks import check_options

        check_options(config)
