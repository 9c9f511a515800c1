"""Measures frame → payload on folders of recordings: ``python -m benchmarks.recorded DIR…``.

Every answer of a model with the status 200 is replayed as it was recorded, into both dialects of
the bench, and its messages are decoded by ``orjson.loads``, which is the limit. Prints the
microseconds a frame for each kind of answer, and the share of frames that a strict decoder took. An
answer is cold here: each round reads all of them, one after the other.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import orjson

from harness import CassetteError, load
from harness.cassettes import Exchange
from harness.pipeline.replay import choose_provider, frames_of, replay
from harness.providers import PROVIDERS
from harness.stream.decompression import unpack_before_fault

from .measure import processor_times

DIALECTS = ("unified-llm", "anthropic")


def answers_in(folder: Path) -> Iterator[Exchange]:
    """The answers of models with the status 200 in all files that can be loaded, unpacked."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            exchanges = load(path).exchanges
        except CassetteError:
            continue
        answers = (each for each in exchanges if each.generates and each.status == 200)
        yield from map(unpacked, answers)


def unpacked(exchange: Exchange) -> Exchange:
    """The exchange with its body unpacked, as one read. Neither side includes this time."""
    coding = exchange.header("content-encoding")
    if coding is None:
        return exchange
    headers = {name: values for name, values in exchange.headers.items() if values != [coding]}
    body, _ = unpack_before_fault(exchange.body, coding)
    return replace(exchange, headers=headers, reads=((None, body),))


def messages_of(exchange: Exchange) -> list[bytes]:
    """The JSON messages of an answer as the wire has them: the whole body, else those of its lines
    that are objects.
    """
    body = exchange.body.strip()
    if _is_json(body):
        return [body]
    lines = (line.removeprefix(b"data:").strip() for line in body.splitlines())
    return [line for line in lines if line[:1] == b"{" and _is_json(line)]


def taken(exchange: Exchange) -> int:
    """The number of frames that a strict decoder takes; all others are decoded as any JSON."""
    provider = PROVIDERS[choose_provider(exchange, None)]
    normalizer = provider.normalizer(provider.answer(exchange, exchange.model, None))
    count = 0
    for frame in frames_of(exchange, provider=choose_provider(exchange, None)):
        normalizer.feed(frame)
        count += type(frame.message) is bytes
    return count


def _is_json(text: bytes) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def rows(answers: list[Exchange], rounds: int) -> Iterator[str]:
    """The lines of the table, one for all answers and one for each kind."""
    groups: dict[str, list[tuple[Exchange, int]]] = {}
    for answer in answers:
        provider = choose_provider(answer, None)
        frames = len(frames_of(answer, provider=provider))
        for name in ("all", f"{provider}, {'stream' if frames > 1 else 'one frame'}"):
            groups.setdefault(name, []).append((answer, frames))
    heads = ("answers", "frames", "strict", "bytes", "orjson", *DIALECTS, "ratio")
    yield f"{'':26}" + "".join(f"{head:>12}" for head in heads)
    for name, group in sorted(groups.items()):
        own, frames = [answer for answer, _ in group], sum(count for _, count in group) or 1
        messages = [message for answer in own for message in messages_of(answer)]
        sides: list[Callable[[], object]] = [partial(_decode_all, messages)]
        sides += [partial(_replay_all, own, dialect) for dialect in DIALECTS]
        limit, *times = (1e6 * time / frames for time in processor_times(rounds, *sides))
        strict, size = sum(map(taken, own)) / frames, sum(map(len, messages)) / frames
        figures = "".join(f"{time:12.2f}" for time in (limit, *times, max(times) / limit))
        yield f"{name:26}{len(own):12}{frames:12}{strict:12.0%}{size:12.0f}{figures}"


def _decode_all(messages: list[bytes]) -> None:
    for message in messages:
        orjson.loads(message)


def _replay_all(answers: list[Exchange], dialect: str) -> None:
    for answer in answers:
        replay(answer, provider=choose_provider(answer, None), dialect=dialect)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recorded")
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with warnings.catch_warnings(action="ignore"):
        answers = [answer for folder in options.folders for answer in answers_in(folder)]
    print("microseconds a frame")
    print("\n".join(rows(answers, options.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
