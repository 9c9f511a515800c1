"""Runs a user's function as a guest: in a process of its own, which can always be stopped.

``python -m harness.adapters.worker served|direct LEVEL FOLDER module:function``. It uses the
protocol of `harness.adapters.program`, and writes each event when it arrives.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import convert, to_builtins

from harness.facts import Entry, json_of_fact
from harness.stream.exchange import Exchange

from .adapter import AdapterError
from .function import FunctionAsker
from .neutral_words import Words
from .process import OUT
from .program import Program
from .reply import Reply, ReplyLevel

if TYPE_CHECKING:
    import asyncio  # slow to import, and only the guest needs it


def worker_program(
    target: str, level: ReplyLevel, folder: Path, *, timeout: float, served: bool
) -> Program:
    """Return the program that runs the function ``target``. Raises `AdapterError` if there is no
    such function.
    """
    words = ["served" if served else "direct", level, str(folder), target]
    command = [sys.executable, "-m", __name__, *words]
    program = Program(command, level, folder, timeout=timeout, function=target, served=served)
    program.start()
    return program


PROCESS: Final = os.getpid()
DESCRIPTOR: Final = int(os.environ.get(OUT, "-1"))  # a function may clear the environment


def _write(number: int, **fields: Any) -> None:
    data = json.dumps({"id": number, **fields}).encode() + b"\n"
    if os.getpid() != PROCESS:  # the function has forked, and its child has returned
        os._exit(1)
    while data:
        data = data[os.write(DESCRIPTOR, data) :]


class _WrittenReply(Reply):
    """A reply that writes each event when it is added."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._number = number

    def add(self, entry: Entry, at_s: float | None = None) -> None:
        super().add(entry, at_s)
        facts = [[json_of_fact(fact) for fact in entry.facts]]
        _write(self._number, native=[entry.native], facts=facts, at_s=at_s, more=True)


def main(words: list[str]) -> None:
    """Import the function, write the hello line, and answer one line after the other."""
    import asyncio  # slow to import

    served, level, folder, target = words
    try:
        function = FunctionAsker(
            target, cast(ReplyLevel, level), Path(folder), served=served == "served"
        )
    except AdapterError as error:
        _write(0, fault=str(error))
        return
    hello = {"name": target, "version": function.version, "thoughts": function.asks_thoughts}
    hello["providers"] = function.providers
    _write(0, hello=1, turns=1 + function.converses, **hello)
    loop = asyncio.Runner()
    for line in sys.stdin.buffer:
        _answer(function, json.loads(line), loop)


def _answer(function: FunctionAsker, given: Words, loop: asyncio.Runner) -> None:
    number = given["id"]
    reply = _WrittenReply(number)
    try:
        function.reply(given, convert(given["exchange"], Exchange), reply, loop)
    except AdapterError as error:
        _write(number, fault=str(error), group=error.group)
        return
    with suppress(AttributeError, ValueError, OSError):  # the function may close it
        sys.stderr.flush()
    read = None if reply.read is None else sorted(reply.read)
    _write(number, raised=to_builtins(reply.raised), skipped=reply.skipped, read=read)


if __name__ == "__main__":
    main(sys.argv[1:])
