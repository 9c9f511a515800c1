"""Fixtures for tests: a replay, a server, and a cassette that records or answers a client. A guard
keeps replayed tests off the network.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

from .failures import HarnessFailure
from .markers import MARKER, OUTPUT, PASSED, RECORDED, STARTED, is_ours, refuse_unused_marker

if TYPE_CHECKING:
    from google.genai.types import HttpOptions

    from harness.recording import Playback, Recording
    from harness.server import Server


_REPLAYED: Final = (
    "this test is replayed, and this request does not go through its cassette, so a recording does"
    " not help; connect the client to harness_http_options or harness_base_url, or switch the"
    " request off in its library"
)
_OUTCOMES: Final = (HarnessFailure, pytest.skip.Exception, pytest.xfail.Exception)
"""Exceptions that are shown without a traceback."""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[STARTED], config.stash[RECORDED] = time.time(), {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    recorded = item.config.getoption("--harness-record") != "none"
    if recorded or not is_ours(item):
        return (yield)
    from harness.recording.network_guard import refuse_network

    with refuse_network(_REPLAYED):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    refuse_unused_marker(item, finished=False)
    yield
    refuse_unused_marker(item, finished=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    raised = call.excinfo
    shows_frames = raised is not None and not isinstance(raised.value, _OUTCOMES)
    if raised and shows_frames and is_ours(item) and not item.config.getoption("fulltrace"):
        from .cassette_use import leave_out_frames

        leave_out_frames(raised)
    report = yield
    # a test that Ctrl-C ends has no report of its call
    if report.when == "call" and item.get_closest_marker(MARKER) is not None:
        item.stash[PASSED], item.stash[OUTPUT] = report.passed, report.longreprtext
    return report


@pytest.fixture
def harness_replay(request: pytest.FixtureRequest) -> Callable[..., list[dict[str, Any]]]:
    """A function that replays one exchange: ``harness_replay("gemini-api/text",
    dialect="anthropic")`` returns its payloads.

    The first argument is the path of a recording, or the name of a cassette of the project or the
    suite. ``exchange`` is counted from 1, and ``NAME:N`` is exchange N. Other arguments are those
    of `harness.replay`. ``adapter`` is the name of a configured adapter, or a target as for
    ``harness judge``. With it, the function returns the adapter's native events, or its facts as
    JSON if it states facts.
    """
    from .replay_use import replay_function

    return replay_function(request.config)


@pytest.fixture(scope="session")
def _harness_serving(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The server of this worker. All its tests share the server, because a start takes longer than
    most tests.
    """
    from .replay_use import serve_cassettes

    with serve_cassettes(request.config) as server:
        yield server


@pytest.fixture
def harness_server(_harness_serving: Server) -> Iterator[Server]:
    """A server that answers from cassettes. Call ``harness_server.add("gemini-api/text")``, then
    send the requests of a client to ``harness_server.base_url``.

    `add` takes the same names and paths as `harness_replay`. `behave` sets pace, cuts, fault and
    matching, as in `harness.server.serve`. By default, the server sends one read after another
    without waiting. All cassettes are removed after the test.
    """
    _harness_serving.clear(pace="step")
    yield _harness_serving
    _harness_serving.clear(pace="step")


@pytest.fixture(scope="module")
def harness_vcr_config() -> dict[str, Any]:
    """The options for vcrpy, as in ``vcr_config`` of pytest-recording, and ``before_record``. A
    suite overrides this fixture.
    """
    return {}


@pytest.fixture
def harness_cassette(
    request: pytest.FixtureRequest, harness_vcr_config: dict[str, Any]
) -> Iterator[Recording | Playback]:
    """The cassette that the test's marker names: a `Recording`, or a `Playback` that answers.

    A recording is saved if the test passes. If another test of this run has recorded the cassette,
    the cassette answers, even with ``--harness-record rewrite``. A second recording would replace
    the first. After a playback, unused exchanges and another order are warnings, or failures with
    ``--harness-strict``. A request that no exchange answers is always a failure, even if the client
    hides the error.
    """
    from .cassette_use import use_marked_cassette

    yield from use_marked_cassette(request, harness_vcr_config)


@pytest.fixture
def harness_http_options(
    harness_cassette: Recording | Playback, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HttpOptions]:
    """``http_options`` for the test's `google.genai.Client`, sync or async. The cassette of the
    test records or answers the client.

    The client uses httpx2 or httpx, not aiohttp. If the cassette answers and the environment has no
    key, the fixture sets a placeholder.
    """
    from .cassette_use import options_of_client

    yield from options_of_client(harness_cassette, monkeypatch)


@pytest.fixture
def harness_base_url(
    harness_cassette: Recording | Playback,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> Iterator[str]:
    """The base URL of a loopback relay for any client in any language. The test's cassette records
    or answers the client.

    While the test runs, the environment variables for the base URLs of Google's clients are set to
    the relay's address.
    """
    from .cassette_use import base_url_of_relay

    yield from base_url_of_relay(harness_cassette, monkeypatch, pytestconfig)


@pytest.fixture
def harness_session_url(
    harness_cassette: Recording | Playback,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> Iterator[str]:
    """The base URL of a loopback relay with TLS, for a client of the Live API. The test's cassette
    records or answers the client.

    While the test runs, the environment variables for the base URLs of Google's clients are set to
    the relay's address, and those for the certificate of the relay to its file.
    """
    from .cassette_use import url_of_session_relay

    yield from url_of_session_relay(harness_cassette, monkeypatch, pytestconfig)
