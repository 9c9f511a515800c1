"""Recording: vcrpy is the machinery, our format is what it writes.

`register` is all that a `vcr.VCR` needs to keep its cassettes in our format: reads, end and origin survive, and a damaged file is an
error instead of a cassette to record over.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .. import vcr_format
from ..cassette import CassetteError

if TYPE_CHECKING:
    from vcr import VCR

SERIALIZER: Final = "harness"


class Persister:
    """vcrpy's persister interface, without its mercy: only a file that does not exist is a new cassette."""

    @staticmethod
    def load_cassette(cassette_path: str | Path, serializer: Any) -> Any:
        """vcrpy's requests and responses. Raises its CassetteNotFoundError, or `CassetteError` for a file that can't be read."""
        from vcr.persisters.filesystem import CassetteNotFoundError
        from vcr.serialize import deserialize

        path = Path(cassette_path)
        if not path.is_file():
            raise CassetteNotFoundError()
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise CassetteError(f"{path}: not UTF-8 at byte {error.start}") from None
        try:
            return deserialize(text, serializer)
        except CassetteError as error:
            raise CassetteError(f"{path}: {error}") from None

    @staticmethod
    def save_cassette(cassette_path: str | Path, cassette_dict: dict[str, Any], serializer: Any) -> None:
        """Write beside the file, then move over it: a failed write leaves what was there."""
        from vcr.serialize import serialize

        from .staging import save

        save(Path(cassette_path), serialize(cassette_dict, serializer))


def register(recorder: VCR) -> None:
    """Make a `vcr.VCR` keep its cassettes in our format."""
    recorder.register_serializer(SERIALIZER, vcr_format)
    recorder.register_persister(Persister)
    recorder.serializer = SERIALIZER
