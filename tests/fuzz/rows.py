"""Fuzzed rows of a sweep: each becomes one row of verdicts, whatever its columns are.

    python -m tests.fuzz.rows [--rows N] [--seed N]

Prints the number of rows by verdict. Exit 0: every row has a verdict, and no reader raised an
exception that is not its own. Exit 1: another exception, or not one row for each row; the rows are
printed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from harness.providers import PROVIDERS
from harness.sweep.contract import Settings, Target, judge_batch
from harness.sweep.parts import stream_of_line
from harness.sweep.row import StreamRow

BATCH: Final = 500
SETTINGS: Final = Settings(Target("art", "art", "1"), timeout=30.0)
URL: Final = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent"
ANSWER: Final = (
    'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}, {"functionCall": {"name": "f",'
    ' "args": {"a": [1]}}}]}, "finishReason": "STOP"}], "usageMetadata": {"totalTokenCount": 3}}\n\n'
)
ROW: Final[dict[str, Any]] = {
    "id": "s",
    "body": ANSWER,
    "body_base64": "e30=",
    "provider": "gemini-api",
    "status": 200,
    "headers": {"content-type": "text/event-stream"},
    "reads": [{"bytes": len(ANSWER), "at_ms": 1.5}],
    "end": "complete",
    "request": {"url": URL, "method": "POST", "headers": {"a": ["b"]}, "body": "{}"},
}
CRASHES: Final = ("the row can't be read: ", "the row crashed: ")
"""The beginnings of a group of faults that a reader did not foresee."""


def deep(depth: int) -> list[Any]:
    """Lists inside lists."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def brackets(depth: int) -> str:
    """The JSON text of lists inside lists."""
    return "[" * depth + "]" * depth


def values(chance: random.Random) -> Any:
    """A value of any type for any column."""
    return chance.choice(
        [
            *(None, True, False, 0, -1, 5, 2**63, 10**400, 1.5, 1e308, "", "a", "\x00", "\ud800", " "),
            *([], {}, [[]], [{}], [None], {"": None}, {"a": {"a": 1}}, [1, "a", None, {}], ["a", "b"]),
            *(deep(chance.choice([5, 150, 250])), brackets(chance.choice([5, 250, 1500]))),
            *([*PROVIDERS], chance.choice([*PROVIDERS]), chance.randbytes(8).hex(), "{", "null", "[1]"),
            *({"content-encoding": "gzip"}, {"content-encoding": ["br"]}, {"content-length": "x"}),
            *({"url": URL}, {"url": 5}, {"url": "http://[", "body": "{"}, {"url": URL, "headers": 7}),
            *([3, -3], [10**30], [{"bytes": True}], [{"at_ms": "1", "bytes": 1}], "complete", "reset"),
            *(ANSWER[: chance.randrange(len(ANSWER))], ANSWER * 2, ANSWER.replace("[", "{", 1)),
        ]
    )  # fmt: skip


def _one_column(chance: random.Random, row: dict[str, Any]) -> None:
    row[chance.choice([*row, "other"])] = values(chance)


def _less(chance: random.Random, row: dict[str, Any]) -> None:
    row.pop(chance.choice([*row, "other"]), None)


def _inside(chance: random.Random, row: dict[str, Any]) -> None:
    """Change a value inside a column."""
    inner: Any = chance.choice([*row.values()]) if row else None
    if isinstance(inner, dict) and inner:
        inner[chance.choice([*inner])] = values(chance)
    elif isinstance(inner, list):
        inner.insert(0, values(chance))


def _text(chance: random.Random, row: dict[str, Any]) -> None:
    """Put a column into text, as an exporter may."""
    if row:
        name = chance.choice([*row])
        row[name] = json.dumps(row[name])


def _body(chance: random.Random, row: dict[str, Any]) -> None:
    body = list(ANSWER)
    for _ in range(chance.randrange(1, 6)):
        body[chance.randrange(len(body))] = chance.choice('{}[]",:\\\n\r0a\x00é')
    row["body"] = "".join(body)


CHANGES: Final[tuple[Callable[[random.Random, dict[str, Any]], None], ...]] = (
    *(_one_column, _less, _inside, _text, _body),
)


def fuzzed_lines(seed: int, count: int) -> Iterator[bytes]:
    """Lines of JSON; every hundredth is damaged, or nests too deeply for any decoder."""
    for number in range(count):
        chance = random.Random(f"{seed}:{number}")
        row = json.loads(json.dumps(ROW))
        for _ in range(chance.randrange(1, 5)):
            chance.choice(CHANGES)(chance, row)
        line = json.dumps(row).encode()
        if number % 100 == 7:
            line = line[: chance.randrange(len(line))]
        if number % 100 == 11:
            depth = chance.choice([300, 1_200, 100_000])
            line = b'{"id": "s", "body": %b}' % brackets(depth).encode()
        yield line


def judged(lines: list[bytes]) -> list[StreamRow]:
    """The rows of verdicts for these lines."""
    streams = [stream_of_line(line, f"fuzzed:{at}") for at, line in enumerate(lines, 1)]
    return judge_batch(streams, SETTINGS)


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.rows")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args(arguments)
    verdicts: Counter[str] = Counter()
    red: list[str] = []
    batch: list[bytes] = []
    for number, line in enumerate(fuzzed_lines(parsed.seed, parsed.rows), 1):
        batch.append(line)
        if len(batch) == BATCH or number == parsed.rows:
            rows = judged(batch)
            verdicts.update(row.verdict for row in rows)
            if len(rows) != len(batch):
                red.append(f"{len(batch)} rows gave {len(rows)}")
            for row, one in zip(rows, batch, strict=False):
                if row.group.startswith(CRASHES):
                    red.append(f"{row.sentence}; row {one[:300]!r}")
            batch = []
    print(f"{parsed.rows} rows: {', '.join(f'{n} {word}' for word, n in verdicts.most_common())}")
    print("\n".join(red[:20]), end="\n" if red else "")
    return int(bool(red))


if __name__ == "__main__":
    sys.exit(main())
