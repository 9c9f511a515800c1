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
        peak(lambda: guard().scan_cassette(Cassette((bomb,), Origin("written")), redacted=True))
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


DEPTHS = [100, 1_200, 200_000]
"""An ordinary depth, more than Python's stack holds, and more than the stack of a C library holds."""
COMMANDS: dict[str, list[str]] = {
    "replay": ["replay", "FILE"],
    "events": ["replay", "FILE", "--layer", "events"],
    "show": ["show", "FILE"],
    "scan": ["scan", "FILE"],
    "import": ["import", "FILE"],
    "import to vcrpy": ["import", "--to", "vcrpy", "FILE", "-o", "out.yaml"],
    "judge": ["judge", "art", "--cassettes", "FILE"],
    "judge of results": ["judge", "FILE", "--report", "page"],
    "check": ["check", "FILE"],
    "request": ["request", "FILE", "--dialect", "unified-llm"],
    "report": ["report", "FILE", "-o", "page"],
    "compare": ["compare", "FILE", "FILE"],
    "sweep": ["sweep", "FILE", "-o", "rows", "--adapter", "art"],
}
"""Each command that reads a file, and its arguments."""


def deep_files(depth: int) -> dict[str, str]:
    """Files with lists inside lists, in the places that a command reads."""
    nested = "[" * depth + "]" * depth
    part = f'{{"functionCall": {{"name": "f", "args": {{"a": {nested}}}}}}}'
    answer = f'{{"candidates": [{{"content": {{"parts": [{part}]}}, "finishReason": "STOP"}}]}}'
    asked = json.dumps(f'{{"contents": {nested}}}')
    ours = (
        "version: 1\nmetadata: {harness: 1, origin: written}\ninteractions:\n- request:\n"
        f"    method: POST\n    uri: {URL}\n    body: {{string: {asked}}}\n  response:\n"
        "    status: {code: 200, message: OK}\n    headers: {Content-Type: text/event-stream}\n"
        f"    body:\n      string: |2+\n        data: {answer}\n\n    end: complete\n"
    )
    return {
        "stream.txt": f"data: {answer}\n\n",
        "answer.json": answer,
        "list.json": nested,
        "cassette.yaml": ours,
        "spec.yaml": f"harness: 1\ncases:\n- case: {nested}\n",
        "rows.jsonl": f'{{"id": "r", "body": {json.dumps(answer)}, "headers": {nested}}}\n',
        "run.har": f'{{"log": {{"version": "1.2", "entries": [{nested}]}}}}',
    }


@pytest.mark.slow
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_deep_json_in_a_file_is_no_traceback(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    depth: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in deep_files(depth).items():
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        arguments = [name if word == "FILE" else word for word in COMMANDS[command]]
        assert main(arguments) in (0, 1, 2), (name, arguments)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        assert "Recursion" not in captured.err + captured.out
        path.unlink()
