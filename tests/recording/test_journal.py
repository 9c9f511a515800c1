"""An unfinished recording shows nothing that the finished one would hide, at any cuts and whenever
it stops.
"""

from __future__ import annotations

import gzip
import http.client
import itertools
import random
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import vcr

from harness import Exchange, load
from harness.cassettes import CassetteError, Origin
from harness.cassettes.journal import Answered, Arrived, Ended, Started, read_journal
from harness.cassettes.redaction.guard import Guard
from harness.cassettes.redaction.redactor import Redactor
from harness.recording import register, use_cassette
from harness.recording.journal import FrameBuffer, Journal
from harness.recording.transport import transports
from tests.recording.clients import part_of, parts_of
from tests.support.raw_server import Connection, raw_server

PATH = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
HIDDEN = b"opaque"
LINES = b'data: {"access_token": "opaque-1", "a": [1]}\r\n\r\ndata: {"b": "acct-77 opaque",\n "token": "plain"}\n\n'
BODIES = {
    "lines": LINES,
    "colon": b'{\n  "client_secret":\n    "opaque-1",\n  "a": "b"\n}\n',
    "list": b'{\n  "refresh_token": [\n    "opaque-1",\n    "opaque-2"\n  ],\n  "a": "b"\n}\n',
    "object": b'{\n  "id_token": {\n    "a": "opaque-1",\n    "b": {\n      "c": "opaque"}\n  }\n}\n',
    "part": b'--x\r\ncontent-disposition: form-data; name="token"\r\n\r\nopaque-1\r\nopaque\r\n--x--\r\n',
    "inner": rb'{"arguments": "{\"refresh_token\": \"opaque-1\", \"a\": 1}"}',
    "form": b"access_token=opaque-1&state=acct-77",
    "no form": b"access_token is what it is called",
    "cut": b'data: {"id_token": "opaque-1',
    "cut in an escape": b'data: {"a": "acct-77 opaque-1\\',
}
REDACTORS = {"built in": Redactor(), "rules": Redactor(["re:acct-[0-9]+", "re:opaque.?[0-9]*"])}


def cuts_of(body: bytes) -> list[list[bytes]]:
    chosen = random.Random(7)
    divisions = [[body[:place], body[place:]] for place in range(1, len(body))]
    for _ in range(60):
        places = [0, *sorted(chosen.sample(range(1, len(body)), 4)), len(body)]
        divisions.append([body[start:stop] for start, stop in itertools.pairwise(places)])
    return [*divisions, [bytes([byte]) for byte in body]]


@pytest.mark.parametrize("rules", REDACTORS)
@pytest.mark.parametrize("kind", BODIES)
def test_the_journal_is_a_prefix_of_the_final_recording(kind: str, rules: str) -> None:
    redactor, body = REDACTORS[rules], BODIES[kind]
    for cuts in cuts_of(body):
        whole = redactor.reads(tuple((float(number), data) for number, data in enumerate(cuts)))
        buffer = FrameBuffer(redactor, 1)
        pieces: list[Arrived] = []
        for number, data in enumerate(cuts):
            pieces += buffer.feed(float(number), data)
            so_far = written_reads(pieces)
            assert so_far[:-1] == [*whole[: max(len(so_far) - 1, 0)]]
            assert not so_far or whole[len(so_far) - 1][1].startswith(so_far[-1][1])
        pieces += buffer.close()
        written = written_reads(pieces)
        assert (HIDDEN in b"".join(data for _, data in written)) == (
            rules == "built in" and kind in ("lines", "cut in an escape")
        )
        assert tuple(written) == whole


def written_reads(pieces: list[Arrived]) -> list[tuple[float | None, bytes]]:
    """The reads that a reader of the journal gets."""
    reads: list[tuple[float | None, bytes]] = []
    for piece in pieces:
        data = reads.pop()[1] + piece.data if piece.continues else piece.data
        reads.append((piece.at_ms, data))
    return reads


def test_a_read_is_given_out_when_its_frame_ends() -> None:
    buffer = FrameBuffer(Redactor(), 1)
    pieces = [b'data: {"access_token": ', b'"opaque-1"}', b"\n", b"\n", b'data: {"a', b'": 1}']
    given = [buffer.feed(float(at), data) for at, data in enumerate(pieces)]
    assert [b"".join(piece.data for piece in each) for each in given] == [
        *(b"", b"", b""),
        b'data: {"access_token": "REDACTED"}\n\n',
        *(b"", b""),
    ]
    assert buffer.close() == [Arrived(1, 4.0, b'data: {"a'), Arrived(1, 5.0, b'": 1}')]


def test_a_read_is_divided_where_a_frame_ends() -> None:
    buffer = FrameBuffer(Redactor(), 1)
    assert buffer.feed(0.0, b'{"a": 1}\n{"access_token": "opa') == [Arrived(1, 0.0, b'{"a": 1}\n')]
    assert buffer.feed(1.0, b'que-1"}\n{') == [
        Arrived(1, 0.0, b'{"access_token": "REDACTED', continues=True),
        Arrived(1, 1.0, b'"}\n'),
    ]
    assert buffer.feed(2.0, b'"b": 1}\n') == [
        Arrived(1, 1.0, b"{", continues=True),
        Arrived(1, 2.0, b'"b": 1}\n'),
    ]


