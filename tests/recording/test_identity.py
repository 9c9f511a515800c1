"""Record ∘ serve = identity: every shipped cassette is served, requested by the official client of
its wire (google-genai; openai on the OpenAI-compatible endpoint), and recorded again with the same
result.

If the client can't make a request, or does not read an answer to its end, plain httpx2 asks on the
same transports. The test prints such requests with the reason (``-rP`` shows it) and accepts no
other reason.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from google import genai
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, Request
from harness.providers import PROVIDERS
from harness.providers.gemini.spelling import in_one_spelling
from harness.recording.drivers.gemini_cli import run_program
from harness.recording.drivers.genai import http_options
from harness.recording.relay import session_relay
from harness.recording.tape import Tape
from harness.recording.transport import transports
from harness.server import serve
from harness.stream.websocket import Message, read_messages, write_message
from tests.recording.wire_clients import ask_interactions, ask_openai

CASSETTES = Path(__file__).parents[2] / "cassettes"
NAMES = [
    path.relative_to(CASSETTES).with_suffix("").as_posix()
    for path in sorted(CASSETTES.rglob("*.yaml"))
    if path.parent.name != "live"  # sessions have a test of their own
]
HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
PLACE = re.compile(
    r"/(?P<version>v1\w*)/(?:projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/)?(?P<publisher>publishers/google/)?"
    r"(?:models/(?P<model>[^/:]+):(?:generateContent|streamGenerateContent\?alt=sse)"
    r"|interactions(?:/(?P<id>[^/?]+))?(?:\?(?P<query>[^#]*))?)$"
)
COMPATIBLE = re.compile(r"^(?P<base>/v1.*/(?:openai|endpoints/[^/]+))/chat/completions$")
MAX_READ = 32 * 1024


class Recorder(Tape):
    def answer(self, _: Request) -> None:
        return None


def sdk_place(exchange: Exchange) -> dict[str, str] | str:
    """The address at which the client makes this request, or the reason why it can't make it."""
    request = exchange.request
    if request is None:
        return "no request was recorded"
    if exchange.provider == "openai-compat":
        path = COMPATIBLE.search(urlsplit(request.url).path)
        return path.groupdict() if path else "openai never asks for this path"
    match = PLACE.search(request.url)
    if match is None or (request.method, bool(match["id"])) not in (("POST", False), ("GET", True)):
        return "google-genai never asks for this path"
    if request.method == "GET":
        if "include_input" in (match["query"] or ""):
            return "google-genai never asks for the input"
        return {name: value or "" for name, value in match.groupdict().items()}
    try:
        body = json.loads(request.body)
    except ValueError:
        return "the recorded request is no JSON"
    if match["model"] and not isinstance(body.get("contents"), list):
        return "google-genai always sends a list of contents"
    if not match["model"] and not body.keys() >= {"input"}:
        return "google-genai always sends an input"
    return {name: value or "" for name, value in match.groupdict().items()}


@lru_cache
def sdk_client(vertex: bool, project: str, location: str) -> tuple[Any, list[Tape], Any]:
    """One client for all requests of a kind, since making one is slow. Returns also its tape, which
    is changed from request to request, and its transport.
    """
    current: list[Tape] = [Recorder()]

    class Current(Tape):
        def begin(self, request: Request | None) -> Any:
            return current[0].begin(request)

    options, _ = http_options(Current())
    place: dict[str, Any] = {"api_key": "a-key-for-loopback"}
    if vertex and project:
        from google.auth.credentials import AnonymousCredentials

        credentials = AnonymousCredentials()  # type: ignore[no-untyped-call]  # google-auth has no types
        credentials.token = "a-token-for-loopback"
        place = {"project": project, "location": location, "credentials": credentials}
    transport = (options.async_client_args or {})["transport"]
    return genai.Client(vertexai=vertex, http_options=options, **place), current, transport


def ask_sdk(
    exchange: Exchange, place: dict[str, str], url: str, tape: Tape, awaits: bool
) -> Exception | None:
    """Ask with the official client; returns its exception."""
    request = exchange.request
    assert request is not None
    if exchange.provider == "openai-compat":
        return ask_openai(exchange, url + place["base"], tape, awaits)
    if exchange.provider == "interactions":
        return ask_interactions(exchange, place, url, tape, awaits)
    client, current, transport = sdk_client(
        bool(place["publisher"]), place["project"], place["location"]
    )
    current[0] = tape
    options = {
        "base_url": url,
        "api_version": place["version"],
        "extra_body": json.loads(request.body),
    }
    asked: dict[str, Any] = {
        "model": place["model"],
        "contents": "-",
        "config": {"http_options": options},
    }
    streamed = request.url.endswith("alt=sse")

    async def run() -> None:
        try:
            if not streamed:
                await client.aio.models.generate_content(**asked)
                return
            async for _ in await client.aio.models.generate_content_stream(**asked):
                pass
        finally:
            await transport.aclose()  # its connections belong to this loop

    try:
        if awaits:
            asyncio.run(run())
        elif streamed:
            for _ in client.models.generate_content_stream(**asked):
                pass
        else:
            client.models.generate_content(**asked)
    except Exception as error:  # noqa: BLE001  # any error is allowed; the bytes are compared
        return error
    return None


