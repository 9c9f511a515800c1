"""The code of the fixtures that record or replay a client: the cassette that a marker names, the
options of google-genai's client, and a relay for any client.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from harness.cassettes import CassetteError
from harness.pipeline.replay import ReplayError
from harness.project.project import Project
from harness.recording import Playback, Recording, use_cassette
from harness.recording.drivers.genai import http_options
from harness.recording.endpoints import environment_for, upstream_by_path
from harness.recording.journal import left_behind
from harness.recording.relay import relay, session_relay
from harness.recording.user_code import is_users

from .markers import MARKER, OUTPUT, PASSED, RECORDED, STARTED, USED, misspelt_marker

if TYPE_CHECKING:
    from google.genai.types import HttpOptions

KEYS: Final = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
NO_KEY: Final = "a-replay-needs-no-key"
"""The key for a client that a cassette answers, if the environment has none."""
NEEDS_KEY: Final = (
    "recording needs a key (GEMINI_API_KEY, from https://aistudio.google.com/apikey) or a"
    " project (GOOGLE_CLOUD_PROJECT)"
)


class RecordingWarning(UserWarning):
    """A test used only a part of a cassette or used another order, or an earlier recording was not
    finished.
    """


def leave_out_frames(failure: pytest.ExceptionInfo[BaseException]) -> None:
    """Remove our stack frames and those of libraries from the traceback of our errors. The message
    has the fault, and the reader needs only the line of the test. The error that google-genai
    raises for a client without a key is treated in the same way. Its message also gets a solution.
    """
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
    while (below := entry.tb_next) is not None:
        if is_users(below.tb_frame.f_code.co_filename):
            entry = below
        else:
            entry.tb_next = below.tb_next


@contextmanager
def _in_words() -> Iterator[None]:
    """Show only the message of our errors in fixtures, because no line of the test caused them."""
    try:
        yield
    except (CassetteError, ReplayError, pytest.UsageError) as error:
        lines = [str(error), *getattr(error, "__notes__", ())]
        raise pytest.fail.Exception("\n".join(lines), pytrace=False) from None


class _NotPassed(Exception):
    """The test failed, was skipped or was stopped, so its recording is not kept."""


def use_marked_cassette(
    request: pytest.FixtureRequest, vcr_config: dict[str, Any]
) -> Iterator[Recording | Playback]:
    """Yield the cassette of the test's marker, for the fixture ``harness_cassette``."""
    config = request.config
    request.node.stash[USED] = True
    with _in_words():
        name, ordered, allowed = _marked(request.node)
        path = Project([], config.rootpath / config.getini("harness_cassettes")).cassette_path(name)
    mode = config.getoption("--harness-record")
    recorded_by = _recorded_by(request.node, path)
    if recorded_by and mode == "rewrite":
        mode = "none"
    is_replay = mode == "none" and path.exists()  # a journal matters only to a recording
    if not is_replay and (message := left_behind(path)):
        request.node.warn(RecordingWarning(message))
    options = {**allowed, "options": vcr_config, "recorded_by": recorded_by}
    try:
        with _in_words(), use_cassette(path, name=name, mode=mode, **options) as tape:
            yield tape
            if not request.node.stash.get(PASSED, False):
                raise _NotPassed
    except _NotPassed as stopped:
        output = request.node.stash.get(OUTPUT, "")
        unknown = tape.unknown[:1] if isinstance(tape, Playback) else []
        hidden = [message for message in unknown if message.splitlines()[0] not in output]
        for note in (*hidden, *getattr(stopped, "__notes__", ())):
            request.node.warn(RecordingWarning(note))
        return
    if isinstance(tape, Recording) and not tape.answered():
        got = "got no answer" if tape.in_flight else "sent no request through this cassette"
        pytest.fail(
            f"{name}: the test {got}, so nothing was recorded; remove the marker"
            " and its fixture, or connect the client to harness_http_options or harness_base_url",
            pytrace=False,
        )
    if isinstance(tape, Recording) and tape.in_flight:
        config.stash[RECORDED][path] = request.node.nodeid
    _judge(request.node, tape, ordered=ordered, strict=config.getoption("--harness-strict"))


