"""The official clients of the Interactions API and of the OpenAI-compatible endpoint make a recorded
request again.
"""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl

from google import genai
from google.auth.credentials import AnonymousCredentials
from google.genai import types

from harness.cassettes import Exchange
from harness.recording.drivers.genai import http_options
from harness.recording.tape import Tape
from harness.recording.transport import transports
from tests.support.need import need


def ask_interactions(
    exchange: Exchange, place: dict[str, str], url: str, tape: Tape, awaits: bool
) -> Exception | None:
    """Ask with ``client.interactions``; returns its exception."""
    assert exchange.request is not None
    options, _ = http_options(
        tape,
        base_url=url,
        api_version=place["version"],
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    where: dict[str, Any] = {"api_key": "a-key-for-loopback"}
    if place["project"]:
        credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]  # google-auth has no types
        credentials.token = "a-token-for-loopback"
        where = {
            "vertexai": True,
            "project": place["project"],
            "location": place["location"],
            "credentials": credentials,
        }
    with genai.Client(http_options=options, **where) as client:
        talking: Any = client.aio.interactions if awaits else client.interactions
        close = (options.async_client_args or {})["transport"].aclose if awaits else lambda: None
        if exchange.request.method == "GET":
            query: dict[str, Any] = dict(parse_qsl(place["query"]))
            query["stream"] = query.get("stream") == "true"
            return answered(awaits, talking.get, close, id=place["id"], **query)
        body = json.loads(exchange.request.body)
        named = {name: body[name] for name in ("model", "agent") if name in body}
        if not body.get("background"):
            named["automatic_continuation"] = False
        stream = {"stream": True} if body.pop("stream", False) else {}
        return answered(
            awaits, talking.create, close, **named, **stream, input="-", extra_body=body
        )


def ask_openai(exchange: Exchange, base_url: str, tape: Tape, awaits: bool) -> Exception | None:
    """Ask with ``chat.completions``; returns its exception."""
    need("clients", find_spec("openai"), "openai is not installed")
    openai: Any = import_module("openai")
    assert exchange.request is not None
    body = json.loads(exchange.request.body)
    named = {name: body.pop(name) for name in ("model", "messages")}
    stream = {"stream": True} if body.pop("stream", False) else {}
    made = transports("httpx2")
    place: dict[str, Any] = {"api_key": "a-key", "base_url": base_url, "max_retries": 0}
    if awaits:
        http = made.http.AsyncClient(transport=made.asynchronous(tape))
        client: Any = openai.AsyncOpenAI(**place, http_client=http)
    else:
        client = openai.OpenAI(**place, http_client=made.http.Client(transport=made.sync(tape)))
    create = client.chat.completions.create
    return answered(awaits, create, client.close, **named, **stream, extra_body=body)


def answered(awaits: bool, call: Any, close: Any, /, **asked: Any) -> Exception | None:
    """Call, read the whole answer, and close; returns the exception."""

    async def run() -> None:
        try:
            answer = await call(**asked)
            if isinstance(answer, AsyncIterator):
                async for _ in answer:
                    pass
        finally:
            if closing := close():
                await closing

    try:
        with warnings.catch_warnings(action="ignore"):
            if awaits:
                asyncio.run(run())
                return None
            try:
                answer = call(**asked)
                if isinstance(answer, Iterator):
                    for _ in answer:
                        pass
            finally:
                close()
    except Exception as error:  # noqa: BLE001  # any error is allowed; the bytes are compared
        return error
    return None
