"""vcrpy's persister and serializer, ours: reads, end and origin survive, and a damaged file is an
error instead of one to record over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.cassettes import CassetteError, vcrpy
from harness.cassettes.redaction import secrets
from harness.cassettes.redaction.guard import Guard

from .staging import save

if TYPE_CHECKING:
    from vcr import VCR

SERIALIZER: Final = "harness"


class Persister:
    """vcrpy's persister interface, without its mercy: only a file that does not exist is a new
    cassette.
    """

    @staticmethod
    def load_cassette(cassette_path: str | Path, serializer: Any) -> Any:
        """vcrpy's requests and responses. Raises its CassetteNotFoundError, or `CassetteError` for
        a file that can't be read.
        """
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
    def save_cassette(
        cassette_path: str | Path, cassette_dict: dict[str, Any], serializer: Any
    ) -> None:
        """Write beside the file, then move over it: a failed write leaves what was there."""
        from vcr.serialize import serialize

        path = Path(cassette_path)
        save(
            path,
            serialize(
                cassette_dict,
                replace(serializer, name=_named(path))
                if isinstance(serializer, _Serializer)
                else serializer,
            ),
        )


def _named(path: Path) -> str:
    """A file as its errors call it, and as its name is looked at: from the working folder on, for
    what is above is no part of it.
    """
    path, here = path.absolute(), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


@dataclass(frozen=True)
class _Serializer:
    """vcrpy's serializer interface, with the secrets that are known when something is written; the
    persister says its ``name``.
    """

    guard: Callable[[], Guard]
    name: str = "cassette"

    def serialize(self, cassette_dict: dict[str, Any]) -> str:
        return self.guard().serialize(cassette_dict, self.name)

    def deserialize(self, text: str) -> dict[str, Any]:
        return vcrpy.deserialize(text)


def keep_format(recorder: VCR, guard: Callable[[], Guard]) -> None:
    """Make a `vcr.VCR` keep its cassettes in our format, redacted and scanned by what ``guard``
    makes when one is written.
    """
    recorder.register_serializer(SERIALIZER, _Serializer(guard))
    recorder.register_persister(Persister)
    recorder.serializer = SERIALIZER


def register(recorder: VCR, guard: Callable[[], Guard] = secrets.guard) -> None:
    """`keep_format`, and clients on httpx2 and httpx are recorded read by read: vcrpy would join an
    answer before the client gets it.
    """
    from .vcr import StreamingCassette

    keep_format(recorder, guard)
    recorder._use_cassette = lambda **options: StreamingCassette.use_arg_getter(
        partial(recorder.get_merged_config, **options)
    )