@pytest.mark.parametrize(
    "frames",
    [
        [b'[{\n  "a": {\n    "text": "}"\n  }\n}\n', b',\r\n{\n  "b": 1\n}\n', b"]\n"],
        [b'[{"a": [1]},\n', b'{"b": 2},\n', b'{"c": 3}]\n'],
        [b"data: {}\r\n\r\n", b": alive\n\n", b"event: a\ndata: {}\n\n"],
        [b'data: {"a":\ndata: 1}\r\r', b"data: [DONE]\r\r"],
        [b'warning\n\n{"type": "init"}\n', b'{"type": "message"}\n'],
        [b'> {"setup": {}}\n', b'< {"setupComplete": {}}\n', b'<close 1011 "Error"\n'],
    ],
)
def test_the_frames_of_each_framing_are_known(frames: list[bytes]) -> None:
    buffer, given = FrameBuffer(Redactor(), 1), b""
    for number, frame in enumerate(frames, 1):
        for byte in frame:
            given += b"".join(piece.data for piece in buffer.feed(0.0, bytes([byte])))
            if byte in b'"{':
                assert given.strip(b",\r\n") == b"".join(frames[: number - 1]).strip(b",\r\n")
        assert given == b"".join(frames[:number])


def test_a_frame_with_an_open_value_waits() -> None:
    buffer = FrameBuffer(Redactor(), 1)
    for data in (b'{"api_key": [\n', b'{"a": "opaque-1"},\n', b'{"b": "opaque-2"}\n'):
        assert buffer.feed(1.0, data) == []
    assert b"opaque" not in b"".join(piece.data for piece in buffer.close())


def answer(*pieces: bytes, coding: bytes = b"identity") -> Any:
    def script(connection: Connection) -> None:
        connection.send(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
            % coding
        )
        for piece in pieces:
            connection.piece(piece)
        connection.finish()

    return script


def record(
    url: str,
    path: Path,
    *,
    options: dict[str, Any] | None = None,
    question: str = "hello",
    fail: bool = True,
) -> None:
    with (
        use_cassette(path, mode="once", options=options, allow_incomplete=True) as tape,
        httpx2.Client(transport=transports("httpx2").sync(tape)) as http,
    ):
        for text in (question, "and then"):
            http.post(url + PATH, json={"said": text})
        if fail:
            raise RuntimeError("the test failed")


def test_a_secret_value_in_several_reads_is_not_in_the_journal(
    tmp_path: Path,
) -> None:
    with (
        raw_server(answer(b'data: {"access_token": "opa', b'que-1"}\n\n', b'data: {"a": ')) as url,
        pytest.raises(RuntimeError),
    ):
        record(url, tmp_path / "a.yaml")
    assert HIDDEN[:3] not in part_of(tmp_path / "a.yaml").read_bytes()
    assert (
        load(part_of(tmp_path / "a.yaml")).exchanges[0].body
        == b'data: {"access_token": "REDACTED"}\n\ndata: {"a": '
    )


@pytest.mark.parametrize("fail", [True, False])
def test_a_rule_redacts_a_secret_in_client_and_model_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail: bool
) -> None:
    """The name of a client is in a header and in the metadata. The model is part of the URL and is
    in the metadata too.
    """
    monkeypatch.setenv("SHOP_SECRET", "hunter2-planted")
    (tmp_path / "pyproject.toml").write_text('[tool.harness]\nredact = ["re:hunter2-[a-z0-9]+"]\n')
    path, head = (
        tmp_path / "a.yaml",
        b"HTTP/1.1 200 Fine hunter2-planted\r\nContent-Length: 2\r\n\r\n{}",
    )

    def ask(url: str) -> None:
        with (
            use_cassette(path, mode="once", allow_incomplete=True) as tape,
            httpx2.Client(
                transport=transports("httpx2").sync(tape),
                headers={"user-agent": "app hunter2-planted"},
            ) as http,
        ):
            http.post(url + PATH.replace("gemini-x", "hunter2-planted"), json={})
            if fail:
                raise RuntimeError("the test failed")

    with (
        raw_server(lambda connection: connection.send(head)) as url,
        pytest.raises(RuntimeError) if fail else nullcontext(),
    ):
        ask(url)
    kept = load(part_of(path) if fail else path)
    assert (kept.origin.client, kept.origin.model) == ("app REDACTED", "REDACTED")
    assert kept.exchanges[0].reason_phrase == "Fine REDACTED"
    assert b"hunter2" not in b"".join(file.read_bytes() for file in tmp_path.rglob("a.yaml*"))


