"""A program that behaves as its first argument says, for the tests of warm processes."""

import os
import sys
import time
from pathlib import Path

warmed: list[int] = []


def warm_up() -> None:
    if os.environ.get("SMALL_PROGRAM") == "broken":
        raise RuntimeError("it can't begin")
    warmed.append(os.getpid())


def main(arguments: list[str]) -> int:
    match arguments:
        case ["show", name]:
            print(
                os.environ.get(name),
                Path.cwd().name,
                sys.stdin.read(),
                "SMALL_PROGRAM" in os.environ,
            )
        case ["pid"]:
            print("warm" if os.getpid() in warmed else "cold", os.getpid())
        case ["exit", code]:
            sys.exit(int(code) if code.isdecimal() else code)
        case ["fail"]:
            raise ValueError("no")
        case ["sleep"]:
            time.sleep(60)
        case ["kill"]:
            os.kill(os.getpid(), 9)
    return 7
