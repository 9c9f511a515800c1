"""Importing a long recording takes less than three times its size in memory, beside a fixed part."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import load

MESSAGE = (
    '{"candidates": [{"content": {"parts": [{"text": "piece %d of an answer, of ordinary length "}],'
    '"role": "model"},"index": 0}],"usageMetadata": {"totalTokenCount": %d},"responseId": "-tYZ"}'
)
IMPORT = """
import sys
from harness.cli.main import main
assert main(["import", sys.argv[1], "-o", sys.argv[2]]) == 0
status = open("/proc/self/status").read()
print(status.partition("VmHWM:")[2].split()[0])
"""


def messages(size: int) -> list[str]:
    return [MESSAGE % (number, number) for number in range(size // len(MESSAGE))]


def sse(size: int) -> str:
    return "".join(f"data: {message}\r\n\r\n" for message in messages(size))


def array(size: int) -> str:
    return "[" + ",\r\n".join(messages(size)) + "]"


FORMATS: dict[str, Callable[[int], str]] = {"sse": sse, "array": array}


def peak(source: Path) -> int:
    """The peak memory in bytes of a process that imports a file."""
    command = [sys.executable, "-c", IMPORT, str(source), str(source.with_suffix(".yaml"))]
    return 1024 * int(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
@pytest.mark.parametrize("name", FORMATS)
def test_an_import_takes_less_than_three_times_the_size(name: str, tmp_path: Path) -> None:
    short, long = tmp_path / "short.txt", tmp_path / "long.txt"
    short.write_text(FORMATS[name](8 << 20), newline="")
    long.write_text(FORMATS[name](32 << 20), newline="")
    grown = long.stat().st_size - short.stat().st_size
    assert peak(long) - peak(short) < 2.75 * grown
    body = load(long.with_suffix(".yaml")).exchanges[0].body
    assert body == load(long).exchanges[0].body
