"""Importers: a damaged or hostile file is a `CassetteError` with its place and reason."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassettes import Cassette, CassetteError
from harness.cassettes.importers import read
from tests.cassettes.importers.samples import (
    ASKED,
    BRAINTRUST,
    CLI_RESPONSES,
    HAR,
    HTTPRR,
    NOCK,
    PACKED,
    REPLY,
    REQ_LLM,
    SAMPLES,
    SINGLE,
    STREAM,
    STREAM_URL,
    VCRPY,
    R,
    exchanges,
    httprr,
    text64,
)

REFUSED = {
    "there.yaml: the file is empty; restore it or record it again$": b" \n",
    "there.yaml: this is a spec or a features file, not a recording; `harness check` reads it$": b"# mine\r\n\nharness: 1\ncases: []\n",
    "text of an unknown kind, which begins with 'empty'": b"empty\n",
    "an unknown kind, with 'a', 'b'": b'{"a": 1, "b": 2}',
    "JSON array of an unknown kind": b"[1]",
    "an empty JSON array": b"[]",
    "UTF-16": '{"candidates": []}'.encode("utf-16"),
    "gzip file; unpack it first": PACKED,
    "not text": b"\x89PNG\r\n\x1a\n\x00\xff",
    "not JSON at line 2, column 1: expecting value": b'{"candidates": [\n',
    "nested too deeply": b"[" * 100_000,
    "`harness import --help` lists the [0-9]+ known formats, and --provider names the provider": b'{"choices": [{"message": {}}]}',
    "interactions in YAML that can't be read: line 4": b"interactions:\n- request: {}\n  response: [\n",
    "interaction 1: response is missing; required keys are request, response; the file is cut short or was changed by hand$": (
        b"interactions:\n- request: {uri: u, method: GET}\n"
    ),
    "interaction 1: request.method is missing; required keys are method, uri; the file is cut short": b"interactions:\n- request: {uri: u}\n",
    "interaction 2: request.uri must be a string, not a list; the file is": VCRPY.replace(
        b"uri: " + STREAM_URL.encode(), b"uri: [1]"
    ),
    "interaction 3: response.status.code must be 999 or less; the file is": VCRPY.replace(
        b"code: 429", b"code: 4290"
    ),
    "httprr log: line 2 .byte 16.: the exchange ends at byte": HTTPRR[:200],
    "expected two lengths": HTTPRR + b"x",
    "not a request line": httprr(b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"),
    "not a status line": httprr(ASKED, b"hello\r\n\r\n"),
    "the headers of this message have no end": httprr(ASKED, b"HTTP/1.1 200 OK\r\n"),
    "expected a length in hexadecimal": httprr(
        ASKED, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz"
    ),
    "read 1: not base64": REQ_LLM.replace(text64(STREAM[:11]).encode(), b"=!"),
    "line 3 of the recorded responses: not JSON": CLI_RESPONSES.replace(b"[ ]", b"["),
    "line 2 of the batch results": b'{"key":"1","response":{}}\n{"key":"2"}\n',
    "line 3 of the responses: not JSON at column 2: expecting property": REPLY + b"\n\n{\n",
    "headers must be a mapping or a list, not 7$": VCRPY.replace(
        b"{content-encoding: [gzip], content-length: ['12'], x-kept: [a, b]}", b"7"
    ),
    "interaction 1: base64_string: the value must be a string, not a whole number; the file is": (
        b"interactions:\n- request: {uri: u, method: GET, body: {base64_string: 5}}\n  response: {status: {code: 200}}\n"
    ),
    r"response.status: expected a number, not '\\ud800'; the file is": SINGLE.replace(
        b": 200", rb': "\ud800"'
    ),
    "event 1: bytes in an event of type 'piece', which is not read": (
        b'{"request": {"canonical_json": {}, "method": "POST", "url": "u"}, "response": {},'
        b' "events": [{"type": "piece", "b64": "SGk="}]}'
    ),
    r"entry 1: a WebSocket with 1 messages \(wss://x\), which are not read; remove this entry": (
        b'{"log": {"entries": [{"request": {"method": "GET", "url": "wss://x"}, "response":'
        b' {"status": 101}, "_webSocketMessages": [{"type": "send", "data": "{}"}]}]}}'
    ),
    "a body of kind 'blob'": BRAINTRUST.replace(b'"empty"', b'"blob"'),
    "a body in encoding 'rot13'": HAR.replace(b'"base64"', b'"rot13"'),
    "definition 4: response is not hex": NOCK.replace(b"ff00", b"ff0"),
    "raw_gzip: cut short": R.replace(
        text64(gzip.compress(bytes(range(256)), mtime=0)).encode(), b"H4sIAAAAAAAC/wAA"
    ),
}


@pytest.mark.parametrize(("message", "data"), REFUSED.items(), ids=REFUSED)
def test_damage_is_an_error_with_place_and_reason(message: str, data: bytes) -> None:
    with pytest.raises(CassetteError, match=message) as caught:
        read(data, "there.yaml")
    assert str(caught.value).startswith("there.yaml: ")


_SENT = b'"request": {"method": "POST", "url": "u", "uri": "u"'
_UNREAD = {
    "`response.sse_text`": b'{%s}, "response": {"status": 200, "sse_text": "data: {}"}}' % _SENT,
    "`response.sse_events`": (
        b'{%s}, "response": {"status": 200, "sse_events": [{"data": "{}"}]}}' % _SENT
    ),
    "`events`": b'{%s}, "response": {"status": 200}, "events": ["data: {}"]}' % _SENT,
    "`response.sse`": (
        b'{"interactions": [{%s}, "response": {"status": {"code": 200}, "sse": "data"}}]}' % _SENT
    ),
    "a body with `events`": (
        b'{"interactions": [{%s}, "response": {"status": {"code": 200},'
        b' "body": {"events": ["data"], "encoding": "utf-8"}}}]}' % _SENT
    ),
    "`response.content.raw`": (
        b'{"log": {"entries": [{%s}, "response": {"status": 200, "content": {"raw": "d"}}}]}}'
        % _SENT
    ),
    "`response.text`": (
        b'{"version": 1, "interactions": [{"transport": "http", "request": {"method": "POST",'
        b' "url": "u"}, "response": {"status": 200, "text": "data: {}"}}]}'
    ),
    "`then.text`": b"when:\n  path: /a\nthen:\n  status: 200\n  text: Hi\n",
    "`answer`": b'[{"scope": "https://x", "path": "/a", "answer": ["data: {}"]}]',
    "`response.data`": (
        b'{"request": {"canonical_json": {}, "method": "POST", "url": "u"},'
        b' "response": {"status": 200, "data": "Hi"}}'
    ),
    "`response.pieces`": (
        b'[{"hash": "9", %s}, "response": {"status": 200, "isStreaming": true, "pieces": ["d"]}}]'
        % _SENT
    ),
}


@pytest.mark.parametrize(("key", "data"), _UNREAD.items(), ids=_UNREAD)
def test_an_answer_under_a_key_that_is_not_read_is_refused(key: str, data: bytes) -> None:
    with pytest.raises(CassetteError, match=f"{key}, which is not read"):
        read(data)


def test_an_answer_without_a_body_is_not_complete() -> None:
    for status, end in ((200, "unknown"), (204, "complete")):
        (exchange,) = read(
            b'{%s}, "response": {"status": %d, "type": "x"}}' % (_SENT, status)
        ).exchanges
        assert (exchange.body, exchange.end) == (b"", end)


def test_multiplying_aliases_are_refused_before_expansion() -> None:
    lines = [
        "interactions:",
        "- request: {method: POST, uri: u}",
        "  response: {status: {code: 200}, parsed_body: *a30}",
    ]
    bomb = ["x:", "- &a0 " + "y" * 1000] + [f"- &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 31)]
    with pytest.raises(CassetteError, match="with aliases expanded"):
        read("\n".join(bomb + lines).encode())


def test_too_large_recordings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = text64(gzip.compress(bytes(6000), mtime=0))
    recording = f"http_interactions:\n- &one\n  request: {{method: GET, uri: u}}\n  response: {{status: 200, body: {{raw_gzip: {packed}}}}}\n"
    assert len(exchanges(recording.encode() + b"- *one\n" * 2)) == 3
    monkeypatch.setattr("harness.cassettes.importers.build.MAX_BYTES", 20_000)
    with pytest.raises(CassetteError, match="exchange 3: the recording has more than 20000 bytes"):
        read(recording.encode() + b"- *one\n" * 2)
    monkeypatch.setattr("harness.cassettes.importers.ruby_vcr.MAX_BYTES", 5999)
    with pytest.raises(CassetteError, match="raw_gzip: cut short, or more than 5999 bytes"):
        read(recording.encode())
    monkeypatch.setattr("harness.cassettes.importers.MAX_BYTES", 99)
    with pytest.raises(CassetteError, match=r"\d+ bytes; the limit is 99"):
        read(recording.encode())


HOSTILE = [
    b"\n" * 2_000_000,
    b"data:" * 400_000,
    b'{"type":"init"' * 140_000,
    b"/models/" * 200_000,
    b"\n ? " * 500_000,
]


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.slow
def test_repetitive_input_ends_quickly(hostile: bytes) -> None:
    for data in (hostile, b"interactions:\n" + hostile, b":" + hostile, b"data: 1\n" + hostile):
        settled(data)


def settled(data: bytes) -> Cassette | None:
    """The cassette; None for a `CassetteError`. Any other exception is a failure."""
    try:
        return read(data)
    except CassetteError:
        return None


@pytest.mark.slow
@given(
    st.binary(max_size=300)
    | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_arbitrary_bytes_give_a_cassette_or_an_error(data: bytes) -> None:
    settled(data)


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=400)
@given(st.data())
@pytest.mark.slow
def test_mutated_samples_give_a_cassette_or_an_error(data: st.DataObject) -> None:
    _, sample = data.draw(st.sampled_from(list(SAMPLES.values())))
    start = data.draw(st.integers(0, len(sample)))
    end = min(len(sample), start + data.draw(st.integers(0, 40)))
    patch = data.draw(
        st.binary(max_size=6)
        | JSON_VALUES.map(lambda value: json.dumps(value).encode())
        | st.just(sample[end : end + 40])
    )
    settled(sample[:start] + patch + sample[end:])


@settings(max_examples=300)
@given(st.data())
@pytest.mark.slow
def test_any_value_replaced_gives_a_cassette_or_an_error(
    data: st.DataObject,
) -> None:
    sample = data.draw(
        st.sampled_from(
            [
                sample
                for _, sample in SAMPLES.values()
                if sample[:1] in b"{[" and b"\n{" not in sample
            ]
        )
    )
    document = json.loads(sample)
    inside: Any = document
    while isinstance(inside, dict | list) and inside:
        key = data.draw(
            st.sampled_from(sorted(inside) if isinstance(inside, dict) else range(len(inside)))
        )
        if not isinstance(inside[key], dict | list) or not inside[key] or data.draw(st.booleans()):
            inside[key] = data.draw(JSON_VALUES)
            break
        inside = inside[key]
    settled(json.dumps(document).encode())


@pytest.mark.parametrize("name", SAMPLES)
def test_every_prefix_gives_a_cassette_or_an_error(name: str) -> None:
    sample = SAMPLES[name][1]
    for length in range(0, len(sample), max(1, len(sample) // 150)):
        settled(sample[:length])


@pytest.mark.slow
def test_deeply_nested_aliases_are_refused() -> None:
    """Each line is flat. Only the value of the last alias is deep."""
    chain = ["x:", "- &a0 [y]"] + [f"- &a{n} [*a{n - 1}]" for n in range(1, 10_000)]
    lines = [
        "interactions:",
        "- request: {method: POST, uri: u}",
        "  response: {status: {code: 200}, parsed_body: *a9999}",
    ]
    with pytest.raises(CassetteError, match="nested too deeply to be a recording"):
        read("\n".join(chain + lines).encode())
