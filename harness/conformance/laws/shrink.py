"""Makes a breach small: the same breach by an exchange with fewer messages, fields and characters,
and a case that shows it.

Greedy: whatever can be left out without mending the breach is left out, larger pieces first, single
ones last, until nothing can: what is left is the smallest of its kind. Only a breach that takes
very long to show uses the tries up before. The order is fixed, so that the same breach gives the
same small exchange on every machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from harness.cassettes import Cassette, Exchange, Origin, dumps
from harness.pipeline.replay import DEFAULT_PROVIDER
from harness.stream.framing import json_messages

from .variants import plain, with_reads

TRIES = 4000
"""An exchange is judged at most so many times while it is being made small."""

LETTERS = 40
"""A text of at most so many characters is made smaller by single ones, a longer one by halves."""

NAME = "gemini-api/shrunk"
"""The cassette of a ready-made case, until its author names it."""

Breaks = Callable[[Exchange], bool]


def shrink(exchange: Exchange, breaks: Breaks, tries: int = TRIES) -> Exchange:
    """The smallest exchange found for which ``breaks`` still says yes; the exchange itself where
    nothing can be left out.
    """
    search = _Search(exchange, breaks, tries)
    messages = _messages(exchange)
    if messages is None or not search.keeps(messages):
        return search.best
    while (
        smaller := next((one for one in _smaller_lists(messages) if search.keeps(one)), None)
    ) is not None:
        messages = smaller
    return search.best


class _Search:
    def __init__(self, exchange: Exchange, breaks: Breaks, tries: int) -> None:
        self.original = exchange
        self.best = exchange
        self.breaks = breaks
        self.left = tries

    def keeps(self, messages: list[Any]) -> bool:
        """Whether the breach is still there; then these messages are the best so far."""
        if self.left <= 0:
            return False
        self.left -= 1
        headers = {
            name: values
            for name, values in self.original.headers.items()
            if name.lower() != "content-encoding"
        }
        tried = replace(
            with_reads(self.original, _body_of(messages, self.original)), headers=headers
        )
        if self.breaks(tried):
            self.best = tried
            return True
        return False


def _messages(exchange: Exchange) -> list[Any] | None:
    """The JSON messages of a body; None where something in it is none."""
    return json_messages(plain(exchange).body)


def _body_of(messages: list[Any], original: Exchange) -> bytes:
    """Messages in the framing that the original has, with its line ends."""
    body = plain(original).body
    head, found = body.lstrip()[:1], re.search(rb"\r\n|\r|\n", body)
    end = found[0].decode() if found else "\n"
    texts = [json.dumps(message, ensure_ascii=False) for message in messages]
    if head == b"[":
        text = "[" + "\n,\n".join(texts) + "]\n"
    elif head == b"{":
        text = "".join(f"{one}{end}" for one in texts)
    else:
        text = "".join(f"data: {one}{end}{end}" for one in texts)
    return text.encode("utf-8", "surrogatepass")


def _smaller_lists(messages: list[Any]) -> Iterator[list[Any]]:
    """Without a half, without one message, with one message made smaller."""
    half = len(messages) // 2
    if half > 1:
        yield messages[half:]
        yield messages[:half]
    for index in range(len(messages)):
        yield messages[:index] + messages[index + 1 :]
    for index, message in enumerate(messages):
        for smaller in _smaller(message):
            yield [*messages[:index], smaller, *messages[index + 1 :]]


def _smaller(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            for name in value:
                yield {key: item for key, item in value.items() if key != name}
            for name, item in value.items():
                yield from ({**value, name: smaller} for smaller in _smaller(item))
        case list():
            yield from _smaller_lists(value)
        case str() if len(value) > 1:
            yield value[: len(value) // 2]
            yield value[len(value) // 2 :]
            if 2 < len(value) <= LETTERS:
                yield from (value[:at] + value[at + 1 :] for at in range(len(value)))
        case _:
            return


def as_case(
    exchange: Exchange,
    *,
    name: str,
    requirement: str,
    feature: str,
    source: str,
    expect: dict[str, Any],
) -> str:
    """A spec file and a cassette, as text, that show a breach; an empty expectation is for its
    author to fill.
    """
    header = [
        "harness: 1",
        "cases:",
        f"- case: {name}",
        f"  requirement: {requirement}",
        f"  features: [{feature}]",
        f"  source: {source}",
    ]
    lines = [
        *header,
        f"  cassette: {NAME}",
        f"  provider: {exchange.provider or DEFAULT_PROVIDER}",
        "  expect:",
    ]
    for column, items in expect.items():
        lines.append(f"    {column}:" + (" []" if items == [] else ""))
        lines += [f"    - {_on_one_line(item)}" for item in items or ()]
    cassette = dumps(
        Cassette(
            (exchange,), Origin("written", note="made small from an exchange that breaks a law")
        )
    )
    return f"# specs/shrunk.yaml\n{_text_of(lines)}\n# cassettes/{NAME}.yaml\n{cassette}"


def _on_one_line(item: Any) -> str:
    """JSON with its letters as they are; where one of them can't be printed, all that are not ASCII
    are escaped.
    """
    text = json.dumps(item, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(item)


def _text_of(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
