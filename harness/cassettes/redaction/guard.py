"""Makes the text of every file that is written: redacts the cassette, then scans the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.stream.exchange import Cassette, CassetteError

from ..vcrpy import export
from ..writer import CassetteText
from .redactor import Redactor
from .scanner import Scanner


class Guard:
    """Makes the text of a file from a cassette: redacts the cassette and scans the text.

    `harness.cassettes.redaction.secrets.guard` makes one with the user's rules and this machine's
    secrets. By default it knows only the built-in names and the shapes of credentials.
    """

    def __init__(self, redactor: Redactor | None = None, scanner: Scanner | None = None) -> None:
        self.redactor: Final = redactor or Redactor()
        self.scanner: Final = scanner or Scanner(redactor=self.redactor)

    def encode(self, cassette: Cassette, name: str) -> bytes:
        """The text of a cassette, redacted, in UTF-8; raises as `pieces`."""
        return b"".join(self.pieces(cassette, name))

    def pieces(self, cassette: Cassette, name: str) -> Iterator[bytes]:
        """The text of a cassette, redacted, in UTF-8, piece by piece, so that a long one is never
        whole in memory. Raises `CassetteError` before the first piece if the text shows a secret or
        can't be written; ``name`` is the file's name.
        """
        kept = self.redactor.cassette(cassette)
        text = CassetteText(kept)
        self.scanner.refuse_written(text, name, kept)
        return text.pieces()

    def export(self, cassette: Cassette, name: str) -> str:
        """The cassette as plain vcrpy YAML, redacted; raises as `encode`."""
        kept = self.redactor.cassette(cassette)
        try:
            text = export(kept)
        except CassetteError as error:
            raise CassetteError(f"{name}: {error}") from None
        return self.scanner.refuse(text, name, kept)