@pytest.mark.parametrize("fail", [True, False])
def test_a_secret_in_a_packed_answer_keeps_both_files_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail: bool
) -> None:
    monkeypatch.setenv("MY_SECRET", "planted-here-1")
    expected = (
        pytest.raises(RuntimeError)
        if fail
        else pytest.raises(CassetteError, match="the value of MY_SECRET")
    )
    with (
        raw_server(
            answer(gzip.compress(b'data: {"a": "planted-here-1"}\n\n'), coding=b"gzip")
        ) as url,
        expected,
    ):
        record(url, tmp_path / "a.yaml", fail=fail)
    assert [file for file in tmp_path.rglob("*") if file.suffix in (".yaml", ".part")] == []


@pytest.mark.parametrize("door", ["ours", "vcrpy's"])
def test_a_refusal_names_the_file_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    monkeypatch.setenv("MY_SECRET", "planted-here-1")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "kept" / "a.yaml"
    recorder = vcr.VCR()
    register(recorder, allow_incomplete=True)

    def ask(url: str) -> None:
        if door == "ours":
            record(url, path, fail=False)
            return
        with recorder.use_cassette(str(path)), httpx2.Client() as http:
            http.post(url + PATH, json={"said": "hello"})

    with (
        raw_server(answer(b'data: {"a": "planted-here-1"}\n\n')) as url,
        pytest.raises(CassetteError) as caught,
    ):
        ask(url)
    place, message = str(Path("kept", "a.yaml")), str(caught.value)
    assert re.match(
        rf"{re.escape(place)}: line \d+ shows the value of MY_SECRET; exchange 1, response body shows the value of",
        message,
    )
    assert message.endswith(
        "remove it at its source, or add a rule to `redact` of [tool.harness] in pyproject.toml"
    )
    assert not path.exists()
    assert http.client.HTTPConnection.__module__ == "http.client"  # vcrpy's patches are removed


def test_a_recording_refused_for_a_secret_leaves_no_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pieces of the secret are far apart, so only a scan of the whole text finds them."""
    monkeypatch.setenv("MY_SECRET", "planted-here-1")
    pieces = [
        b'data: {"text": "%b", "other": "%b"}\n\n' % (piece, b"." * 3000)
        for piece in (b"planted", b"-here-1")
    ]
    with (
        raw_server(answer(*pieces)) as url,
        pytest.raises(CassetteError, match="the value of MY_SECRET"),
    ):
        record(url, tmp_path / "a.yaml", fail=False)
    assert [file for file in tmp_path.rglob("*") if file.suffix in (".yaml", ".part")] == []


def test_a_hook_applies_to_the_journal_too(tmp_path: Path) -> None:
    seen = []

    def before_record(exchange: Exchange) -> Exchange | None:
        asked = exchange.request.body if exchange.request else b""
        seen.append(exchange.body)
        return (
            None
            if b"private" in asked
            else replace(exchange, reads=((1.0, b"what the hook lets be"),))
        )

    with raw_server(answer(b"as it came")) as url, pytest.raises(RuntimeError):
        record(
            url, tmp_path / "a.yaml", options={"before_record": before_record}, question="private"
        )
    text = part_of(tmp_path / "a.yaml").read_bytes()
    assert b"private" not in text
    assert b"as it came" not in text
    (kept,) = load(part_of(tmp_path / "a.yaml")).exchanges
    assert (kept.body, kept.end) == (b"what the hook lets be", "complete")
    assert set(seen) == {b"as it came"}


def test_a_hook_that_fails_leaves_no_journal(tmp_path: Path) -> None:
    def before_record(exchange: Exchange) -> Exchange | None:
        raise ZeroDivisionError

    with raw_server(answer(b"as it came")) as url, pytest.raises(RuntimeError):
        record(url, tmp_path / "a.yaml", options={"before_record": before_record})
    assert [file for file in tmp_path.rglob("*") if file.suffix in (".yaml", ".part")] == []


def test_the_reads_of_a_divided_read_are_one(tmp_path: Path) -> None:
    written = Journal(tmp_path / "c.yaml", lambda _: (Origin("recorded"), Guard()))
    reads = [(1.0, b'data: {"a": 1}\n\ndata: {"b"'), (2.0, b": 2}\n\n"), (3.0, b"data: ")]
    written.put(Started(1, None))
    written.put(Answered(1, 200, "OK", {}))
    for at_ms, data in reads:
        written.put(Arrived(1, at_ms, data))
    (exchange,) = read_journal(part_of(tmp_path / "c.yaml").read_bytes(), "c").exchanges
    assert list(exchange.reads) == reads[:2]
    assert exchange.end == "cut"
    written.put(Ended(1, "complete"))
    (exchange,) = read_journal(part_of(tmp_path / "c.yaml").read_bytes(), "c").exchanges
    assert (list(exchange.reads), exchange.end) == (reads, "complete")
    written.end(None)
    assert parts_of(tmp_path / "c.yaml") == []


def test_journals_are_outside_the_cassettes_and_ignored_by_git(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "tests" / "cassettes" / "a.yaml"
    with raw_server(answer(b"data: {}\n\n")) as url, pytest.raises(RuntimeError):
        record(url, path)
    (part,) = parts_of(path)
    assert part.parent == tmp_path / ".harness" / "journals" / "tests" / "cassettes"
    assert (tmp_path / ".harness" / ".gitignore").read_text() == "*\n"
    assert not path.parent.exists()
