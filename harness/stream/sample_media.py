"""Makes small, valid media, each with its own bytes."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

WEB: Final = "web:"
"""Begins the address of a medium that the harness serves."""
FILE: Final = "file:"
"""Begins the address of a medium in Google's Files API, which nobody can fetch in a test."""
MEDIA_PATH: Final = "/media/"
"""The path below the base URL of an adapter at which the harness serves media."""
_FILES: Final = "https://generativelanguage.googleapis.com/v1beta/files/"


def address_of(url: str, base_url: str) -> str:
    """Return the real address of a medium such as ``web:png-1``."""
    if url.startswith(WEB):
        return f"{base_url}{MEDIA_PATH}{url.removeprefix(WEB)}"
    return _FILES + url.removeprefix(FILE) if url.startswith(FILE) else url


def type_at(address: str) -> str | None:
    """Return the media type of a served medium; None for another address."""
    return TYPES.get(address.rpartition(MEDIA_PATH)[2].partition("-")[0])


@cache
def named_medium(name: str) -> str:
    """Return the base64 of a medium such as ``png-1``. Raises ValueError for an unknown name."""
    return base64.b64encode(medium_bytes(name)).decode()


def medium_bytes(name: str) -> bytes:
    """Return the bytes of a medium such as ``png-1``. Raises ValueError for an unknown name."""
    kind, _, number = name.partition("-")
    if kind not in _MAKERS or not number.isdecimal():
        raise ValueError(f"{name!r} is not a medium; expected {'-1, '.join(_MAKERS)}-1")
    return _MAKERS[kind](int(number))


def _png(number: int) -> bytes:
    header = struct.pack(">2I5B", 1, 1, 8, 2, 0, 0, 0)
    chunks = (
        (b"IHDR", header),
        (b"IDAT", zlib.compress(b"\0" + number.to_bytes(3, "big"))),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


_JPEG: Final = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////"
    "////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAA"
    "AAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q=="
)
"""One grey pixel."""


def _jpeg(number: int) -> bytes:
    comment = f"medium {number}".encode()
    return _JPEG[:2] + b"\xff\xfe" + struct.pack(">H", len(comment) + 2) + comment + _JPEG[2:]


def _pdf(number: int) -> bytes:
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d 9] >>" % (9 + number),
    )
    body = b"%PDF-1.4\n"
    places = []
    for at, content in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (at, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer\n<< /Size 4 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(body)
    return body + b"xref\n0 4\n0000000000 65535 f \n" + table + trailer


def _wav(number: int) -> bytes:
    samples = struct.pack("<2h", number, -number)
    form = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
    chunks = b"fmt " + struct.pack("<I", len(form)) + form
    chunks += b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def _mp4(number: int) -> bytes:
    def box(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", 8 + len(content)) + kind + content

    return box(b"ftyp", b"isom\0\0\2\0isomiso2mp41") + box(b"free", b"medium %d" % number)


def _csv(number: int) -> bytes:
    return b"name,number\nCSV-%d,%d\n" % (number, number)


TYPES: Final = {"png": "image/png", "jpeg": "image/jpeg", "pdf": "application/pdf"}
"""Kind of medium → media type, for those that are served."""
_MAKERS: Final[Mapping[str, Callable[[int], bytes]]] = {
    "png": _png,
    "jpeg": _jpeg,
    "pdf": _pdf,
    "wav": _wav,
    "mp4": _mp4,
    "csv": _csv,
}
"""Kind of medium → its bytes for a number."""
