"""vcrpy loads and saves our cassettes, and stock vcrpy replays an export."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import vcr

from harness import load
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.cassettes.vcrpy import export
from harness.recording import register
from harness.recording.vcr_values import from_vcr, to_vcr

BODY = 'data: {"a":"\u2028é"}\r\n\r\n'.encode()
URL = "http://127.0.0.1:9/v1beta/models/m:streamGenerateContent?alt=sse"
READS = ((0.5, BODY[:9]), (12.0, BODY[9:]))
EXCHANGE = Exchange(
    Request("GET", URL, {"accept": ["*/*"]}),
    200,
    {"content-type": ["text/event-stream"]},
    READS,
    "cut",
    "OK",
)
CASSETTE = Cassette((EXCHANGE,), Origin("written", date="2026-11-21", client="nobody 1.0"))


@pytest.fixture
def upstream() -> Iterator[str]:
    """A loopback server that answers every GET with `BODY`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("set-cookie", "secret=1")
            self.end_headers()
            self.wfile.write(BODY)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/x?key=hidden"
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(url: str) -> bytes:
    with urllib.request.urlopen(url) as reply:
        body: bytes = reply.read()
    return body


def recorder(**options: object) -> vcr.VCR:
    made = vcr.VCR(**options)
    register(made)
    return made


def test_vcrpy_records_redacted_cassettes(upstream: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.yaml"
    with recorder(filter_query_parameters=["key"]).use_cassette(str(path)):
        assert fetch(upstream) == BODY
    cassette = load(path)
    assert cassette.origin.kind == "loopback"
    assert cassette.exchanges[0].body == BODY
    assert "secret" not in path.read_text(encoding="utf-8")
    assert "hidden" not in path.read_text(encoding="utf-8")
    assert not list(path.parent.rglob("*.part"))


def test_vcrpy_replays_our_cassettes(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(dumps(CASSETTE).encode())
    with recorder(record_mode="none").use_cassette(str(path)) as tape:
        assert fetch(URL) == BODY
        assert tape.play_count == 1
    assert path.read_bytes() == dumps(CASSETTE).encode()


@pytest.mark.parametrize(
    "exchange", [EXCHANGE, Exchange(None, 200, {}, READS, "reset")], ids=["request", "no request"]
)
def test_an_interaction_keeps_reads_and_end(exchange: Exchange) -> None:
    assert from_vcr([to_vcr(exchange)]) == (exchange,)


def test_stock_vcrpy_replays_an_export(tmp_path: Path) -> None:
    path = tmp_path / "plain.yaml"
    path.write_text(export(CASSETTE), encoding="utf-8")
    with vcr.VCR(record_mode="none").use_cassette(str(path)) as tape:
        assert fetch(URL) == BODY
        assert tape.play_count == 1


def test_an_exchange_without_request_is_not_exported() -> None:
    with pytest.raises(
        CassetteError, match="exchange 1 has no request, and vcrpy finds a response by its request"
    ):
        export(Cassette((Exchange(None, 200, {}, READS),), Origin("imported")))


HEAD = b"version: 1\nmetadata:\n  harness: 1\n"
DAMAGED = {
    "a.yaml:1: the file is empty": b"",
    "a.yaml:2: metadata.origin is missing; required keys are harness, origin; if the file is cut short": HEAD,
    "a.yaml: format 2 is newer than 1": HEAD.replace(b"harness: 1", b"harness: 2"),
    "a.yaml: not UTF-8 at byte 35": HEAD + b" \xff",
    "a.yaml:2: this cassette of vcrpy can't be read: ": b"interactions: [\n",
}


@pytest.mark.parametrize(("message", "damaged"), DAMAGED.items())
def test_a_damaged_cassette_is_an_error_and_never_recorded_over(
    upstream: str, tmp_path: Path, message: str, damaged: bytes
) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(damaged)
    with pytest.raises(CassetteError, match=message), recorder().use_cassette(str(path)):
        fetch(upstream)
    assert path.read_bytes() == damaged
