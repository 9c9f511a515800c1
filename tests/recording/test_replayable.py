"""A cassette has everything that the recorded client needs of an answer, or the recording is
refused.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import vcr

from harness import load
from harness.recording import register
from harness.recording.cassette import Recording, use_cassette
from harness.recording.drivers.genai import http_options, import_genai
from harness.recording.policy import RecordingRefused
from harness.recording.relay import relay
from harness.recording.transport import transports
from harness.server import serve
from tests.recording.clients import LIBRARIES, _installed, client
from tests.support.need import need
from tests.support.raw_server import Script, plain, raw_server

UPLOADED = json.dumps(
    {"file": {"name": "files/f1", "uri": "https://x/files/f1", "mimeType": "text/plain"}}
).encode()


def upstream_of(url: Callable[[], str]) -> tuple[Script, Script]:
    """The two answers of a resumable upload."""

    def begin(connection: Any) -> None:
        plain(
            "200 OK",
            b"",
            "X-Goog-Upload-Status: active",
            f"X-Goog-Upload-URL: {url()}/upload/v1beta/files?upload_id=A_1-long-token&x=1",
            "X-Goog-Upload-Chunk-Granularity: 262144",
        )(connection)

    return begin, plain("200 OK", UPLOADED, "X-Goog-Upload-Status: final")


def upload(tape: Any, base_url: str, file: Path) -> str:
    options, close = http_options(tape, base_url=base_url)
    genai_client = import_genai().Client(api_key="a-key-of-mine", http_options=options)
    name = genai_client.files.upload(file=str(file), config={"mime_type": "text/plain"}).name
    close()
    return str(name)


@pytest.mark.slow
def test_an_upload_of_google_genai_is_replayed(tmp_path: Path) -> None:
    path, file, urls = tmp_path / "a.yaml", tmp_path / "f.txt", list[str]()
    file.write_text("the content")
    with raw_server(*upstream_of(lambda: urls[0])) as url:
        urls.append(url)
        with use_cassette(path, mode="once") as tape:
            assert upload(tape, url, file) == "files/f1"
    assert "A_1-long-token" not in path.read_text()
    with use_cassette(path) as tape:
        assert upload(tape, urls[0], file) == "files/f1"
    _, sent = load(path).exchanges
    assert sent.request is not None
    assert sent.request.body == b"the content"


REDIRECT = plain("307 Temporary Redirect", b"", "Location: /moved?key=secret-of-mine")
ARRIVED = plain("200 OK", b"arrived")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_redirect_is_replayed(library: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with raw_server(REDIRECT, ARRIVED) as url:
        for mode in ("once", "none"):
            with use_cassette(path, mode=mode) as tape, client(library, tape) as http:
                assert http.post(f"{url}/x", follow_redirects=True).content == b"arrived"
    assert "secret-of-mine" not in path.read_text()


def test_a_redirect_is_replayed_by_vcrpys_stubs(tmp_path: Path) -> None:
    recorder, path = vcr.VCR(), tmp_path / "a.yaml"
    register(recorder)
    with raw_server(plain("302 Found", b"", "Location: /moved?page=2"), ARRIVED) as url:
        for _ in range(2):
            with recorder.use_cassette(str(path)), urllib.request.urlopen(f"{url}/x") as answer:
                assert answer.read() == b"arrived"
    assert len(load(path).exchanges) == 2


@pytest.mark.parametrize("dropped", ["", "http:"])
def test_a_redirect_leads_back_to_the_relay_and_to_the_server(dropped: str, tmp_path: Path) -> None:
    path, urls = tmp_path / "a.yaml", list[str]()

    def redirect(connection: Any) -> None:
        location = f"{urls[0]}/moved?page=2".removeprefix(dropped)
        plain("302 Found", b"", f"Location: {location}")(connection)

    with raw_server(redirect, ARRIVED) as upstream:
        urls.append(upstream)
        for mode in ("once", "none"):
            with (
                use_cassette(path, mode=mode) as tape,
                relay(tape, upstream) as url,
                urllib.request.urlopen(f"{url}/x") as answer,
            ):
                assert (answer.read(), answer.url) == (b"arrived", f"{url}/moved?page=2")
    assert len(load(path).exchanges) == 2
    with serve(path) as server, urllib.request.urlopen(f"{server.base_url}/x") as answer:
        assert (answer.read(), answer.url) == (b"arrived", f"{server.base_url}/moved?page=2")


@pytest.mark.parametrize("dropped", ["", "http:"])
def test_the_client_follows_a_redirect_to_another_host_itself(dropped: str, tmp_path: Path) -> None:
    asked: list[Any] = []
    with (
        raw_server(asked.append) as other,
        raw_server(plain("302 Found", b"", f"Location: {other.removeprefix(dropped)}/y")) as host,
        use_cassette(tmp_path / "a.yaml", mode="once") as tape,
        relay(tape, host) as url,
        httpx.Client() as http,
    ):
        assert http.get(f"{url}/x").headers["location"] == f"{other}/y"
    assert asked == []
    assert [exchange.status for exchange in load(tmp_path / "a.yaml").exchanges] == [302]


FIRST = plain("200 OK", b"{}", "X-Next-Page: /pages/page-2", "X-Other: unused")
PAGES = FIRST, plain("200 OK", b"{}")


def by_subscript(http: Any, url: str) -> None:
    assert http.post(f"{url}/x").headers["x-next-page"].startswith("/pages")


def by_get(http: Any, url: str) -> None:
    assert http.post(f"{url}/x").headers.get("X-NEXT-PAGE") == "/pages/page-2"


def by_list(http: Any, url: str) -> None:
    assert http.post(f"{url}/x").headers.get_list("x-next-page") == ["/pages/page-2"]


def by_membership(http: Any, url: str) -> None:
    assert "X-Next-Page" in http.post(f"{url}/x").headers


def by_following(http: Any, url: str) -> None:
    headers = dict(http.post(f"{url}/x").headers)
    http.post(url + headers["x-next-page"])


def by_sending(http: Any, url: str) -> None:
    headers = dict(http.post(f"{url}/x").headers)
    http.post(f"{url}/y", json={"after": headers["x-next-page"]})


NEEDS = r"needs the header X-Next-Page of the answer of exchange 1 .* `redact = \[\"keep:x-next-page\"\]`"


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "asks", [by_subscript, by_get, by_list, by_membership, by_following, by_sending]
)
def test_a_needed_header_that_no_cassette_keeps_is_an_error(
    library: str, asks: Callable[[Any, str], None], tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("the old cassette")

    def record(url: str) -> None:
        with use_cassette(path, mode="rewrite") as tape, client(library, tape) as http:
            assert isinstance(tape, Recording)
            asks(http, url)

    with raw_server(*PAGES) as url, pytest.raises(RecordingRefused, match=NEEDS):
        record(url)
    assert path.read_text() == "the old cassette"
    (tmp_path / "pyproject.toml").write_text('[tool.harness]\nredact = ["keep:x-next-page"]\n')
    with raw_server(*PAGES) as url:
        record(url)
    assert load(path).exchanges[0].header("x-next-page") == "/pages/page-2"
    with use_cassette(path) as tape, client(library, tape) as http:
        asks(http, url)


def test_a_header_that_an_asyncio_client_needs_is_an_error(tmp_path: Path) -> None:
    need("httpx2", _installed("httpx2"), "httpx2 is not installed")
    made = transports("httpx2")

    async def record(url: str) -> None:
        with use_cassette(tmp_path / "a.yaml", mode="once") as tape:
            async with made.http.AsyncClient(transport=made.asynchronous(tape)) as http:
                assert (await http.post(url)).headers["x-next-page"]

    with raw_server(FIRST) as url, pytest.raises(RecordingRefused, match=NEEDS):
        asyncio.run(record(url))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_client_that_asks_for_links_needs_the_header(library: str, tmp_path: Path) -> None:
    linked = plain("200 OK", b"{}", 'Link: </pages/2>; rel="next"', "X-Other: unused")
    with (
        raw_server(linked) as url,
        pytest.raises(RecordingRefused, match="needs the header Link"),
        use_cassette(tmp_path / "a.yaml", mode="once") as tape,
        client(library, tape) as http,
    ):
        assert http.post(url).links["next"]["url"] == "/pages/2"


@pytest.mark.parametrize("stub", [False, True], ids=["our transport", "vcrpy's stub"])
def test_a_suite_of_vcrpy_is_refused_too(stub: bool, tmp_path: Path) -> None:
    recorder, path = vcr.VCR(), tmp_path / "a.yaml"
    register(recorder)

    def record(url: str) -> None:
        with recorder.use_cassette(str(path)):
            if not stub:
                with transports("httpx2").http.Client() as http:
                    by_subscript(http, url)
                return
            with urllib.request.urlopen(f"{url}/x", b"") as answer:
                page = answer.headers["X-Next-Page"]
            urllib.request.urlopen(url + page, b"").close()

    with raw_server(*PAGES) as url, pytest.raises(RecordingRefused, match=NEEDS):
        record(url)
    assert not path.exists()


def test_headers_that_no_client_reads_are_dropped_silently(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with (
        raw_server(*PAGES) as url,
        use_cassette(path, mode="once") as tape,
        client("httpx2", tape) as http,
    ):
        assert http.post(f"{url}/x").json() == {}
        assert http.post(f"{url}/y").headers["content-length"] == "2"
    assert load(path).exchanges[0].header("x-next-page") is None