def ask_plain(exchange: Exchange, url: str, tape: Tape, awaits: bool) -> None:
    """Ask over our transports alone, and leave where the recorded client left."""
    request = exchange.request or Request(
        "POST", "http://x/v1beta/models/m:streamGenerateContent?alt=sse"
    )
    target = url + re.sub(r"^https?://[^/]+", "", request.url)
    made = transports("httpx2")
    left = len(exchange.body) if exchange.end == "aborted" else None
    headers = {
        name: values[0]
        for name, values in request.headers.items()
        if name.lower() == "content-type"
    }

    async def run() -> None:
        async with (
            httpx2.AsyncClient(transport=made.asynchronous(tape)) as client,
            client.stream(
                request.method, target, content=request.body, headers=headers
            ) as response,
        ):
            size = 0
            if size == left:
                return
            async for data in response.aiter_raw():
                size += len(data)
                if size == left:
                    break

    try:
        if awaits:
            asyncio.run(run())
            return
        with (
            httpx2.Client(transport=made.sync(tape)) as client,
            client.stream(
                request.method, target, content=request.body, headers=headers
            ) as response,
        ):
            size = 0
            if size == left:
                return
            for data in response.iter_raw():
                size += len(data)
                if size == left:
                    break
    except httpx2.TransportError:
        pass  # the end is compared


def recorded_again(exchange: Exchange, awaits: bool) -> tuple[Exchange, str]:
    """The exchange as recorded from the server, and the reason why the official client did not ask
    for it, if any.
    """
    provider = exchange.provider or "gemini-api"
    place = sdk_place(exchange)
    why = (
        place
        if isinstance(place, str)
        else "the official client would not leave where the recorded client left"
    )
    alone = Cassette((exchange,), Origin("loopback"))
    if not isinstance(place, str) and exchange.end != "aborted":
        tape = Recorder()
        with (
            serve(alone, pace="step", provider=provider) as server,
            warnings.catch_warnings(action="ignore"),
        ):
            error = ask_sdk(exchange, place, server.base_url, tape, awaits)
        again = tape.exchanges()[0]  # a second one is the continuation that the SDK requests itself
        if again.end != "aborted":
            return again, ""
        assert error is not None, "the client left without a word"
        assert exchange.body.startswith(again.body)
        why = f"the official client does not read on: {type(error).__name__}"
    tape = Recorder()
    with serve(alone, pace="step", provider=provider) as server:
        ask_plain(exchange, server.base_url, tape, awaits)
    return tape.exchanges()[0], why


async def repeat_session(exchange: Exchange, url: str, certificate: Path) -> None:
    """Send the messages of the recorded client at their places, and wait for those of the server.
    A session without a close ends with that of this client.
    """
    context = ssl.create_default_context(cafile=certificate)
    address = f"wss{url[5:]}/ws/google.ai.BidiGenerateContent"
    async with connect(address, ssl=context) as socket:
        for message in read_messages(exchange.body, cut=True):
            if message.side == "server" and message.kind != "close":
                await socket.recv()
            elif message.side == "server":
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
            elif message.kind == "close":
                await socket.close(message.code or 1000)
            else:
                binary = message.kind == "binary"
                await socket.send(message.data if binary else message.data.decode())
        if exchange.end in ("cut", "reset"):
            with pytest.raises(ConnectionClosed):
                await socket.recv()


SESSIONS = [
    pytest.param(exchange, id=f"{path.stem}:{number}")
    for path in sorted((CASSETTES / "live").glob("*.yaml"))
    for number, exchange in enumerate(load(path).exchanges, 1)
]


@pytest.mark.parametrize("exchange", SESSIONS)
def test_a_served_session_is_recorded_unchanged(exchange: Exchange) -> None:
    alone, tape = Cassette((exchange,), Origin("loopback")), Tape()
    with (
        serve(alone, pace="instant") as server,
        session_relay(tape, server.base_url) as (url, certificate),
    ):
        asyncio.run(repeat_session(exchange, url, certificate))
        assert server.sessions[0].differences == []
    (again,) = tape.exchanges()
    whole = [*read_messages(exchange.body, cut=True)]
    if exchange.end == "unknown":  # the recorder has not kept how it ended
        whole.append(Message("client", b"", "close", 1000))
    assert read_messages(again.body) == whole
    assert again.body == b"".join(map(write_message, whole))
    assert (again.status, again.end) == (101, end_of(exchange))


