"""The command: ``python -m tests.fuzz TARGET [--executions N] [--corpus DIR] [--seed N]``; all targets without one, for the night.

Exit 0: nothing was raised; 1: something was, and the input is kept in the corpus as ``found-…``, to become a case.
"""

from __future__ import annotations

import argparse
from hashlib import sha256
from pathlib import Path

from .guided import Result, fuzz
from .targets import TARGETS, first_corpus


def main(arguments: list[str] | None = None) -> int:
    """Fuzz and print what was covered and found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("target", nargs="?", choices=TARGETS)
    parser.add_argument("--executions", type=int, default=1_000_000, help="of each target (default: a million)")
    parser.add_argument(
        "--corpus", type=Path, default=Path("build/fuzz"), help="where inputs are kept from run to run (default: build/fuzz)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args(arguments)
    red = False
    for name in [parsed.target] if parsed.target else TARGETS:
        folder = parsed.corpus / name
        kept = [path.read_bytes() for path in sorted(folder.glob("*"))] if folder.is_dir() else []
        result = fuzz(TARGETS[name].run, [*first_corpus(name), *kept], parsed.executions, parsed.seed)
        _keep(folder, result)
        edges = f"{result.started} edges at the start, {result.ended} at the end"
        print(f"{name}: {result.executions} executions, {edges}, {len(result.kept)} inputs kept")
        for data, what in result.found:
            red = True
            print(f"  {what}; input {data[:80]!a}")
    return int(red)


def _keep(folder: Path, result: Result) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for data in result.kept:
        (folder / sha256(data).hexdigest()[:16]).write_bytes(data)
    for data, _ in result.found:
        (folder / f"found-{sha256(data).hexdigest()[:16]}").write_bytes(data)


if __name__ == "__main__":
    raise SystemExit(main())
