"""Clients of four wires with one fault each, at a service that fails or when the user cancels.

Each is a function for ``serve:``. `EXPECTED` has the questions that show its fault, with the words
of the findings. A faithful client has none.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Final

from harness import At
from harness.facts import Fact, Finish, Restart, Text

PROVIDERS = ("gemini-api", "anthropic", "openai")
PATHS: Final = {
    "gemini-api": "/v1beta/models/{model}:{method}",
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
}
Given = tuple[object, list[Fact]]
FAULTS: Final = (OSError, http.client.HTTPException)
"""The exceptions of this client: statuses, resets and bodies that end early."""


def wire_of(at: At) -> str:
    assert at.exchange.request is not None
    if at.exchange.provider != "openai":
        return str(at.exchange.provider)
    return "responses" if at.exchange.request.url.endswith("/responses") else "chat"


def opened(at: At, **more: Any) -> http.client.HTTPResponse:
    """The answer to the request of the recording, in the simplest form."""
    wire = wire_of(at)
    message = {"role": "user", "content": at.prompt}
    body: dict[str, Any] = {"model": at.model, "stream": at.stream, **more}
    match wire:
        case "gemini-api":
            body = {"contents": [{"role": "user", "parts": [{"text": at.prompt}]}], **more}
        case "responses":
            body["input"] = [message]
        case "anthropic":
            body |= {"messages": [message], "max_tokens": 100}
        case _:
            body["messages"] = [message]
    method = "streamGenerateContent?alt=sse" if at.stream else "generateContent"
    url = at.base_url + PATHS[wire].format(model=at.model, method=method)
    request = urllib.request.Request(  # the address is the harness's own
        url, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    answer: http.client.HTTPResponse = urllib.request.urlopen(request)
    return answer


def events(at: At, answer: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    """The messages of an answer."""
    if not at.stream:
        yield json.load(answer)
        return
    while line := answer.readline():
        if line.startswith(b"data: ") and b"[DONE]" not in line:
            yield json.loads(line[6:])
    if answer.chunked and answer.chunk_left is not None:
        raise http.client.IncompleteRead(b"")


def facts(event: Any) -> list[Fact]:
    """The facts of one message of any of the wires."""
    match event:
        case {"candidates": [{"content": {"parts": parts}}]}:
            reason = event["candidates"][0].get("finishReason")
            return [*(Text(part["text"]) for part in parts), *([Finish(reason)] if reason else [])]
        case {"type": "content_block_delta", "delta": {"text": text}}:
            return [Text(text)]
        case {"type": "message_delta", "delta": {"stop_reason": reason}}:
            return [Finish(reason)]
        case {"type": "message", "content": blocks, "stop_reason": reason}:
            return [*(Text(block["text"]) for block in blocks), Finish(reason)]
        case {"type": "response.output_text.delta", "delta": text}:
            return [Text(text)]
        case {"type": "response.completed"}:
            return [Finish("stop")]
        case {"object": "response", "output": items}:
            texts = [part["text"] for item in items for part in item.get("content") or ()]
            return [*map(Text, texts), Finish("stop")]
        case {"choices": [{"finish_reason": reason}]}:
            choice = event["choices"][0]
            text = (choice.get("delta") or choice.get("message") or {}).get("content")
            return [*([Text(text)] if text else []), *([Finish(reason)] if reason else [])]
    return []


def whole(at: At, **more: Any) -> Iterator[Given]:
    """One attempt, without a fault of its own."""
    with opened(at, **more) as answer:
        for event in events(at, answer):
            yield event, facts(event)
            if at.cancel:
                return


def attempts(
    at: At, most: int, *, refused: bool = False, restart: bool = True, **more: Any
) -> Iterator[Given]:
    """Attempts until one succeeds; after 400 and 401 only with ``refused``."""
    for number in range(1, most + 1):
        began = False
        try:
            for pair in whole(at, **(more if number > 1 else {})):
                began = True
                yield pair
            return
        except FAULTS as error:
            final = isinstance(error, urllib.error.HTTPError) and error.code in (400, 401)
            if number == most or (final and not refused):
                raise
            if began and restart:
                yield {"again": number}, [Restart()]


def raises(at: At) -> Iterator[Given]:
    """Reports each fault, and leaves when the user cancels. Faithful."""
    return whole(at)


def asks_again(at: At) -> Iterator[Given]:
    """Asks four times, and takes back the text of a failed attempt. Faithful."""
    return attempts(at, 4)


def swallows_errors(at: At) -> Iterator[Given]:
    """A failed request is an empty answer."""
    try:
        yield from whole(at)
    except FAULTS:
        yield {"error": "swallowed"}, []


def ends_well(at: At) -> Iterator[Given]:
    """A connection that is reset is the end of the answer."""
    try:
        yield from whole(at)
    except FAULTS as error:
        if isinstance(error, urllib.error.HTTPError):
            raise
        yield {"end": True}, [Finish("STOP")]


def asks_for_ever(at: At) -> Iterator[Given]:
    """There is no limit of attempts."""
    return attempts(at, 1000)


def asks_after_a_refusal(at: At) -> Iterator[Given]:
    """A request that the service refuses is sent again."""
    return attempts(at, 3, refused=True)


def gives_text_twice(at: At) -> Iterator[Given]:
    """The text of the failed attempt stays before that of the next one."""
    return attempts(at, 3, restart=False)


def changes_the_request(at: At) -> Iterator[Given]:
    """The next attempt has another setting."""
    return attempts(at, 3, temperature=0.5)


def reports_the_first_error(at: At) -> Iterator[Given]:
    """The next attempt gets the answer, and the error of the first one is reported in its place."""
    try:
        yield from whole(at)
    except FAULTS as error:
        if not isinstance(error, urllib.error.HTTPError) or error.code in (429, 503):
            with opened(at) as answer:
                answer.read()
        raise


OPEN: list[http.client.HTTPResponse] = []


def stays_connected(at: At) -> Iterator[Given]:
    """The user cancels, and the connection stays open."""
    answer = opened(at)
    for event in events(at, answer):
        yield event, facts(event)
        if at.cancel:
            OPEN.append(answer)
            return


def asks_again_after_a_cancel(at: At) -> Iterator[Given]:
    """A canceled request counts as one that failed."""
    yield from whole(at)
    if at.cancel:
        with opened(at):
            pass


def ends_well_after_a_cancel(at: At) -> Iterator[Given]:
    """A canceled answer has a good end."""
    yield from whole(at)
    if at.cancel:
        yield {"end": True}, [Finish("STOP")]


def pauses(at: At) -> Iterator[Given]:
    """Each pause is longer than the one before. Faithful, but it needs its time."""
    for number in range(8):
        try:
            yield from whole(at)
            return
        except urllib.error.HTTPError as error:
            if error.code in (400, 401):
                raise
            time.sleep(0.2 * 3**number)


def hangs(at: At) -> Iterator[Given]:
    """After a fault the client waits for ever."""
    try:
        yield from whole(at)
    except FAULTS:
        time.sleep(1000)


FAITHFUL: Final = ("raises", "asks_again")
_FAILED: Final = ("rate-limited", "overloaded", "bad-request", "bad-key")
_RESET: Final = ("reset-before-the-answer", "reset-in-the-answer")
_ONCE: Final = ("rate-limited", *_RESET)
EXPECTED: Final[dict[str, dict[str, str]]] = {
    "swallows_errors": dict.fromkeys((*_FAILED, *_RESET), "success"),
    "ends_well": dict.fromkeys(_RESET, "success"),
    "asks_for_ever": {"overloaded": "endless"},
    "asks_after_a_refusal": dict.fromkeys(("bad-request", "bad-key"), "refused"),
    "gives_text_twice": {"reset-in-the-answer": "twice"},
    "changes_the_request": dict.fromkeys(("overloaded", *_ONCE), "changed"),
    "reports_the_first_error": dict.fromkeys(_ONCE, "answer"),
    "stays_connected": {"cancelled": "open"},
    "asks_again_after_a_cancel": {"cancelled": "again"},
    "ends_well_after_a_cancel": {"cancelled": "success"},
}
"""Faulty client → the questions that show its fault, each with the word of its finding."""
