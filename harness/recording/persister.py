"""A persister for vcrpy: loads and saves cassettes in our format, redacted and scanned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from operator import is_
from pathlib import Path
from typing import Any, Final

from vcr import VCR
from vcr.persisters.filesystem import CassetteNotFoundError
from vcr.serialize import deserialize, serialize

from harness.cassettes import Cassette, CassetteError, Exchange, Origin, is_cassette, loads
from harness.cassettes.redaction.guard import Guard

from .atomic_file import save
from .locks import folder_locked
from .policy import refuse_unfollowed
from .stock_cassettes import READ, WRITTEN, is_stock, note_once, read_stock
from .vcr_values import from_vcr, origin_of, to_vcr

SERIALIZER: Final = "harness"


@dataclass(frozen=True, slots=True)
class CassetteFormat:
    """Our format in place of a serializer of vcrpy."""

    guard: Callable[[], Guard]
    """Called when a cassette is saved, because all secrets are known only then."""
    notes: bool = False
    """Whether a warning informs the user of a vcrpy suite that its cassettes are written in our
    format.
    """
    origins: dict[str, Origin] = field(default_factory=dict)
    """The origins of the open cassettes, by their paths. vcrpy has no place for them."""


class Persister:
    """The interface of a vcrpy persister. Only a file that does not exist is a new cassette;
    vcrpy's own persister overwrites damaged files.
    """

    @staticmethod
    def load_cassette(cassette_path: str | Path, serializer: Any) -> Any:
        """Return vcrpy's requests and responses. Raises vcrpy's CassetteNotFoundError, or
        `CassetteError` for a file that can't be read.
        """
        path = Path(cassette_path)
        if isinstance(serializer, CassetteFormat):
            serializer.origins.pop(str(cassette_path), None)
        if not path.is_file():
            raise CassetteNotFoundError()
        data = path.read_bytes()
        if isinstance(serializer, CassetteFormat) and is_stock(data):
            note_once(READ, str(path))
            return read_stock(data, str(path))
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise CassetteError(f"{path}: not UTF-8 at byte {error.start}") from None
        if not isinstance(serializer, CassetteFormat):
            return deserialize(text, serializer)
        cassette = loads(text, str(path))
        pairs = [to_vcr(exchange) for exchange in cassette.exchanges]
        serializer.origins[str(cassette_path)] = cassette.origin
        return [request for request, _ in pairs], [response for _, response in pairs]

    @staticmethod
    def save_cassette(
        cassette_path: str | Path, cassette_dict: dict[str, Any], serializer: Any
    ) -> None:
        """Save the cassette. Raises `CassetteError` if it contains a secret or can't be written."""
        path = Path(cassette_path)
        if not isinstance(serializer, CassetteFormat):
            save(path, [serialize(cassette_dict, serializer).encode()])
            return
        requests, responses = cassette_dict["requests"], cassette_dict["responses"]
        exchanges = from_vcr(zip(requests, responses, strict=True))
        known_origin = serializer.origins.get(str(cassette_path))
        origin = known_origin or origin_of([exchange.request for exchange in exchanges], {})
        guard = serializer.guard()
        refuse_unfollowed(exchanges, guard.redactor.kept_headers)
        cassette = Cassette(exchanges, origin)
        old = path.read_bytes() if path.is_file() else b""
        if is_cassette(old):
            known = _exchanges(old, path)
            cassette = _with_known(guard.redactor.cassette(cassette), known)
            if len(cassette.exchanges) == len(known) and all(map(is_, cassette.exchanges, known)):
                return  # nothing but times has changed, so no byte of the file changes
        pieces = guard.pieces(cassette, _display_name(path))
        try:
            save(path, pieces)
        except OSError as error:
            kept = "; the old file is unchanged" if old else ""
            raise CassetteError(
                f"{path}: can't be written: {error.strerror or error}{kept}"
            ) from None
        if is_stock(old) or (serializer.notes and not is_cassette(old)):
            note_once(WRITTEN, str(path))


VOLATILE: Final = frozenset(
    {
        "age",
        "cf-ray",
        "date",
        "openai-processing-ms",
        "request-id",
        "server-timing",
        "user-agent",
        "x-goog-api-client",
        "x-request-id",
    }
)
"""Headers that differ between two recordings of the same content."""


def _exchanges(data: bytes, path: Path) -> tuple[Exchange, ...]:
    """Return the exchanges of our cassette; none if it is damaged, because it is replaced."""
    try:
        return loads(data, str(path)).exchanges
    except CassetteError:
        return ()


def _with_known(cassette: Cassette, known: Sequence[Exchange]) -> Cassette:
    """Return a new recording in which each exchange with unchanged content is the known one, so
    that its times, the sizes of its reads and its `VOLATILE` headers do not change either.
    """
    pairs = zip_longest(cassette.exchanges, known[: len(cassette.exchanges)])
    kept = tuple(old if old and _content(old) == _content(new) else new for new, old in pairs)
    return Cassette(kept, cassette.origin)


def _content(exchange: Exchange) -> tuple[object, ...]:
    request = exchange.request
    asked = request and (request.method, request.url, _stable(request.headers), request.body)
    answer = exchange.status, _stable(exchange.headers), exchange.body, exchange.end
    return asked, answer


def _stable(headers: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {
        name.lower(): values for name, values in headers.items() if name.lower() not in VOLATILE
    }


class WithExtras(Persister):
    """Also loads the additional cassettes of a test of pytest-recording; only the first cassette is
    saved.
    """

    def __init__(self, extra_paths: Iterable[str]) -> None:
        self._extra_paths = tuple(extra_paths)

    def load_cassette(self, cassette_path: str | Path, serializer: Any) -> Any:  # type: ignore[override]  # vcrpy calls it on any persister
        requests: list[Any] = []
        responses: list[Any] = []
        for path in dict.fromkeys((str(cassette_path), *self._extra_paths)):
            with suppress(CassetteNotFoundError):
                loaded = super().load_cassette(path, serializer)
                requests += loaded[0]
                responses += loaded[1]
                if isinstance(serializer, CassetteFormat) and path in serializer.origins:
                    serializer.origins.setdefault(str(cassette_path), serializer.origins[path])
        if not requests:
            raise CassetteNotFoundError()
        return requests, responses


def _display_name(path: Path) -> str:
    """Return the file's name in errors, which is also scanned. It is relative to the working
    folder, because the folders above do not belong to the name.
    """
    path, here = path.absolute(), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def use_format(
    recorder: VCR,
    guard: Callable[[], Guard],
    *,
    notes: bool = False,
    persister: type[Persister] = Persister,
) -> None:
    """Make a `vcr.VCR` keep its cassettes in our format. ``notes``: see `CassetteFormat`."""
    recorder.register_serializer(SERIALIZER, CassetteFormat(guard, notes))
    extra_paths = getattr(recorder.persister, "extra_paths", ())
    recorder.register_persister(WithExtras(extra_paths) if extra_paths else persister)
    recorder.serializer = SERIALIZER


Stamp = tuple[int, int, int] | None
"""Identity, time and size of a file; None for no file."""


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a file; it changes if another process writes the file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


@contextmanager
def unchanged(path: Path, before: Stamp) -> Iterator[None]:
    """Run a block that saves the file, while no other recording can save it. Raises `CassetteError`
    if the file no longer has this stamp, because saving would lose the work of another recording.
    """
    with folder_locked(path.parent):
        if stamp_of(path) != before:
            raise CassetteError(
                f"{path}: another recording has written this cassette meanwhile, and saving this"
                " one would lose it; give each test its own cassette, then record again"
            )
        yield
