"""Cases that run the mind program: the allowed context, the reported output, and what a case can't
make the program do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.adapters import AdapterError, RunOptions, Subject
from harness.adapters.clients import CLIENTS, make_client_adapter
from harness.providers import with_provider
from harness.stream.exchange import Cassette, Exchange, Origin, Request
from harness.systems.mind.adapter import RunProgram, adapt

URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
EXCHANGE = with_provider(
    Exchange(
        Request("POST", URL, {}, b'{"contents": []}'),
        200,
        {},
        ((0.0, b"data: {}\n\n"),),
        "complete",
    )
)


def mind_program(run: RunProgram, **context: Any) -> Subject:
    cassette = Cassette((EXCHANGE,), Origin("written"))
    adapter = make_client_adapter(
        CLIENTS["mind-program"], lambda name: cassette, partial(adapt, run=run)
    )
    return Subject(adapter, RunOptions(cassette="x", context=context))


def payloads_of(printed: bytes, **context: Any) -> list[Any]:
    """The payloads of a program with this output and the exit code 3."""

    def run(
        arguments: Sequence[str], environment: Mapping[str, str], folder: str
    ) -> tuple[bytes, int]:
        return printed, 3

    return mind_program(run, **context).items(EXCHANGE)


def test_the_program_gets_the_files_and_the_environment() -> None:
    seen: list[Any] = []

    def run(
        arguments: Sequence[str], environment: Mapping[str, str], folder: str
    ) -> tuple[bytes, int]:
        seen.extend(
            [
                arguments,
                environment["GEMINI_MODEL"],
                (Path(folder) / "a.txt").read_bytes(),
                environment["GOOGLE_GEMINI_BASE_URL"][:17],
            ]
        )
        return b"", 0

    context = {
        "arguments": ["-p", "x"],
        "environment": {"GEMINI_MODEL": "m"},
        "files": {"a.txt": "ä\n"},
    }
    assert mind_program(run, **context).items(EXCHANGE) == [{"exit": 0, "asked": 0}]
    assert seen == [["-p", "x"], "m", "ä\n".encode(), "http://127.0.0.1:"]


@pytest.mark.parametrize(
    ("printed", "payloads"),
    [
        (b'{"type": "result", "timestamp": "2026-11-22T08:00:00.000Z"}\n', [{"type": "result"}]),
        (b'{"timestamp": "soon"}\n', [{"timestamp": "soon"}]),
        (b'{"timestamp": "2026-11-22T08:00:00"}\n', [{"timestamp": "2026-11-22T08:00:00"}]),
        (b'{"a": 1}', [{"stdout": '{"a": 1}'}]),
        (b"[1]\nHi\n", [{"stdout": "[1]\n"}, {"stdout": "Hi\n"}]),
        (b"\xff\n", [{"stdout": "\\xff\n"}]),
    ],
)
def test_only_the_time_of_a_record_is_dropped(printed: bytes, payloads: list[Any]) -> None:
    assert payloads_of(printed) == [*payloads, {"exit": 3, "asked": 0}]


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (
            {"argument": []},
            "has the unknown key 'argument'; the mind program takes arguments, files, environment",
        ),
        ({"arguments": "-p x"}, "arguments must be a list of strings"),
        ({"arguments": [1]}, "arguments must be a list of strings"),
        ({"files": ["a"]}, "files must be a mapping of strings"),
        ({"environment": {"A": 1}}, "environment must be a mapping of strings"),
        ({"files": {"../a": ""}}, "without a path"),
        ({"files": {"..": ""}}, "without a path"),
        (
            {"environment": {"PATH": "x"}},
            "names PATH; it may only name GEMINI_API_KEY and GEMINI_MODEL",
        ),
        (
            {"arguments": ["-p", "x", "--allowed-tools", "run_shell_command"]},
            "has --allowed-tools; in a case the program may only read",
        ),
        (
            {"arguments": ["--allowed-tools=write_file"]},
            "has --allowed-tools=write_file; in a case",
        ),
        ({"arguments": ["--project-dir", "/"]}, "has --project-dir; in a case"),
    ],
)
def test_an_unknown_context_is_refused(context: dict[str, Any], words: str) -> None:
    with pytest.raises(AdapterError, match=words):
        payloads_of(b"", **context)
