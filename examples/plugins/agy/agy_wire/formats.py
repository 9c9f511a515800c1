"""Reads the output of the Antigravity CLI, ``agy --output-format stream-json`` or ``json``. Each
turn is one exchange without a request, because a process may answer several prompts.

A *script* of https://github.com/littlebearapps/untether contains a whole run: the lines of stdout
and stderr, the time before each line, and the exit code.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from harness.cassettes.importers.build import build_cassette, build_exchange
from harness.cassettes.importers.content import Content, Format
from harness.providers import EXIT_CODE, PROGRAM, STDERR, detect_provider
from harness.stream.exchange import Cassette, CassetteError, Exchange

_MARK: Final = re.compile(rb'"event"\s*:|"conversation_id"\s*:')
_RESULT: Final = re.compile(rb'"event"\s*:\s*"result"')
_EVENT: Final = re.compile(rb'"event"\s*:\s*"')
_MODEL: Final = re.compile(rb'"init":\s*\{[^{}]*?"model":\s*"([^"\\]{1,200})"')
_LOOK: Final = 64 * 1024
_LONGEST_S: Final = 1e6
_SCRIPT_LINE: Final = re.compile(r"(sleep|out|err|rc):(.*)")


def _recognises(content: Content) -> bool:
    head = content.data[:_LOOK]
    return (
        not _recognises_script(content)
        and _MARK.search(head) is not None
        and detect_provider("", "", b"", content.data).provider == "agy"
    )


def _read(content: Content) -> Cassette:
    turns = [build_exchange(None, 200, {}, turn, end="unknown") for turn in _turns(content.data)]
    return _cassette(turns, content.data, "Antigravity CLI output")


def _turns(data: bytes) -> list[bytes]:
    """Return the lines up to each result, with the result. Lines without an event after the last
    exchange belong to that exchange.
    """
    turns: list[bytes] = []
    start = 0
    for result in _RESULT.finditer(data):
        end = data.find(b"\n", result.end()) + 1 or len(data)
        turns.append(data[start:end])
        start = end
    rest = data[start:]
    if turns and not _EVENT.search(rest):
        turns[-1] += rest
        return turns
    return [*turns, rest]


def _cassette(exchanges: list[Exchange], data: bytes, note: str) -> Cassette:
    model = _MODEL.search(data, 0, _LOOK)
    return build_cassette(
        exchanges,
        model=model[1].decode("utf-8", "replace") if model else None,
        client="agy",
        note=note,
    )


AGY: Final = Format("agy", "Antigravity CLI output", _recognises, _read)


def _recognises_script(content: Content) -> bool:
    lines = list(islice(content.lines, 3)) if content.first_character in "seor" else []
    return bool(lines) and all(_SCRIPT_LINE.match(line) for _, line in lines)


def _read_script(content: Content) -> Cassette:
    at_s, code = 0.0, "0"
    reads: list[tuple[float | None, bytes]] = []
    stderr: list[str] = []
    for number, line in content.lines:
        match = _SCRIPT_LINE.match(line)
        if match is None:
            raise CassetteError(f"line {number} does not begin with sleep:, out:, err: or rc:")
        kind, value = match.groups()
        if kind == "out":
            reads.append((round(at_s * 1000, 3), f"{value}\n".encode()))
        elif kind == "err":
            stderr.append(value)
        elif kind == "rc":
            code = value.strip()
        else:
            at_s += _seconds(value, number)
    headers = {PROGRAM: ["agy"], EXIT_CODE: [code], **({STDERR: stderr} if stderr else {})}
    exchange = Exchange(None, 200, headers, tuple(reads), "complete")
    return _cassette([exchange], exchange.body, "script of an Antigravity CLI run")


def _seconds(text: str, number: int) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_S:
        raise CassetteError(f"line {number}: expected seconds, not {text!r}")
    return seconds


AGY_SCRIPT: Final = Format(
    "agy-script", "script of an Antigravity CLI run", _recognises_script, _read_script
)
