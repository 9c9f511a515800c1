"""Compares the facts of a provider with those of a second reader, also on changed answers."""

from __future__ import annotations

import re
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random  # noqa: TID251  # seeded, so that equal seeds give equal bodies
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, Final, Never, TypeVar

from harness.facts import Run, WireFacts
from harness.providers.provider import Answer, Provider
from harness.stream.decompression import unpack_before_fault
from harness.stream.events import End
from harness.stream.exchange import Exchange
from harness.stream.framing import MAX_FRAME

from .bodies import body_of_messages, changed, messages_of

SecondReader = Callable[[bytes, Answer, End], dict[str, Any]]
"""Reads a whole body, independently of the framer and the normalizer. Returns the name of an
attribute of `WireFacts` → its value; the value of ``until_the_end`` is such a mapping too.
"""

Kind = TypeVar("Kind")
SECONDS: Final = 10.0
"""The time that a reader has for one body."""
_SHOWN: Final = 500
"""The number of bytes of a body that an error shows."""


class ReaderError(Exception):
    """A reader raised an exception, took too long, or returned no facts."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An answer about which the two readers differ."""

    place: str
    """The name of the answer."""
    facts: dict[str, tuple[Any, Any]]
    """The name → the value of the provider, and that of the second reader."""
    body: bytes
    """The body, perhaps changed."""


def compare_readers(
    provider: Provider,
    second: SecondReader,
    answers: Iterable[tuple[str, Exchange]],
    *,
    changes: int = 0,
    seed: int = 0,
    seconds: float = SECONDS,
) -> list[Difference]:
    """Return the answers whose facts differ. Each answer has a name.

    With ``changes``, so many changed bodies are compared instead: other values, another order, and
    more parts, calls and indexes. Equal ``seed``: the same bodies. Raises `ReaderError` for a
    reader that raises, returns no facts, or needs more than ``seconds`` for a body. Only the main
    thread of a system with SIGALRM has the limit of time.
    """
    found = []
    for place, exchange, body in bodies_of(provider, answers, changes, seed):
        answer = provider.answer(exchange, None, None)
        at = f"of {provider.name}, for {place}"
        read = partial(provider.read_facts, body, answer, exchange.end)
        ours = _read(read, WireFacts, seconds, f"reader {at}", body)
        read_again = partial(second, body, answer, exchange.end)
        theirs = _read(read_again, dict, seconds, f"second reader {at}", body)
        if differing := dict(_differences(ours, theirs)):
            found.append(Difference(place, differing, body))
    return found


def _read(
    read: Callable[[], object], kind: type[Kind], seconds: float, name: str, body: bytes
) -> Kind:
    """Return the facts of a body. Each fault of a reader is one error."""
    try:
        with _time_limit(seconds):
            facts = read()
    except _TooSlowError:
        fault = f"no facts after {seconds:g} s"
    except Exception as error:  # noqa: BLE001  # a reader of a plugin may raise anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"raised {type(error).__name__}: {error} ({place.filename}:{place.lineno})"
    else:
        if isinstance(facts, kind):
            return facts
        fault = f"returned {type(facts).__name__} instead of {kind.__name__}"
    raise ReaderError(f"the {name}: {fault}; the body begins {body[:_SHOWN]!r}")


class _TooSlowError(BaseException):
    """A reader must not catch it with its own errors."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    if not hasattr(signal, "SIGALRM") or current_thread() is not main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> Never:
        raise _TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def bodies_of(
    provider: Provider, answers: Iterable[tuple[str, Exchange]], changes: int, seed: int
) -> Iterator[tuple[str, Exchange, bytes]]:
    """Yield the name and the exchange of each answer with its body, or with changed ones."""
    whole = [(place, exchange, body_of(exchange)) for place, exchange in answers]
    if not changes:
        yield from whole
        return
    pool = [
        (place, exchange, messages)
        for place, exchange, body in whole
        if (messages := messages_of(body, provider.framer(MAX_FRAME)))
    ]
    random = Random(seed)  # noqa: S311  # no secret is made of it
    for _ in range(changes if pool else 0):
        place, exchange, messages = random.choice(pool)
        streamed = len(messages) > 1
        new = changed(messages, random)
        yield place, exchange, body_of_messages(new, streamed=streamed, lines=provider.program)


def body_of(exchange: Exchange) -> bytes:
    """Return the body after content decoding."""
    return unpack_before_fault(exchange.body, exchange.header("content-encoding"))[0]


def _differences(
    ours: WireFacts, theirs: dict[str, Any], place: str = ""
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for name, other in theirs.items():
        value = getattr(ours, name)
        if name == "until_the_end":
            yield from _differences(value(), other, f"{place}{name}.")
            continue
        plain = _PLAIN.get(name, lambda value: value)
        if plain(value) != plain(other):
            yield place + name, (value, other)


def _merged(order: list[Run]) -> list[Run]:
    """Return the runs with characters, in which the pieces of a part are one run: a reader that
    looks for tags gives other pieces than the wire. The first thought begins a part.
    """
    merged: list[Run] = []
    for run in order:
        before = merged[-1] if merged else None
        if before and run.size and run.kind == before.kind and not run.begins:
            merged[-1] = before._replace(size=before.size + run.size)
        elif run.size or run.kind == "call":
            begins = run.begins and any(before.kind == "thought" for before in merged)
            merged.append(run._replace(pieces=1, begins=begins))
    return merged


def _calls_first(signatures: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the signatures of calls before the others, as one reader may find them."""
    return sorted(signatures, key=lambda signature: signature[0] != "call")


def _sorted(opaque: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the values of each aspect in one order: they are looked for one by one."""
    return {aspect: sorted(values) for aspect, values in opaque.items()}


def _words(texts: list[str]) -> list[str]:
    """Return the words of unreadable texts. One reader gives a text by lines, or without its field
    name, and each escapes other bytes in its own way.
    """
    text = "\n".join(text.removeprefix("data:") for text in texts)
    plain = text.encode("ascii", "backslashreplace").decode()
    return re.sub(r"\\+(?:x|udc)..", "?", plain).split()


_PLAIN: Final[dict[str, Callable[[Any], Any]]] = {
    "opaque": _sorted,
    "order": _merged,
    "signatures": _calls_first,
    "unreadable": _words,
}
"""A name → what is compared of its value."""
