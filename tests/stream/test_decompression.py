"""Damaged compressed bodies and bombs: the bytes before the fault do not depend on the cuts."""

from __future__ import annotations

import gzip
import zlib
from hashlib import sha256
from itertools import pairwise

import pytest

from harness.stream import decompression
from harness.stream.decompression import Unpacker, unpack_before_fault

TEXT = b"".join(b'data: {"text": "%d, %x"}\r\n\r\n' % (n, n * 7919) for n in range(20))
PACKED = gzip.compress(TEXT, mtime=0)


def unpacked(*reads: bytes) -> tuple[bytes, str]:
    """The bytes before the fault, and the fault."""
    unpacker, plain = Unpacker("gzip"), b""
    try:
        for read in reads:
            for piece in unpacker.feed(read):
                plain += piece
    except zlib.error as error:
        return plain, str(error)
    return plain, ""


@pytest.mark.parametrize("place", [40, len(PACKED) // 2, len(PACKED) - 20, len(PACKED) - 6])
def test_a_damaged_body_gives_the_same_bytes_at_every_cut(place: int) -> None:
    damaged = PACKED[:place] + bytes([PACKED[place] ^ 0xFF]) + PACKED[place + 1 :]
    whole = unpacked(damaged)
    assert whole[1]
    for cut in range(1, len(damaged)):
        assert unpacked(damaged[:cut], damaged[cut:]) == whole
    assert unpacked(*(damaged[n : n + 1] for n in range(len(damaged)))) == whole


def test_the_bytes_before_a_fault_are_kept() -> None:
    wrong_sum = PACKED[:-8] + b"\x00" * 8
    assert unpacked(wrong_sum)[0] == TEXT
    assert unpack_before_fault(wrong_sum, "gzip") == (
        TEXT,
        "Error -3 while decompressing data: incorrect data check",
    )
    two = unpacked(PACKED + wrong_sum + PACKED)
    assert two[0] == TEXT * 2


def test_the_bytes_before_a_fault_behind_many_bytes_are_kept() -> None:
    many = b"".join(b"%d," % (n * 7919 % 100_003) for n in range(40_000))
    packed = gzip.compress(many, mtime=0)
    damaged = packed[:-8] + b"\x00" * 8
    assert len(packed) > 60_000
    whole = unpacked(damaged)
    assert whole[0] == many
    for size in (1000, 16 * 1024, 20_000):
        places = [*range(0, len(damaged), size), len(damaged)]
        assert unpacked(*(damaged[start:stop] for start, stop in pairwise(places))) == whole


@pytest.mark.parametrize(
    ("body", "plain", "fault"),
    [
        (PACKED, TEXT, ""),
        (TEXT, TEXT, ""),
        (b"", b"", ""),
        (PACKED[:-9], TEXT, "the compressed body stops before its end"),
    ],
)
def test_a_body_is_unpacked_as_far_as_it_goes(body: bytes, plain: bytes, fault: str) -> None:
    assert unpack_before_fault(body, "gzip") == (plain, fault)


@pytest.mark.parametrize("quiet", [0, 40_000], ids=["at once", "in the third window"])
def test_a_bomb_gives_the_same_bytes_at_every_cut(
    quiet: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompression, "UNSUSPICIOUS", 50_000)
    monkeypatch.setattr(decompression, "MAX_RATIO", 3)
    noise = b"".join(sha256(b"%d" % number).digest() for number in range(quiet // 32))
    bomb = gzip.compress(noise + bytes(5_000_000), mtime=0)
    whole = unpacked(bomb)
    limit = max(50_000, 3 * (quiet // 2**14 * 2**14))
    assert whole[1] == f"the body is longer than {limit} bytes when unpacked"
    assert len(whole[0]) == limit
    for cut in (1, quiet, quiet + 20, quiet + 300, len(bomb) - 1):
        assert unpacked(bomb[:cut], bomb[cut:]) == whole
