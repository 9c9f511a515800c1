"""A process that has imported a program, and forks for each run of it.

It is started as a script and imports nothing of ours, so that it is ready as soon as the program
is. Its stdin is a socket. A run is asked for by a message of eight bytes, which is the length of
what follows, with the file descriptors of stdout and stderr; then comes JSON: arguments,
environment, working folder. The answer is the exit code in four bytes.
"""

import gc
import json
import os
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from importlib import import_module

LENGTH = struct.Struct("!Q")
STATUS = struct.Struct("!i")


def main() -> None:
    """Serve until the socket is closed."""
    sys.path[:], name = json.loads(sys.argv[1])
    program = import_module(name)
    program.warm_up()
    gc.freeze()
    with socket.socket(fileno=os.dup(0)) as peer:
        while True:
            length, outputs, _, _ = socket.recv_fds(peer, LENGTH.size, 2)
            if not length:
                return
            with peer.makefile("rb") as stream:
                run = json.loads(stream.read(LENGTH.unpack(length)[0]))
            child = os.fork()
            if child == 0:
                os._exit(_run(program.main, peer, outputs, *run))
            for output in outputs:
                os.close(output)
            _, status = os.waitpid(child, 0)
            peer.sendall(STATUS.pack(os.waitstatus_to_exitcode(status)))


def _run(
    program: Callable[[list[str]], int],
    peer: socket.socket,
    outputs: list[int],
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
) -> int:
    """The run of the program in the child; returns its exit code, as the interpreter would."""
    peer.close()
    for number, output in enumerate([os.open(os.devnull, os.O_RDONLY), *outputs]):
        os.dup2(output, number)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # open to the exit
    errors = "backslashreplace"
    sys.stderr = open(  # noqa: SIM115  # open to the exit
        2, "w", encoding="utf-8", errors=errors, closefd=False
    )
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    try:
        status = program(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # the interpreter prints any exception of a program
        traceback.print_exc()
        status = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        status = 120
    return status


if __name__ == "__main__":
    main()
