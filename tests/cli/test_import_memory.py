"""The import of a long recording needs less than three times its size in memory, beside the
interpreter.
"""

from __future__ import annotations

import json
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


INTERPRETER = 64 << 20
"""The memory in bytes of the interpreter with the modules of the import, and some room."""


def peak(source: Path) -> int:
    """The peak memory in bytes of a process that imports a file."""
    command = [sys.executable, "-c", IMPORT, str(source), str(source.with_suffix(".yaml"))]
    return 1024 * int(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
@pytest.mark.parametrize("name", FORMATS)
def test_an_import_takes_less_than_three_times_the_size(name: str, tmp_path: Path) -> None:
    source = tmp_path / "recording.txt"
    source.write_text(FORMATS[name](24 << 20), "utf-8", newline="")
    assert peak(source) < 3 * source.stat().st_size + INTERPRETER
    back, read = (load(path).exchanges for path in (source.with_suffix(".yaml"), source))
    assert [exchange.body for exchange in back] == [exchange.body for exchange in read]