def _recorded_by(node: pytest.Item, path: Path) -> str:
    """Return the other test that has recorded a cassette in this run; "" if there is none. The time
    of the file shows whether another worker of pytest-xdist has recorded it.
    """
    recorded = node.config.stash[RECORDED]
    if path in recorded:
        return "" if recorded[path] == node.nodeid else recorded[path]
    if node.config.getoption("--harness-record") == "none" or not path.exists():
        return ""
    return "another test" if path.stat().st_mtime > node.config.stash[STARTED] else ""


def _marked(node: pytest.Item) -> tuple[str, bool, dict[str, Any]]:
    """Return the nearest marker: the name, whether the order is checked, and the answers that may
    be recorded.
    """
    marker = node.get_closest_marker(MARKER)
    match marker:
        case pytest.Mark(args=(str(name), *_)) if name.endswith((".yaml", ".yml")):
            raise pytest.UsageError(
                f"{node.nodeid}: name the cassette {name} without its ending:"
                f" {name.rpartition('.')[0]}"
            )
        case pytest.Mark(args=(str(name),), kwargs=options) if options.keys() <= {
            "allow_status",
            "allow_end",
            "allow_incomplete",
            "ordered",
        }:
            allowed: dict[str, Any] = {
                key: tuple(options[key]) for key in ("allow_status", "allow_end") if key in options
            }
            allowed["allow_incomplete"] = bool(options.get("allow_incomplete", False))
            return name, bool(options.get("ordered", True)), allowed
        case pytest.Mark():
            raise pytest.UsageError(
                f"{node.nodeid}: {MARKER} takes a name, and the keywords allow_status,"
                " allow_end, allow_incomplete and ordered"
            )
    if misspelt := misspelt_marker(node):
        raise pytest.UsageError(
            f"{node.nodeid}: unknown marker {misspelt} (did you mean {MARKER}?)"
        )
    raise pytest.UsageError(
        f"{node.nodeid}: the test names no cassette; mark it with"
        f" @pytest.mark.{MARKER}('gemini-api/x')"
    )


def _judge(node: pytest.Item, tape: Recording | Playback, *, ordered: bool, strict: bool) -> None:
    if not isinstance(tape, Playback):
        return
    if tape.unknown:
        pytest.fail(tape.unknown[0], pytrace=False)
    problems = tape.problems(ordered=ordered)
    if problems and strict:
        pytest.fail("\n".join(problems), pytrace=False)
    for problem in problems:
        node.warn(RecordingWarning(problem))


def options_of_client(
    tape: Recording | Playback, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HttpOptions]:
    """Yield the options of a google-genai client, for the fixture ``harness_http_options``."""
    if isinstance(tape, Playback) and not any(os.environ.get(name) for name in KEYS):
        monkeypatch.setenv(KEYS[0], NO_KEY)
    with _in_words():
        options, close = http_options(tape)
    yield options
    close()


def base_url_of_relay(
    tape: Recording | Playback, monkeypatch: pytest.MonkeyPatch, config: pytest.Config
) -> Iterator[str]:
    """Yield the base URL of a relay, for the fixture ``harness_base_url``."""
    route, hosts = upstream_by_path(dict(os.environ)), config.getini("harness_allowed_hosts")
    with _in_words(), relay(tape, route, allowed_hosts=hosts) as url:
        for name, value in environment_for(url).items():
            monkeypatch.setenv(name, value)
        yield url


def url_of_session_relay(
    tape: Recording | Playback, monkeypatch: pytest.MonkeyPatch, config: pytest.Config
) -> Iterator[str]:
    """Yield the base URL of a relay for sessions, for the fixture ``harness_session_url``."""
    from harness.adapters.environment import OF_TLS  # slow to import, and only sessions need it

    if isinstance(tape, Playback) and not any(os.environ.get(name) for name in KEYS):
        monkeypatch.setenv(KEYS[0], NO_KEY)
    route, hosts = upstream_by_path(dict(os.environ)), config.getini("harness_allowed_hosts")
    with _in_words(), session_relay(tape, route, allowed_hosts=hosts) as (url, certificate):
        for name, value in environment_for(url).items():
            monkeypatch.setenv(name, value)
        for name in OF_TLS:
            monkeypatch.setenv(name, str(certificate))
        yield url
