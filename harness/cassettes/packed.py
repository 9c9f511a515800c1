"""Unpacks packed files: gzip, bzip2, xz, zstd, zip and tar, also inside each other.

The size of everything that is unpacked, the number of files and the depth are limited, because a
packed file of a few kilobytes may hold gigabytes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, Final

from harness.stream.decompression import unpack

from .yaml import MAX_BYTES

DEPTH: Final = 4
"""The number of packed files that may be inside each other."""
MAX_FILES: Final = 10_000
"""The number of files in one packed file."""
_PIECE: Final = 1024 * 1024
_TAR: Final = slice(257, 262)
"""The place of ``ustar`` in a tar file."""

_STREAMS: Final[dict[bytes, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"\x5d\0\0": partial(lzma.LZMAFile, format=lzma.FORMAT_ALONE),
    b"\x28\xb5\x2f\xfd": lambda file: io.BytesIO(unpack(file.read(), "zstd")),
}
"""The first bytes of a packed stream → its reader."""
_OTHERS: Final = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
    b"\x1f\x9d": "compress",
    b"\x04\x22\x4d\x18": "lz4",
    b"LZIP": "lzip",
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
}
"""The first bytes of packed files that are not unpacked → their format."""
_ENDINGS: Final = (".gz", ".tgz", ".bz2", ".xz", ".zip", ".zst", ".lzma", ".br", ".7z", ".rar")
_ERRORS: Final = (
    OSError,  # gzip and bzip2: another format
    EOFError,  # the file is cut
    RuntimeError,  # zip: an encrypted member, or an unknown method (NotImplementedError)
    ValueError,  # zip: a field out of its range
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError),
)
"""The errors of the libraries for damaged and encrypted files."""


class NotUnpacked(Exception):
    """A packed file, or a part of it, can't be unpacked."""


class Unpacking:
    """The limits of one packed file, for all files inside it. ``limit`` is in bytes."""

    def __init__(self, limit: int = MAX_BYTES) -> None:
        self._limit = self._left = limit
        self._files = MAX_FILES

    def contents(self, data: bytes, name: str, depth: int = 0) -> Iterator[tuple[str, bytes]]:
        """Yield each file in a packed file with its path inside, also the files in these files;
        yields nothing for a file that is not packed. What comes before a fault is yielded. Raises
        `NotUnpacked`.
        """
        if (files := _reader(data, name)) and depth == DEPTH:
            raise NotUnpacked(f"more than {DEPTH} packed files are inside each other")
        while files is not None:
            try:
                inner, file = next(files)
            except StopIteration:
                return
            except _ERRORS as error:
                raise NotUnpacked(str(error) or type(error).__name__) from None
            self._files -= 1
            if self._files < 0:
                raise NotUnpacked(f"it has more than {MAX_FILES:,} files")
            content, fault = self._read(file)
            yield inner, content
            for below, nested in self.contents(content, inner, depth + 1):
                yield f"{inner}/{below}", nested
            if fault:
                raise NotUnpacked(fault)

    def _read(self, file: Any) -> tuple[bytes, str]:
        """Return the bytes of a file, and the fault that ended them, or ""."""
        pieces: list[bytes] = []
        try:
            # `read` drops what precedes a fault
            while piece := file.read1(min(_PIECE, self._left + 1)):
                self._left -= len(piece)
                pieces.append(piece)
                if self._left < 0:
                    return b"".join(pieces), f"it has more than {self._limit:,} bytes when unpacked"
        except _ERRORS as error:
            return b"".join(pieces), str(error) or type(error).__name__
        return b"".join(pieces), ""


def _reader(data: bytes, name: str) -> Iterator[tuple[str, Any]] | None:
    """Return the files in a packed file; None if it is not packed. Raises `NotUnpacked`."""
    for first, stream in _STREAMS.items():
        if data.startswith(first):
            return _stream_file(stream, data)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_files(data)
    if data[_TAR] == b"ustar":
        return _tar_files(data)
    for first, kind in _OTHERS.items():
        if data.startswith(first):
            raise NotUnpacked(f"no reader for {kind}")
    if data and name.lower().endswith(_ENDINGS):
        raise NotUnpacked("it does not begin like a packed file that has a reader")
    return None


def _stream_file(stream: Callable[[IO[bytes]], Any], data: bytes) -> Iterator[tuple[str, Any]]:
    yield "unpacked", stream(io.BytesIO(data))


def _zip_files(data: bytes) -> Iterator[tuple[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            yield member.filename, archive.open(member)


def _tar_files(data: bytes) -> Iterator[tuple[str, Any]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for member in archive:
            if (file := archive.extractfile(member) if member.isfile() else None) is not None:
                yield member.name, file
