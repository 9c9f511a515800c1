"""The pytest plugin for recording: a marker that names a cassette, fixtures that connect clients to
it, and a guard that keeps replayed tests off the network.

pytest loads this module in every run, so the rest is imported inside functions, by the first test
that uses it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from google.genai.types import HttpOptions

    from harness.recording import Playback, Recording

MARKER: Final = "harness_cassette"
MODES: Final = ("none", "once", "rewrite")
KEYS: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
NO_KEY: Final = "a-replay-needs-no-key"
"""The key for a client that a cassette answers, if the environment has none."""
NEEDS_KEY: Final = (
    "recording needs a key (GEMINI_API_KEY, made at https://aistudio.google.com/apikey) or a"
    " project (GOOGLE_CLOUD_PROJECT)"
)

_PASSED: Final = pytest.StashKey[bool]()
_OUTPUT: Final = pytest.StashKey[str]()
_STARTED: Final = pytest.StashKey[float]()
_RECORDED: Final = pytest.StashKey[dict[Path, str]]()
"""The tests that have recorded a cassette in this process, by its path."""
_OURS: Final = Path(__file__).parents[1]
_PYTHON: Final = Path(os.__file__).parent
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


class RecordingWarning(UserWarning):
    """A test used only a part of a cassette or another order, or an earlier recording was left
    unfinished.
    """


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("harness")
    group.addoption(
        "--harness-record",
        choices=MODES,
        default="none",
        help=(
            "cassettes of tests: none only answers, once records those that do not exist, rewrite"
            " records all again (default: none)"
        ),
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STARTED], config.stash[_RECORDED] = time.time(), {}
    config.addinivalue_line(
        "markers",
        f"{MARKER}(name, allow_status=(), allow_end=(), ordered=True): the cassette that records"
        " and answers this test's client; allow_status: HTTP statuses of errors that may be"
        " recorded; allow_end: ends of incomplete answers that may be recorded (cut, reset,"
        " aborted); ordered: whether another order of requests is reported",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if item.config.getoption("--harness-record") != "none" or not is_ours(item):
        return (yield)
    from harness.recording.network_guard import refuse_network

    with refuse_network("this test is replayed; --harness-record once lets it record"):
        return (yield)


def is_ours(item: pytest.Item) -> bool:
    """Whether an item is a cell of a spec, or a test that uses our fixtures or marker."""
    used = any(name.startswith("harness_") for name in getattr(item, "fixturenames", ()))
    return hasattr(item, "cell") or used or item.get_closest_marker(MARKER) is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.excinfo is not None and is_ours(item) and not item.config.getoption("fulltrace"):
        _leave_out_frames(call.excinfo)
    report = yield
    if report.when == "call":  # a test that Ctrl-C ends has no such report
        item.stash[_PASSED], item.stash[_OUTPUT] = report.passed, report.longreprtext
    return report


def _leave_out_frames(failure: pytest.ExceptionInfo[BaseException]) -> None:
    """Remove our frames and those of libraries from the traceback of our errors: the message says
    what is wrong, and the reader needs the line of the test. The error of a google-genai client
    without a key is treated alike.
    """
    from harness.cassettes import CassetteError
    from harness.pipeline.replay import ReplayError

    last = failure.traceback[-1].frame
    if isinstance(failure.value, ValueError) and (
        last.f_globals.get("__name__"),
        last.code.name,
    ) == (
        "google.genai._api_client",
        "__init__",
    ):
        failure.value.add_note(NEEDS_KEY)
    elif not isinstance(failure.value, (CassetteError, ReplayError)):
        return
    failure.value.__cause__, failure.value.__suppress_context__ = None, True
    entry = failure.tb  # pytest makes its traceback from these links
    while entry.tb_next is not None:
        file = Path(entry.tb_next.tb_frame.f_code.co_filename)
        if (
            file.is_relative_to(_OURS)
            or file.is_relative_to(_PYTHON)
            or not _INSTALLED.isdisjoint(file.parts)
        ):
            entry.tb_next = entry.tb_next.tb_next
        else:
            entry = entry.tb_next


@contextmanager
def _in_words() -> Iterator[None]:
    """Shows only the message of our errors in fixtures: no line of the test is wrong."""
    from harness.cassettes import CassetteError
    from harness.pipeline.replay import ReplayError

    try:
        yield
    except (CassetteError, ReplayError, pytest.UsageError) as error:
        lines = [str(error), *getattr(error, "__notes__", ())]
        raise pytest.fail.Exception("\n".join(lines), pytrace=False) from None


class _NotPassed(Exception):
    """The test failed, was skipped or was stopped, so its recording is not kept."""


@pytest.fixture(scope="module")
def harness_vcr_config() -> dict[str, Any]:
    """Options for vcrpy, as pytest-recording's ``vcr_config`` has them, and ``before_record``; a
    suite overrides this fixture.
    """
    return {}


@pytest.fixture
def harness_cassette(
    request: pytest.FixtureRequest, harness_vcr_config: dict[str, Any]
) -> Iterator[Recording | Playback]:
    """The cassette that the test's marker names: a `Recording`, or a `Playback` that answers.

    A recording is saved if the test passes. A cassette that another test of this run has recorded
    answers, also with ``--harness-record rewrite``: a second recording would replace the first.
    After a playback, unused exchanges and another order
    are warnings, with ``--harness-strict`` failures. A request that no exchange answers is always a
    failure, even if the client hides the error.
    """
    from harness.conformance.project import Project
    from harness.recording import Playback, Recording, use_cassette
    from harness.recording.part_file import left_behind

    config = request.config
    with _in_words():
        name, ordered, allowed = _marked(request.node)
        path = Project([], config.rootpath / config.getini("harness_cassettes")).cassette_path(name)
    mode = config.getoption("--harness-record")
    recorded_by = _recorded_by(request.node, path)
    if recorded_by and mode == "rewrite":
        mode = "none"
    if message := left_behind(path):
        request.node.warn(RecordingWarning(message))
    options = {**allowed, "options": harness_vcr_config, "recorded_by": recorded_by}
    try:
        with _in_words(), use_cassette(path, name=name, mode=mode, **options) as tape:
            yield tape
            if not request.node.stash.get(_PASSED, False):
                raise _NotPassed
    except _NotPassed as stopped:
        output = request.node.stash.get(_OUTPUT, "")
        unknown = tape.unknown[:1] if isinstance(tape, Playback) else []
        hidden = [message for message in unknown if message.splitlines()[0] not in output]
        for note in (*hidden, *getattr(stopped, "__notes__", ())):
            request.node.warn(RecordingWarning(note))
        return
    if isinstance(tape, Recording) and tape.in_flight:
        config.stash[_RECORDED][path] = request.node.nodeid
    _judge(request.node, tape, ordered=ordered, strict=config.getoption("--harness-strict"))


def _recorded_by(node: pytest.Item, path: Path) -> str:
    """The other test that has recorded a cassette in this run; empty if there is none. Workers of
    pytest-xdist know each other's cassettes by their time.
    """
    recorded = node.config.stash[_RECORDED]
    if path in recorded:
        return "" if recorded[path] == node.nodeid else recorded[path]
    if node.config.getoption("--harness-record") == "none" or not path.exists():
        return ""
    return "another test" if path.stat().st_mtime > node.config.stash[_STARTED] else ""


def _marked(node: pytest.Item) -> tuple[str, bool, dict[str, Any]]:
    """The nearest marker: the name, whether order counts, and what may be recorded."""
    marker = node.get_closest_marker(MARKER)
    match marker:
        case pytest.Mark(args=(str(name),), kwargs=options) if options.keys() <= {
            "allow_status",
            "allow_end",
            "ordered",
        }:
            return (
                name,
                bool(options.get("ordered", True)),
                {key: tuple(options[key]) for key in options if key != "ordered"},
            )
        case pytest.Mark():
            raise pytest.UsageError(
                f"{node.nodeid}: {MARKER} takes a name, and allow_status, allow_end and ordered by"
                " name, nothing else"
            )
    raise pytest.UsageError(
        f"{node.nodeid}: no cassette is named; mark the test with"
        f" @pytest.mark.{MARKER}('gemini-api/x')"
    )


def _judge(node: pytest.Item, tape: Recording | Playback, *, ordered: bool, strict: bool) -> None:
    from harness.recording import Playback

    if not isinstance(tape, Playback):
        return
    if tape.unknown:
        pytest.fail(tape.unknown[0], pytrace=False)
    problems = tape.problems(ordered=ordered)
    if problems and strict:
        pytest.fail("\n".join(problems), pytrace=False)
    for problem in problems:
        node.warn(RecordingWarning(problem))


@pytest.fixture
def harness_http_options(
    harness_cassette: Recording | Playback, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HttpOptions]:
    """``http_options`` for the test's `google.genai.Client`, blocking and awaiting: its cassette
    records or answers the client.

    The client uses httpx2 or httpx, not aiohttp. If the cassette answers and the environment has
    no key, a placeholder is set.
    """
    from harness.recording import Playback
    from harness.recording.drivers.genai import http_options

    if isinstance(harness_cassette, Playback) and not any(os.environ.get(name) for name in KEYS):
        monkeypatch.setenv(KEYS[0], NO_KEY)
    with _in_words():
        options, close = http_options(harness_cassette)
    yield options
    close()


@pytest.fixture
def harness_base_url(
    harness_cassette: Recording | Playback,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> Iterator[str]:
    """The base URL of a loopback relay for any client in any language: the test's cassette records
    or answers it.

    While the test runs, the environment variables for the base URLs of Google's clients lead to the
    relay.
    """
    from harness.recording.endpoints import environment_for, upstream_by_path
    from harness.recording.relay import relay

    route, hosts = upstream_by_path(dict(os.environ)), pytestconfig.getini("harness_allowed_hosts")
    with _in_words(), relay(harness_cassette, route, allowed_hosts=hosts) as url:
        for name, value in environment_for(url).items():
            monkeypatch.setenv(name, value)
        yield url
