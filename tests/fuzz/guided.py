"""A fuzzer guided by coverage: an input that takes a new edge is added to the corpus.

Before that, it is shortened as long as it still takes the edge, so the corpus stays short and
readable.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .changes import LONGEST, changed
from .limits import TooSlow

NOTHING = ""
ANYWHERE = (TooSlow, MemoryError, RecursionError)
"""Exceptions whose place is random."""


@dataclass
class Result:
    """The counts of a run.

    ``started`` and ``edges`` count the edges of the first corpus and those covered now. ``findings``
    contains the inputs that raised an exception, with that exception.
    """

    executions: int = 0
    started: int = 0
    edges: int = 0
    kept: list[bytes] = field(default_factory=list)
    findings: list[tuple[bytes, str]] = field(default_factory=list)


class Fuzzer:
    """Runs ``run`` on one changed input at each call of `once`.

    ``taken`` is the array in which the code under test sets a 1 for every edge that it takes. An
    exception is a finding; each kind counts once at each place. ``words`` gives, for each edge, the
    strings in the source of its file.
    """

    def __init__(
        self,
        run: Callable[[bytes], None],
        taken: bytearray,
        words: Sequence[Sequence[bytes]] = (),
        seed: int = 0,
    ) -> None:
        self.result = Result()
        self._run, self._taken, self._all_words = run, taken, words
        self._chance = random.Random(seed)
        self._seen = bytes(len(taken))
        self._words: list[bytes] = []
        self._known = {NOTHING}

    def begin(
        self, kept: Iterable[bytes], first: Iterable[bytes], *, cut_down: bool = True
    ) -> None:
        """Read the corpus of an earlier run, then the first corpus, which is cut down.

        Inputs that take no new edge are dropped.
        """
        kept, first = sorted(kept, key=len), sorted(first, key=len)
        self._taken[:] = bytes(len(self._taken))  # edges of making the corpus do not count
        for data in kept:
            self._read(data, cut_down=False)
        for data in first:
            if len(data) <= LONGEST:
                self._read(data, cut_down=cut_down)
        self.result.kept = self.result.kept or [b""]
        self.result.started = self.result.edges

    def once(self) -> None:
        """Run one changed input."""
        self._read(changed(self._chance, self.result.kept, self._words))

    def _read(self, data: bytes, *, cut_down: bool = True) -> None:
        self._judge(data)
        if self._taken != self._seen:
            self.result.kept.append(self._cut_down(data) if cut_down else data)
            self._seen = bytes(self._taken)
            self.result.edges = sum(self._seen)
            self._words = sorted(
                {
                    word
                    for words, taken in zip(self._all_words, self._seen, strict=False)
                    if taken
                    for word in words
                }
            )

    def _judge(self, data: bytes) -> None:
        kind, message = self._raised(data)
        if kind in self._known:
            return
        self._known.add(kind)
        if kind != TooSlow.__name__:  # another try would take as long
            data = self._shortest(data, lambda less: self._raised(less)[0] == kind)
            message = self._raised(data)[1]
        self.result.findings.append((data, f"{kind}: {message}"))

    def _raised(self, data: bytes) -> tuple[str, str]:
        """The kind and place of the exception, and its message.

        Both are empty if the input was read, or refused with a typed error.
        """
        self.result.executions += 1
        try:
            self._run(data)
        except Exception as error:  # noqa: BLE001  # a target catches the typed errors itself
            return _kind(error), str(error)
        return NOTHING, ""

    def _cut_down(self, data: bytes) -> bytes:
        """The shortest part of an input that takes the same new edges.

        Other new edges that the search finds are left for later inputs.
        """
        whole = bytes(self._taken)
        fresh = [number for number, taken in enumerate(whole) if taken and not self._seen[number]]

        def takes_them(less: bytes) -> bool:
            for number in fresh:
                self._taken[number] = 0
            self._judge(less)
            return all(self._taken[number] for number in fresh)

        short = self._shortest(data, takes_them)
        self._taken[:] = whole
        return short

    @staticmethod
    def _shortest(data: bytes, still: Callable[[bytes], bool]) -> bytes:
        size = len(data) // 2
        for _ in range(6):
            at = 0
            while size and at < len(data):
                less = data[:at] + data[at + size :]
                data, at = (less, at) if still(less) else (data, at + size)
            size //= 2
        return data


def _kind(error: Exception) -> str:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    name = type(error).__name__
    return (
        name
        if place is None or isinstance(error, ANYWHERE)
        else f"{name} at {place.tb_frame.f_code.co_name}:{place.tb_lineno}"
    )
