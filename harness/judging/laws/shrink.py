"""Makes a failing exchange smaller, and writes it as a case.

The search is greedy. It removes halves, then single messages, fields and characters, as long as the
failure remains. The order is fixed, so the same failure gives the same small exchange on every
machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from harness.cassettes import Cassette, Exchange, Origin, dumps
from harness.facts import Aspect
from harness.stream.framing import json_messages

from ..metamorphic.reads import plain, with_reads

LETTERS = 40
"""A text up to this length is shortened by single characters. A longer text is shortened by halves.
"""

NAME = "gemini-api/shrunk"
"""The name of the cassette in the written case. The author of the case replaces it."""


FEATURE_OF: Final[Mapping[Aspect, str]] = {
    "text": "text.streaming",
    "thoughts": "thoughts.summaries",
    "calls": "tool-calls.single",
    "ids": "tool-calls.single",
    "signatures": "signatures.call",
    "finish": "finish.stop",
    "usage": "usage.totals",
    "blocked": "finish.blocked-prompt",
    "error": "errors.in-stream",
    "unfinished": "stream-end.cut",
    "media": "media.inline",
    "code": "server-side.code-execution",
    "server_tools": "server-side.tools",
    "grounding": "annotations.grounding",
    "citations": "annotations.citations",
    "urls": "annotations.url-context",
    "logprobs": "annotations.logprobs",
    "billing": "usage.details",
    "finish_message": "finish.message",
    "results": "server-side.tool-results",
    "fields": "unknown.fields",
    "needless_error": "unknown.fields",
    "accepted": "unknown.fields",
}
"""For each aspect, a feature whose cases are judged by this aspect."""


def shrink(exchange: Exchange, fails: Callable[[Exchange], bool], tries: int) -> Exchange:
    """Return the smallest exchange found for which ``fails`` is true; the exchange itself if
    nothing can be removed. ``fails`` is called at most ``tries`` times.
    """
    original, best, left = plain(exchange), exchange, tries

    def still_fails(messages: list[Any]) -> bool:
        nonlocal best, left
        left -= 1
        if left < 0:
            return False
        smaller = with_reads(original, _body_of(messages, original.body))
        failing = fails(smaller)
        best = smaller if failing else best
        return failing

    messages = json_messages(original.body)
    while messages is not None:
        messages = next(filter(still_fails, _candidates(messages, best is exchange)), None)
    return best


def _candidates(messages: list[Any], first: bool) -> Iterator[list[Any]]:
    """Yield the messages to try next. The first candidate is the messages themselves, in one
    read.
    """
    if first:
        yield messages
    else:
        yield from _smaller_lists(messages)


def _body_of(messages: list[Any], original: bytes) -> bytes:
    """Return the messages in the framing of the original body, with its line ends."""
    head, line_end = original.lstrip()[:1], re.search(rb"\r\n|\r|\n", original)
    end = line_end[0].decode() if line_end else "\n"
    texts = [json.dumps(message, ensure_ascii=False) for message in messages]
    if head == b"[":
        body = "[" + "\n,\n".join(texts) + "]\n"
    elif head == b"{":
        body = "".join(f"{text}{end}" for text in texts)
    else:
        body = "".join(f"data: {text}{end}{end}" for text in texts)
    return body.encode("utf-8", "surrogatepass")


def _smaller_lists(messages: list[Any]) -> Iterator[list[Any]]:
    """Yield the list without half of the messages, without one message, or with one smaller
    message.
    """
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
    features: Sequence[str],
    source: str,
    expect: dict[str, Any],
) -> str:
    """Return the text of a spec file and a cassette that show the exchange. If the expectation of a
    column is empty, the author must write it. Without a column, the case is judged by facts.
    """
    header = [
        "harness: 1",
        "cases:",
        f"- case: {name}",
        f"  requirement: {requirement}",
        f"  features: [{', '.join(features)}]",
        f"  source: {source}",
    ]
    lines = [
        *header,
        f"  cassette: {NAME}",
        *([f"  provider: {exchange.provider}"] if exchange.provider else []),
        *(["  expect:"] if expect else []),
    ]
    for column, items in expect.items():
        lines.append(f"    {column}:" + (" []" if items == [] else ""))
        lines += [f"    - {_on_one_line(item)}" for item in items or ()]
    cassette = dumps(
        Cassette(
            (exchange,), Origin("written", note="made small from an exchange that breaks a law")
        )
    )
    spec = "\n".join(lines)
    return f"# specs/shrunk.yaml\n{spec}\n\n# cassettes/{NAME}.yaml\n{cassette}"


def _on_one_line(item: Any) -> str:
    """Return the item as JSON. It is escaped to ASCII if a character can't be printed."""
    text = json.dumps(item, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(item)
