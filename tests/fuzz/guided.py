"""A fuzzer that keeps what reaches new code: inputs are changed at random, and one that takes an edge nobody took joins the corpus.

An edge is a pair of lines that follow each other inside one function of the package, told by the interpreter's own tracing. All chance
comes from one seed, so that a run can be had again.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import harness

PACKAGE = str(Path(harness.__file__).parent)
LONGEST = 4096
TOKENS = (
    b"data: ",
    b"\r\n\r\n",
    b"\n",
    b"<tool_code>",
    b"</tool_code>",
    b'{"',
    b'":',
    b"[[",
    b"}}",
    b"\\u0000",
    b"null",
    b"1e999",
    b"- ",
    b"  ",
    b"&a",
    b"*a",
)
Edge = tuple[int, int, int]


@dataclass
class Result:
    """``started`` and ``ended`` count the edges covered by the first corpus and by the last; ``found`` are inputs with what they raised."""

    executions: int = 0
    started: int = 0
    ended: int = 0
    kept: list[bytes] = field(default_factory=list)
    found: list[tuple[bytes, str]] = field(default_factory=list)


def fuzz(target: Callable[[bytes], None], corpus: Sequence[bytes], executions: int, seed: int = 0) -> Result:
    """Run ``target`` on the corpus and then on changes of it. What it raises is a finding; each kind at each place counts once."""
    chance = random.Random(seed)
    covered: set[Edge] = set()
    result, known = Result(kept=list(corpus)), set[str]()
    for data in corpus:
        _execute(target, data, covered, result, known)
    result.started = len(covered)
    while result.executions < executions:
        data = _changed(chance, result.kept)
        before = len(covered)
        _execute(target, data, covered, result, known)
        if len(covered) > before:
            result.kept.append(data)
    result.ended = len(covered)
    return result


def _execute(target: Callable[[bytes], None], data: bytes, covered: set[Edge], result: Result, known: set[str]) -> None:
    result.executions += 1
    sys.settrace(_tracer(covered))
    try:
        target(data)
    except Exception as error:  # noqa: BLE001  # any exception but the typed ones, which a target takes itself, is what is looked for
        sys.settrace(None)
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{type(error).__name__} at {place.tb_frame.f_code.co_name}:{place.tb_lineno}" if place else type(error).__name__
        if where not in known:
            known.add(where)
            result.found.append((data, f"{where}: {error}"))
    finally:
        sys.settrace(None)


def _tracer(covered: set[Edge]) -> Any:
    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        number, last = hash((code.co_filename, code.co_firstlineno)), 0

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            covered.add((number, last, frame.f_lineno))
            last = frame.f_lineno
            return line

        return line

    return enter


def _changed(chance: random.Random, corpus: Sequence[bytes]) -> bytes:
    data = bytearray(chance.choice(corpus))
    for _ in range(1 << chance.randrange(4)):
        at, until = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
        match chance.randrange(6):
            case 0 if data:
                data[min(at, len(data) - 1)] = chance.randrange(256)
            case 1:
                del data[at : min(until, at + 64)]
            case 2:
                data[at:at] = chance.choice(TOKENS)
            case 3:
                data[at:at] = data[at : min(until, at + 256)]
            case 4:
                other = chance.choice(corpus)
                start = chance.randint(0, len(other))
                data[at:until] = other[start : start + chance.randint(0, 256)]
            case _:
                data[at:at] = bytes([chance.randrange(256)])
    return bytes(data[:LONGEST])
