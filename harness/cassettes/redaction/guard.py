"""Produces the text of every file that is written: redacts the cassette, then scans the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.stream.exchange import Cassette, CassetteError

from ..vcrpy import export
from ..writer import CassetteText
from .mask import Mask
from .redactor import Redactor
from .scanner import Scanner


class Guard:
    """Produces the text of a file from a cassette: redacts the cassette and scans the text.
    `harness.cassettes.redaction.secrets.guard` creates one with the user's rules and this machine's
    secrets. By default a guard knows only the built-in names and the shapes of credentials.
    """

    def __init__(self, redactor: Redactor | None = None, scanner: Scanner | None = None) -> None:
        self.redactor: Final = redactor or Redactor()
        self.scanner: Final = scanner or Scanner(redactor=self.redactor)

    def mask(self) -> Mask:
        """Return the mask for messages about what this guard refuses."""
        return Mask(self.scanner)

    def encode(self, cassette: Cassette, name: str) -> bytes:
        """Return the redacted text of a cassette in UTF-8; raises the errors of `pieces`."""
        return b"".join(self.pieces(cassette, name))

    def pieces(self, cassette: Cassette, name: str) -> Iterator[bytes]:
        """Return the redacted text of a cassette in UTF-8, piece by piece, so that a long text is
        never in memory as a whole. Raises `CassetteError` before the first piece if the text
        contains a secret or can't be written; ``name`` is the file's name.
        """
        kept = self.redactor.cassette(cassette)
        text = CassetteText(kept)
        self.scanner.refuse_written(text, name, kept)
        return text.pieces()

    def export(self, cassette: Cassette, name: str) -> str:
        """Return the redacted cassette as plain vcrpy YAML; raises the errors of `encode`."""
        kept = self.redactor.cassette(cassette)
        try:
            text = export(kept)
        except CassetteError as error:
            raise CassetteError(f"{name}: {error}") from None
        return self.scanner.refuse(text, name, kept)
