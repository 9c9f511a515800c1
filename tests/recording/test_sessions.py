"""Sessions are recorded through a relay, and a recording answers the same client."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus

from harness.cassettes.load import load
from harness.cli.main import main
from harness.recording import Playback, RecordingRefused, use_cassette
from harness.recording.relay import session_relay
from harness.recording.tape import Tape
from harness.recording.transport import tls_context
from harness.server import Server, serve
from harness.stream.exchange import Cassette, Exchange, Origin
from harness.stream.websocket import Message, read_messages, write_message

CASSETTES = Path(__file__).parents[2] / "cassettes" / "live"
PATH = "//ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
KEY = "AIza" + "S" * 35
SETUP = {"model": "models/gemini-3.8-live", "generationConfig": {"responseModalities": ["TEXT"]}}

Talk = Callable[[ClientConnection], Coroutine[Any, Any, Any]]


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    """Start a provider, which the relay trusts."""
    started: list[Server] = []

    def start(source: Any = CASSETTES / "text.yaml", **options: Any) -> Server:
        server = serve(source, tls=True, pace="instant", **options)
        started.append(server.__enter__())
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        tls_context.cache_clear()
        return server

    yield start
    for server in started:
        server.__exit__()
    tls_context.cache_clear()


def session(*messages: Message, end: Any = "complete") -> Cassette:
    reads = tuple((None, write_message(message)) for message in messages)
    return Cassette((Exchange(None, 101, {}, reads, end),), Origin("written"))


def talk(url: str, certificate: Path, client: Talk) -> Any:
    async def run() -> Any:
        context = ssl.create_default_context(cafile=certificate)
        address = url.replace("https", "wss") + PATH
        headers = {"x-goog-api-key": KEY}
        async with connect(address, ssl=context, additional_headers=headers) as socket:
            return await client(socket)

    return asyncio.run(run())


async def say(socket: ClientConnection, text: str) -> str:
    turns = [{"role": "user", "parts": [{"text": text}]}]
    await socket.send(json.dumps({"clientContent": {"turns": turns, "turnComplete": True}}))
    answer = ""
    while True:
        content = json.loads(await socket.recv()).get("serverContent", {})
        parts = content.get("modelTurn", {}).get("parts", ())
        answer += "".join(part.get("text", "") for part in parts)
        if content.get("turnComplete"):
            return answer


async def hello(socket: ClientConnection) -> str:
    await socket.send(json.dumps({"setup": SETUP}))
    await socket.recv()
    return await say(socket, "Say hello.")


async def until_closed(socket: ClientConnection) -> tuple[int, str] | None:
    await socket.send(json.dumps({"setup": SETUP}))
    try:
        await socket.recv()
        await say(socket, "Hello.")
        while True:
            await socket.recv()
    except ConnectionClosed as closed:
        return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else None


def record(path: Path, provider: str, client: Talk, mode: Any = "once", **allowed: Any) -> Any:
    with use_cassette(path, mode=mode, **allowed) as tape, session_relay(tape, provider) as relay:
        return talk(*relay, client)


def test_a_session_is_recorded_and_answers(upstream: Callable[..., Server], tmp_path: Path) -> None:
    path, server = tmp_path / "live.yaml", upstream()
    assert record(path, server.base_url, hello) == "Hello."
    (exchange,) = load(path).exchanges
    (recorded, _) = load(CASSETTES / "text.yaml").exchanges
    assert exchange.body == recorded.body
    assert (exchange.status, exchange.end, exchange.provider) == (101, "complete", "live")
    assert all(at is not None for at, _ in exchange.reads)
    assert exchange.request is not None
    assert exchange.request.url == server.base_url.replace("https", "wss") + PATH[1:]
    assert KEY not in path.read_text(encoding="utf-8")
    server.stop()  # a recording needs no provider
    with use_cassette(path) as tape, session_relay(tape) as relay:
        assert talk(*relay, hello) == "Hello."
    assert isinstance(tape, Playback)
    assert (tape.unknown, tape.problems()) == ([], [])


def test_a_client_that_says_something_else_is_unknown(
    upstream: Callable[..., Server], tmp_path: Path
) -> None:
    path = tmp_path / "live.yaml"
    record(path, upstream().base_url, hello)

    async def other(socket: ClientConnection) -> str:
        await socket.send(json.dumps({"setup": {**SETUP, "model": "models/other"}}))
        await socket.recv()
        return await say(socket, "Say hello.")

    with use_cassette(path) as tape, session_relay(tape) as relay:
        assert talk(*relay, other) == "Hello."
    assert isinstance(tape, Playback)
    (difference,) = tape.unknown
    assert "models/other" in difference


def test_a_bad_session_never_replaces_a_good_one(
    upstream: Callable[..., Server], tmp_path: Path
) -> None:
    path = tmp_path / "live.yaml"
    record(path, upstream().base_url, hello)
    good = path.read_bytes()
    closes = {1: "1011: Deadline expired", 3: "1007: Cannot", 5: "1000: The operation was"}
    sessions = load(CASSETTES / "closes.yaml")
    for number, message in closes.items():
        one = Cassette((sessions.exchanges[number - 1],), sessions.origin)
        server = upstream(one)
        with pytest.raises(RecordingRefused, match=message):
            record(path, server.base_url, until_closed, "rewrite")
        assert path.read_bytes() == good
    server = upstream(Cassette((sessions.exchanges[0],), sessions.origin))
    closed = record(path, server.base_url, until_closed, "rewrite", allow_status=[1011])
    assert closed == (1011, "Deadline expired before operation could complete.")
    assert path.read_bytes() != good


@pytest.mark.parametrize(("number", "end"), [(6, "reset"), (7, "cut")])
def test_a_session_that_breaks_off_is_not_kept(
    number: int, end: str, upstream: Callable[..., Server], tmp_path: Path
) -> None:
    sessions = load(CASSETTES / "closes.yaml")
    one = Cassette((sessions.exchanges[number - 1],), sessions.origin)
    path = tmp_path / "live.yaml"
    with pytest.raises(RecordingRefused, match=r"reset|cut"):
        record(path, upstream(one).base_url, until_closed)
    assert not path.exists()


def test_a_refused_session_is_passed_on_and_not_kept(
    upstream: Callable[..., Server], tmp_path: Path
) -> None:
    path, server = tmp_path / "live.yaml", upstream(fault="status:429")

    def refused(url: str, certificate: Path) -> None:
        with pytest.raises(InvalidStatus) as caught:
            talk(url, certificate, hello)
        assert caught.value.response.status_code == 429

    with (
        pytest.raises(RecordingRefused, match="quota"),
        use_cassette(path, mode="once") as tape,
        session_relay(tape, server.base_url) as relay,
    ):
        refused(*relay)
    assert not path.exists()


def test_a_provider_that_is_not_there_gets_no_recording(tmp_path: Path) -> None:
    with use_cassette(tmp_path / "live.yaml", mode="once") as tape:
        with session_relay(tape, "https://127.0.0.1:1") as relay, pytest.raises(InvalidMessage):
            talk(*relay, hello)
        assert tape.exchanges() == ()
        assert "Connect call failed" in tape.in_flight[0].failure


def test_a_session_that_is_too_long_is_closed_and_not_kept(
    upstream: Callable[..., Server], tmp_path: Path
) -> None:
    """Sound of any size is passed on until the limit of an answer; then the client is told."""
    sound = "A" * 4096
    part = {"inlineData": {"mimeType": "audio/pcm", "data": sound}}
    content = {"serverContent": {"modelTurn": {"parts": [part]}}}
    message = Message("server", json.dumps(content).encode())
    setup = Message("client", json.dumps({"setup": SETUP}).encode())
    server = upstream(session(setup, *[message] * 40))

    closed: list[int | None] = []

    async def listen(socket: ClientConnection) -> None:
        await socket.send(setup.data.decode())
        with suppress(ConnectionClosed):
            async for _ in socket:
                pass
        closed.append(socket.close_code)

    limit = {"answer_bytes": 100_000}
    with pytest.raises(RecordingRefused, match="has more than 100000 bytes"):
        record(tmp_path / "live.yaml", server.base_url, listen, options=limit)
    assert closed == [1009]


@pytest.mark.parametrize(
    ("module", "fact"),
    [
        ("server.session", "the client has sent more than 400 bytes"),
        ("recording.sessions", "the provider has sent a message of more than 400 bytes"),
    ],
)
def test_a_message_without_end_is_named_and_not_kept(
    module: str,
    fact: str,
    upstream: Callable[..., Server],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    big = json.dumps({"setup": SETUP, "padding": "A" * 400})
    sent, given = (big, "{}") if module == "server.session" else (json.dumps({"setup": SETUP}), big)
    server = upstream(
        session(
            Message("client", sent.encode()),
            Message("server", given.encode()),
            Message("client", b'{"realtimeInput": {"text": "Hi"}}'),
        )
    )
    monkeypatch.setattr(f"harness.{module}.MAX_BODY", 400)
    closed: list[tuple[int | None, str | None]] = []

    async def listen(socket: ClientConnection) -> None:
        await socket.send(sent)
        with suppress(ConnectionClosed):
            await socket.recv()
        closed.append((socket.close_code, socket.close_reason))

    with pytest.raises(RecordingRefused, match=fact):
        record(tmp_path / "live.yaml", server.base_url, listen)
    assert closed == [(1009, f"harness: {fact}")]


def test_a_client_that_leaves_without_a_close_is_kept_if_its_turn_is_whole(
    upstream: Callable[..., Server], tmp_path: Path
) -> None:
    async def leave(socket: ClientConnection) -> None:
        await hello(socket)
        socket.transport.abort()

    path = tmp_path / "live.yaml"
    record(path, upstream().base_url, leave)
    (exchange,) = load(path).exchanges
    assert exchange.end == "aborted"


def test_binary_messages_and_messages_of_the_client_keep_their_bytes(
    upstream: Callable[..., Server],
) -> None:
    async def binary(socket: ClientConnection) -> None:
        await socket.send(json.dumps({"setup": SETUP}).encode())
        assert isinstance(await socket.recv(), bytes)

    tape = Tape()
    with session_relay(tape, upstream().base_url) as relay:
        talk(*relay, binary)
    first, second, *_ = read_messages(tape.exchanges()[0].body)
    assert (first.kind, second.kind) == ("binary", "binary")
    assert second.data == b'{\n  "setupComplete": {}\n}\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "specs").mkdir()
    return tmp_path


def test_the_command_records_the_turns_of_a_session_and_records_them_again(
    upstream: Callable[..., Server], here: Path
) -> None:
    prompts = ["--prompt", "Say hello.", "--prompt", "And goodbye.", "--model", "gemini-3.8-live"]
    server = upstream(Cassette(load(CASSETTES / "text.yaml").exchanges[1:], Origin("written")))
    command = ["record", "live/two-turns", "--base-url", server.base_url]
    assert main([*command, *prompts]) == 0
    path = here / "cassettes" / "live" / "two-turns.yaml"
    (exchange,) = load(path).exchanges
    assert exchange.body == load(CASSETTES / "text.yaml").exchanges[1].body
    assert KEY not in path.read_text(encoding="utf-8")
    command[-1] = upstream(path).base_url
    assert main(command) == 0
    assert load(path).exchanges[0].body == exchange.body
    command[-1] = upstream(path, fault="close:1:1011").base_url
    before = path.read_bytes()
    assert main(command) == 1
    assert path.read_bytes() == before


def test_the_command_sends_the_results_of_a_recorded_call_with_the_new_ids(
    upstream: Callable[..., Server], here: Path
) -> None:
    recorded = (CASSETTES / "tool-round.yaml").read_text(encoding="utf-8")
    path = here / "cassettes" / "live" / "call.yaml"
    path.parent.mkdir()
    path.write_text(recorded.replace("origin: imported", "origin: recorded"), encoding="utf-8")
    other = here / "other.yaml"
    other.write_text(
        recorded.replace("fc_3880303533621599938", "fc_1111111111111111111"), encoding="utf-8"
    )
    server = upstream(other)
    assert main(["record", "live/call", "--base-url", server.base_url, "--rewrite"]) == 0
    (session,) = server.sessions
    assert session.differences == []


def test_a_session_without_a_key_is_not_recorded(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    assert main(["record", "live/x", "--prompt", "Hi", "--model", "m"]) == 1
    assert "no key for the Live API: set GEMINI_API_KEY" in capsys.readouterr().err
