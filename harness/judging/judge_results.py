"""The results of ``harness judge`` as plain data: a `Result` for each adapter and exchange.

A report can be made from this document later, on another machine.
"""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from .results import Block, Result, decode_as


class AdapterResults(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """All cells of one adapter. ``argument`` is its name on the command line, if that is not
    ``target``. ``day``: the date on which it was judged, YYYY-MM-DD. ``unused_losses``: the
    declared losses that concern some cells, but that no cell shows. ``folder``: the folder in which
    it was judged, relative to the root of its repository; "" for the root.
    """

    name: str
    target: str
    version: str
    argument: str = ""
    day: str = ""
    unused_losses: tuple[str, ...] = ()
    cells: tuple[Result, ...] = ()
    second_turn: tuple[Result, ...] = ()
    folder: str = ""

    @property
    def sections(self) -> dict[str, list[Result]]:
        """The cells by section: ``documented``, ``variant``, and their second turns ``second_turn``
        and ``second_turn_of_variants``.
        """
        sections = {
            ("documented", "variant"): self.cells,
            ("second_turn", "second_turn_of_variants"): self.second_turn,
        }
        return {
            name: [cell for cell in cells if cell.block == block]
            for names, cells in sections.items()
            for name, block in zip(names, get_args(Block), strict=True)
        }

    @property
    def red(self) -> bool:
        """Whether the adapter is red: an aspect on the documented wire or in its second turn is
        red, or no cell shows a declared loss.
        """
        cells = (*self.cells, *self.second_turn)
        return bool(self.unused_losses) or any(
            cell.verdict in ("failed", "error") and cell.block == "documented" for cell in cells
        )


class Unjudged(Struct, frozen=True, forbid_unknown_fields=True):
    """A path that was not judged, and the reason."""

    path: str
    reason: str


class JudgeResults(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The JSON document of ``harness judge``."""

    adapters: tuple[AdapterResults, ...]
    skipped: tuple[Unjudged, ...] = ()


def decode_results(data: bytes, name: str) -> JudgeResults:
    """Read a document. Raises `ResultsError` with a message that begins with ``name``."""
    expected = "expected the JSON file that `harness judge --json` writes"
    return decode_as(JudgeResults, data, name, expected)
