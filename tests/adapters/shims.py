"""One exchange, and adapters made from small modules and programs of the tests."""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path
from typing import Final

from harness.adapters import NO_OPTIONS, Adapter
from harness.adapters.named import make_adapter, read_line
from harness.facts import Fact, Transcript
from harness.providers import with_provider
from harness.stream.exchange import Exchange, Request

URL: Final = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
READS: Final = (
    (3.0, b'data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}\r\n\r\n'),
    (
        9.5,
        b'data: {"candidates":[{"content":{"parts":[{"text":"lo"}]},"finishReason":"STOP"}]}\r\n\r\n',
    ),
)
REQUEST: Final = (
    b'{"contents": [{"role": "user", "parts": [{"text": "Hi?"}]}], "tools": [{"functionDeclarations":'
    b' [{"name": "add", "description": "Adds.", "parameters": {"type": "OBJECT", "properties":'
    b' {"a": {"type": "INTEGER", "nullable": true}}}}]}]}'
)
EXCHANGE: Final = with_provider(
    Exchange(
        Request("POST", URL, {}, REQUEST),
        200,
        {"content-type": ["text/event-stream"]},
        READS,
        "complete",
    )
)

ASKS: Final = """
import http.client, json
from contextlib import closing
from urllib.parse import urlsplit
from harness.facts import Call, Finish, Text

def ask(base_url, contents, model="gemini-x", method="streamGenerateContent?alt=sse"):
    url = urlsplit(base_url)
    path = f"{url.path}/v1beta/models/{model}:{method}"
    with closing(http.client.HTTPConnection(url.netloc)) as connection:
        connection.request("POST", path, json.dumps({"contents": contents}))
        with connection.getresponse() as answer:
            if answer.status != 200:
                raise ConnectionRefusedError(answer.status, answer.read().decode())
            while data := answer.read1():
                for line in data.splitlines():
                    if line.startswith(b"data: "):
                        yield json.loads(line[6:])

def user(text):
    return {"role": "user", "parts": [{"text": text}]}

def facts(message):
    candidate = message["candidates"][0]
    for part in candidate["content"]["parts"]:
        if "text" in part:
            yield Text(part["text"])
        if "functionCall" in part:
            call = part["functionCall"]
            yield Call(call.get("id"), call["name"], call["args"])
    if "finishReason" in candidate:
        yield Finish(candidate["finishReason"])

def replay(at):
    for message in ask(at.base_url, [user(at.prompt)]):
        yield message, list(facts(message))
"""

_numbers = count()


def function_adapter(
    code: str,
    folder: Path,
    kind: str = "",
    *,
    name: str = "replay",
    level: str = "facts",
    timeout: float = 20.0,
    guest: bool = False,
) -> Adapter:
    """An adapter of a function in a new module with this code."""
    module = f"shim_{os.getpid()}_{next(_numbers)}"
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    line = read_line(f"mine: {level} = {kind}{module}:{name}")
    return make_adapter(line, folder, timeout=timeout, guest=guest)


def program_adapter(
    code: str, folder: Path, kind: str = "run", *, timeout: float = 20.0, level: str = "facts"
) -> Adapter:
    """An adapter of a new Python program with this code."""
    path = folder / f"program_{next(_numbers)}.py"
    path.write_text(code, encoding="utf-8")
    line = read_line(f"mine: {level} = {kind}: {sys.executable} {path.name}")
    return make_adapter(line, folder, timeout=timeout)


def transcript(adapter: Adapter, exchange: Exchange = EXCHANGE) -> Transcript:
    """The transcript of one run."""
    output = adapter.output(exchange)
    assert output.transcript is not None
    return output.transcript


def facts_of(adapter: Adapter, exchange: Exchange = EXCHANGE) -> list[Fact]:
    """The facts of one run."""
    return list(transcript(adapter, exchange).facts())


def second_request(adapter: Adapter, exchange: Exchange = EXCHANGE) -> bytes | str:
    """The body of the second request, or the reason why there is none."""
    assert adapter.second_request is not None
    return adapter.second_request(exchange, NO_OPTIONS)
