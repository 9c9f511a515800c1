"""A suite recorded by stock pytest-recording works with `register`, before and after its cassettes
are recorded again or imported.
"""

from __future__ import annotations

import gzip
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.cassettes import is_cassette
from harness.cassettes.load import load
from harness.cli.main import main
from harness.recording.stock_cassettes import is_stock

pytestmark = pytest.mark.slow

CONFTEST = """
import pytest
from harness.recording import register

def pytest_recording_configure(config, vcr):
    register(vcr)
"""

SUITE = """
import asyncio, gzip, json, urllib.parse, urllib.request
import aiohttp, httpx, httpx2, pytest, requests

URL = {url!r}
TEXT = json.dumps({{"contents": [{{"parts": [{{"text": "hé"}}]}}]}})

def by_urllib(path, data, headers):
    with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers)) as answer:
        body = answer.read()
    return gzip.decompress(body) if path == "/gzip" else body

def by_requests(path, data, headers):
    return requests.post(URL + path, data=data, headers=headers).content

def by_httpx(path, data, headers):
    return httpx.post(URL + path, content=data, headers=headers).content

def by_httpx2(path, data, headers):
    with httpx2.Client() as client:
        with client.stream("POST", URL + path, content=data, headers=headers) as response:
            return b"".join(response.iter_bytes())

def by_aiohttp(path, data, headers):
    async def ask():
        async with aiohttp.ClientSession() as session:
            given = {{"json": json.loads(data)}} if data == TEXT.encode() else {{"data": data}}
            async with session.request("post", URL + path, headers=headers, **given) as response:
                return await response.read()
    return asyncio.run(ask())

@pytest.mark.vcr
@pytest.mark.parametrize("ask", [by_urllib, by_requests, by_httpx, by_httpx2, by_aiohttp])
@pytest.mark.parametrize(("path", "data", "expected"), [
    ("/json?key=my-own-key", TEXT.encode(), b'{{"text": "hi"}}'),
    ("/gzip", b"a=1&b=2", b"packed " * 20),
    ("/bytes", b"\\xff\\x00", b"\\xff\\xfe\\x00binary"),
    ("/stream", b"", b"data: 1\\r\\n\\r\\ndata: h\\xc3\\xa9\\r\\n\\r\\n"),
], ids=["json", "gzip", "bytes", "stream"])
def test_asks(ask, path, data, expected):
    headers = {{"Content-Type": "text/plain", "Accept-Encoding": "gzip"}}
    assert ask(path, data, headers) == expected
"""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        self.rfile.read(size)
        kind, coding = "application/octet-stream", ""
        match self.path.partition("?")[0]:
            case "/gzip":
                body, coding = gzip.compress(b"packed " * 20, mtime=0), "gzip"
            case "/bytes":
                body = b"\xff\xfe\x00binary"
            case "/stream":
                body, kind = "data: 1\r\n\r\ndata: hé\r\n\r\n".encode(), "text/event-stream"
            case _:
                body, kind = b'{"text": "hi"}', "application/json"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if coding:
            self.send_header("Content-Encoding", coding)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def upstream(port: int) -> Iterator[int]:
    """A loopback server on this port; 0 means any port."""
    socketserver.TCPServer.allow_reuse_address = True
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        yield server.server_port
        server.shutdown()


def run(pytester: pytest.Pytester, *arguments: str) -> str:
    """The output of a run in which all 20 tests pass."""
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q", *arguments)
    result.assert_outcomes(passed=20, warnings=result.parseoutcomes().get("warnings", 0))
    return str(result.stdout)


