"""The command ``harness serve``: cassettes as a live endpoint until somebody ends it."""

from __future__ import annotations

import argparse
import asyncio
import errno
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cassettes import CassetteError
from harness.conformance.project import yaml_files
from harness.providers import PROVIDERS
from harness.stream.printable import printable

if TYPE_CHECKING:
    from harness.server import Server


def add_arguments(one: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    one.add_argument(
        "recordings",
        type=Path,
        nargs="+",
        metavar="CASSETTE",
        help="recordings, or folders of cassettes",
    )
    one.add_argument(
        "--port",
        type=_port,
        default=0,
        metavar="N",
        help="the port to listen on (default: 0, a free one)",
    )
    reach = "the address to listen on (default: 127.0.0.1, which this machine alone can reach)"
    one.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help=reach)
    pace = (
        "when each read is sent: at its time (recorded), so many times as fast (a number), a"
        " millisecond apart (step), at once (instant)"
    )
    one.add_argument(
        "--pace", default="recorded", metavar="PACE", help=f"{pace} (default: recorded)"
    )
    cuts = (
        "where bodies are cut into reads: as recorded, nowhere, or behind each byte (default:"
        " recorded)"
    )
    one.add_argument(
        "--cuts", choices=("recorded", "whole", "bytes"), default="recorded", help=cuts
    )
    fault = (
        "cut:N, reset:N or stall:N, after N reads; status:CODE, an error from 400 to 599; slow,"
        " half a second before each read"
    )
    one.add_argument(
        "--fault", metavar="FAULT", help=f"what goes wrong with answers: {fault} (default: nothing)"
    )
    match = (
        "which exchange answers: the one recorded for the request; with path, the next of its"
        " method, path and model (default: request)"
    )
    one.add_argument("--match", choices=("request", "path"), default="request", help=match)
    whose = "whose answers recordings without a request are (default: as the body tells)"
    one.add_argument("--provider", choices=PROVIDERS, help=whose)
    one.add_argument(
        "--dialect", choices=("anthropic",), help="answer POST /v1/messages as well (default: no)"
    )
    one.set_defaults(run=_serve)


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port; ports are 0 to 65535")
    return port


def _serve(parsed: argparse.Namespace) -> int:
    from harness.server import Server

    files = [
        file
        for path in parsed.recordings
        for file in (yaml_files(path) if path.is_dir() else [path])
    ]
    if not files:
        raise CassetteError(
            f"{parsed.recordings[0]}: a folder without a YAML file; name cassettes or a folder of"
            " them"
        )
    words = {
        name: getattr(parsed, name)
        for name in ("pace", "cuts", "fault", "match", "provider", "dialect")
    }
    server = Server(files, port=parsed.port, host=parsed.host, on_miss=_tell, **words)
    try:
        asyncio.run(_run(server))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise OSError(
                error.errno,
                f"port {parsed.port} is in use; choose another with --port, or 0 for any",
            ) from None
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise OSError(
                error.errno,
                f"--host {parsed.host} is no address of this machine; 127.0.0.1 is one,"
                " 0.0.0.0 all",
            ) from None
        raise
    return 0


async def _run(server: Server) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            asyncio.get_running_loop().add_signal_handler(number, server.stop)
        except NotImplementedError:  # on Windows
            signal.signal(number, lambda *_: server.stop())
    await server.run(lambda: print(server.base_url, flush=True))


def _tell(miss: str) -> None:
    print(f"harness: {printable(miss)}", file=sys.stderr, flush=True)
