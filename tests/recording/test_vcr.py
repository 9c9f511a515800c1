"""vcrpy suites: `register` keeps their cassettes in our format and records them with their reads."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
import vcr

from harness import load
from harness.cassettes import Cassette, CassetteError, Exchange, Origin, Request, dumps
from harness.cassettes.vcrpy import export
from harness.recording import register
from tests.recording.clients import BODY, EVENTS, PATH, part_of, wait_for
from tests.support.raw_server import plain, raw_server, streaming


@pytest.mark.slow
def test_a_vcrpy_suite_has_a_journal_until_its_cassette_is_written(
    tmp_path: Path,
) -> None:
    recorder, path, gate = (
        vcr.VCR(record_on_exception=False),
        tmp_path / "a.yaml",
        threading.Semaphore(0),
    )
    register(recorder)

    def ask(url: str, fail: bool) -> None:
        with (
            recorder.use_cassette(str(path)),
            httpx2.Client() as http,
            http.stream("POST", url + PATH, json=BODY) as response,
        ):
            for number, _ in enumerate(response.iter_raw(), 1):
                if number == 2:
                    assert b"t1" in wait_for(b"t1", path)
                gate.release()
            if fail:
                raise RuntimeError("the test failed")

    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        with pytest.raises(RuntimeError):
            ask(url, fail=True)
        assert not path.exists()
        with pytest.warns(
            UserWarning, match=r"a\.yaml\.\w+\.part was left by an earlier recording"
        ):
            ask(url, fail=False)
    assert [data for _, data in load(path).exchanges[0].reads] == EVENTS
    assert [file for file in tmp_path.rglob("a.yaml*") if file.is_file()] == [path]


@pytest.mark.slow
@pytest.mark.parametrize("awaits", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("end", ["complete", "cut", "reset"])
def test_a_suite_of_vcrpys_own_is_recorded_read_by_read(
    tmp_path: Path, awaits: bool, end: str
) -> None:
    recorder, gate, path = (
        vcr.VCR(filter_query_parameters=["alt"]),
        threading.Semaphore(0),
        tmp_path / "a.yaml",
    )
    register(recorder)
    got: list[bytes] = []

    async def arun(url: str) -> None:
        async with (
            httpx2.AsyncClient() as http,
            http.stream("POST", url + PATH, json=BODY) as response,
        ):
            async for data in response.aiter_raw():
                got.append(data)
                gate.release()

    def run(url: str) -> None:
        if awaits:
            asyncio.run(arun(url))
            return
        with httpx2.Client() as http, http.stream("POST", url + PATH, json=BODY) as response:
            for data in response.iter_raw():
                got.append(data)
                gate.release()

    def run_to_its_end(url: str) -> str | None:
        try:
            run(url)
        except httpx2.TransportError as error:
            return type(error).__name__
        return None

    with raw_server(streaming(*EVENTS, end=end, gate=gate)) as url:
        allowed = {} if end == "complete" else {"allow_end": [end]}
        if allowed:
            with (
                pytest.raises(CassetteError, match=f"was {end}.* allow_end=.'{end}'"),
                recorder.use_cassette(str(path)),
            ):
                run_to_its_end(url)
            assert not path.exists()
            part_of(path).unlink()
            got.clear()
        with recorder.use_cassette(str(path), **allowed):
            live = run_to_its_end(url)
        assert got == EVENTS
        (exchange,) = load(path).exchanges
        assert ([data for _, data in exchange.reads], exchange.end) == (EVENTS, end)
        assert exchange.request is not None
        assert exchange.request.url.endswith(":streamGenerateContent")
        before = path.read_bytes()
        with recorder.use_cassette(str(path)) as tape:
            assert run_to_its_end(url) == live
            assert tape.play_count == 1
            with pytest.raises(vcr.errors.CannotOverwriteExistingCassetteException):
                run(url)
        assert got == EVENTS * 2
        assert path.read_bytes() == before


def ask_httpx2(url: str, key: str) -> bytes:
    with httpx2.Client(headers={"x-goog-api-key": key, "user-agent": "me"}) as http:
        return http.post(
            f"{url}/v1/models/m:generateContent?key={key}", json={"access_token": key, "a": 1}
        ).content


def ask_urllib(url: str, key: str) -> bytes:
    body, headers = (
        json.dumps({"access_token": key, "a": 1}).encode(),
        {"x-goog-api-key": key, "user-agent": "me"},
    )
    with urllib.request.urlopen(
        urllib.request.Request(f"{url}/v1/models/m:generateContent?key={key}", body, headers)
    ) as answer:
        return bytes(answer.read())


@pytest.mark.slow
@pytest.mark.parametrize(
    "match_on", [None, ["method", "uri", "body", "headers"]], ids=["vcrpy's own", "all of it"]
)
@pytest.mark.parametrize("asks", [ask_httpx2, ask_urllib])
def test_a_stock_suite_finds_its_cassette_with_any_key(
    tmp_path: Path, asks: Callable[[str, str], bytes], match_on: list[str] | None
) -> None:
    recorder, path = vcr.VCR(**({"match_on": match_on} if match_on else {})), tmp_path / "a.yaml"
    register(recorder, allow_incomplete=True)
    with raw_server(plain("200 OK", b"one"), plain("200 OK", b"two")) as url:
        for key in ("the-key-of-mine", "another-key"):
            with recorder.use_cassette(str(path)) as tape:
                assert asks(url, key) == b"one"
        with (
            recorder.use_cassette(str(path)),
            pytest.raises(vcr.errors.CannotOverwriteExistingCassetteException) as caught,
        ):
            asks(f"{url}/other", "another-key")
        plainly = tmp_path / "plain.yaml"
        plainly.write_text(export(load(path)))
        with vcr.VCR(filter_query_parameters=[("key", "REDACTED")]).use_cassette(
            str(plainly)
        ) as tape:
            assert asks(url, "another-key") == b"one"
            assert tape.play_count == 1
    closest = str(caught.value).partition("Closest")[2]
    assert "/other/" in closest
    assert "another-key" not in closest  # only the path differs
    assert "-key" not in path.read_text().replace("x-goog-api-key", "")


def test_a_cassette_with_a_serializer_of_vcrpys_own_stays_vcrpys(tmp_path: Path) -> None:
    recorder, path = vcr.VCR(), tmp_path / "a.json"
    register(recorder)
    with raw_server(plain("200 OK", b"one")) as url:
        for _ in range(2):
            with recorder.use_cassette(str(path), serializer="json"), httpx2.Client() as http:
                assert http.post(url, json=BODY).content == b"one"
    assert json.loads(path.read_text())["interactions"][0]["response"]["status"]["code"] == 200
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


STOCK = """\
interactions:
- request: {method: GET, uri: http://h/, body: "", headers: {Accept: [a]}}
  response: {status: {code: 200, message: OK}, headers: {}, body: {string: x}}
version: 1
"""


@pytest.mark.parametrize(
    ("part", "damaged"),
    [
        ('body: ""', "body: 5"),
        ("{Accept: [a]}", "{Accept: 5}"),
        ("{Accept: [a]}", "[a]"),
        ("{code: 200, message: OK}", "5"),
    ],
)
def test_a_damaged_cassette_of_stock_vcrpy_is_an_error(
    tmp_path: Path, part: str, damaged: str
) -> None:
    recorder, path = vcr.VCR(record_mode="none"), tmp_path / "a.yaml"
    register(recorder)
    path.write_text(STOCK.replace(part, damaged), encoding="utf-8")
    opened = recorder.use_cassette(str(path))
    with pytest.raises(CassetteError, match=r"a\.yaml: this cassette of vcrpy can't be read"):
        opened.__enter__()


def test_a_header_without_a_value_is_dropped(tmp_path: Path) -> None:
    recorder, path = vcr.VCR(record_mode="none"), tmp_path / "a.yaml"
    register(recorder)
    request = Request("GET", "http://h/", {"accept": []}, b"")
    exchange = Exchange(request, 200, {"server": []}, (), "complete")
    path.write_text(dumps(Cassette((exchange,), Origin("written"))), encoding="utf-8")
    with recorder.use_cassette(str(path)) as tape:
        assert [dict(sent.headers) for sent in tape.requests] == [{}]


@pytest.mark.slow
def test_vcrpys_decorator_opens_the_same_cassette(tmp_path: Path) -> None:
    recorder = vcr.VCR(cassette_library_dir=str(tmp_path))
    register(recorder)

    @recorder.use_cassette("a.yaml")  # type: ignore[untyped-decorator]  # vcrpy has no types
    def ask(url: str) -> bytes:
        with httpx2.Client() as http:
            return http.post(url, json=BODY).content

    with raw_server(plain("200 OK", b"one"), plain("200 OK", b"two")) as url:
        assert [ask(url), ask(url)] == [b"one", b"one"]
