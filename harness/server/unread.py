"""Gets the number of bytes that a client on this machine has not read yet, from the kernel."""

from __future__ import annotations

import socket
import struct
from contextlib import closing
from typing import Final

_QUERY: Final = struct.Struct("=IHHII BBBxI HH")
"""Header of a netlink message, family, protocol, extensions, states, and both ports in network
order (https://man7.org/linux/man-pages/man7/sock_diag.7.html).
"""
# From linux/netlink.h, linux/sock_diag.h and linux/inet_diag.h: the size of nlmsghdr and
# inet_diag_req_v2, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, NETLINK_SOCK_DIAG, and the offset of
# idiag_rqueue in an answer.
_SIZE: Final = 16 + 56
_BY_FAMILY: Final = 20
_REQUEST: Final = 1
_SOCK_DIAG: Final = 4
_RECEIVE_QUEUE: Final = 16 + 4 + 48 + 4


def unread_by_client(ours: socket.socket) -> int:
    """Return the number of bytes that arrived at the other end of a TCP connection and have not
    been read there. It is 0 if it is unknown: on systems other than Linux, and for clients on other
    machines.
    """
    family = getattr(socket, "AF_NETLINK", None)
    if family is None or ours.family not in (socket.AF_INET, socket.AF_INET6):
        return 0
    try:
        (our_host, our_port), (host, port) = ours.getsockname()[:2], ours.getpeername()[:2]
        addresses = [
            socket.inet_pton(ours.family, name).ljust(16, b"\0") for name in (host, our_host)
        ]
        query = _QUERY.pack(
            *(_SIZE, _BY_FAMILY, _REQUEST, 0, 0),
            *(ours.family, socket.IPPROTO_TCP, 0, 0xFFFFFFFF),
            *(socket.htons(port), socket.htons(our_port)),
        )
        no_interface_or_cookie = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
        with closing(socket.socket(family, socket.SOCK_RAW, _SOCK_DIAG)) as kernel:
            kernel.send(query + b"".join(addresses) + no_interface_or_cookie)
            answer = kernel.recv(4096, socket.MSG_DONTWAIT)
    except OSError:
        return 0
    (kind,) = struct.unpack_from("=H", answer, 4)
    return int(struct.unpack_from("=I", answer, _RECEIVE_QUEUE)[0]) if kind == _BY_FAMILY else 0
