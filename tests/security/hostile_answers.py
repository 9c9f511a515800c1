"""Answers of a hostile provider, byte for byte, each with the outcome that RFC 9112 requires."""

from __future__ import annotations

import gzip
import socket
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from harness.stream.events import End
from tests.support.raw_server import HEAD, Connection, Script, plain

HI: Final = b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "index": 0}]}\r\n\r\n'
STOP: Final = b'data: {"candidates": [{"finishReason": "STOP", "index": 0}]}\r\n\r\n'
GOOD: Final = HI + STOP
OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
GZIP: Final = OK + b"Content-Encoding: gzip\r\n"
PACKED: Final = gzip.compress(GOOD, mtime=0)
NOT_UNPACKED: Final = "content that can't be unpacked"
FLOOD: Final = 500_000
"""Bytes of a flood, after which the server closes the connection."""
SILENCE_S: Final = 0.5
"""How long a recording waits for the next byte of an answer that stalls."""


def block(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def sized(data: bytes, length: int | None = None, head: bytes = OK) -> bytes:
    """An answer with a Content-Length, which is that of the data by default."""
    return head + b"Content-Length: %d\r\n\r\n" % (len(data) if length is None else length) + data


def sends(*pieces: bytes) -> Script:
    """A script that sends bytes and closes the connection."""

    def script(connection: Connection) -> None:
        for piece in pieces:
            connection.send(piece)
        connection.peer.shutdown(socket.SHUT_RDWR)
        connection.peer.close()

    return script


def resets(*pieces: bytes) -> Script:
    """A script that sends bytes, waits until they are read, and resets the connection."""

    def script(connection: Connection) -> None:
        for piece in pieces:
            connection.send(piece)
        connection.peer.settimeout(SILENCE_S / 2)
        _until_left(connection)
        connection.reset()

    return script


def stalls(*pieces: bytes) -> Script:
    """A script that sends bytes and then nothing, until the client leaves."""

    def script(connection: Connection) -> None:
        for piece in pieces:
            connection.send(piece)
        connection.peer.settimeout(60)
        _until_left(connection)

    return script


def _until_left(connection: Connection) -> None:
    try:
        while connection.peer.recv(1 << 16):
            pass
    except TimeoutError:
        pass


def flood(piece: bytes) -> Iterable[bytes]:
    """A piece again and again, in parts of 64 KiB: more than `FLOOD` bytes."""
    repeated = piece * (1 + (1 << 16) // len(piece))
    return (repeated for _ in range(0, FLOOD, len(repeated)))


def redirects(location: str) -> Script:
    return plain("302 Found", b"", f"Location: {location}")


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of a provider and its expected result.

    ``answers``: status, body and end of each recorded answer. ``fails``: the client gets an error.
    ``ends_well``: a dialect may end its stream like that of a good answer. ``many``: the same
    answer is recorded repeatedly. ``stalls``: only a time limit ends it. ``refused``: the reason
    why the recording is not kept.
    """

    script: Script
    answers: tuple[tuple[int, bytes, End], ...] = ()
    fails: bool = True
    ends_well: bool = False
    many: bool = False
    stalls: bool = False
    refused: str = ""
    tls: bool = False


def unanswered(script: Script, *, stalls: bool = False, tls: bool = False) -> Behaviour:
    """No head of an answer was understood: nothing is recorded."""
    return Behaviour(script, stalls=stalls, tls=tls)


def broken(script: Script, body: bytes, end: End) -> Behaviour:
    """The answer breaks off."""
    return Behaviour(script, ((200, body, end),), stalls=end == "aborted")


def whole(
    script: Script, body: bytes, end: End = "complete", *, well: bool = True, status: int = 200
) -> Behaviour:
    """The answer is whole for HTTP."""
    return Behaviour(script, ((status, body, end),), fails=False, ends_well=well)


def packed(body: bytes, *, refused: str = "") -> Behaviour:
    """The answer is whole for HTTP, and its body can't be unpacked."""
    script = sends(sized(body, head=GZIP))
    return Behaviour(script, ((200, body, "complete"),), fails=False, refused=refused)


BEHAVIOURS: Final = {
    # the status line
    "nothing": unanswered(sends()),
    "a reset before the answer": unanswered(resets()),
    "a stall before the answer": unanswered(stalls(), stalls=True),
    "bytes of TLS": unanswered(sends(b"\x15\x03\x01\x00\x02\x02\x28")),
    "no head at all": unanswered(sends(GOOD)),
    "a misspelt protocol": unanswered(sends(sized(GOOD).replace(b"HTTP", b"HTP", 1))),
    "a version that does not exist": unanswered(sends(sized(GOOD).replace(b"1.1", b"7.11", 1))),
    "a status line without a status": unanswered(sends(sized(GOOD).replace(b" 200", b"", 1))),
    "a status of four digits": unanswered(sends(sized(GOOD).replace(b"200", b"2000", 1))),
    "a status line without end": unanswered(sends(b"HTTP/1.1 200 ", *flood(b"a"))),
    # interim answers before the final one
    "a thousand answers before the answer": whole(
        sends(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000, sized(GOOD)), GOOD
    ),
    "answers before no answer": unanswered(sends(*flood(b"HTTP/1.1 100 Continue\r\n\r\n"))),
    "a change of protocol": unanswered(
        stalls(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
    ),
    # headers
    "a cut in the headers": unanswered(sends(OK[:-10])),
    "a reset in the headers": unanswered(resets(OK[:-10])),
    "a stall in the headers": unanswered(stalls(OK[:-10]), stalls=True),
    "headers without end": unanswered(sends(OK, *flood(b"A: b\r\n"))),
    "a header of half a megabyte": unanswered(sends(OK, b"A: ", *flood(b"a"), b"\r\n\r\n", GOOD)),
    "a header without a colon": unanswered(sends(OK + b"A b\r\n\r\n" + GOOD)),
    "a header whose name has a blank": unanswered(sends(OK + b"A b: c\r\n\r\n" + GOOD)),
    "a header with a NUL": unanswered(sends(OK + b"A: b\0c\r\n\r\n" + GOOD)),
    "a header over two lines": whole(sends(sized(GOOD, head=OK + b"A: b\r\n  c\r\n")), GOOD),
    # the length
    "two lengths": unanswered(sends(sized(GOOD, head=OK + b"Content-Length: 1\r\n"))),
    "a negative length": unanswered(sends(sized(GOOD, -1))),
    "a length of twenty digits": broken(sends(sized(GOOD, 10**20 - 1)), GOOD, "cut"),
    "a length that is too long": broken(sends(sized(GOOD, len(GOOD) + 1)), GOOD, "cut"),
    "a length that is too short": whole(sends(sized(GOOD, len(HI))), HI, well=False),
    "a second answer behind the first": whole(sends(sized(GOOD) + sized(GOOD)), GOOD),
    "a body after No Content": whole(
        sends(b"HTTP/1.1 204 No Content\r\n\r\n" + GOOD), b"", well=False, status=204
    ),
    # chunked framing
    "an unknown coding": unanswered(
        sends(OK + b"Transfer-Encoding: zip, chunked\r\n\r\n" + block(GOOD))
    ),
    "a block whose size is no number": broken(
        sends(HEAD + block(HI) + b"zz\r\n" + STOP), HI, "cut"
    ),
    "a block of negative size": broken(sends(HEAD + block(HI) + b"-4\r\n" + STOP), HI, "cut"),
    "a block of 2**64 bytes": broken(sends(HEAD + block(HI) + b"f" * 16 + b"\r\n"), HI, "cut"),
    "a block that is longer than its size": broken(
        sends(HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(HI) - 4, GOOD)), HI[:-4], "cut"
    ),
    "a size of half a megabyte": broken(sends(HEAD + block(HI), *flood(b"0")), HI, "cut"),
    "a cut in a block": broken(sends(HEAD + block(GOOD)[:-9]), GOOD[:-7], "cut"),
    "a cut between blocks": broken(sends(HEAD + block(HI)), HI, "cut"),
    "trailers without end": broken(
        sends(HEAD + block(GOOD) + b"0\r\n", *flood(b"A: b\r\n")), GOOD, "cut"
    ),
    "a reset in the body": broken(resets(HEAD + block(HI)), HI, "reset"),
    "a stall in the body": broken(stalls(HEAD + block(HI)), HI, "aborted"),
    # the body
    "a byte at a time": whole(
        sends(HEAD, *(block(GOOD[at : at + 1]) for at in range(len(GOOD))), b"0\r\n\r\n"), GOOD
    ),
    "an end that only the close marks": whole(sends(OK + b"\r\n" + GOOD), GOOD, "unknown"),
    "a line of half a megabyte": whole(
        sends(sized(b"data: " + b"a" * FLOOD)), b"data: " + b"a" * FLOOD, well=False
    ),
    "damaged gzip": packed(PACKED[:40] + b"\xff\xff" + PACKED[42:], refused=NOT_UNPACKED),
    "gzip that is cut short": packed(PACKED[:60]),
    "a bomb of gzip": packed(zlib.compress(bytes(50 << 20), wbits=31), refused=NOT_UNPACKED),
    # redirects and TLS
    "a redirect to itself": Behaviour(redirects("/loop"), ((302, b"", "complete"),), many=True),
    "a redirect to no address": Behaviour(redirects("http://["), ((302, b"", "complete"),)),
    "a redirect to another protocol": Behaviour(
        redirects("file:///etc/passwd"), ((302, b"", "complete"),)
    ),
    "a certificate of nobody": unanswered(sends(sized(GOOD)), tls=True),
}
