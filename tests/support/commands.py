"""Runs a command line in this process, with the result that a process of its own would have.

A process spends a second on its start. `tests/test_commands.py` compares the two.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import IO, Any, Final, NamedTuple
from unittest.mock import patch

import pytest

from harness.cli import run as run_harness

INSTALLED: Final = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[2]))
"""The folders of the modules that a process shares with its tests."""

IGNORED: Final = (
    ResourceWarning,
    ImportWarning,
    PendingDeprecationWarning,
    DeprecationWarning,
)
"""The warnings that Python ignores by default, the last one except in ``__main__``."""


class Ended(NamedTuple):
    """What a command returned and wrote."""

    status: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def run(
    *command: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    merged: bool = False,
) -> Ended:
    """Run ``harness …``, ``pytest …`` or ``python …``.

    The default folder and environment are those of this process. ``merged`` writes stderr to
    stdout. The modules of the command's own project are imported anew, and then forgotten.
    """
    name, *arguments = command
    environment = os.environ if environment is None else environment
    assert environment.get("PYTHONPATH") == os.environ.get("PYTHONPATH")  # read at the start
    main: Callable[[], object] = MAINS[name]
    with ExitStack() as stack:
        streams = [stack.enter_context(TemporaryFile()) for _ in range(3)]
        streams[0].write(stdin.encode())
        streams[0].seek(0)
        with (
            patch.dict(os.environ, environment, clear=True),
            _folder(cwd or Path()),
            _interpreter([name, *arguments]),
            _standard_streams(*streams[:2], streams[1 if merged else 2]),
        ):
            status = _status(main)
        for stream in streams:
            stream.seek(0)
        texts = [stream.read().decode().replace("\r\n", "\n") for stream in streams[1:]]
    return Ended(status, *texts)


def harness(*arguments: str, **options: Any) -> Ended:
    """Run ``harness`` with these arguments; the options are those of `run`."""
    return run("harness", *arguments, **options)


def _python() -> None:
    del sys.argv[0]
    match sys.argv:
        case ["-c", code, *_]:
            del sys.argv[1]
            sys.path.insert(0, "")
            _execute(code)
        case ["-m", name, *_]:
            del sys.argv[0]
            sys.path.insert(0, str(Path.cwd()))
            spec = find_spec(name)
            if spec and spec.submodule_search_locations:
                spec = find_spec(f"{name}.__main__")
            assert spec is not None
            assert spec.origin is not None
            sys.argv[0] = spec.origin
            _execute(Path(spec.origin).read_text("utf-8"), spec.origin, spec.parent)
        case [file, *_]:
            path = Path(file).absolute()
            sys.path.insert(0, str(path.parent))
            _execute(path.read_text("utf-8"), str(path))


def _execute(code: str, file: str = "<string>", package: str | None = None) -> None:
    """Execute the code as the module ``__main__``."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module = ModuleType("__main__")
    module.__package__ = package
    module.__file__ = file
    try:
        exec(compile(code, file, "exec"), vars(module))
    finally:
        sys.modules["__main__"] = before


MAINS: Final = {"harness": run_harness, "pytest": pytest.console_main, "python": _python}


def _status(main: Callable[[], object]) -> int:
    """The exit status, as the interpreter makes it."""
    try:
        ended = main()
    except SystemExit as end:
        ended = end.code
    except Exception:  # noqa: BLE001  # the interpreter prints each of them
        traceback.print_exc()
        return 1
    if ended is None or isinstance(ended, int):
        return int(ended or 0)
    print(ended, file=sys.stderr)
    return 1


@contextmanager
def _folder(path: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _standard_streams(*given: IO[bytes]) -> Iterator[None]:
    """Replace stdin, stdout and stderr, also for the programs that the command starts."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in range(3)]
    for number, stream in enumerate(given):
        os.dup2(stream.fileno(), number)
    own = [
        open(number, mode, buffering, "utf-8", closefd=False)  # noqa: SIM115  # closed below
        for number, mode, buffering in ((0, "r", -1), (1, "w", -1), (2, "w", 1))
    ]
    try:
        with patch.multiple(sys, stdin=own[0], stdout=own[1], stderr=own[2]):
            yield
            sys.stdout.flush()
            sys.stderr.flush()
    finally:
        for stream in own:
            stream.close()
        for number, descriptor in enumerate(kept):
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def _interpreter(arguments: list[str]) -> Iterator[None]:
    """The state of an interpreter that was just started, and afterwards the state before."""
    modules = {name: module for name, module in sys.modules.items() if not _is_installed(module)}
    for name in modules:
        del sys.modules[name]
    path, finders = [*sys.path], [*sys.meta_path]
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    importlib.invalidate_caches()
    try:
        with (
            patch.multiple(sys, argv=arguments, dont_write_bytecode=True),
            warnings.catch_warnings(),
        ):
            warnings.resetwarnings()
            for category in IGNORED:
                warnings.simplefilter("ignore", category)
            warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
            warnings.showwarning = _show_warning
            yield
            gc.collect()  # what the command has left open must not be found by a later test
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.path[:] = path
        # a library that stays imported, such as importlib_metadata, adds its finder only once
        sys.meta_path[:] = [*finders, *(own for own in sys.meta_path if own not in finders)]
        for name, module in [*sys.modules.items()]:
            if not _is_installed(module):
                del sys.modules[name]
        sys.modules.update(modules)


def _is_installed(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]
    return all(str(place).startswith(INSTALLED) for place in places)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
