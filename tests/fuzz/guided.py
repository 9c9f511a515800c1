"""A fuzzer that keeps what reaches new code: inputs are changed at random, and one that takes an
edge nobody took joins the corpus.

Before it joins, it is cut down to what still takes that edge, so that the corpus stays short and
the executions many. All chance comes from one seed, so that a run can be had again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .changes import LONGEST, changed
from .limits import TooSlow

NOTHING = ""
ANYWHERE = (TooSlow, MemoryError, RecursionError)
"""Where these are raised is chance."""


@dataclass
class Result:
    """``started`` and ``edges`` count what the first corpus covered and what is covered now;
    ``found`` are inputs with what they raised.
    """

    executions: int = 0
    started: int = 0
    edges: int = 0
    kept: list[bytes] = field(default_factory=list)
    found: list[tuple[bytes, str]] = field(default_factory=list)


class Fuzzer:
    """Runs ``run`` on inputs, for as long as `once` is called. ``taken`` is where what ``run``
    calls leaves a 1 for every edge.

    What is raised is a finding; each kind at each place counts once. ``words`` gives, for each
    edge, what an input might say.
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

    def begin(self, kept: Iterable[bytes], first: Iterable[bytes]) -> None:
        """Read what an earlier run kept, then the first corpus; what takes no new edge is left
        out.
        """
        kept, first = sorted(kept, key=len), sorted(first, key=len)
        self._taken[:] = bytes(len(self._taken))  # what making the corpus took is not the target's
        for data in kept:
            self._read(data, cut_down=False)
        for data in first:
            if len(data) <= LONGEST:
                self._read(data)
        self.result.kept = self.result.kept or [b""]
        self.result.started = self.result.edges

    def once(self) -> None:
        """One more input."""
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
        if kind != TooSlow.__name__:  # a try would take as long again
            data = self._shortest(data, lambda less: self._raised(less)[0] == kind)
            message = self._raised(data)[1]
        self.result.found.append((data, f"{kind}: {message}"))

    def _raised(self, data: bytes) -> tuple[str, str]:
        """What kind of exception and where, and its message; nothing if it was read, or refused as
        it should be.
        """
        self.result.executions += 1
        try:
            self._run(data)
        # any exception but the typed ones, which a target takes itself, is what is looked for
        except Exception as error:  # noqa: BLE001
            return _kind(error), str(error)
        return NOTHING, ""

    def _cut_down(self, data: bytes) -> bytes:
        """The shortest part of it that takes all the edges that it took first. Others that are met
        on the way are left to be found.
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
