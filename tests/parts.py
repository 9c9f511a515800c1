"""Runs targets of the Makefile as the parts of one check: `python -m tests.parts NAME LAST PART…`.

The other parts run one after the other beside LAST, whose output is shown while it runs. Each part
says its name and its time. All parts run, even if one fails. The output of a part that failed is
shown at the end; the last line names what ran, and what failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    part: str
    failed: bool
    output: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.part} {duration(self.seconds)}"


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def run(part: str, *, shown: bool) -> Result:
    """Run one target of make, print its lines if they are `shown`, and then its time."""
    start = time.monotonic()
    lines = []
    # a flag such as -j of the first make is not for the makes of the parts
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    with subprocess.Popen(
        ["make", "--no-print-directory", part],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if shown:
                print(line, end="", flush=True)
    result = Result(part, process.returncode != 0, "".join(lines), time.monotonic() - start)
    print(f"{result}{', FAILED' if result.failed else ''}\n", end="", flush=True)
    return result


def last_line(name: str, results: list[Result], seconds: float) -> str:
    passed = ", ".join(str(result) for result in results if not result.failed)
    failed = ", ".join(str(result) for result in results if result.failed)
    if not failed:
        return f"make {name}: passed in {duration(seconds)}: {passed}"
    return f"make {name}: FAILED: {failed}; passed: {passed or 'nothing'}"


def main(name: str, last: str, *parts: str) -> int:
    start = time.monotonic()
    with ThreadPoolExecutor(1) as executor:
        beside = [executor.submit(run, part, shown=False) for part in parts]
        shown = run(last, shown=True)
        results = [future.result() for future in beside]
    for result in results:
        if result.failed:
            print(f"\n{result.part}:\n{result.output}", end="")
    results.append(shown)
    print(last_line(name, results, time.monotonic() - start))
    return int(any(result.failed for result in results))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
