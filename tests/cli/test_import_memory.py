"""The import of a long recording needs less than three bytes of memory for each byte of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import load

MESSAGE = (
    '{"candidates": [{"content": {"parts": [{"text": "piece %d of an answer, of ordinary length "}],'
    '"role": "model"},"index": 0}],"usageMetadata": {"totalTokenCount": %d},"responseId": "-tYZ"}'
)
IMPORTS = """
import os, sys
from harness.cli.main import main
print(flush=True)
for line in sys.stdin:
    process = os.fork()
    if not process:
        assert main(["import", *line.split()]) == 0
        status = open("/proc/self/status").read()
        print(status.partition("VmHWM:")[2].split()[0], flush=True)
        os._exit(0)
    os.waitpid(process, 0)
"""
"""Imports in a new process for each line of its input, and prints the peak memory in KiB."""


def messages(size: int) -> list[str]:
    return [MESSAGE % (number, number) for number in range(size // len(MESSAGE))]


def sse(size: int) -> str:
    return "".join(f"data: {message}\r\n\r\n" for message in messages(size))


def array(size: int) -> str:
    return "[" + ",\r\n".join(messages(size)) + "]"


def lines(size: int) -> str:
    return "\n".join(messages(size))


def emoji(size: int) -> str:
    return array(size).replace("piece 7 ", "piece \N{GRINNING FACE} ")


def archive(texts: list[str]) -> str:
    request = {"method": "POST", "url": "https://example.com/v1beta/models/m:streamGenerateContent"}
    entries = [
        {"request": request, "response": {"status": 200, "content": {"text": text}}}
        for text in texts
    ]
    return json.dumps({"log": {"entries": entries}}, ensure_ascii=False)


def har(size: int) -> str:
    return archive([sse(1 << 16)] * (size >> 16))


def google(size: int) -> str:
    """An array as Google writes it, with two kinds of line ends."""
    first = json.dumps(json.loads(MESSAGE % (0, 0)), indent=2)
    indented = first.replace("piece 0 ", "piece %d ").replace('TokenCount": 0', 'TokenCount": %d')
    numbers = range(size * 2 // 3 // len(MESSAGE))
    return "[" + "\n,\r\n".join(indented % (number, number) for number in numbers) + "\n]\n"


def short(size: int) -> str:
    event = 'data: {"candidates": [{"content": {"parts": [{"text": "word %d "}]}}]}\n\n'
    return "".join(event % number for number in range(size // len(event)))


def har_of_one(size: int) -> str:
    return archive([sse(size).replace("piece 7 ", "piece \N{GRINNING FACE} ")])


FORMATS: dict[str, Callable[[int], str]] = {
    "sse": sse,
    "array": array,
    "lines": lines,
    "emoji": emoji,
    "google": google,
    "short": short,
    "har": har,
    "har_of_one": har_of_one,
}


SMALL, LARGE = 4 << 20, 8 << 20
"""Two sizes in bytes, both larger than the parts in which an import reads and redacts. So their peaks
differ only by what is needed for each byte.
"""


@pytest.fixture(scope="module")
def peak() -> Iterator[Callable[[Path], int]]:
    """A function: the peak memory in bytes of a process that imports a file."""
    command, pipe = [sys.executable, "-c", IMPORTS], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as program:

        def ask(source: Path) -> int:
            assert program.stdin is not None
            assert program.stdout is not None
            print(source, "-o", source.with_suffix(".yaml"), file=program.stdin, flush=True)
            return 1024 * int(program.stdout.readline())

        assert program.stdout is not None
        assert program.stdout.readline() == "\n"
        yield ask
        assert program.stdin is not None
        program.stdin.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
@pytest.mark.parametrize("name", FORMATS)
def test_an_import_takes_less_than_three_times_the_size(
    name: str, tmp_path: Path, peak: Callable[[Path], int]
) -> None:
    small, large = tmp_path / "small.txt", tmp_path / "large.txt"
    for source, size in (small, SMALL), (large, LARGE):
        source.write_text(FORMATS[name](size), "utf-8", newline="")
    more = large.stat().st_size - small.stat().st_size
    assert peak(large) - peak(small) < 3 * more
    back, read = (load(path).exchanges for path in (small.with_suffix(".yaml"), small))
    assert [exchange.body for exchange in back] == [exchange.body for exchange in read]
