"""The command ``python -m tests.readers [COUNT]``: compares the readers of each wire on new bodies.

It prints the differences, and its exit status is 1 if there are some. The seed is printed, so that
a run can be repeated: ``python -m tests.readers COUNT SEED``.
"""

from __future__ import annotations

import random
import sys

from harness.providers import PROVIDERS
from harness.proving.second_reader import compare_readers

from . import READERS, answers


def main(count: int, seed: int) -> int:
    print(f"seed {seed}")
    red = False
    for wire, second in READERS.items():
        found = compare_readers(PROVIDERS[wire], second, answers(wire), changes=count, seed=seed)
        print(f"{wire}: {count:,} changed answers, {len(found):,} differences")
        for difference in found[:3]:
            print(difference)
        red |= bool(found)
    return int(red)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(*numbers, *(40_000, random.randrange(1 << 32))[len(numbers) :]))
