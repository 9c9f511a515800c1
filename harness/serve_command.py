"""The command ``harness serve``: cassettes as a live endpoint until somebody ends it."""

from __future__ import annotations

import argparse
import asyncio
import errno
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cassette import CassetteError
from .matching import visible
from .project import yaml_files
from .providers import PROVIDERS

if TYPE_CHECKING:
    from .serving import Server


def add_to(commands: Any) -> None:
    """Add the command to the subparsers of ``harness``."""
    one = commands.add_parser("serve", help="answer live clients from recordings, on a loopback address")
    one.add_argument("recordings", type=Path, nargs="+", metavar="CASSETTE", help="recordings, or folders of cassettes")
    one.add_argument("--port", type=_port, default=0, help="the port to listen on (default: 0, a free one)")
    one.add_argument("--host", default="127.0.0.1", help="the address to listen on; other machines can reach any but the default")
    one.add_argument(
        "--pace", default="recorded", metavar="PACE", help="recorded (default), step, instant, or a factor: 2 is twice as fast"
    )
    one.add_argument("--cuts", choices=("recorded", "whole", "bytes"), default="recorded", help="where bodies are cut into reads")
    one.add_argument("--fault", metavar="FAULT", help="cut:N, reset:N or stall:N after N reads, status:CODE, or slow")
    one.add_argument("--match", choices=("request", "path"), default="request", help="path: the body of a request does not count")
    one.add_argument("--provider", choices=PROVIDERS, help="what recordings without a request are answers of")
    one.add_argument("--dialect", choices=("anthropic",), help="answer POST /v1/messages as well")
    one.set_defaults(run=_serve)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port; ports are 0 to 65535")
    return port


def _serve(parsed: argparse.Namespace) -> int:
    from .serving import Server

    files = [file for path in parsed.recordings for file in (yaml_files(path) if path.is_dir() else [path])]
    if not files:
        raise CassetteError(f"{parsed.recordings[0]}: a folder without a YAML file; name cassettes or a folder of them")
    words = {name: getattr(parsed, name) for name in ("pace", "cuts", "fault", "match", "provider", "dialect")}
    server = Server(files, port=parsed.port, host=parsed.host, on_miss=_tell, **words)
    try:
        asyncio.run(_run(server))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise OSError(error.errno, f"port {parsed.port} is in use; choose another with --port, or 0 for any") from None
    return 0


async def _run(server: Server) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            asyncio.get_running_loop().add_signal_handler(number, server.stop)
        except NotImplementedError:  # on Windows
            signal.signal(number, lambda *_: server.stop())
    await server.run(lambda: print(server.base_url, flush=True))


def _tell(miss: str) -> None:
    print(f"harness: {visible(miss)}", file=sys.stderr, flush=True)