def shown(headers: dict[str, list[str]]) -> dict[str, list[str]]:
    return {
        name.lower(): [value.strip() for value in values]
        for name, values in headers.items()
        if name.lower() not in HOP_BY_HOP
    }


def differences(exchange: Exchange, again: Exchange) -> dict[str, tuple[Any, Any]]:
    """The differences: field → the first recorded value and the second one."""
    pairs: dict[str, tuple[Any, Any]] = {
        "status": (exchange.status, again.status),
        "body": (exchange.body, again.body),
        "end": (end_of(exchange), again.end),
        "headers": (shown(exchange.headers), shown(again.headers)),
    }
    if exchange.request is not None and again.request is not None:
        pairs["method"] = (exchange.request.method, again.request.method)
        pairs["path"] = (address(exchange.request.url), address(again.request.url))
        pairs["request body"] = (as_read(exchange.request.body), as_read(again.request.body))
    chunked = "content-length" not in shown(again.headers)
    if chunked and max((len(data) for _, data in exchange.reads), default=0) <= MAX_READ:
        pairs["reads"] = ([data for _, data in exchange.reads], [data for _, data in again.reads])
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def address(url: str) -> tuple[str, list[tuple[str, str]]]:
    """Path and query, in any order. google-genai also states that it wants no stream."""
    split = urlsplit(url)
    query = [pair for pair in parse_qsl(split.query) if pair != ("stream", "false")]
    return split.path, sorted(query)


def end_of(exchange: Exchange) -> str:
    return "complete" if exchange.end == "unknown" else exchange.end


def as_read(body: bytes) -> Any:
    try:
        return in_one_spelling(json.loads(body))
    except ValueError:
        return body


PROGRAMS = {name for name, provider in PROVIDERS.items() if provider.program}

CAN_NOT_BE_EQUAL: list[tuple[str, str, Callable[[Exchange, Any, Any], bool]]] = [
    (
        "end",
        "a pipe has no reset: a program that is killed is cut",
        lambda exchange, _, after: exchange.provider in PROGRAMS and after == "cut",
    ),
    (
        "reads",
        "a pipe may join what is written",
        lambda exchange, before, after: exchange.provider in PROGRAMS and len(after) < len(before),
    ),
]
"""Part, reason, and a check whether a difference of that part is of this kind."""


OVER_HTTP = [
    name
    for name in NAMES
    if name.partition("/")[0] not in PROGRAMS and name != "interactions/web-socket"
]


@pytest.mark.slow
@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", OVER_HTTP)
def test_a_served_exchange_is_recorded_unchanged(name: str, awaits: bool) -> None:
    """Each exchange in one of the two ways in turn, and the first of each kind in both ways."""
    seen = set()
    for number, exchange in enumerate(load(CASSETTES / f"{name}.yaml").exchanges, 1):
        kind = kind_of(exchange)
        if kind in seen and number % 2 == awaits:
            continue  # the test of the other way asks for it
        seen.add(kind)
        again, why = recorded_again(exchange, awaits)
        if why:
            print(f"exchange {number}: plain httpx2, since {why}")
        judge(exchange, again, number)


def kind_of(exchange: Exchange) -> tuple[object, ...]:
    """What may matter for the way in which an exchange is asked for."""
    return (
        exchange.provider,
        exchange.request and exchange.request.method,
        exchange.status,
        exchange.end,
        exchange.streamed,
        exchange.header("content-encoding"),
        exchange.header("transfer-encoding"),
        isinstance(sdk_place(exchange), str),
    )


PROGRAM = """
import json, os, sys, time
for piece in json.load(open(sys.argv[-1])):
    sys.stdout.buffer.write(bytes.fromhex(piece))
    sys.stdout.buffer.flush()
    time.sleep(0.002)
if os.environ.get("END") != "complete":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name.partition("/")[0] in PROGRAMS])
def test_the_output_of_a_program_is_recorded_unchanged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server can't give the output of a CLI, so a program writes it. A program can be killed, but
    a pipe has no reset.
    """
    for number, exchange in enumerate(load(CASSETTES / f"{name}.yaml").exchanges, 1):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps([data.hex() for _, data in exchange.reads]))
        monkeypatch.setenv("END", exchange.end)
        tape = Recorder()
        run_program(tape, [sys.executable, "-c", PROGRAM, str(file)])
        (again,) = tape.exchanges()
        judge(exchange, replace(again, headers=exchange.headers), number)


def judge(exchange: Exchange, again: Exchange, number: int) -> None:
    for part, (before, after) in differences(exchange, again).items():
        reasons = [
            why
            for kind, why, fits in CAN_NOT_BE_EQUAL
            if kind == part and fits(exchange, before, after)
        ]
        assert reasons, f"exchange {number}: {part}\nrecorded: {before!r}\nagain:    {after!r}"
        print(f"exchange {number}: {part} differ, since {reasons[0]}")
