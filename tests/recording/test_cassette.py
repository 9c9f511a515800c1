"""`use_cassette`: the recordings that are kept, and the answers of a cassette."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness import load
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.recording.atomic_file import save
from harness.recording.cassette import Playback, UnknownRequest, use_cassette
from harness.recording.transport import transports
from tests.recording.clients import (
    BODY,
    EVENTS,
    LIBRARIES,
    PATH,
    _installed,
    ask_and_fail,
    client,
    part_of,
    stream,
)
from tests.support.need import need
from tests.support.raw_server import Script, plain, raw_server, streaming


def test_no_request_is_sent_while_secrets_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "adc.json"
    file.write_text("{")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    unreadable = r"adc\.json: can't be read, so its secrets are not known"
    recorder = use_cassette(tmp_path / "a.yaml", mode="once")
    with pytest.raises(CassetteError, match=unreadable), recorder:
        pytest.fail("a client could ask now")


@pytest.mark.parametrize("limit", ["answer_bytes", "answer_seconds"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_answer_that_does_not_end_is_given_up(
    tmp_path: Path, limit: str, asynchronous: bool
) -> None:
    path = tmp_path / "a.yaml"
    library = transports("httpx2")
    options = {limit: 3 * len(EVENTS[0]) if limit == "answer_bytes" else 0.000001}

    async def post(url: str, tape: Any) -> None:
        async with httpx2.AsyncClient(transport=library.asynchronous(tape)) as caller:
            await caller.post(url + PATH, json=BODY)

    def ask(url: str, tape: Any) -> None:
        if asynchronous:
            asyncio.run(post(url, tape))
            return
        with httpx2.Client(transport=library.sync(tape)) as caller:
            caller.post(url + PATH, json=BODY)

    refused = pytest.raises(CassetteError, match=f"was given up.*the answer .*{limit}")
    with (
        raw_server(streaming(*EVENTS * 50)) as url,
        refused,
        use_cassette(path, mode="once", options=options) as tape,
        pytest.raises(httpx2.TransportError, match=limit),
    ):
        ask(url, tape)
    assert not path.exists()
    kept = load(part_of(path)).exchanges[0]
    assert kept.end == "aborted"
    assert kept.body.startswith(EVENTS[0])


@pytest.mark.parametrize("mode", ["once", "rewrite"])
def test_a_failed_recording_changes_nothing(tmp_path: Path, mode: Any) -> None:
    path = tmp_path / "a.yaml"
    if mode == "rewrite":
        path.write_text(
            "version: 1\nmetadata:\n  harness: 1\n  origin: written\ninteractions: []\n"
        )
    before = path.read_bytes() if path.exists() else None
    with raw_server(streaming(*EVENTS)) as url, pytest.raises(RuntimeError):
        ask_and_fail(url, path, mode)
    assert (path.read_bytes() if path.exists() else None) == before
    assert load(part_of(path)).exchanges[0].end == "complete"
    assert (
        sorted(file for file in tmp_path.iterdir() if file.suffix == ".yaml")
        == [path] * path.exists()
    )


QUOTA = b'{"error": {"code": 429, "message": "no more", "status": "RESOURCE_EXHAUSTED"}}'


KEY = b'{"error": {"code": 400, "message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}}'


REFUSALS: list[tuple[Script, int, str]] = [
    (plain("429 Too Many Requests", QUOTA), 429, r"exchange 1 is a quota answer \(429: no more\)"),
    (
        plain("400 Bad Request", KEY),
        400,
        r"exchange 1 is an answer about the key \(400: API key not valid\.\)",
    ),
    (plain("403 Forbidden", b"<html>"), 403, r"exchange 1 is an authorization answer \(403"),
    (plain("503 Service Unavailable", b""), 503, r"exchange 1 is an overload answer \(503"),
    (
        streaming(EVENTS[0], b'{"error": {"code": 503, "message": "overloaded"}}'),
        503,
        r"an overload answer \(503: overloaded\)",
    ),
]


@pytest.mark.parametrize(
    ("script", "status", "message"), REFUSALS, ids=[message[:40] for _, _, message in REFUSALS]
)
def test_answers_about_quota_key_or_overload_are_refused(
    tmp_path: Path, script: Script, status: int, message: str
) -> None:
    path = tmp_path / "a.yaml"
    with raw_server(script) as url:
        with pytest.raises(CassetteError, match=message), use_cassette(path, mode="once") as tape:
            stream("httpx2", tape, url)
        assert not path.exists()
        with use_cassette(path, mode="once", allow_status=[status]) as tape:
            stream("httpx2", tape, url)
    assert len(load(path).exchanges) == 1


@pytest.mark.parametrize("end", ["cut", "reset"])
@pytest.mark.parametrize("mode", ["once", "rewrite"])
def test_an_answer_that_broke_off_is_refused_unless_asked_for(
    tmp_path: Path, end: Any, mode: Any
) -> None:
    path = tmp_path / "a.yaml"
    if mode == "rewrite":
        path.write_text(dumps(Cassette((), Origin("written"))))
    before = path.read_bytes() if path.exists() else None
    message = rf"the answer of exchange 1 was {end}.* before its end, after 4 reads of \d+ bytes; .*: allow_end=\['{end}'\]"
    with raw_server(streaming(*EVENTS, end=end)) as url:
        with pytest.raises(CassetteError, match=message), use_cassette(path, mode=mode) as tape:
            stream("httpx2", tape, url)
        assert (path.read_bytes() if path.exists() else None) == before
        with use_cassette(path, mode=mode, allow_end=[end]) as tape:
            stream("httpx2", tape, url)
    assert load(path).exchanges[0].end == end


@pytest.mark.slow
@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_answer_that_timed_out_is_refused_unless_allowed(
    tmp_path: Path, library: str, awaits: bool
) -> None:
    need(library, _installed(library), f"{library} is not installed")
    path, gate, made = tmp_path / "a.yaml", threading.Semaphore(0), transports(library)

    async def await_it(tape: Any, url: str) -> None:
        async with made.http.AsyncClient(transport=made.asynchronous(tape), timeout=1) as http:
            with pytest.raises(made.http.ReadTimeout):
                await http.post(url + PATH, json=BODY)

    def ask(tape: Any, url: str) -> None:
        if awaits:
            return asyncio.run(await_it(tape, url))
        with (
            made.http.Client(transport=made.sync(tape), timeout=1) as http,
            pytest.raises(made.http.ReadTimeout),
        ):
            http.post(url + PATH, json=BODY)
        return None

    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        message = r"the answer of exchange 1 was given up, after 1 read of \d+ bytes: .+; .*: allow_end=\['aborted'\]"
        with pytest.raises(CassetteError, match=message), use_cassette(path, mode="once") as tape:
            ask(tape, url)
        assert not path.exists()
        with use_cassette(path, mode="once", allow_end=["aborted"]) as tape:
            ask(tape, url)
        gate.release(9)
    assert load(path).exchanges[0].end == "aborted"


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_unfinished_answer_is_saved_as_far_as_it_came(library: str, tmp_path: Path) -> None:
    path, gate = tmp_path / "a.yaml", threading.Semaphore(0)
    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        with use_cassette(path, mode="once") as tape:
            http = client(library, tape)
            response = http.send(http.build_request("POST", url + PATH, json=BODY), stream=True)
            reads = response.iter_raw()
            assert next(reads) == EVENTS[0]
        (exchange,) = load(path).exchanges
        assert (exchange.body, exchange.end) == (EVENTS[0], "aborted")
        gate.release(9)
        assert next(reads) == EVENTS[1]  # the client continues to read, and the cassette stays
        response.close()
        http.close()
    assert load(path).exchanges == (exchange,)
    assert not part_of(path).exists()


def test_an_error_of_the_request_is_recorded_only_if_it_is_allowed(tmp_path: Path) -> None:
    answer = plain("400 Bad Request", b'{"error": {"code": 400, "message": "no"}}')
    path = tmp_path / "a.yaml"
    with raw_server(answer) as url:
        refused = pytest.raises(CassetteError, match=r"\(400: no\).* allow_status=\[400\]")
        with refused, use_cassette(path, mode="once") as tape:
            stream("httpx2", tape, url)
        assert not path.exists()
        with use_cassette(path, mode="once", allow_status=[400]) as tape:
            stream("httpx2", tape, url)
    assert load(tmp_path / "a.yaml").exchanges[0].status == 400


@pytest.mark.parametrize("cuts", [(0, 99), (7, 99), (20, 99)])
def test_a_secret_in_an_answer_keeps_both_files_away(tmp_path: Path, cuts: tuple[int, int]) -> None:
    body = b'data: {"a": "AIza' + b"s" * 35 + b'"}\r\n\r\n'
    pieces = [
        piece for piece in (body[: cuts[0]], body[cuts[0] : cuts[1]], body[cuts[1] :]) if piece
    ]
    path = tmp_path / "a.yaml"
    refused = pytest.raises(CassetteError, match="a Google API key")
    recorder = use_cassette(path, mode="once", allow_incomplete=True)
    with raw_server(streaming(*pieces)) as url, refused, recorder as tape:
        stream("httpx2", tape, url)
    assert not path.exists()
    assert not [*tmp_path.rglob("*.yaml"), *tmp_path.rglob("*.part")]


def test_a_file_is_moved_only_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    save(path, [b"good\n"])
    path.chmod(0o640)
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    save(path, [b"better\n"])
    assert len(synced) == 2  # the file, then its folder
    assert path.stat().st_mode & 0o777 == 0o640

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(path, [b"half"])
    assert path.read_text() == "better\n"
    assert sorted(tmp_path.iterdir()) == [path]


def test_an_unknown_request_shows_the_nearest_one(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    body = b'{"contents": [{"parts": [{"text": "hi"}]}]}'
    exchange = Exchange(
        Request("POST", "https://generativelanguage.googleapis.com" + PATH, {}, body),
        200,
        {},
        (),
        "complete",
    )
    save(path, [dumps(Cassette((exchange, exchange), Origin("written"))).encode()])
    with use_cassette(path, name="gemini-api/a") as tape:
        assert isinstance(tape, Playback)
        with client("httpx2", tape) as http:
            with pytest.raises(UnknownRequest) as caught:
                http.post(
                    "http://127.0.0.1:1" + PATH, json={"contents": [{"parts": [{"text": "ho"}]}]}
                )
            assert str(caught.value) == (
                "POST /v1beta/models/gemini-x:streamGenerateContent: no unused exchange of gemini-api/a answers this\n"
                "the nearest is exchange 1:\n"
                "  body.contents[0].parts[0].text: changed\n"
                '    recorded: "hi"\n'
                '    asked:    "ho"\n'
                "record the cassette again with --harness-record rewrite if this is intended"
            )
            assert http.post("http://127.0.0.1:1" + PATH, json=BODY).status_code == 200
        assert tape.problems() == ["gemini-api/a: exchange 2 was never requested"]
        assert tape.unknown == [str(caught.value)]


def test_vcrpys_own_filters_apply_to_recording_and_replay(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    options = {
        "ignore_hosts": ["localhost"],
        "filter_post_data_parameters": ["user"],
        "before_record_response": [lambda response: response],
    }

    def run(url: str, tape: Any) -> list[int]:
        with httpx2.Client(transport=transports("httpx2").sync(tape)) as http:
            return [
                http.post(host + PATH, json={"user": user, "a": 1}).status_code
                for host, user in ((url, str(id(tape))), (other, "x"))
            ]

    with raw_server(plain("200 OK", b"1")) as url:
        other = url.replace("127.0.0.1", "localhost")
        with use_cassette(path, mode="once", options=options, allow_incomplete=True) as tape:
            assert run(url, tape) == [200, 200]
        assert [
            json.loads(exchange.request.body)
            for exchange in load(path).exchanges
            if exchange.request
        ] == [{"a": 1}]
        with use_cassette(path, options=options) as tape:
            assert run("http://127.0.0.1:1", tape) == [
                200,
                200,
            ]  # the server gets the second request, as with vcrpy


def test_a_hook_decides_which_part_of_an_exchange_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"

    def before_record(exchange: Exchange) -> Exchange | None:
        asked = exchange.request.body if exchange.request else b""
        return None if b"private" in asked else replace(exchange, reason_phrase="")

    options = {"before_record": before_record}
    with (
        raw_server(plain("200 Fine", b"1")) as url,
        use_cassette(path, mode="once", options=options, allow_incomplete=True) as tape,
        httpx2.Client(transport=transports("httpx2").sync(tape)) as http,
    ):
        for word in ("private", "public"):
            http.post(url + PATH, json={"said": word})
    (kept,) = load(path).exchanges
    assert kept.request is not None
    assert (json.loads(kept.request.body), kept.reason_phrase) == ({"said": "public"}, "")
