"""A loopback server that sends exact bytes at given times: answers, cuts and resets that no HTTP
library would make.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Script = Callable[["Connection"], None]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Connection:
    """One received request, with methods to answer it."""

    def __init__(self, peer: socket.socket, request: bytes) -> None:
        self.peer = peer
        self.request = request

    def send(self, data: bytes) -> None:
        self.peer.sendall(data)

    def piece(self, data: bytes) -> None:
        """One piece of a body of undeclared length (RFC 9112, 7.1)."""
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def finish(self) -> None:
        self.send(b"0\r\n\r\n")

    def reset(self) -> None:
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.peer.close()


@contextmanager
def raw_server(*scripts: Script, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve request after request with script after script; the last script is repeated. Gives the
    base URL, an https one with ``tls``.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    left = list(scripts)
    lock = threading.Lock()
    open_peers: list[socket.socket] = []

    def serve(peer: socket.socket) -> None:
        try:
            if tls:
                peer = tls.wrap_socket(peer, server_side=True)
            while request := read_request(peer):
                with lock:
                    script = left.pop(0) if len(left) > 1 else left[0]
                script(Connection(peer, request))
                if b"connection: close" in request.lower() or peer.fileno() < 0:
                    break
        except OSError:
            pass
        finally:
            peer.close()

    def accept() -> None:
        while True:
            try:
                peer, _ = listening.accept()
            except OSError:
                return
            # A small piece would wait for the ACK of the previous one, and a reset would drop it.
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            open_peers.append(peer)
            threading.Thread(target=serve, args=(peer,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(5)
        for peer in open_peers:
            peer.close()


def read_request(peer: socket.socket) -> bytes:
    """Head and body of the next request, empty if the client has left."""
    data = bytearray()
    while b"\r\n\r\n" not in data[-65_540:]:
        more = peer.recv(65536)
        if not more:
            return b""
        data += more
    head, _, _ = data.partition(b"\r\n\r\n")
    lengths = re.findall(rb"(?im)^content-length:[ \t]*([0-9]+)", head)
    whole = len(head) + 4 + (int(lengths[0]) if lengths else 0)
    while len(data) < whole:
        more = peer.recv(65536)
        if not more:
            return b""
        data += more
    return bytes(data)


def streaming(
    *pieces: bytes, end: str = "complete", gate: threading.Semaphore | None = None
) -> Script:
    """A script of one chunked answer; with ``gate`` each piece except the first waits for the test."""

    def script(connection: Connection) -> None:
        connection.send(HEAD)
        for number, piece in enumerate(pieces):
            if number and gate:
                assert gate.acquire(timeout=30)
            connection.piece(piece)
        if gate:
            assert gate.acquire(timeout=30)
        if end == "complete":
            connection.finish()
        elif end == "reset":
            connection.reset()
        else:
            connection.peer.shutdown(socket.SHUT_RDWR)
            connection.peer.close()

    return script


def plain(status: str, body: bytes, *headers: str) -> Script:
    """A script of one answer of known length."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return lambda connection: connection.send("\r\n".join(lines).encode() + body)
