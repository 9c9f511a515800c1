"""Runs adapters that are programs: one process for each exchange, with limits for time and size.

Over pipes, the program gets the recorded exchange as one JSON object on stdin, and prints one
payload a line as JSON. At a base URL, it gets the request instead, and an address that answers it
with the recorded bytes, read by read. The program runs in a session of its own. When it ends, all
processes of the session are killed, and on Linux also those that left the session: a mark in their
environment identifies them.
"""

from __future__ import annotations

import base64
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from harness.stream.exchange import Cassette, Exchange, Origin
from harness.stream.json_codec import decode_json

from .adapter import AdapterError, RunOptions

MAX_PAYLOADS: Final = 1_000_000
MAX_OUTPUT: Final = 64 * 1024 * 1024
_TAIL: Final = 2000
MARK: Final = "HARNESS_PROGRAM"
"""The environment variable that marks a program and all processes that it starts."""

ROUNDS: Final = 10
"""Searches for processes that are left. A process that forks meanwhile is found by the next."""


def run_over_pipes(
    command: Sequence[str], exchange: Exchange, options: RunOptions, folder: Path, timeout: float
) -> list[Any]:
    """The payloads that a program prints for the exchange on its stdin:

    ``{"case", "context", "provider", "request": {"method", "url", "headers", "body"}, "status",
    "headers", "reads": [[at_ms, base64], …], "end"}``: ``body`` is base64 too; ``request`` and
    ``at_ms`` may be null. Raises `AdapterError`.
    """
    return _run(command, _describe(exchange, options), {}, folder, timeout)


def run_at_base_url(
    command: Sequence[str], exchange: Exchange, options: RunOptions, folder: Path, timeout: float
) -> list[Any]:
    """The payloads that a program prints for the answer that it gets at ``HARNESS_BASE_URL``.

    On stdin it gets ``{"case", "context", "provider", "request"}`` with the recorded request. Every
    generate request is answered. Google's variables for a base URL contain the same address, and
    the API key is a placeholder. Raises `AdapterError`.
    """
    from harness.server import serve

    description = _describe(exchange, options)
    sent = {key: description[key] for key in ("case", "context", "provider", "request")}
    with serve(Cassette((exchange,), Origin("loopback")), match="path", pace="step") as server:
        address = dict.fromkeys(
            ("HARNESS_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "CODE_ASSIST_ENDPOINT"), server.base_url
        )
        return _run(
            command, sent, {**address, "GEMINI_API_KEY": "no-key-in-a-replay"}, folder, timeout
        )


def _describe(exchange: Exchange, options: RunOptions) -> dict[str, Any]:
    request = exchange.request
    return {
        "case": options.case,
        "context": options.context,
        "provider": options.provider or exchange.provider,
        "request": request
        and {
            "method": request.method,
            "url": request.url,
            "headers": request.headers,
            "body": base64.b64encode(request.body).decode(),
        },
        "status": exchange.status,
        "headers": exchange.headers,
        "reads": [[at_ms, base64.b64encode(data).decode()] for at_ms, data in exchange.reads],
        "end": exchange.end,
    }


def _run(
    command: Sequence[str],
    given: dict[str, Any],
    environment: dict[str, str],
    folder: Path,
    timeout: float,
) -> list[Any]:
    out, errors, status = run_process(
        command, {**os.environ, **environment}, folder, timeout, json.dumps(given).encode() + b"\n"
    )
    if status:
        words = errors.decode("utf-8", "backslashreplace").strip()
        raise AdapterError(
            f"{command[0]} ended with status {status}" + (f": {words}" if words else "")
        )
    return [
        _payload(command[0], number, line)
        for number, line in enumerate(out.split(b"\n"), 1)
        if line.strip()
    ]


def run_process(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    timeout: float,
    given: bytes = b"",
) -> tuple[bytes, bytes, int]:
    """Run a program with these bytes on stdin. Returns its stdout, the end of its stderr, and its
    status. Raises `AdapterError`.
    """
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    with tempfile.TemporaryFile() as stdin:
        stdin.write(given)
        stdin.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603  # ours, or named by the user
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**environment, MARK: mark},
                start_new_session=True,
            )
        except OSError as error:
            raise AdapterError(f"{command[0]} can't be run: {error.strerror or error}") from None
    with process:
        try:
            out, errors = _gather(process, time.monotonic() + timeout, timeout)
            status = process.wait(max(0.1, timeout))
        except subprocess.TimeoutExpired:
            raise AdapterError(
                f"{command[0]} closed its output and did not end within {timeout:g} s"
            ) from None
        finally:
            _end_session(process.pid, f"{MARK}={mark}".encode())
    return out, errors, status


def _gather(
    process: subprocess.Popen[bytes], deadline: float, timeout: float
) -> tuple[bytes, bytes]:
    """All of stdout, and the end of stderr."""
    out, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for pipe, buffer in ((process.stdout, out), (process.stderr, errors)):
            selector.register(_open(pipe), selectors.EVENT_READ, buffer)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise AdapterError(f"the program did not end within {timeout:g} s")
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                key.data.extend(data)
            del errors[:-_TAIL]
            if len(out) > MAX_OUTPUT:
                raise AdapterError(
                    f"the program printed more than {MAX_OUTPUT:,} bytes for one exchange"
                )
    return bytes(out), bytes(errors)


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise AdapterError("the program has no output")
    return pipe


def _end_session(leader: int, mark: bytes) -> None:
    with suppress(ProcessLookupError, PermissionError):  # all processes have ended
        os.killpg(leader, signal.SIGKILL)
    for _ in range(ROUNDS):
        left = [pid for pid in _marked(mark) if pid != leader]
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not left:
            return


def _marked(mark: bytes) -> Iterator[int]:
    """The processes with this mark in their environment. Without ``/proc`` there are none; a
    process that emptied its environment is not found.
    """
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # the process has ended, or belongs to another user
            if mark in environ.read_bytes().split(b"\0"):
                yield int(environ.parent.name)


def _payload(program: str, number: int, line: bytes) -> Any:
    if number > MAX_PAYLOADS:
        raise AdapterError(f"{program} gave more than {MAX_PAYLOADS:,} payloads for one exchange")
    try:
        return decode_json(line)
    except ValueError as error:
        shown = line[:80].decode("utf-8", "backslashreplace")
        raise AdapterError(
            f"line {number} that {program} printed is no JSON ({error}): {shown}"
        ) from None
