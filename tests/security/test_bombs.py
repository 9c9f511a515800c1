"""Compressed bodies that become extremely large when they are unpacked."""

from __future__ import annotations

import base64
import gzip
import json
import time
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest

from harness import replay
from harness.cassettes import Cassette, CassetteError, Origin, dumps
from harness.cassettes.importers import read
from harness.cassettes.load import read_recording
from harness.cassettes.redaction.secrets import guard
from harness.cli.main import main
from harness.judging.metamorphic.reads import plain
from harness.stream.decompression import CODINGS, unpack
from tests.security.samples import TEXT, URL, exchange


def packed(size: int, coding: str = "gzip") -> bytes:
    """This number of MiB of blanks after the beginning of a message, packed."""
    packer = zlib.compressobj(wbits=15 if coding == "deflate" else 31)
    start = packer.compress(b'data: {"candidates": "')
    return start + b"".join(packer.compress(b" " * (1 << 20)) for _ in range(size)) + packer.flush()


def peak(run: Any) -> int:
    """The peak of the memory that Python allocated during the call, in MiB."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] >> 20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("coding", sorted(CODINGS))
def test_a_bomb_is_an_event_and_stays_small(coding: str) -> None:
    bomb = exchange(packed(100, coding), content_encoding=coding)
    payloads: list[Any] = []
    assert peak(lambda: payloads.extend(replay(bomb))) < 60
    assert payloads[-1]["error"]["type"] == "StreamError"
    assert any("longer than" in str(event.get("raw")) for event in replay(bomb, layer="events"))
    assert peak(lambda: plain(bomb)) < 60  # the laws look at the same bytes
    assert (
        peak(
            lambda: guard().scanner.scan_cassette(
                Cassette((bomb,), Origin("written")), redacted=True
            )
        )
        < 60
    )
    assert len(zlib.decompress(bomb.body, 47)) > 100 << 20  # an unprotected reader


@pytest.mark.slow
def test_a_bomb_of_many_members_takes_linear_time() -> None:
    members = gzip.compress(b"") * 200_000
    began = time.process_time()
    assert unpack(members + gzip.compress(TEXT), "gzip") == TEXT
    assert time.process_time() - began < 20  # copying the rest for each member would take minutes


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 258, 3_000_000])
def test_an_ordinary_body_is_unpacked_whole(size: int) -> None:
    body = bytes(size)
    assert unpack(gzip.compress(body) + gzip.compress(TEXT), "gzip") == body + TEXT
    assert unpack(zlib.compress(body), "deflate") == body


BOMB = packed(40)
BOMB64 = base64.b64encode(BOMB).decode()
TOLD = {"content-encoding": "gzip", "content-type": "text/event-stream"}
FORMATS: dict[str, Any] = {
    "ours": dumps(
        Cassette(
            (exchange(BOMB, **{name.replace("-", "_"): value for name, value in TOLD.items()}),),
            Origin("written"),
        )
    ),
    "vcrpy": "version: 1\ninteractions:\n"
    f"- request: {{method: POST, uri: '{URL}', body: null, headers: {{}}}}\n  response: {{status: {{code: 200, message: OK}}, "
    f"headers: {{content-encoding: [gzip]}}, body: {{string: !!binary {BOMB64}}}}}\n",
    "ruby": f"http_interactions:\n- request: {{method: post, uri: '{URL}', headers: {{}}}}\n  response: {{status: {{code: 200}}, "
    f"headers: {{Content-Encoding: [gzip]}}, body: {{base64_string: {BOMB64}}}}}\n",
    "har": {
        "log": {
            "version": "1.2",
            "entries": [
                {
                    "startedDateTime": "2026-11-21T10:00:01.000Z",
                    "request": {"method": "POST", "url": URL, "headers": []},
                    "response": {
                        "status": 200,
                        "statusText": "OK",
                        "headers": [{"name": "content-encoding", "value": "gzip"}],
                        "content": {"text": BOMB64, "encoding": "base64"},
                    },
                }
            ],
        }
    },
    "nock": [
        {
            "scope": "https://generativelanguage.googleapis.com:443",
            "method": "POST",
            "path": "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
            "status": 200,
            "response": [BOMB.hex()],
            "rawHeaders": {"content-encoding": "gzip"},
        }
    ],
    "req_llm": {
        "captured_at": "2026-11-21T10:00:00Z",
        "model_spec": "google:m-1",
        "provider": "google",
        "request": {"method": "POST", "url": URL, "headers": {}, "canonical_json": {}},
        "response": {"status": 200, "headers": [["content-encoding", "gzip"]], "body": None},
        "chunks": [{"b64": BOMB64, "decoded": ""}],
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_a_bomb_in_a_recording_is_an_event(name: str) -> None:
    written = FORMATS[name]
    data = (written if isinstance(written, str) else json.dumps(written)).encode()
    (loaded,) = read_recording(data, name).exchanges
    assert loaded.body == BOMB  # an importer does not need to unpack it
    payloads: list[Any] = []
    assert peak(lambda: payloads.extend(replay(loaded))) < 60
    assert payloads[-1]["error"]["type"] == "StreamError"


def test_the_importer_that_must_unpack_stops_at_the_ratio() -> None:
    recording = f"http_interactions:\n- request: {{method: GET, uri: u}}\n  response: {{status: 200, body: {{raw_gzip: {BOMB64}}}}}\n"

    def run() -> None:
        with pytest.raises(
            CassetteError, match=r"raw_gzip: cut short, or more than 16777216 bytes"
        ):
            read(recording.encode())

    assert peak(run) < 60


@pytest.mark.slow
@pytest.mark.parametrize("depth", [100, 1_200, 1_000_000])
@pytest.mark.parametrize("command", ["replay", "show", "scan", "import"])
def test_deep_json_in_a_stream_is_no_traceback(tmp_path: Path, command: str, depth: int) -> None:
    path = tmp_path / "deep.txt"
    path.write_text(f'data: {{"candidates": {"[" * depth}{"]" * depth}}}\n\n', encoding="utf-8")
    assert main([command, str(path)]) in (0, 1, 2)
