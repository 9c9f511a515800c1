"""The command ``harness mutate``: a recording changed in every way of the catalogue, a cassette
each, for adapters to be fed with.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from harness.cassettes import Cassette, CassetteError, dumps
from harness.cassettes.load import load
from harness.conformance.metamorphic import MUTATIONS, mutate

NOTHING: Final = 1


def add_to(commands: Any) -> None:
    """Add the command to the subparsers of ``harness``."""
    one = commands.add_parser(
        "mutate", help="list the wire mutations, or write a recording changed in each of these ways"
    )
    one.add_argument("file", type=Path, nargs="?", help="a recording (default: list the catalogue)")
    one.add_argument(
        "--exchange", type=int, default=1, metavar="N", help="which exchange, from 1 (default: 1)"
    )
    one.add_argument(
        "--only",
        action="append",
        choices=[one.name for one in MUTATIONS],
        metavar="NAME",
        help="only this mutation (repeatable; default: all)",
    )
    one.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="the folder to write to, a new one (default: nothing is written)",
    )
    one.set_defaults(run=_mutate)


def _mutate(parsed: argparse.Namespace) -> int:
    if parsed.file is None:
        width = max(len(one.name) for one in MUTATIONS)
        for one in MUTATIONS:
            print(f"{one.name:<{width}}  {one.says}: {one.relation.name}")
        return 0
    cassette = load(parsed.file)
    if not 1 <= parsed.exchange <= len(cassette.exchanges):
        raise CassetteError(
            f"{parsed.file}: there is no exchange {parsed.exchange}; the recording has"
            f" {len(cassette.exchanges)}"
        )
    if parsed.output is not None and parsed.output.exists():
        raise CassetteError(
            f"{parsed.output} exists already; name another folder, or delete it first"
        )
    found = NOTHING
    for mutation, changed in mutate(cassette.exchanges[parsed.exchange - 1]):
        if parsed.only and mutation.name not in parsed.only:
            continue
        found = 0
        print(f"{mutation.name}: {mutation.relation.name}")
        if parsed.output is not None:
            origin = replace(
                cassette.origin,
                kind="written",
                note=f"{mutation.says}; must hold: {mutation.relation.name}",
            )
            parsed.output.mkdir(parents=True, exist_ok=True)
            target = parsed.output / f"{mutation.name}.yaml"
            target.write_text(dumps(Cassette((changed,), origin)), encoding="utf-8", newline="\n")
    return found
