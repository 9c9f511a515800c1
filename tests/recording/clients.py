"""Clients and events for several tests of recording."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.cassettes import Origin, Request
from harness.cassettes.journal import (
    Answered,
    Arrived,
    Started,
    encode_fact,
    encode_head,
)
from harness.recording.cassette import use_cassette
from harness.recording.state_folder import state_folder
from harness.recording.transport import transports
from tests.support.need import need

EVENTS = [
    b'data: {"candidates": [{"content": {"parts": [{"text": "t%d"}],"role": "model"}%s,"index": 0}]}\r\n\r\n'
    % (n, b',"finishReason": "STOP"' if n == 3 else b"")
    for n in range(4)
]


def part_of(path: Path) -> Path:
    """The journal of the cassette at ``path`` when a single process records it."""
    folder = state_folder(path, "journals")
    return next(iter(parts_of(path)), folder / f"{path.name}.earlier.part")


def parts_of(path: Path) -> list[Path]:
    """The journals of the cassette at ``path``."""
    return sorted(state_folder(path, "journals").glob(f"{path.name}.*.part"))


def leave_part(path: Path, name: str = "earlier") -> Path:
    """The journal of a recording that was killed."""
    part = state_folder(path, "journals") / f"{path.name}.{name}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(UNFINISHED)
    return part


PATH = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"


LIBRARIES = ["httpx2", "httpx"]


BODY = {"contents": [{"parts": [{"text": "hi"}]}]}


def client(library: str, tape: Any) -> Any:
    need(library, _installed(library), f"{library} is not installed")
    made = transports(library)
    return made.http.Client(transport=made.sync(tape))


def _installed(library: str) -> bool:
    try:
        transports(library)
    except ImportError:
        return False
    return True


def stream(
    library: str,
    tape: Any,
    url: str,
    after_read: Callable[[int], None] = lambda _: None,
    stop: int = 1000,
) -> tuple[list[bytes], Any]:
    """The reads that a blocking client gets, and the exception that ended them."""
    got: list[bytes] = []
    try:
        with client(library, tape) as http, http.stream("POST", url + PATH, json=BODY) as response:
            for data in response.iter_raw():
                got.append(data)
                after_read(len(got))
                if len(got) == stop:
                    break
    except Exception as error:  # noqa: BLE001  # any exception of the library is compared
        return got, error
    return got, None


def ask_and_fail(url: str, path: Path, mode: Any = "once") -> None:
    with use_cassette(path, mode=mode) as tape:
        stream("httpx2", tape, url)
        raise RuntimeError("the test failed")


def wait_for(text: bytes, path: Path) -> bytes:
    """The journal of the cassette at ``path`` that has this text."""
    for _ in range(3000):
        for part in parts_of(path):
            if text in (data := part.read_bytes()):
                return data
        threading.Event().wait(0.01)
    raise AssertionError(f"{text!r} never came to a journal of {path}")


HEAD_LINE = encode_head(Origin("recorded", date="2026-11-22"))


ASKED = encode_fact(Started(1, Request("POST", "https://h/x", {"a": ["b"]}, b"\xff")))


UNFINISHED = (
    HEAD_LINE
    + ASKED
    + encode_fact(Started(2, None))
    + encode_fact(Answered(2, 200, "", {}))
    + encode_fact(Answered(1, 200, "OK", {}))
    + encode_fact(Arrived(2, 1.5, b"\xc3"))
)
