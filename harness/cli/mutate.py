"""The command ``harness mutate``: writes variants of a recording as cassettes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from harness.adapters import AdapterError
from harness.cassettes import Cassette, CassetteError
from harness.cassettes.redaction.secrets import guard
from harness.facts import Facts
from harness.judging.metamorphic import ALL, variants_of
from harness.project.recordings import load_recording
from harness.stream.exchange import Exchange
from harness.stream.printable import printable

NOTHING: Final = 1
"""The exit status if no variant applies to the exchange."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        help=(
            "a recording, or the name of a cassette; FILE:N is exchange N (default: list all wire"
            " variants)"
        ),
    )
    parser.add_argument(
        "--exchange",
        type=int,
        default=1,
        metavar="N",
        help="the exchange to change, counted from 1 (default: 1)",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=[variant.name for variant in ALL],
        metavar="NAME",
        help="only this variant (repeatable; default: all)",
    )
    parser.add_argument(
        "--adapter",
        metavar="TARGET",
        help="also run this adapter on each variant, and print the relations that do not hold"
        " (default: none)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="a new folder, for one cassette per variant (default: write nothing)",
    )
    parser.set_defaults(run=_mutate)


def _reader(parsed: argparse.Namespace) -> Callable[[Exchange], Facts]:
    from harness.judging.aspects import account_of  # start-up time

    from .named_adapter import adapter_named  # start-up time

    adapter = adapter_named(parsed.adapter, parsed)
    return lambda exchange: account_of(adapter, adapter.output(exchange))


def _mutate(parsed: argparse.Namespace) -> int:
    if parsed.file is None:
        width = max(len(variant.name) for variant in ALL)
        for variant in ALL:
            print(f"{variant.name:<{width}}  {variant.description}: {variant.relation.name}")
        return 0
    cassette = load_recording(parsed.file)
    if not 1 <= parsed.exchange <= len(cassette.exchanges):
        raise CassetteError(
            f"{parsed.file}: there is no exchange {parsed.exchange}; the recording has"
            f" {len(cassette.exchanges)}"
        )
    if parsed.output is not None and parsed.output.exists():
        raise CassetteError(
            f"{parsed.output} already exists; name another folder, or delete it first"
        )
    status = NOTHING
    exchange = cassette.exchanges[parsed.exchange - 1]
    read = _reader(parsed) if parsed.adapter else None
    before = read(exchange) if read else None
    for variant, changed in variants_of(exchange):
        if parsed.only and variant.name not in parsed.only:
            continue
        status = 0
        print(f"{variant.name}: {variant.relation.name}")
        if read and before is not None:
            try:
                findings = variant.relation.findings(before, read(changed))
            except AdapterError as error:
                findings = [str(error)]
            for finding in findings:
                print(printable(f"  does not hold: {finding}"))
        if parsed.output is not None:
            origin = replace(
                cassette.origin,
                kind="written",
                note=f"{variant.description}; must hold: {variant.relation.name}",
            )
            parsed.output.mkdir(parents=True, exist_ok=True)
            target = parsed.output / f"{variant.name}.yaml"
            target.write_bytes(guard().encode(Cassette((changed,), origin), str(target)))
    return status
