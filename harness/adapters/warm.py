"""Runs a Python program many times in one process. The process imports its modules once."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from . import warm_server
from .adapter import AdapterError
from .process import LineProcess


def run_program(
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: str,
    timeout: float,
) -> tuple[bytes, int]:
    """Run a program. Returns its stdout and its exit code. Raises `AdapterError` if the program
    hangs, writes too much or ends its process. Its module has two functions: ``main(arguments)``
    returns the exit code, and ``warm_up()`` does the work that every run begins with.
    """
    line = json.dumps([[*arguments], {**environment}, folder]).encode() + b"\n"
    process = start_program(module)
    try:
        answer = next(process.ask(line, timeout))
    except AdapterError:
        process.end()
        start_program.cache_clear()
        raise
    printed, status = json.loads(answer)
    return b64decode(printed), status


@cache
def start_program(module: str) -> LineProcess:
    """The process of a program. It is started once."""
    order = json.dumps([sys.path, module])
    command = [sys.executable, "-P", str(warm_server.__file__), order]
    return LineProcess(command, Path(), module, runs_function=True)
