"""The command ``harness serve``: serves cassettes as a live endpoint until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import errno
import signal
import socket
from collections.abc import Sequence

from harness.cassettes import CassetteError
from harness.dialects import DIALECTS
from harness.project.folders import yaml_files
from harness.project.recordings import find_recording, load_recording
from harness.providers import PROVIDERS
from harness.server import Server

from .output import note


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    parser.add_argument(
        "recordings",
        nargs="+",
        metavar="CASSETTE",
        help="recordings, folders of cassettes, or names of cassettes; CASSETTE:N is exchange N",
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=0,
        metavar="N",
        help="the port to listen on (default: 0, any free port)",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on (default: 127.0.0.1, which only this machine can reach)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that clients use for this machine, such as host.docker.internal (repeatable;"
        " default: only loopback names)",
    )
    parser.add_argument(
        "--pace",
        default="recorded",
        metavar="PACE",
        help=(
            "the time at which each read is sent: at its recorded time (recorded), N times as fast"
            " (a number N), a millisecond apart (step), not waiting (instant) (default: recorded)"
        ),
    )
    parser.add_argument(
        "--cuts",
        choices=("recorded", "whole", "bytes"),
        default="recorded",
        help=(
            "how bodies are cut into reads: as recorded, one read, or one read per byte (default:"
            " recorded)"
        ),
    )
    parser.add_argument(
        "--fault",
        metavar="FAULT",
        help=(
            "break answers: cut:N, reset:N or stall:N, after N reads; close:N:CODE, a session"
            " after N messages; status:CODE, an error from 400 to 599; slow, half a second before"
            " each read (default: none)"
        ),
    )
    parser.add_argument(
        "--match",
        choices=("request", "path"),
        default="request",
        help=(
            "the exchange that answers: request, the one recorded for the same request; path, the"
            " next with the same method, path and model (default: request)"
        ),
    )
    parser.add_argument(
        "--provider",
        choices=PROVIDERS,
        help="the provider of recordings without a request (default: detected from the body)",
    )
    served = {name: dialect.apis for name, dialect in DIALECTS.items() if dialect.apis}
    paths = ", ".join(
        f"{name}: POST {' and '.join(api.path for api in apis)}" for name, apis in served.items()
    )
    parser.add_argument(
        "--dialect",
        choices=served,
        help=(f"also answer requests in the form of these APIs ({paths}; default: no)"),
    )
    parser.add_argument(
        "--tls",
        action="store_true",
        help="serve over TLS, as the Python client of the Live API needs it, and print the file of"
        " the certificate that clients trust (needs the extra live; default: no)",
    )
    rules = parser.add_mutually_exclusive_group()
    rules.add_argument(
        "--strict",
        dest="strictness",
        action="store_const",
        const="strict",
        default="api",
        help="refuse more than the API: signatures at other parts, of other models, or copied",
    )
    rules.add_argument(
        "--lenient",
        dest="strictness",
        action="store_const",
        const="lenient",
        help="refuse no request; print the requests that the API would refuse",
    )
    parser.set_defaults(run=_serve)


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port; ports are 0 to 65535")
    return port


def _serve(parsed: argparse.Namespace) -> int:
    files = [file for text in parsed.recordings for file in _files(text)]
    if not files:
        raise CassetteError(
            f"{parsed.recordings[0]}: a folder without a YAML file; name cassettes or a folder of"
            " them"
        )
    words = {
        name: getattr(parsed, name)
        for name in ("pace", "cuts", "fault", "match", "provider", "dialect", "strictness")
    }
    server = Server(
        files,
        port=parsed.port,
        host=parsed.host,
        allowed_hosts=parsed.allow_host,
        on_miss=note,
        on_warning=note,
        read=lambda file: load_recording(str(file)),
        tls=parsed.tls,
        **words,
    )
    try:
        asyncio.run(_run(server))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise OSError(
                error.errno,
                f"port {parsed.port} is in use; choose another with --port, or 0 for any",
            ) from None
        # Python 3.13 gives no error number if it can use none of the addresses of a name.
        if isinstance(error, socket.gaierror) or error.errno in (errno.EADDRNOTAVAIL, None):
            raise OSError(
                error.errno,
                f"--host {parsed.host} is not an address of this machine; use 127.0.0.1, or"
                " 0.0.0.0 for all addresses",
            ) from None
        raise
    return 0


def _files(text: str) -> Sequence[str]:
    """Return the recordings that an argument names: those in a folder, or a single one."""
    path, number = find_recording(text)
    if not path.is_dir():
        return [text]
    return [str(file) if number is None else f"{file}:{number}" for file in yaml_files(path)]


async def _run(server: Server) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            asyncio.get_running_loop().add_signal_handler(number, server.stop)
        except NotImplementedError:  # an event loop has no signal handlers on Windows
            signal.signal(number, lambda *_: server.stop())
    trusted = f"\nSSL_CERT_FILE={server.certificate}" if server.certificate else ""
    await server.run(lambda: print(f"{server.base_url}{trusted}", flush=True))
