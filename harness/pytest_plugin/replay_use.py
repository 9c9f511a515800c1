"""The code of the fixtures that replay an exchange and serve cassettes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes import Cassette
from harness.pipeline.replay import ReplayError, replay
from harness.project.project import Project
from harness.project.recordings import load_recording
from harness.server import Server

from .project import project_of


def replay_function(config: pytest.Config) -> Callable[..., list[dict[str, Any]]]:
    """Return the function of the fixture ``harness_replay``."""
    project = project_of(config)

    def run(
        recording: str | Path, *, exchange: int = 1, adapter: str = "", **options: Any
    ) -> list[dict[str, Any]]:
        cassette = read_recording(recording, project)
        if not 1 <= exchange <= len(cassette.exchanges):
            raise ReplayError(
                f"{recording}: there is no exchange {exchange}; it has {len(cassette.exchanges)};"
                " exchanges are counted from 1"
            )
        if not adapter:
            return replay(cassette.exchanges[exchange - 1], **options)
        return project.chosen(adapter).output(cassette.exchanges[exchange - 1]).items

    return run


def read_recording(recording: str | Path, project: Project) -> Cassette:
    """Return the recording at a path, or the cassette of the project or the suite with a name.
    Raises `CassetteError` or `OSError`.
    """
    text = str(recording)
    try:
        if text in project.cassette_names and not Path(text).exists():
            return project.cassette(text)  # the project keeps it in memory
        return load_recording(text, project.cassettes)
    except FileNotFoundError:
        return project.cassette(text)  # raises an error with a solution


@contextmanager
def serve_cassettes(config: pytest.Config) -> Iterator[Server]:
    """Yield the server of the fixture ``harness_server``, which reads cassettes by name or path."""
    project = project_of(config)
    with Server(
        allowed_hosts=config.getini("harness_allowed_hosts"),
        read=lambda recording: read_recording(recording, project),
    ) as server:
        yield server
