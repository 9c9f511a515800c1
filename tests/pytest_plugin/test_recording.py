"""Recording in a test suite: a marked test records and replays its own google-genai client, and a
replay does not use the network.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import httpcore2
import pytest
import vcr
from google import genai

import harness.project.project
import harness.recording.cassette
import harness.recording.drivers.genai
import harness.recording.stock_cassettes
from harness import load
from harness.cassettes import is_cassette
from harness.cassettes.vcrpy import export
from harness.recording.network_guard import NetworkRefused, refuse_network
from harness.recording.transport import tls_context
from harness.server import serve
from tests.recording.clients import parts_of
from tests.support.raw_server import Connection, plain, raw_server, streaming

pytestmark = pytest.mark.slow

with suppress(ImportError):
    import httpcore

    assert httpcore

assert genai
assert httpcore2
assert vcr
assert harness.project.project
assert harness.recording.drivers.genai
# imported here, since pytester drops the modules that a run imports, and would load them again for
# every test
assert harness.recording.cassette

EVENTS = [
    b'data: {"candidates": [{"content": {"parts": [{"text": "t%d"}],"role": "model"}%s,"index": 0}]}\r\n\r\n'
    % (n, b',"finishReason": "STOP"' if n == 2 else b"")
    for n in range(3)
]

WHOLE = EVENTS[0][len("data: ") :].replace(b',"index"', b',"finishReason": "STOP","index"')

FIRST = """\
import pytest
from google import genai

@pytest.mark.harness_cassette("gemini-api/first")
def test_first(harness_http_options):
    client = genai.Client(http_options=harness_http_options)
    assert [answer.text for answer in client.models.generate_content_stream(model="m", contents="hi")] == ["t0", "t1", "t2"]
"""

ASYNC = """\
import asyncio, os
import pytest
from google import genai

@pytest.mark.harness_cassette("gemini-api/async")
def test_async(harness_http_options):
    client = genai.Client(http_options=harness_http_options)

    async def run():
        texts = [answer.text async for answer in await client.aio.models.generate_content_stream(model="m", contents="hi")]
        await client.aio.aclose()
        return texts

    assert asyncio.run(run()) == ["t0", "t1", "t2"]
"""


FIVE_LINES = """\
import pytest
from google import genai
@pytest.mark.harness_cassette("gemini-api/five")
def test_five(harness_http_options):
    assert genai.Client(http_options=harness_http_options).models.generate_content(model="m", contents="hi").text == "t0"
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_HTTP_CLIENT"):
        monkeypatch.delenv(name, raising=False)
    return pytester


def record(
    suite: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    mode: str = "once",
    *arguments: str,
) -> pytest.RunResult:
    with monkeypatch.context() as patch:
        patch.setenv("GEMINI_API_KEY", "a-key-for-the-recording")
        patch.setenv("GOOGLE_GEMINI_BASE_URL", url)
        return run(suite, "--harness-record", mode, *arguments)


