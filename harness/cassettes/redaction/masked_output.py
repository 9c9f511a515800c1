"""Standard output and standard error without secrets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from .mask import Mask

MAX_HELD: Final = 1 << 22
"""The number of characters of stdout that are held, so that a secret in several lines is found."""
MAX_SECRET: Final = 1 << 16
"""If there is more output, the number of characters on each side of a cut that are searched
together.
"""


class MaskedOutput:
    """A text stream that replaces secrets. It holds the written text until it is flushed. With
    ``by_line`` it writes each line when the line is complete. A user's code can't close it.

    The secrets are those of the current environment and those of the environment at creation,
    because the environment has no keys while a user's function runs.
    """

    def __init__(self, stream: TextIO | None, *, by_line: bool) -> None:
        self._given: Final = stream
        self._stream = _own(stream)
        self._by_line: Final = by_line
        self._environment: Final = dict(os.environ)
        self._before = ""
        self._held: list[str] = []
        self._size = 0

    def write(self, text: str) -> int:
        self._held.append(text)
        self._size += len(text)
        if "\n" in text and self._by_line:
            self.give()
        while self._size > MAX_HELD:
            held = "".join(self._held)
            last = min(MAX_HELD, len(held) - MAX_SECRET)
            cut = held.rfind("\n", 0, last) + 1 or last
            self._give(held[:cut], held[cut:])
        return len(text)

    def flush(self) -> None:
        self.give()
        self._stream.flush()

    def fileno(self) -> int:
        """Return the descriptor that a user's code knows. The debugger needs it to edit lines."""
        return (self._given or self._stream).fileno()

    def close(self) -> None:
        self.flush()

    def end(self) -> None:
        """Write the held text, and close the private stream."""
        self.give()
        own, self._stream = self._stream, self._given or self._stream
        if own is not self._stream:
            with suppress(
                OSError
            ):  # the reader has closed it, or the disk is full; `flush` has reported that
                own.close()

    def give(self) -> None:
        """Write the held text to the stream."""
        self._give("".join(self._held), "")

    def _give(self, text: str, after: str) -> None:
        """Write ``text`` to the stream, and hold the text after it."""
        self._held, self._size = [after], len(after)
        if text:
            from .secrets import (
                mask,
            )  # slow to import, and often not needed

            masked = self._masked(mask(self._environment), text, after)
            if os.environ != self._environment:
                masked = self._masked(mask(), masked, after)
            self._before = text[-MAX_SECRET:] if after else ""
            self._stream.write(masked)

    def _masked(self, mask: Mask, text: str, after: str) -> str:
        if not self._before and not after:
            return mask.text(text)
        return mask.texts([self._before, text, after[:MAX_SECRET]])[1]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _own(stream: TextIO | None) -> TextIO:
    """Return the stream with a private copy of its descriptor, if it has a descriptor. A user's
    code does not know the copy. ``stream`` is None if the descriptor was closed at the start.
    """
    if stream is None:
        return open(os.devnull, "w")  # noqa: PTH123  # closed in `end`
    try:
        place = os.dup(stream.fileno())
    except (OSError, ValueError):
        return stream
    return open(place, "w", 1, stream.encoding, stream.errors)  # noqa: PTH123  # closed in `end`


@contextmanager
def masked_output(
    *, by_line: bool = False, until: type[BaseException] = SystemExit
) -> Iterator[None]:
    """Mask stdout and stderr. If an exception that is not ``until`` leaves the block, the streams
    stay masked, for its traceback. ``by_line``: stdout is also written line by line.
    """
    streams: dict[str, TextIO | None] = {"stdout": sys.stdout, "stderr": sys.stderr}
    ours = {
        name: MaskedOutput(stream, by_line=by_line or name == "stderr")
        for name, stream in streams.items()
    }
    vars(sys).update(ours)
    try:
        yield
    except until:
        _restore(streams, ours)
        raise
    else:
        _restore(streams, ours)


def _restore(streams: Mapping[str, TextIO | None], ours: Mapping[str, MaskedOutput]) -> None:
    for name, stream in streams.items():
        ours[name].end()
        if getattr(sys, name) is ours[name]:
            setattr(sys, name, stream)
