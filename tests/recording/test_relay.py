"""The relay records any client in any language over loopback, with its reads and ends, and answers
it from the cassette.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import h11
import pytest
import trustme

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.recording.cassette import Playback, use_cassette
from harness.recording.endpoints import environment_for, upstream_by_path
from harness.recording.relay import relay
from harness.recording.settings import MissingLibrary
from harness.recording.tape import Tape
from harness.recording.transport import tls_context
from harness.server.connection import Connection
from harness.stream.events import End
from tests.support.raw_server import plain, raw_server, streaming

EVENTS = [b"data: {%d}\r\n\r\n" % n for n in range(4)]
PATH = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"


class Recording(Tape):
    """A tape without a file."""

    def answer(self, _: Request) -> None:
        return None


class Client:
    """A client that shares no code with ours: Python's own."""

    made: ClassVar[list[Client]] = []

    def __init__(self, url: str) -> None:
        self.made.append(self)
        parts = urlsplit(url)
        self.wire = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)

    def ask(self, path: str = PATH, body: bytes = b"{}") -> http.client.HTTPResponse:
        self.wire.request(
            "POST", path, body, {"content-type": "application/json", "x-goog-api-key": "k"}
        )
        return self.wire.getresponse()


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while Client.made:
        Client.made.pop().wire.close()


@pytest.fixture
def tape() -> Recording:
    return Recording()


@pytest.fixture
def gate() -> Iterator[threading.Semaphore]:
    made = threading.Semaphore(0)
    yield made
    made.release(99)


@pytest.mark.parametrize(
    ("end", "error"),
    [("complete", None), ("cut", http.client.IncompleteRead), ("reset", ConnectionResetError)],
    ids=["complete", "cut", "reset"],
)
def test_reads_and_end_pass_as_they_come(
    tape: Recording, gate: threading.Semaphore, end: str, error: type[Exception] | None
) -> None:
    with (
        raw_server(streaming(*EVENTS, end=end, gate=gate)) as upstream,
        relay(tape, upstream) as url,
    ):
        response = Client(url).ask()
        assert (response.status, response.reason, response.getheader("content-type")) == (
            200,
            "OK",
            "text/event-stream",
        )
        read_one_by_one(response, gate, error)
    (exchange,) = tape.exchanges()
    assert exchange.request is not None
    assert exchange.request.url == upstream + PATH
    assert [data for _, data in exchange.reads] == EVENTS
    assert exchange.end == end


def read_one_by_one(
    response: http.client.HTTPResponse, gate: threading.Semaphore, error: type[Exception] | None
) -> None:
    """Each event arrives before the next is sent, and then the end, which may be ``error``."""
    for event in EVENTS:
        assert response.read1() == event
        gate.release()  # only now can the server send the next event
    if error:
        with pytest.raises(error):
            response.read()
    else:
        assert response.read() == b""


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """The certificate of 127.0.0.1, for clients that trust SSL_CERT_FILE."""
    made, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.issue_cert("127.0.0.1").configure_cert(context)
    made.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    tls_context.cache_clear()
    yield context
    tls_context.cache_clear()


@pytest.mark.parametrize(
    ("end", "error"),
    [("complete", None), ("cut", http.client.IncompleteRead), ("reset", ConnectionResetError)],
    ids=["complete", "cut", "reset"],
)
def test_upstream_is_asked_over_https(
    authority: ssl.SSLContext,
    tape: Recording,
    gate: threading.Semaphore,
    end: str,
    error: type[Exception] | None,
) -> None:
    """http on this machine, https to the provider; the reads are the same as without https."""
    with (
        raw_server(streaming(*EVENTS, end=end, gate=gate), tls=authority) as upstream,
        relay(tape, upstream) as url,
    ):
        assert (urlsplit(url).scheme, urlsplit(upstream).scheme) == ("http", "https")
        read_one_by_one(Client(url).ask(), gate, error)
    (exchange,) = tape.exchanges()
    assert exchange.request is not None
    assert exchange.request.url == upstream + PATH
    assert ([data for _, data in exchange.reads], exchange.end) == (EVENTS, end)


