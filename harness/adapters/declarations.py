"""Reads the losses and known failures that a project declares for its adapters.

harness_losses = litellm: media, code; ours: finish[call]
harness_known_failing = litellm: finish = says stop, https://example.org/issues/1, until 2027-03-31
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Final

from harness.facts import DeclaredLoss, read_losses

from .adapter import Adapter, AdapterError, KnownFailure

_LOSSES: Final = re.compile(r"(?P<adapter>[a-z0-9-]+)\s*:\s*(?P<losses>\S.*)")
_KNOWN: Final = re.compile(
    r"(?P<adapter>[a-z0-9-]+)\s*:\s*(?P<pattern>[^=]*\S)\s*=\s*(?P<why>\S.*)"
)
_UNTIL: Final = re.compile(r"[,;(]?\s*until (\d{4}-\d{2}-\d{2})\)?\s*$")
_LINK: Final = re.compile(r"[,;(]?\s*(https?://[^\s)]+)\)?\s*$")


def declared_losses(lines: Iterable[str]) -> dict[str, tuple[DeclaredLoss, ...]]:
    """Return the losses of each adapter; ``;`` separates adapters on one line. Raises
    `AdapterError`.
    """
    declared: dict[str, tuple[DeclaredLoss, ...]] = {}
    for item in filter(None, (part.strip() for line in lines for part in line.split(";"))):
        match = _LOSSES.fullmatch(item)
        if match is None:
            raise AdapterError(
                f"{item!r} declares no losses; expected ADAPTER: ASPECT, ASPECT[CONDITION]"
            )
        try:
            losses = read_losses(match["losses"])
        except ValueError as error:
            raise AdapterError(f"{item!r}: {error}") from None
        declared[match["adapter"]] = declared.get(match["adapter"], ()) + losses
    return declared


def known_failures(
    lines: Iterable[str], today: date | None = None
) -> dict[str, tuple[KnownFailure, ...]]:
    """Return the known failures of each adapter. ``today``: the day at which a declaration may be
    over; None: that of the clock. Raises `AdapterError`.
    """
    known: dict[str, tuple[KnownFailure, ...]] = {}
    day = (today or datetime.now(UTC).date()).isoformat()
    for line in filter(None, map(str.strip, lines)):
        match = _KNOWN.fullmatch(line)
        if match is None:
            raise AdapterError(
                f"{line!r} names no known failure; expected ADAPTER: PATTERN = REASON, perhaps"
                " with a link and `until YYYY-MM-DD` at the end; PATTERN matches an aspect, law-N,"
                " a cassette, or `CASSETTE ASPECT`"
            )
        why, last = match["why"], ""
        if until := _UNTIL.search(why):
            why, last = why[: until.start()], until[1]
        link = _LINK.search(why)
        reason = why[: link.start()].rstrip(" ,;") if link else why
        failure = KnownFailure(
            match["pattern"],
            reason or match["why"],
            link[1] if link else "",
            last if last and last < day else "",
        )
        known[match["adapter"]] = (*known.get(match["adapter"], ()), failure)
    return known


def with_declarations(
    adapters: dict[str, Adapter],
    losses: dict[str, tuple[DeclaredLoss, ...]],
    known: dict[str, tuple[KnownFailure, ...]],
) -> dict[str, Adapter]:
    """Return the adapters with their declarations. Raises `AdapterError` for an unknown name."""
    unknown = (losses.keys() | known.keys()) - adapters.keys()
    if unknown:
        raise AdapterError(
            f"{min(unknown)} is not a configured adapter"
            f" (configured: {', '.join(adapters) or 'none'})"
        )
    return {
        name: replace(
            adapter,
            losses=(*adapter.losses, *losses.get(name, ())),
            known_failing=known.get(name, ()),
        )
        for name, adapter in adapters.items()
    }