def cassettes(pytester: pytest.Pytester) -> list[Path]:
    return sorted((pytester.path / "cassettes").rglob("*.yaml"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes | int]:
    """The cassettes that the suite has without our plugin, by path, and the port of its server."""
    return {}


@pytest.fixture
def port(pytester: pytest.Pytester, recorded: dict[str, bytes | int]) -> int:
    """The suite with its 20 stock cassettes; its server is stopped. Recorded once."""
    (pytester.path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    if not recorded:
        with upstream(0) as free:
            write_suite(pytester, free)
            run(pytester, "--record-mode=once")
        recorded["port"] = free
        for path in cassettes(pytester):
            recorded[str(path.relative_to(pytester.path))] = path.read_bytes()
    port = recorded["port"]
    assert isinstance(port, int)
    write_suite(pytester, port)
    for name, data in recorded.items():
        if isinstance(data, bytes):
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    assert len(cassettes(pytester)) == 20
    assert all(is_stock(path.read_bytes()) for path in cassettes(pytester))
    return port


def write_suite(pytester: pytest.Pytester, port: int) -> None:
    pytester.makepyfile(test_suite=SUITE.format(url=f"http://127.0.0.1:{port}"))


MATCHED = """
@pytest.fixture(scope="module")
def vcr_config():
    return {"match_on": ["method", "uri", "body"]}
"""


@pytest.mark.parametrize("config", ["", MATCHED], ids=["matched as usual", "matched by bodies"])
def test_stock_cassettes_work_as_they_are(
    pytester: pytest.Pytester, port: int, config: str
) -> None:
    pytester.makeconftest(CONFTEST + config)
    before = {path: path.read_bytes() for path in cassettes(pytester)}
    output = run(pytester)
    assert output.count("this cassette of vcrpy is read without a conversion") == 1
    assert {path: path.read_bytes() for path in cassettes(pytester)} == before
    run(pytester, "-W", "error")


def test_stock_cassettes_are_recorded_again_in_our_format(
    pytester: pytest.Pytester, port: int
) -> None:
    pytester.makeconftest(CONFTEST)
    with upstream(port):
        output = run(pytester, "--record-mode=rewrite")
    assert output.count("is written in the format of gemini-conformance") == 1
    assert all(is_cassette(path.read_bytes()) for path in cassettes(pytester))
    assert len(cassettes(pytester)) == 20
    assert "read without a conversion" not in run(pytester)


def test_new_requests_are_added_to_a_stock_cassette_in_our_format(
    pytester: pytest.Pytester, port: int
) -> None:
    pytester.makeconftest(CONFTEST)
    path = next(path for path in cassettes(pytester) if "json-by_aiohttp" in path.name)
    more = 'ask("/stream?more", data, headers)\n    assert ask(path'
    test = (pytester.path / "test_suite.py").read_text(encoding="utf-8")
    (pytester.path / "test_suite.py").write_text(
        test.replace("assert ask(path", more), encoding="utf-8"
    )
    with upstream(port):
        output = run(pytester, "--record-mode=new_episodes")
    assert "read without a conversion" in output
    assert "is written in the format of gemini-conformance" in output
    first, second = load(path).exchanges
    assert first.request is not None
    assert second.request is not None
    assert first.request.body == second.request.body != b""
    assert second.request.url.endswith("/stream?more")
    run(pytester)


def test_a_suite_passes_after_an_import_in_place(
    pytester: pytest.Pytester, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(CONFTEST)
    monkeypatch.chdir(pytester.path)
    assert main(["import", "--in-place", "cassettes"]) == 0
    assert all(is_cassette(path.read_bytes()) for path in cassettes(pytester))
    assert "read without a conversion" not in run(pytester)


CONFIG_JSON = """
@pytest.fixture(scope="module")
def vcr_config():
    return {"serializer": "json"}
"""
TEXTS = ("-k", "not bytes and not gzip")
"""The tests whose answers stock vcrpy can write as JSON."""


def test_a_suite_with_vcrpys_json_serializer_works(pytester: pytest.Pytester, port: int) -> None:
    pytester.makeconftest(CONFIG_JSON.replace("@", "import pytest\n\n@", 1))
    arguments = ("-p", "no:cacheprovider", "-q", *TEXTS)
    with upstream(port):
        stock = pytester.runpytest_subprocess(*arguments, "--record-mode=once")
        stock.assert_outcomes(passed=10, deselected=10)
    paths = list((pytester.path / "cassettes").rglob("*.json"))
    assert len(paths) == 10
    pytester.makeconftest(CONFTEST + CONFIG_JSON)
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=10, deselected=10)
    for path in paths:  # the same cassettes without the option
        path.rename(path.with_suffix(".yaml"))
    pytester.makeconftest(CONFTEST)
    again = pytester.runpytest_subprocess(*arguments, "-W", "error")
    again.assert_outcomes(passed=10, deselected=10)


def test_further_cassettes_of_a_marker_are_read(pytester: pytest.Pytester, port: int) -> None:
    pytester.makeconftest(CONFTEST)
    extra = next(path for path in cassettes(pytester) if "stream-by_urllib" in path.name)
    pytester.makepyfile(
        test_extra=f"""
import urllib.request, pytest

@pytest.mark.vcr({str(extra)!r})
def test_extra():
    with urllib.request.urlopen("http://127.0.0.1:{port}/stream", b"") as answer:
        assert answer.read().startswith(b"data: 1")
"""
    )
    pytester.runpytest_subprocess("-q", "test_extra.py").assert_outcomes(passed=1, warnings=1)