def run(suite: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return suite.runpytest_inprocess("-p", "no:cacheprovider", "-W", "default", *arguments)


@pytest.mark.parametrize("library", ["httpx2", "httpx"])
def test_a_first_test_is_recorded_and_replayed(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", library)
    suite.makepyfile(FIRST, test_async=ASYNC, test_five=FIVE_LINES)
    assert len(FIVE_LINES.splitlines()) == 5

    def answer(connection: Connection) -> None:
        whole = plain("200 OK", WHOLE, "Content-Type: application/json")
        (streaming(*EVENTS) if b":streamGenerateContent" in connection.request else whole)(
            connection
        )

    with raw_server(answer) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=3)
    *paths, five = sorted(suite.path.rglob("*.yaml*"), key=lambda path: "five" in path.name)
    assert {path.name for path in paths} == {"async.yaml", "first.yaml"}
    assert "a-key-for-the-recording" not in five.read_text()
    for path in paths:
        (exchange,) = load(path).exchanges
        assert [data for _, data in exchange.reads] == EVENTS
        assert "a-key-for-the-recording" not in path.read_text()
    run(suite, "-W", "error", "--harness-strict").assert_outcomes(passed=3)  # no server, no key


@pytest.mark.parametrize(
    "ending",
    [
        "raise KeyboardInterrupt",
        "pytest.exit('enough')",
        "pytest.skip('not today')",
        "pytest.xfail('known')",
    ],
)
def test_the_recording_of_a_failed_test_is_not_kept(
    ending: str, suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(FIRST + f"    {ending}\n")
    with (
        raw_server(streaming(*EVENTS)) as url,
        suppress(KeyboardInterrupt),
    ):  # pytest in this process raises it again
        record(suite, monkeypatch, url)
    path = suite.path / "cassettes" / "gemini-api" / "first.yaml"
    assert not path.exists()
    assert len(parts_of(path)) == 1


def test_a_cassette_of_another_format_names_the_import_command(suite: pytest.Pytester) -> None:
    suite.makepyfile(FIRST)
    path = suite.path / "cassettes" / "gemini-api" / "first.yaml"
    path.parent.mkdir(parents=True)
    path.write_text('{"log": {"entries": []}}')
    result = run(suite)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*first.yaml: this file is not one of our cassettes; `harness import *first.yaml -o OTHER.yaml` *"
        ]
    )


