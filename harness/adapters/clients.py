"""Clients and programs of our dialects as adapters. The harness serves the cassette of the case on
this machine.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO, StringIO, TextIOWrapper
from typing import TYPE_CHECKING, Any, Final

from harness.dialects import DIALECTS
from harness.dialects.dialect import ClientAdapter, ContextError, ServedCassette
from harness.stream.exchange import Cassette, Exchange

from .adapter import Adapter, AdapterError, AdapterMissing, Output, RunOptions
from .environment import CERTIFICATE

if TYPE_CHECKING:
    from harness.server import Server

CLIENTS: Final = {
    dialect.client.name: dialect.client for dialect in DIALECTS.values() if dialect.client
}
"""The clients and programs of our dialects, by their names in specs."""

Adapt = Callable[[Mapping[str, Any], ServedCassette], list[Any]]


def make_client_adapter(
    client: ClientAdapter, load: Callable[[str], Cassette], adapt: Adapt | None = None
) -> Adapter:
    """Return the adapter of a client. ``load`` gives the cassette with a name. ``adapt`` is called
    instead of the function that ``client.target`` names.

    A run raises `AdapterError` if the client can't use the context, and `AdapterMissing` if a
    module is not installed.
    """

    def run(exchange: Exchange, options: RunOptions) -> Output:
        from harness.server import serve  # the server is slow to import

        cassette = load(options.cassette)
        function = adapt or _import(client)
        with serve(cassette, pace="instant") as server:
            try:
                served = _Served(server, len(cassette.exchanges))
                return Output(function(options.context, served))
            except ContextError as error:
                raise AdapterError(str(error)) from None

    return Adapter(name=client.name, model=client.name, run=run)


def _import(client: ClientAdapter) -> Adapt:
    spec = None
    with suppress(ModuleNotFoundError):  # that a parent package needs
        spec = find_spec(client.module)
    if spec is None:
        raise AdapterMissing(
            f"{client.name} needs {client.module}: pip install 'gemini-conformance[{client.extra}]'"
        )
    module, _, function = client.target.partition(":")
    adapt: Adapt = getattr(import_module(module), function)
    return adapt


@dataclass(frozen=True, slots=True)
class _Served:
    server: Server
    exchanges: int

    @property
    def base_url(self) -> str:
        return self.server.base_url

    def summary(self) -> dict[str, Any]:
        refused = [miss for miss in self.server.misses if "enerateContent" in miss]
        asked = self.exchanges - len(self.server.unused)
        return {"asked": asked} | ({"refused": refused} if refused else {})

    def run_program(
        self, module: str, arguments: Sequence[str], environment: Mapping[str, str], folder: str
    ) -> tuple[bytes, int]:
        trusted = {"SSL_CERT_FILE": str(CERTIFICATE)}  # the server has no TLS
        return _run_here(module, arguments, {**environment, **trusted}, folder)


def _run_here(
    module: str, arguments: Sequence[str], environment: Mapping[str, str], folder: str
) -> tuple[bytes, int]:
    """Run a program in this process. Returns its stdout and its exit code, which are the same as
    from the interpreter.
    """
    main: Callable[[Sequence[str]], int] = import_module(module).main
    printed = BytesIO()
    out = TextIOWrapper(printed, "utf-8")
    with chdir(folder), redirect_stdout(out), _surroundings(environment):
        try:
            status = main(arguments)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception:  # noqa: BLE001  # prints any exception, as the interpreter does
            traceback.print_exc()
            status = 1
    out.flush()
    return printed.getvalue(), status


@contextmanager
def _surroundings(environment: Mapping[str, str]) -> Iterator[None]:
    """Give this process another environment, and an empty stdin."""
    before, stdin = dict(os.environ), sys.stdin
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin = StringIO()
    try:
        yield
    finally:
        sys.stdin = stdin
        os.environ.clear()
        os.environ.update(before)
