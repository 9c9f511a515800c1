"""Loads modules at the start of a test run; writes a list of faulty adapters at its end."""

from __future__ import annotations

import gc
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from harness.adapters.environment import CERTIFICATE
from harness.stream.garbage_collector import collect_seldom

# The modules and items stay in memory, so the garbage collector would only check them again and
# again; see `pytest_collection_finish`.
gc.disable()

# A client reads the certificates that it trusts, the system's by default. This takes most of the time
# of a small exchange, and no server of a test has a certificate of the system. See `tests/live`.
os.environ.setdefault("SSL_CERT_FILE", str(CERTIFICATE))

# No test depends on time or chance, or on an earlier run. `--hypothesis-profile random` searches with
# new inputs in each run; pytest loads the profile that the option names after this file.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", _UNTIMED, derandomize=True, database=None)
settings.register_profile("random", _UNTIMED, derandomize=False, print_blob=True, max_examples=1000)
settings.load_profile("same")

ROOT = Path(__file__).parents[1]
FAULTY = ROOT / "build" / "faulty-adapters.txt"

# A run of pytest inside a test drops the modules that it was the first to import, and would
# import these again each time.
for _name in ("cassette_use", "checks", "laws", "replay_use", "specs", "summary"):
    import_module(f"harness.pytest_plugin.{_name}")

# It replaces Python's finder of distributions by its own, which pytester would take away again
# after the test that imports it first. Then a run inside a test would find no plugin.
METADATA = [metadata]
with suppress(ModuleNotFoundError):
    METADATA.append(import_module("importlib_metadata"))


def read_once(distribution: Any, name: str) -> None:
    """Keep a property of the installed distributions: each run of pytest inside a test asks all of
    them for their plugins and their files, which takes a fifth of the time of a small run.
    """
    read, kept = getattr(distribution, name).fget, dict[str, Any]()

    def recall(self: Any) -> Any:
        path = str(self._path)
        if not path.startswith(sys.prefix):
            return read(self)
        if path not in kept:
            kept[path] = read(self)
        return kept[path]

    setattr(distribution, name, property(recall))


for _module in METADATA:
    for _name in ("entry_points", "files"):
        read_once(_module.PathDistribution, _name)


def pytest_collection_finish() -> None:
    gc.freeze()
    collect_seldom()
    gc.enable()


FEWER_PLUGINS = ("-p", "no:hypothesispytest", "-p", "no:anyio")
"""Plugins that no run inside a test needs. Their imports take half of the time of a small run with a
worker.
"""


@pytest.fixture
def pytester(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.Pytester]:
    """A pytester whose runs, and their workers, do not load plugins that they do not need.

    What a run in this process has left open, such as the answer of a failed request, is closed
    here: a process of its own would close it at its end, and a later test must not report it.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(FEWER_PLUGINS))
    yield pytester
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def ctrl_c_reaches_programs() -> Iterator[None]:
    """Programs that the test starts listen to SIGINT. A shell starts a command in the background
    with SIGINT ignored, and all programs of this command inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write which case or law caught each faulty adapter; `test_faulty` reports them."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
    ]
    texts = [
        text
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == "faulty adapter"
    ]
    if texts:
        FAULTY.parent.mkdir(exist_ok=True)
        FAULTY.write_text("".join(f"{text}\n" for text in sorted(texts)), encoding="utf-8")
        name = FAULTY.relative_to(ROOT).as_posix()
        terminalreporter.write_line(f"{len(texts)} faulty adapters, and what caught them: {name}")