def test_a_cassette_of_vcrpy_answers_until_it_is_recorded_again(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(FIRST)
    with raw_server(streaming(*EVENTS)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
        (path,) = suite.path.rglob("*.yaml")
        stock = export(load(path))
        path.write_text(stock, encoding="utf-8")
        harness.recording.stock_cassettes._shown.clear()
        answered = run(suite)
        answered.assert_outcomes(passed=1, warnings=1)
        answered.stdout.fnmatch_lines(
            ["*first.yaml: this cassette of vcrpy is read without a conversion; *"]
        )
        run(suite, "-W", "error", "--harness-strict").assert_outcomes(passed=1)
        assert path.read_text(encoding="utf-8") == stock
        rewritten = record(suite, monkeypatch, url, mode="rewrite")
    rewritten.assert_outcomes(passed=1, warnings=1)
    rewritten.stdout.fnmatch_lines(["*is written in the format of gemini-conformance*"])
    assert is_cassette(path.read_bytes())


def test_a_cassette_is_kept_until_a_new_recording_is_complete(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(FIRST)
    with raw_server(streaming(*EVENTS)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    (path,) = suite.path.rglob("*.yaml*")
    before = path.read_bytes()
    with raw_server(streaming(*EVENTS[::-1])) as url:
        record(suite, monkeypatch, url, "once").assert_outcomes(passed=1)
        assert path.read_bytes() == before
        record(suite, monkeypatch, url, "rewrite").assert_outcomes(failed=1)
        assert path.read_bytes() == before
    with raw_server(streaming(*EVENTS)) as url:
        result = record(suite, monkeypatch, url, "rewrite")
        result.assert_outcomes(passed=1, warnings=1)
        result.stdout.fnmatch_lines(["*first.yaml.*.part was left by an earlier recording*"])
        assert path.read_bytes() != before
    assert list(suite.path.rglob("*.yaml*")) == [path]


ANY_CLIENT = """\
import os, urllib.request
import pytest

@pytest.mark.harness_cassette("gemini-api/any")
def test_any(harness_base_url):
    assert os.environ["GOOGLE_GEMINI_BASE_URL"] == harness_base_url
    url = f"{harness_base_url}/v1beta/models/m:streamGenerateContent?alt=sse"
    with urllib.request.urlopen(urllib.request.Request(url, b"{}", {"x-goog-api-key": "a-key-for-the-recording"})) as answer:
        assert answer.read().count(b"data: ") == 3
"""


def test_any_client_is_recorded_and_answered_by_its_base_url(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(ANY_CLIENT)
    with raw_server(streaming(*EVENTS)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    (path,) = suite.path.rglob("*.yaml*")
    (exchange,) = load(path).exchanges
    assert exchange.request is not None
    assert exchange.request.url == f"{url}/v1beta/models/m:streamGenerateContent?alt=sse"
    assert [data for _, data in exchange.reads] == EVENTS
    assert "a-key-for-the-recording" not in path.read_text()
    run(suite, "-W", "error", "--harness-strict").assert_outcomes(passed=1)


SESSION = """\
import asyncio, os
import pytest
from google import genai

@pytest.mark.harness_cassette("live/first")
def test_session(harness_session_url):
    assert os.environ["GOOGLE_GEMINI_BASE_URL"] == harness_session_url
    assert os.environ["SSL_CERT_FILE"] == os.environ["NODE_EXTRA_CA_CERTS"]

    async def talk():
        config = {"response_modalities": ["TEXT"]}
        live = genai.Client().aio.live
        async with live.connect(model="gemini-3.8-live", config=config) as session:
            await session.send_client_content(turns={"role": "user", "parts": [{"text": "Say hello."}]})
            return "".join([message.text or "" async for message in session.receive()])

    assert asyncio.run(talk()) == "Hello."
"""


def test_a_session_is_recorded_and_answered_by_its_address(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(SESSION)
    with serve(
        Path(__file__).parents[2] / "cassettes" / "live" / "text.yaml", tls=True, pace="instant"
    ) as provider:
        monkeypatch.setenv("SSL_CERT_FILE", str(provider.certificate))
        tls_context.cache_clear()
        record(suite, monkeypatch, provider.base_url).assert_outcomes(passed=1)
        tls_context.cache_clear()
    (path,) = suite.path.rglob("*.yaml*")
    (exchange,) = load(path).exchanges
    assert (exchange.status, exchange.end, exchange.provider) == (101, "complete", "live")
    assert "a-key-for-the-recording" not in path.read_text()
    run(suite, "-W", "error", "--harness-strict").assert_outcomes(passed=1)
    suite.makepyfile(SESSION.replace("Say hello.", "Say no."))
    other = run(suite)
    other.assert_outcomes(passed=1, errors=1)
    other.stdout.fnmatch_lines(["*clientContent.turns*Say hello.*Say no.*"])


RETRIES = """\
import pytest
from google import genai
from google.genai import types

@pytest.mark.harness_cassette("gemini-api/retries", allow_status=[503])
def test_retries(harness_http_options):
    retry = types.HttpRetryOptions(attempts=2, initial_delay=0.01, max_delay=0.02)
    client = genai.Client(http_options=harness_http_options.model_copy(update={"retry_options": retry}))
    assert client.models.generate_content(model="m", contents="hi").text == "t0"
"""


def test_retries_are_exchanges_in_start_order(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(RETRIES)
    body = b'{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}'
    json = "Content-Type: application/json"
    with raw_server(plain("503 Busy", body, json), plain("200 OK", WHOLE, json)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    (path,) = suite.path.rglob("*.yaml*")
    assert [exchange.status for exchange in load(path).exchanges] == [503, 200]
    run(suite, "-W", "error", "--harness-strict").assert_outcomes(passed=1)


def test_a_client_without_a_key_fails_at_the_line_of_the_test(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    suite.makepyfile(test_it=FIRST)
    result = run(suite, "--harness-record", "once")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *No API key was provided*",
            "E *recording needs a key (GEMINI_API_KEY, *",
            "test_it.py:*",
        ]
    )
    assert not any("_api_client.py" in line for line in result.stdout.lines)
    assert len(result.stdout.lines) < 45  # and not 190


REFUSED = """\
import pytest
from google import genai

@pytest.mark.harness_cassette("gemini-api/first")
def test_refused(harness_http_options):
    client = genai.Client(http_options=harness_http_options)
    with pytest.raises(genai.errors.ClientError):
        client.models.generate_content(model="m", contents="hi")
"""


def test_an_account_error_is_refused_unless_the_marker_allows_it(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"error": {"code": 429, "message": "no more", "status": "RESOURCE_EXHAUSTED"}}'
    suite.makepyfile(REFUSED)
    with raw_server(plain("429 Too Many Requests", body)) as url:
        result = record(suite, monkeypatch, url)
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(
            ["exchange 1 is a quota answer (429: no more)*allow the status 429*"]
        )
        suite.makepyfile(REFUSED.replace('first")', 'first", allow_status=[429])'))
        record(suite, monkeypatch, url).assert_outcomes(passed=1, warnings=1)
    run(suite).assert_outcomes(passed=1)


NOTHING_SENT = """\
import pytest

@pytest.mark.harness_cassette("gemini-api/first")
def test_nothing(harness_http_options):
    pass
"""


@pytest.mark.parametrize("mode", ["once", "rewrite"])
def test_a_test_that_sends_nothing_records_nothing_and_is_an_error(
    suite: pytest.Pytester, mode: str
) -> None:
    suite.makepyfile(NOTHING_SENT)
    result = run(suite, "--harness-record", mode)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["gemini-api/first: the test sent no request through this cassette, so nothing was*"]
    )
    assert not list(suite.path.rglob("*.yaml*"))


NO_FIXTURE = """\
import pytest

@pytest.mark.harness_cassette("gemini-api/first")
def test_without(FIXTURE):
    BODY
"""


@pytest.mark.parametrize("mode", ["none", "once", "rewrite"])
@pytest.mark.parametrize("fixture", ["", "request", "tmp_path"])
def test_a_marker_without_a_fixture_is_an_error(
    suite: pytest.Pytester, mode: str, fixture: str
) -> None:
    suite.makepyfile(NO_FIXTURE.replace("FIXTURE", fixture).replace("BODY", "pass"))
    result = run(suite, "--harness-record", mode)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_without: the marker harness_cassette does nothing without a fixture*:"
            " harness_http_options*harness_base_url*"
        ]
    )


def test_a_fixture_that_the_test_asks_for_is_enough_for_the_marker(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = "options = request.getfixturevalue('harness_http_options')"
    client = "import google.genai as g; client = g.Client(http_options=options)"
    send = "list(client.models.generate_content_stream(model='m', contents='hi'))"
    body = f"{asks}; {client}; {send}"
    suite.makepyfile(NO_FIXTURE.replace("FIXTURE", "request").replace("BODY", body))
    with raw_server(streaming(*EVENTS)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    run(suite).assert_outcomes(passed=1)


@pytest.mark.parametrize("fixture", ["", "harness_cassette"])
def test_a_misspelt_marker_and_an_ending_are_named(suite: pytest.Pytester, fixture: str) -> None:
    body = NO_FIXTURE.replace("FIXTURE", fixture).replace("BODY", "pass")
    suite.makepyfile(body.replace("mark.harness_cassette", "mark.harness_casette"))
    hint = "*test_without: unknown marker harness_casette (did you mean harness_cassette?)*"
    run(suite).stdout.fnmatch_lines([hint])
    suite.makepyfile(
        NO_FIXTURE.replace("FIXTURE", "harness_cassette").replace("first", "first.yaml")
    )
    run(suite).stdout.fnmatch_lines(
        ["*name the cassette gemini-api/first.yaml without its ending: gemini-api/first*"]
    )


def test_a_recording_of_unchanged_content_changes_no_byte(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Times, the sizes of reads and the header Date differ between two recordings."""
    suite.makepyfile(FIVE_LINES)
    texts = []
    other = WHOLE.replace(b'"index": 0', b'"index": 0,"avgLogprobs": -1')
    answers = (("1 Jun 2026", WHOLE), ("2 Jun 2026", WHOLE), ("2 Jun 2026", other))
    with raw_server(*(plain("200 OK", body, f"Date: {date}") for date, body in answers)) as url:
        for _ in answers:
            record(suite, monkeypatch, url, "rewrite").assert_outcomes(passed=1)
            texts.append((suite.path / "cassettes/gemini-api/five.yaml").read_bytes())
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]
    assert b"1 Jun" in texts[0]


LEAVES = """\
import http.client
import urllib.parse
import pytest

@pytest.mark.harness_cassette("gemini-api/first")
def test_leaves(harness_base_url):
    wire = http.client.HTTPConnection(urllib.parse.urlsplit(harness_base_url).netloc, timeout=30)
    wire.request("POST", "/v1beta/models/m:streamGenerateContent?alt=sse", b"{}")
    connection = wire.sock
    answer = wire.getresponse()
    connection.settimeout(0.3)
    with pytest.raises(TimeoutError):
        answer.read()
    wire.close()
"""


def test_a_client_of_the_relay_that_times_out_replaces_no_cassette(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(LEAVES)
    gate = threading.Semaphore(0)
    with raw_server(streaming(*EVENTS, gate=gate)) as url:
        result = record(suite, monkeypatch, url)
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(
            [
                "the answer of exchange 1 was given up, after 1 read of *: the client of the relay"
                " closed the connection; *allow_end=*aborted*"
            ]
        )
        assert not list(suite.path.rglob("*.yaml"))
        suite.makepyfile(LEAVES.replace('first")', 'first", allow_end=["aborted"])'))
        record(suite, monkeypatch, url).assert_outcomes(passed=1, warnings=1)
        gate.release(9)
    assert [load(path).exchanges[0].end for path in suite.path.rglob("*.yaml")] == ["aborted"]


PAGE = b"<!DOCTYPE html><title>Sign in</title>"


def test_an_answer_that_is_not_of_a_model_replaces_a_cassette_only_if_allowed(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(BROKEN)
    with raw_server(streaming(*EVENTS)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    (path,) = suite.path.rglob("*.yaml")
    good = path.read_bytes()
    with raw_server(plain("200 OK", PAGE)) as url:
        result = record(suite, monkeypatch, url, "rewrite")
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(
            [
                "the answer of exchange 1 is no answer of a model: status 200, '<!DOCTYPE*"
                "allow_incomplete=True*",
                "the reads so far are kept in *.harness*first.yaml.*.part; *",
            ]
        )
        assert path.read_bytes() == good
        suite.makepyfile(BROKEN.replace('first")', 'first", allow_incomplete=True)'))
        record(suite, monkeypatch, url, "rewrite").assert_outcomes(passed=1, warnings=1)
    assert load(path).exchanges[0].body == PAGE


BROKEN = """\
import pytest
from google import genai

@pytest.mark.harness_cassette("gemini-api/first")
def test_broken(harness_http_options):
    client = genai.Client(http_options=harness_http_options)
    try:
        for answer in client.models.generate_content_stream(model="m", contents="hi"):
            pass
    except Exception:
        pass  # this client makes do with what it has
"""


@pytest.mark.parametrize("end", ["cut", "reset"])
def test_an_incomplete_answer_replaces_a_cassette_only_if_allowed(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    suite.makepyfile(BROKEN)
    with raw_server(streaming(*EVENTS)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    (path,) = suite.path.rglob("*.yaml")
    good = path.read_bytes()
    with raw_server(streaming(*EVENTS[:1], end=end)) as url:
        result = record(suite, monkeypatch, url, "rewrite")
        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(
            [f"the answer of exchange 1 was {end}*before its end*allow_end=*{end}*"]
        )
        assert path.read_bytes() == good
        suite.makepyfile(BROKEN.replace('first")', f'first", allow_end=["{end}"])'))
        record(suite, monkeypatch, url, "rewrite").assert_outcomes(passed=1, warnings=1)
    assert load(path).exchanges[0].end == end
    run(suite).assert_outcomes(passed=1)


ASKS = """\
import pytest
from google import genai

@pytest.mark.harness_cassette("gemini-api/first")
def test_asks(harness_http_options):
    client = genai.Client(http_options=harness_http_options)
    for text in {texts}:
        client.models.generate_content(model="m", contents=text)
"""


def test_an_unknown_request_fails_with_its_differences(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(ASKS.format(texts=["hi"]))
    with raw_server(plain("200 OK", WHOLE)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    suite.makepyfile(ASKS.format(texts=["ho"]))
    result = run(suite)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*body.contents*parts*text: changed", '*recorded: "hi"', '*asked: *"ho"']
    )
    places = [
        line.partition(":")[0]
        for line in result.stdout.lines
        if ".py:" in line and "::" not in line
    ]
    assert places == [
        "test_an_unknown_request_fails_with_its_differences.py"
    ]  # and not twenty of the client library
    swallowed = ASKS.format(texts=["ho"]).replace(
        "client.models", "with __import__('contextlib').suppress(Exception): client.models"
    )
    suite.makepyfile(swallowed)
    result = run(suite)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(['*asked: *"ho"'])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a"], "gemini-api/first: exchange 2 was never requested"),
        (["b", "a"], "gemini-api/first: the exchanges were requested in the order 2, 1"),
    ],
)
def test_unused_or_reordered_exchanges_are_reported_and_can_fail(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, texts: list[str], message: str
) -> None:
    suite.makepyfile(ASKS.format(texts=["a", "b"]))
    with raw_server(plain("200 OK", WHOLE)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    run(suite, "--harness-strict").assert_outcomes(passed=1)
    suite.makepyfile(ASKS.format(texts=texts))
    result = run(suite)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["*test_unused_or_reordered_exchanges_are_reported_and_can_fail.py:*", f"*{message}"]
    )
    result = run(suite, "--harness-strict")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([message])
    suite.makepyfile(ASKS.format(texts=texts).replace('first")', 'first", ordered=False)'))
    outcome = run(suite, "--harness-strict")
    outcome.assert_outcomes(passed=1, errors=1 if len(texts) == 1 else 0)


def test_a_replayed_test_reaches_no_other_machine(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """\
import socket
import pytest

def test_with_ours(harness_replay):
    with pytest.raises(Exception, match="192.0.2.1 port 9 was refused: this test is replayed"):
        socket.create_connection(("192.0.2.1", 9), timeout=0.01)

@pytest.mark.harness_cassette("gemini-api/a")
def test_that_is_marked_and_lacks_the_fixture():
    with pytest.raises(Exception, match="192.0.2.1 port 9 was refused: this test is replayed"):
        socket.create_connection(("192.0.2.1", 9), timeout=0.01)

def test_without():
    with pytest.raises(OSError):
        socket.create_connection(("192.0.2.1", 9), timeout=0.01)
""".replace("lacks_the_fixture()", "asks_for_no_fixture(request)")
    )
    result = run(suite)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["*asks_for_no_fixture: the marker harness_cassette does nothing without a fixture*"]
    )


ADAPTED = """\
harness: 1
cases:
- case: told
  requirement: The text is passed on.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: a
  expect:
    agent-events: {$contains: [{$contains: {type: turn.completed}}]}
"""


def test_a_case_reaches_no_other_machine(suite: pytest.Pytester) -> None:
    for folder in ("cassettes", "specs"):
        (suite.path / folder).mkdir()
    (suite.path / "cassettes" / "a.yaml").write_bytes(EVENTS[0])
    (suite.path / "specs" / "told.yaml").write_text(ADAPTED)
    suite.makepyfile(
        mine="""\
import socket

def adapt(exchange):
    socket.create_connection(("192.0.2.1", 9), timeout=0.01)
    return []
"""
    )
    suite.makeini("[pytest]\npythonpath = .\nharness_adapters = mine: agent-events = mine:adapt\n")
    result = run(suite, "specs")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*192.0.2.1 port 9 was refused: this test is replayed, and this request does not go"
            " through its cassette*; the request is made in mine.py, line 4*"
        ]
    )


def test_a_refused_request_of_a_library_names_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As litellm reads its price list with httpx."""
    module = tmp_path / "site-packages" / "prices" / "table.py"
    module.parent.mkdir(parents=True)
    module.write_text("import httpx\ndef read():\n    httpx.get('https://prices.example/x.json')\n")
    monkeypatch.syspath_prepend(module.parents[1])
    table = import_module("prices.table")
    with refuse_network("because"), pytest.raises(Exception, match=r"prices/table\.py, line 3$"):
        table.read()


def test_only_other_machines_are_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, refuse_network("because"):
        port = server.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, port)).close()
        assert socket.getaddrinfo("192.0.2.1", 80)
        with pytest.raises(
            NetworkRefused,
            match=r"looking up generativelanguage\.googleapis\.com was refused: because",
        ):
            socket.create_connection(("generativelanguage.googleapis.com", 443))
        with (
            socket.socket() as tcp,
            pytest.raises(
                NetworkRefused, match=r"a connection to 192\.0\.2\.1 port 443 was refused: because"
            ),
        ):
            tcp.connect_ex(("192.0.2.1", 443))
        with socket.socket(type=socket.SOCK_DGRAM) as udp, pytest.raises(NetworkRefused):
            udp.sendto(b"x", ("192.0.2.1", 53))
        with socket.socket(socket.AF_INET6) as tcp, pytest.raises(NetworkRefused):
            tcp.connect(("2001:db8::1", 443))
    assert socket.getaddrinfo("127.0.0.1", 80)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("", "*the test names no cassette; mark it with @pytest.mark.harness_cassette*"),
        (
            "@pytest.mark.harness_cassette('a', mode='once')",
            "*harness_cassette takes a name, and the keywords allow_status, allow_end, allow_incomplete and ordered*",
        ),
        ("@pytest.mark.harness_cassette('../../a')", "*the name '../../a' leads out of*"),
        (
            "@pytest.mark.harness_cassette('gemini-api/none')",
            "*none.yaml does not exist; record it with --harness-record once*",
        ),
    ],
)
def test_a_missing_or_empty_marker_is_an_error(
    suite: pytest.Pytester, marker: str, message: str
) -> None:
    suite.makepyfile(f"import pytest\n{marker}\ndef test_x(harness_http_options): pass\n")
    result = run(suite)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
    assert ".py:" not in result.stdout.str().partition("= ERRORS =")[2].replace(
        "test_a_missing_or_empty_marker_is_an_error.py::", ""
    )


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize(
    "test",
    [
        "@pytest.mark.harness_cassette('a')\ndef test_x(harness_cassette): pass",
        "@pytest.mark.harness_cassette('a')\ndef test_x(harness_http_options): pass",
        "@pytest.mark.harness_cassette('a')\ndef test_x(harness_base_url): pass",
        "def test_x(harness_replay):\n    harness_replay('a')",
        "def test_x(harness_server):\n    harness_server.add('a')",
    ],
)
def test_a_damaged_cassette_is_reported_without_our_frames(
    suite: pytest.Pytester, test: str, damaged: bool
) -> None:
    suite.makepyfile(test_it=f"import pytest\n{test}\n")
    if damaged:
        (suite.path / "cassettes").mkdir()
        (suite.path / "cassettes" / "a.yaml").write_text(
            "version: 1\nmetadata:\n  harness: 1\ninteractions: 7\n"
        )
    output = run(suite).stdout.str()
    assert "a.yaml" in output
    files = {
        line.partition(":")[0]
        for line in output.splitlines()
        if ".py:" in line and "::" not in line
    }
    assert files <= {"test_it.py"}
    assert "During handling" not in output
    assert "Traceback" not in output


def test_an_unknown_mode_is_refused(suite: pytest.Pytester) -> None:
    assert run(suite, "--harness-record", "all").ret == pytest.ExitCode.USAGE_ERROR


def test_a_suite_gives_vcrpy_its_options(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makeconftest("""\
import pytest

@pytest.fixture(scope="module")
def harness_vcr_config():
    return {"before_record_response": lambda response: {**response, "headers": {"x": ["y"]}}, "filter_post_data_parameters": ["contents"]}
""")
    suite.makepyfile(FIRST)
    with raw_server(streaming(*EVENTS)) as url:
        record(suite, monkeypatch, url).assert_outcomes(passed=1)
    (path,) = suite.path.rglob("*.yaml")
    assert b"contents" not in path.read_bytes()
    run(suite).assert_outcomes(passed=1)


def test_the_fixtures_work_with_workers(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.makepyfile(FIRST, test_other=FIRST.replace("gemini-api/first", "gemini-api/other"))
    with raw_server(streaming(*EVENTS)) as url:
        monkeypatch.setenv("GEMINI_API_KEY", "a-key-for-the-recording")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url)
        result = suite.runpytest_inprocess("-n", "2", "--harness-record", "once")
    result.assert_outcomes(passed=2)
    assert {path.name for path in Path(suite.path).rglob("*.yaml")} == {"first.yaml", "other.yaml"}
