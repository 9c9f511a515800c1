"""The command ``python -m tests.fuzz [TARGET] [--executions N] [--corpus DIR] [--seed N] [--whole]``.

Without a target it runs all of them, which takes hours. Exit 0: no input raised an exception. Exit
1: an input raised one; the input is kept in the corpus as ``found-…``, so the next run starts with
it.
"""

from __future__ import annotations

import argparse
from hashlib import sha256
from pathlib import Path
from time import monotonic, process_time

from .guided import Fuzzer, Result
from .limits import bound_memory, in_time, most_resident
from .marks import TAKEN, WORDS, watch

watch("harness")

from .targets import TARGETS, Target  # noqa: E402  # it imports the watched modules

PROGRESS_EVERY_S = 5.0
"""The seconds between two progress lines."""


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, and print the coverage and the findings."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("target", nargs="?", choices=TARGETS)
    parser.add_argument(
        "--executions",
        type=int,
        default=1_000_000,
        help="of each target, after those of its first inputs (default: a million)",
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path("build/fuzz"),
        help="where inputs are kept from run to run (default: build/fuzz)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--whole",
        action="store_true",
        help="keep the first inputs whole: a short run starts sooner",
    )
    parsed = parser.parse_args(arguments)
    bound_memory()
    red = False
    try:
        for name in [parsed.target] if parsed.target else TARGETS:
            fuzzer = Fuzzer(in_time(TARGETS[name].run), TAKEN, WORDS, parsed.seed)
            try:
                _run(name, TARGETS[name], fuzzer, parsed)
            finally:
                red |= bool(fuzzer.result.findings)
    except KeyboardInterrupt:
        print("stopped; what was found so far is kept")
    return int(red)


def _run(name: str, target: Target, fuzzer: Fuzzer, parsed: argparse.Namespace) -> None:
    result, folder = fuzzer.result, parsed.corpus / name
    kept = [path.read_bytes() for path in sorted(folder.glob("*"))] if folder.is_dir() else []
    fuzzer.begin(kept, target.corpus(), cut_down=not parsed.whole)
    started, at_start, reported = process_time(), result.executions, monotonic()
    try:
        print(f"{name}: {_counts(result)} at the start", flush=True)
        while result.executions - at_start < parsed.executions:
            fuzzer.once()
            if monotonic() - reported > PROGRESS_EVERY_S:
                reported = monotonic()
                _keep(folder, result)
                print(f"{name}: {_counts(result)}", flush=True)
    finally:
        _keep(folder, result)
        rate = (result.executions - at_start) / max(process_time() - started, 1e-9)
        print(
            f"{name}: {_counts(result)}, {result.started} edges at the start, {result.edges} at the end;",
            end=" ",
        )
        print(
            f"{rate:.0f} executions a second of processor time, at most {most_resident() >> 10} MiB",
            flush=True,
        )
        for data, fault in result.findings:
            print(f"  {fault}; input {data[:200]!a}", flush=True)


def _counts(result: Result) -> str:
    return f"{result.executions} executions, {result.edges} edges, {len(result.kept)} inputs kept, {len(result.findings)} found"


def _keep(folder: Path, result: Result) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for prefix, inputs in (("", result.kept), ("found-", [data for data, _ in result.findings])):
        for data in inputs:
            path = folder / f"{prefix}{sha256(data).hexdigest()[:16]}"
            if not path.exists():
                path.write_bytes(data)


if __name__ == "__main__":
    raise SystemExit(main())