def test_a_provider_without_a_valid_certificate_gets_no_request(
    authority: ssl.SSLContext, tape: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    asked: list[bytes] = []
    with (
        raw_server(lambda connection: asked.append(connection.request), tls=authority) as upstream,
        relay(tape, upstream) as url,
    ):
        with pytest.raises(ConnectionResetError):
            Client(url).ask()
        assert asked == []
    assert tape.exchanges() == ()
    assert "CERTIFICATE_VERIFY_FAILED" in tape.in_flight[0].failure


def test_a_client_that_leaves_is_aborted(tape: Recording, gate: threading.Semaphore) -> None:
    with raw_server(streaming(*EVENTS, gate=gate)) as upstream, relay(tape, upstream) as url:
        client = Client(url)
        response = client.ask()
        assert response.read1() == EVENTS[0]
        response.close()
        client.wire.close()
        for _ in range(3000):
            if tape.in_flight[0].end is not None:
                break
            threading.Event().wait(0.01)
    assert tape.exchanges()[0].end == "aborted"


def test_without_an_upstream_answer_the_client_gets_none(tape: Recording) -> None:
    with (
        raw_server(lambda connection: connection.reset()) as upstream,
        relay(tape, upstream) as url,
        pytest.raises(ConnectionResetError),
    ):
        Client(url).ask()
    assert tape.exchanges() == ()


def test_one_connection_takes_several_requests(tape: Recording) -> None:
    answers = [plain("200 OK", b"one", "X-A: 1"), plain("404 Gone Away", b""), streaming(*EVENTS)]
    with raw_server(*answers) as upstream, relay(tape, upstream) as url:
        client = Client(url)
        got = [
            (response.status, response.reason, response.read())
            for response in (client.ask(body=b"x" * size) for size in (1, 1 << 20, 0))
        ]
    assert got == [(200, "OK", b"one"), (404, "Gone Away", b""), (200, "OK", b"".join(EVENTS))]
    assert [len(exchange.request.body) for exchange in tape.exchanges() if exchange.request] == [
        1,
        1 << 20,
        0,
    ]


def test_a_replay_answers_and_an_unknown_request_is_a_404(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with (
        raw_server(streaming(*EVENTS, end="cut")) as upstream,
        use_cassette(path, mode="once", allow_end=["cut"]) as tape,
        relay(tape, upstream) as url,
    ):
        response = Client(url).ask()
        with pytest.raises(http.client.IncompleteRead):
            response.read()
    assert load(path).exchanges[0].end == "cut"
    with use_cassette(path) as tape, relay(tape) as url:
        assert isinstance(tape, Playback)
        client = Client(url)
        unknown = client.ask(body=b'{"other": 1}')
        assert unknown.status == 404
        assert b"body.other: extra" not in unknown.read()
        assert ["body.other: extra" in text for text in tape.unknown] == [True]
        response = client.ask()
        assert response.read1() == EVENTS[0]
        with pytest.raises(http.client.IncompleteRead):
            response.read()
        assert tape.problems() == []


@pytest.mark.parametrize("end", ["complete", "cut", "reset", "aborted"])
def test_a_replay_needs_no_http_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: End
) -> None:
    path = tmp_path / "a.yaml"
    asked = Request("POST", "https://generativelanguage.googleapis.com" + PATH, {}, b"{}")
    headers = {"Content-Type": ["text/event-stream"], "Connection": ["close"]}
    path.write_text(
        dumps(
            Cassette(
                (Exchange(asked, 200, headers, ((1.0, EVENTS[0]), (2.0, EVENTS[1])), end, "Fine"),),
                Origin("written"),
            )
        )
    )
    for name in ("google", "google.genai", "httpx", "httpx2"):
        monkeypatch.setitem(sys.modules, name, None)
    with use_cassette(path) as tape, relay(tape) as url:
        client = Client(url)
        error = json.loads(client.ask(body=b'{"other": 1}').read())["error"]
        assert (error["code"], error["status"]) == (404, "NOT_FOUND")
        assert error["message"].startswith("POST /v1beta/models/gemini-x")
        if end in ("reset", "aborted"):
            with pytest.raises(ConnectionResetError):
                client.ask().read()
            return
        response = client.ask()
        assert (response.status, response.reason, response.getheader("content-type")) == (
            200,
            "Fine",
            "text/event-stream",
        )
        if end == "cut":
            with pytest.raises(http.client.IncompleteRead):
                response.read()
            return
        assert response.read() == EVENTS[0] + EVENTS[1]
        response = client.ask(body=b"[]")  # the connection stays open
        assert response.status == 404


def test_recording_without_an_http_library_is_an_error(
    tape: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("httpx", "httpx2"):
        monkeypatch.setitem(sys.modules, name, None)
    with (
        pytest.raises(
            MissingLibrary,
            match=r"httpx is not installed.*pip install 'gemini-conformance\[record\]'",
        ),
        relay(tape),
    ):
        pass


def test_a_client_that_does_not_speak_http_gets_a_400(tape: Recording) -> None:
    with (
        relay(tape, "http://127.0.0.1:1") as url,
        socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=30) as peer,
    ):
        peer.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        assert peer.recv(100).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("path", "base_urls", "upstream"),
    [
        ("/v1beta/models/m:generateContent", {}, "https://generativelanguage.googleapis.com"),
        ("/v1/models/m:x", {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1/"}, "http://127.0.0.1:1"),
        ("/v1beta1/publishers/google/models/m:x", {}, "https://aiplatform.googleapis.com"),
        (
            "/v1beta1/projects/p/locations/global/publishers/google/models/m:x",
            {},
            "https://aiplatform.googleapis.com",
        ),
        (
            "/v1beta1/projects/p/locations/us-central1/publishers/google/models/m:x",
            {},
            "https://us-central1-aiplatform.googleapis.com",
        ),
        (
            "/v1beta1/projects/p/locations/eu/publishers/google/models/m:x",
            {},
            "https://aiplatform.eu.rep.googleapis.com",
        ),
        (
            "/v1beta1/projects/p/locations/eu/publishers/google/models/m:x",
            {"GOOGLE_VERTEX_BASE_URL": "http://v"},
            "http://v",
        ),
        ("/v1internal:streamGenerateContent?alt=sse", {}, "https://cloudcode-pa.googleapis.com"),
        ("/v1/messages", {}, "https://api.anthropic.com"),
        ("/v1/responses", {}, "https://api.openai.com"),
        ("/v1/chat/completions", {"OPENAI_BASE_URL": "http://o/v1/"}, "http://o"),
    ],
)
def test_the_path_shows_the_provider(path: str, base_urls: dict[str, str], upstream: str) -> None:
    assert upstream_by_path(base_urls)(path) == upstream


def test_a_variable_has_the_path_that_its_client_expects() -> None:
    """OpenAI's clients add no version to their base URL."""
    variables = environment_for("http://127.0.0.1:1")
    assert variables["OPENAI_BASE_URL"] == "http://127.0.0.1:1/v1"
    assert variables["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert variables["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:1"


AIOHTTP = """
import asyncio, sys
from google import genai

async def run(url):
    client = genai.Client(api_key="no-key", http_options={"base_url": url, "api_version": "v1beta"})
    stream = await client.aio.models.generate_content_stream(model="gemini-x", contents="Hello?")
    print([piece.text async for piece in stream], "aiohttp" in sys.modules)
    await client.aio.aclose()

asyncio.run(run(sys.argv[1]))
"""
MESSAGES = [
    b'data: {"candidates": [{"content": {"parts": [{"text": "%d"}],"role": "model"}%s}]}\r\n\r\n'
    % (n, b',"finishReason": "STOP"' if n == 3 else b"")
    for n in range(4)
]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_google_genai_on_aiohttp_is_recorded_and_answered(
    tmp_path: Path, authority: ssl.SSLContext, scheme: str
) -> None:
    path, tls = tmp_path / "a.yaml", authority if scheme == "https" else None

    def ask(url: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", AIOHTTP, url], capture_output=True, check=True, text=True
        ).stdout.strip()

    with (
        raw_server(streaming(*MESSAGES), tls=tls) as upstream,
        use_cassette(path, mode="once") as tape,
        relay(tape, upstream) as url,
    ):
        assert ask(url) == "['0', '1', '2', '3'] True"
    assert len(load(path).exchanges[0].reads) == len(MESSAGES)
    with use_cassette(path) as tape, relay(tape) as url:
        assert ask(url) == "['0', '1', '2', '3'] True"


@pytest.mark.parametrize(
    ("target", "header", "status"),
    [
        (PATH, "Host: localhost", b"404"),
        (PATH, "Host: example.com", b"403"),
        (PATH, "Host: localhost\r\nOrigin: https://example.com", b"403"),
        (PATH, "Host: localhost\r\nTransfer-Encoding: chunked", b"400"),
        ("@example.com" + PATH, "Host: localhost", b"400"),
        ("http://example.com" + PATH, "Host: localhost", b"400"),
        ("http://localhost@example.com" + PATH, "Host: localhost", b"400"),
        ("*", "Host: localhost", b"400"),
    ],
)
def test_the_relay_takes_paths_of_local_clients_only(
    tmp_path: Path, target: str, header: str, status: bytes
) -> None:
    path = tmp_path / "a.yaml"
    asked = Request("POST", "https://generativelanguage.googleapis.com" + PATH, {}, b"{}")
    path.write_text(dumps(Cassette((Exchange(asked, 200, {}, (), "complete"),), Origin("written"))))
    with use_cassette(path) as tape, relay(tape) as url:
        with socket.create_connection(
            (urlsplit(url).hostname, urlsplit(url).port), timeout=30
        ) as peer:
            peer.sendall(
                f"POST {target} HTTP/1.1\r\n{header}\r\nContent-Length: 2\r\n\r\n[]".encode()
            )
            assert peer.recv(1 << 16).split(b" ")[1] == status
        assert isinstance(tape, Playback)
        assert len(tape.unknown) == (status == b"404")


def test_cors_headers_do_not_pass_the_relay(tape: Recording) -> None:
    answer = plain("200 OK", b"{}", "Access-Control-Allow-Origin: *")
    with raw_server(answer) as upstream, relay(tape, upstream) as url:
        response = Client(url).ask()
        assert response.read() == b"{}"
        assert response.getheader("access-control-allow-origin") is None


def test_the_relay_asks_a_waiting_client_for_its_body(tape: Recording) -> None:
    with (
        raw_server(plain("200 OK", b"{}")) as upstream,
        relay(tape, upstream) as url,
        socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), timeout=30) as peer,
    ):
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        peer.sendall(head.encode())
        assert peer.recv(1 << 16).startswith(b"HTTP/1.1 100 ")
        peer.sendall(b"{}")
        assert peer.recv(1 << 16).startswith(b"HTTP/1.1 200 OK")
    (exchange,) = tape.exchanges()
    assert exchange.request is not None
    assert not [name for name in exchange.request.headers if name.lower() == "expect"]


def test_the_bytes_of_an_upload_are_copied_once_as_they_come(
    tape: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copying the body again for each piece would take quadratic time."""
    sent = json.dumps({"data": "x" * 3_000_000}).encode()
    bodies: list[object] = []
    copied = 0

    class Piece(bytes):
        def __radd__(self, body: bytes | bytearray) -> Any:
            nonlocal copied
            bodies.append(body)
            copied += len(self) + (0 if body is bodies[0] else len(body))
            return NotImplemented  # so that the body behaves as with any bytes

    async def in_pieces(connection: Connection) -> Any:
        event = await next_event(connection)
        return h11.Data(data=Piece(event.data)) if isinstance(event, h11.Data) else event

    next_event = Connection._next_event
    monkeypatch.setattr(Connection, "_next_event", in_pieces)
    with raw_server(plain("200 OK", b"{}")) as upstream, relay(tape, upstream) as url:
        assert Client(url).ask(body=sent).read() == b"{}"
    (exchange,) = tape.exchanges()
    assert exchange.request is not None
    assert exchange.request.body == sent
    assert len(bodies) > 10
    assert copied == len(sent)
