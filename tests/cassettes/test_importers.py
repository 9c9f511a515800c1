"""Other people's recordings: each format is told by its content, keeps its bytes, and answers
damage with a `CassetteError`.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassettes import Cassette, CassetteError, Exchange
from harness.cassettes.importers import FORMATS, read
from harness.cassettes.importers.content import Content

REPLY = (
    b'{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"finishReason":"STOP"}]}'
)
STREAM = b'data: {"candidates": [{"content": {"parts": [{"text": "H\xc3\xa9"}]}}]}\r\n\r\ndata: {"candidates": []}\r\n\r\n'
URL = "https://generativelanguage.googleapis.com/v1beta/models/m-1:generateContent"
STREAM_URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/m-1:streamGenerateContent?alt=sse"
)
PACKED = gzip.compress(STREAM, mtime=0)


def text64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def quoted(data: bytes) -> str:
    return json.dumps(data.decode(), ensure_ascii=False)


VCRPY = f"""\
interactions:
- request:
    body: '{{"contents": []}}'
    headers:
      user-agent: [google-genai-sdk/3.4.0]
    method: POST
    uri: {URL}
  response:
    body: {{string: {quoted(REPLY)}}}
    headers:
      Content-Type: [application/json]
      Date: ['Sat, 21 Nov 2026 10:00:00 GMT']
    status: {{code: 200, message: OK}}
- request:
    body: null
    headers: {{}}
    method: post
    uri: {STREAM_URL}
  response:
    body:
      string: !!binary |
        {text64(PACKED)}
    headers: {{Content-Encoding: [gzip], Content-Length: ['99']}}
    status: {{code: 200, message: OK}}
- request: {{body: '', headers: {{}}, method: POST, uri: 'https://api.example.com/v1/messages'}}
  response:
    body: {{string: {quoted(STREAM)}}}
    headers: {{content-encoding: [gzip], content-length: ['12'], x-kept: [a, b]}}
    status: {{code: 429, message: Too Many Requests}}
version: 1
""".encode()

PARSED = f"""\
interactions:
- request:
    headers:
      ? !!python/object/apply:multidict._multidict.istr
      - Accept
      : - '*/*'
    method: POST
    parsed_body:
      contents: &shared
      - parts: [{{text: "no"}}]
    uri: {URL}
  response:
    headers: {{content-length: ['731']}}
    parsed_body:
      candidates:
      - avgLogprobs: -0.25
        content: {{parts: [{{text: "Zoë \\U0001F600"}}], role: model}}
      again: *shared
    status: {{code: 200, message: OK}}
version: 1
""".encode()

OLD_HTTPX = f"""\
interactions:
- request: {{body: '', headers: {{}}, method: POST, uri: '{URL}'}}
  response: {{content: {quoted(REPLY)}, headers: {{}}, http_version: HTTP/1.1, status_code: 200}}
version: 1
""".encode()

GO_VCR = f"""\
---
version: 2
interactions:
    - id: 0
      request:
        proto: HTTP/1.1
        content_length: 15
        host: generativelanguage.googleapis.com
        body: '{{"contents":[]}}'
        headers: {{Content-Type: [application/json]}}
        url: {STREAM_URL}
        method: POST
      response:
        proto: HTTP/2.0
        content_length: -1
        uncompressed: true
        body: {quoted(STREAM)}
        headers: {{Content-Type: [text/event-stream]}}
        status: 200 OK
        code: 200
        duration: 1.5s
""".encode()

GO_VCR_1 = f"""\
version: 1
interactions:
- request: {{body: "", form: {{}}, headers: {{}}, url: '/v1/models/m-1:generateContent', host: example.com, method: POST}}
  response: {{body: {quoted(REPLY)}, headers: {{}}, status: 404 Not Found, code: 404, duration: ""}}
""".encode()

RUBY = f"""\
---
http_interactions:
- request:
    method: post
    uri: {STREAM_URL}
    body: {{encoding: UTF-8, string: '{{}}'}}
    headers: {{Expect: ['']}}
  response:
    status: {{code: 200, message: OK}}
    headers: {{Content-Type: [text/event-stream]}}
    body:
      encoding: ASCII-8BIT
      string: !binary |-
        {text64(STREAM)}
  recorded_at: Sat, 21 Nov 2026 10:00:00 GMT
recorded_with: VCR 6.4.0
""".encode()

R = f"""\
http_interactions:
- request: {{method: POST, uri: '{URL}', body: {{string: '{{}}'}}}}
  response:
    status: 200
    headers: {{content-encoding: gzip, vary: [Origin, Referer], x-number: 5}}
    body: {{string: {quoted(REPLY)}}}
  recorded_at: 2026-11-21 10:00:00
- request: {{method: GET, uri: 'https://example.com/image'}}
  response:
    status: 200
    headers: {{}}
    body: {{raw_gzip: {text64(gzip.compress(bytes(range(256)), mtime=0))}}}
  recorded_at: 2026-11-21 10:00:01
- request: {{method: GET, uri: 'https://example.com/none'}}
  response: {{status: 204, headers: {{}}}}
  recorded_at: 2026-11-21 10:00:02
recorded_with: VCR-vcr/2.1.0
""".encode()

REQ_LLM_REQUEST = {
    "body": {"b64": text64(b"{}")},
    "canonical_json": {},
    "headers": {"a": "b"},
    "method": "post",
    "url": STREAM_URL,
}
REQ_LLM = json.dumps(
    {
        "captured_at": "2026-11-21T10:00:00.5Z",
        "model_spec": "google:m-1",
        "provider": "google",
        "request": REQ_LLM_REQUEST,
        "response": {"status": 200, "headers": [["x-a", "1"], ["x-a", "2"]], "body": None},
        "chunks": [{"b64": text64(STREAM[:11]), "decoded": "…"}, {"b64": text64(STREAM[11:])}],
    }
).encode()
REQ_LLM_UNARY = json.dumps(
    {
        "request": REQ_LLM_REQUEST,
        "response": {"status": 200, "headers": {"x": ["y"]}, "body": json.loads(REPLY)},
    },
    indent=2,
).encode()
REQ_LLM_EVENTS = json.dumps(
    {
        "request": REQ_LLM_REQUEST,
        "response": {},
        "events": [
            {"type": "status", "value": 503},
            {"type": "headers", "value": {"x": "y"}},
            {"type": "data", "b64": text64(STREAM)},
            {"type": "done"},
        ],
    }
).encode()

TEST_SERVER = b"""{
  "recordID": "T.Case",
  "interactions": [
    {
      "request": {
        "method": "POST", "url": "/v1/models/m-1:streamGenerateContent?alt=sse",
        "request": "POST /v1/models/m-1:streamGenerateContent?alt=sse HTTP/1.1",
        "headers": {"Test-Name": "T"}, "bodySegments": [{"contents": []}],
        "previousRequest": "b4d6", "serverAddress": "generativelanguage.googleapis.com", "port": 443, "protocol": "https"
      },
      "shaSum": "2c1f",
      "response": {
        "statusCode": 200, "headers": {"Content-Type": "text/event-stream", "Content-Encoding": "gzip"},
        "bodySegments": [{"a": [1.10, 1E5, -0, 18446744073709551616]}, {"b": "\\u003c\\u00e9\\u2028"}]
      }
    },
    {
      "request": {"method": "POST", "url": "/v1/models/m-1:streamGenerateContent?alt=sse", "headers": {},
        "serverAddress": "example.com", "port": 8080, "protocol": "http"},
      "shaSum": "2c20",
      "response": {"statusCode": 404, "headers": {"Content-Type": "text/event-stream"}, "bodySegments": [{"error": {"code": 404}}]}
    },
    {
      "request": {"method": "POST", "url": "/v1/models/m-1:streamGenerateContent", "headers": {}, "serverAddress": "h"},
      "response": {"statusCode": 200, "headers": {"content-type": "application/json"}, "bodySegments": [{"a": 1}, {"b": 2}]}
    }
  ]
}"""

GENAI_REPLAY = b"""{"replay_id": "models/test/mldev", "interactions": [
  {"request": {"method": "post", "url": "{MLDEV_URL_PREFIX}/models/m-1:streamGenerateContent?alt=sse",
    "headers": {"x-goog-api-key": "{REDACTED}"}, "body_segments": [{"contents": []}]},
   "response": {"status_code": 200, "headers": {}, "body_segments": [{"a": 1.50}, {"b": 2}], "byte_segments": [],
    "sdk_response_segments": []}},
  {"request": {"method": "post", "url": "{VERTEX_URL_PREFIX}/publishers/google/models/m-1:generateContent", "headers": {},
    "body_segments": [null]},
   "response": {"status_code": 400, "headers": {}, "body_segments": [{"code": 400, "message": "no"}]}}
]}"""

HAR = json.dumps(
    {
        "log": {
            "version": "1.2",
            "entries": [
                {
                    "startedDateTime": "2026-11-21T10:00:01.000Z",
                    "request": {
                        "method": "POST",
                        "url": STREAM_URL,
                        "headers": [{"name": ":authority", "value": "x"}],
                    },
                    "response": {
                        "status": 200,
                        "statusText": "OK",
                        "headers": [],
                        "content": {"text": text64(STREAM), "encoding": "base64"},
                    },
                },
                {
                    "startedDateTime": "2026-11-21T11:00:00.000+02:00",
                    "request": {
                        "method": "POST",
                        "url": URL,
                        "headers": [{"name": "User-Agent", "value": "agent/1"}],
                        "postData": {"mimeType": "application/json", "text": "{}"},
                    },
                    "response": {
                        "status": 200,
                        "headers": [
                            {"name": "content-encoding", "value": "gzip"},
                            {"name": "Vary", "value": "a"},
                            {"name": "vary", "value": "b"},
                        ],
                        "content": {"mimeType": "application/json", "text": REPLY.decode()},
                    },
                },
                {
                    "startedDateTime": "2026-11-21T10:00:02.000Z",
                    "request": {"method": "GET", "url": "https://example.com/", "headers": []},
                    "response": {"status": 304, "headers": [], "content": {"size": 0}},
                },
            ],
        }
    }
).encode()


def httprr(*messages: bytes) -> bytes:
    pairs = zip(messages[::2], messages[1::2], strict=True)
    return b"httprr trace v1\n" + b"".join(
        b"%d %d\n%b%b" % (len(asked), len(given), asked, given) for asked, given in pairs
    )


ASKED = (
    f"POST {STREAM_URL} HTTP/1.1\r\nHost: h\r\nUser-Agent: Go-http-client/1.1\r\n\r\n{{}}".encode()
)
HTTPRR = httprr(
    ASKED,
    b"HTTP/2.0 200 OK\r\nVary: Origin\r\nVary: Referer\r\n\r\n" + STREAM,
    ASKED,
    b"HTTP/1.1 401 Unauthorized\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\n{\r\n}\r\n1\r\n\xff\r\n0\r\n\r\n",
)

BRAINTRUST = json.dumps(
    {
        "meta": {"createdAt": "2026-01-01T00:00:00Z"},
        "entries": [
            {
                "callIndex": 0,
                "matchKey": "POST x",
                "recordedAt": "2026-11-21T10:00:00Z",
                "request": {
                    "method": "POST",
                    "url": STREAM_URL,
                    "headers": {},
                    "body": {"kind": "json", "value": {"contents": []}},
                },
                "response": {
                    "status": 200,
                    "statusText": "OK",
                    "headers": {"content-encoding": "gzip"},
                    "body": {
                        "kind": "sse",
                        "chunks": ['data: {"a":1}', "event: done\ndata: [DONE]"],
                    },
                },
            },
            {
                "matchKey": "POST y",
                "request": {
                    "method": "POST",
                    "url": URL,
                    "body": {"kind": "binary", "path": "../../etc/passwd", "sha256": "f7"},
                },
                "response": {"status": 200, "body": {"kind": "empty"}},
            },
        ],
    }
).encode()

NOCK = json.dumps(
    [
        {"scope": "https://example.com:443", "method": "POST", "path": "/v1/models/m-1:generateContent", "status": 200,
         "body": {"contents": []}, "response": json.loads(REPLY), "rawHeaders": ["Content-Type", "application/json", "X", "1"]},
        {"scope": "http://example.com:80", "method": "POST", "path": "/a", "response": STREAM.decode(), "headers": {"x": "y"}},
        {"scope": "https://example.com:8443", "path": "/b", "status": 200, "response": [PACKED[:9].hex(), PACKED[9:].hex()],
         "rawHeaders": {"content-encoding": "gzip"}},
        {"scope": "https://example.com", "path": "/c", "response": "ff00", "responseIsBinary": True},
    ]
).encode()  # fmt: skip

SINGLE = json.dumps(
    {
        "request": {"method": "POST", "url": URL, "headers": {"a": "b"}, "body": "{}"},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {"Date": "Sat, 21 Nov 2026 10:00:00 GMT"},
            "body": REPLY.decode(),
        },
    }
).encode()
SINGLE_READS = json.dumps(
    {
        "request": {
            "url": STREAM_URL,
            "method": "POST",
            "headers": {},
            "body": "{}",
            "options": {"stream": True},
        },
        "response": {"statusCode": 200, "headers": {"vary": ["Origin"]}, "body": None},
        "chunks": [STREAM[:20].decode(), STREAM[20:].decode()],
    }
).encode()

CLI_RESPONSES = b"""{"method":"generateContentStream","response":[{"candidates":[{"index":0}]},{"usageMetadata":{"totalTokenCount":1}}]}

{"method":"generateContent","response":{"candidates": [ ]}}
{"method":"countTokens","response":{"totalTokens":7}}
{"method":"generateContentStream","response":[]}
"""

CLI_STREAM = b"""Warning: colours are off{"type":"init","timestamp":"2026-11-21T10:00:00.000Z","session_id":"s","model":"auto"}
{"type":"message","timestamp":"2026-11-21T10:00:01.000Z","role":"assistant","content":"Hi","delta":true}
not JSON \xff
{"type":"result","timestamp":"2026-11-21T10:00:02.000Z","status":"success","stats":{}}
"""

CLI_DOCUMENT = b"""{
  "session_id": "s",
  "response": "Hi",
  "stats": {"models": {"gemini-3.8-flash": {"tokens": {"prompt": 3}}}}
}
"""

BATCH_LINES = (
    b'{"key":"1","response":'
    + REPLY
    + b'}\n{"key":"2","error":{"code":429,"message":"slow down"}}\n'
)
BATCH_INLINED = (
    b'{"version":1,"batch":{"dest":{"inlined_responses":[{"response":{"candidates":[]}}]}}}'
)
BATCH_ELLMER = b'{"batch":{"done":true},"results":[{"status_code":200,"body":' + REPLY + b"}]}"

SAMPLES: dict[str, tuple[str, bytes]] = {
    "vcrpy": ("vcrpy", VCRPY),
    "vcrpy, parsed bodies": ("vcrpy", PARSED),
    "vcrpy, first httpx support": ("vcrpy", OLD_HTTPX),
    "vcrpy, byte order mark": ("vcrpy", b"\xef\xbb\xbf" + VCRPY),
    "single, byte order mark": ("single", b"\xef\xbb\xbf" + SINGLE),
    "vcrpy, nothing recorded": ("vcrpy", b"interactions: []\nversion: 1\n"),
    "go-vcr": ("go-vcr", GO_VCR),
    "go-vcr 1": ("go-vcr", GO_VCR_1),
    "vcr, ruby": ("vcr", RUBY),
    "vcr, R": ("vcr", R),
    "req_llm": ("req_llm", REQ_LLM),
    "req_llm, unary": ("req_llm", REQ_LLM_UNARY),
    "req_llm, events": ("req_llm", REQ_LLM_EVENTS),
    "test-server": ("test-server", TEST_SERVER),
    "genai-replay": ("genai-replay", GENAI_REPLAY),
    "har": ("har", HAR),
    "httprr": ("httprr", HTTPRR),
    "braintrust": ("braintrust", BRAINTRUST),
    "nock": ("nock", NOCK),
    "single": ("single", SINGLE),
    "single, reads": ("single", SINGLE_READS),
    "gemini-cli-responses": ("gemini-cli-responses", CLI_RESPONSES),
    "gemini-cli-stream-json": ("gemini-cli-stream-json", CLI_STREAM),
    "gemini-cli-json": ("gemini-cli-json", CLI_DOCUMENT),
    "gemini-cli-json, behind other lines": (
        "gemini-cli-json",
        b"Loaded cached credentials.\n" + CLI_DOCUMENT,
    ),
    "gemini-cli-json, an error": (
        "gemini-cli-json",
        b'{"session_id": "s", "error": {"type": "Error", "message": "no"}}',
    ),
    "batch": ("batch", BATCH_LINES),
    "batch, inlined": ("batch", BATCH_INLINED),
    "batch, ellmer": ("batch", BATCH_ELLMER),
    "sse": ("sse", STREAM),
    "sse, comment first, data in a carriage return": ("sse", b": ping\rdata:{}\r\r"),
    "sse, byte order mark": ("sse", b"\xef\xbb\xbf" + STREAM),
    "sse, not UTF-8": ("sse", STREAM[:50]),
    "json-array": ("json-array", b"[" + REPLY + b"\r\n,\r\n" + REPLY + b"]"),
    "json": ("json", b"\n" + REPLY),
    "json, Code Assist": ("json", b'{"response": {"candidates": []}, "traceId": "1"}'),
    "json-lines": ("json-lines", REPLY + b"\n\n" + REPLY + b"\n"),
}


def recognised(data: bytes) -> str:
    return next(known.name for known in FORMATS if known.recognises(Content(data)))


def exchanges(data: bytes) -> tuple[Exchange, ...]:
    return read(data).exchanges


def asked(exchange: Exchange) -> tuple[str, str, bytes]:
    assert exchange.request is not None
    return exchange.request.method, exchange.request.url, exchange.request.body


@pytest.mark.parametrize(("name", "data"), SAMPLES.values(), ids=SAMPLES)
def test_a_format_is_told_by_its_content(name: str, data: bytes) -> None:
    assert recognised(data) == name
    assert read(data).origin.kind == "imported"


def test_every_format_has_a_sample_and_a_name_of_its_own() -> None:
    assert sorted({name for name, _ in SAMPLES.values()}) == sorted(known.name for known in FORMATS)


def test_a_vcrpy_cassette_keeps_bytes_and_drops_only_headers_that_lie() -> None:
    first, packed, decoded = exchanges(VCRPY)
    assert (asked(first), first.body, first.status, first.reason_phrase) == (
        ("POST", URL, b'{"contents": []}'),
        REPLY,
        200,
        "OK",
    )
    assert asked(packed) == ("POST", STREAM_URL, b"")
    assert (packed.body, packed.header("content-encoding"), packed.header("Content-Length")) == (
        PACKED,
        "gzip",
        "99",
    )
    assert (decoded.status, decoded.body, decoded.headers) == (429, STREAM, {"x-kept": ["a", "b"]})
    assert {one.end for one in exchanges(VCRPY)} == {"complete"}


def test_origin_is_what_the_recording_says_of_itself() -> None:
    origin = read(VCRPY).origin
    assert (origin.date, origin.client, origin.model) == (
        "2026-11-21",
        "google-genai-sdk/3.4.0",
        "m-1",
    )
    assert (origin.source, origin.commit, origin.licence) == (None, None, None)
    assert {read(data).origin.date for data in (RUBY, R, REQ_LLM, HAR, BRAINTRUST, CLI_STREAM)} == {
        "2026-11-21"
    }
    assert read(CLI_STREAM).origin.model == "auto"
    assert (
        read(BRAINTRUST).origin.note
        == "Braintrust cassette, bodies rebuilt; bodies in other files: 1"
    )


def test_parsed_bodies_are_written_compactly_with_their_aliases_and_words() -> None:
    (exchange,) = exchanges(PARSED)
    assert asked(exchange)[2] == b'{"contents":[{"parts":[{"text":"no"}]}]}'
    expected = '{"candidates":[{"avgLogprobs":-0.25,"content":{"parts":[{"text":"Zoë 😀"}],"role":"model"}}],"again":[{"parts":[{"text":"no"}]}]}'
    assert exchange.body.decode() == expected
    assert exchange.headers == {}
    assert exchange.request is not None
    assert exchange.request.headers == {"Accept": ["*/*"]}


def test_a_cassette_in_json_reads_as_in_yaml() -> None:
    recorded = {
        "request": {"method": "POST", "uri": URL, "body": "{}"},
        "response": {"status": {"code": 200}, "body": {"string": "x"}},
    }
    assert (
        exchanges(json.dumps({"version": 1, "interactions": [recorded]}).encode())[0].body == b"x"
    )
    assert exchanges(json.dumps({"http_interactions": [recorded]}).encode())[0].body == b"x"


def test_an_old_httpx_cassette() -> None:
    (exchange,) = exchanges(OLD_HTTPX)
    assert (exchange.status, exchange.body) == (200, REPLY)


def test_go_vcr_in_two_layouts() -> None:
    (exchange,) = exchanges(GO_VCR)
    assert (asked(exchange), exchange.body) == (("POST", STREAM_URL, b'{"contents":[]}'), STREAM)
    assert (exchange.status, exchange.reason_phrase) == (200, "OK")
    (old,) = exchanges(GO_VCR_1)
    assert (asked(old)[1], old.status, old.reason_phrase) == (
        "https://example.com/v1/models/m-1:generateContent",
        404,
        "Not Found",
    )


def test_ruby_and_r_write_one_family_in_two_ways() -> None:
    (ruby,) = exchanges(RUBY)
    assert (asked(ruby), ruby.body, ruby.reason_phrase) == (
        ("POST", STREAM_URL, b"{}"),
        STREAM,
        "OK",
    )
    text, binary, none = exchanges(R)
    assert (text.body, text.headers) == (REPLY, {"vary": ["Origin", "Referer"], "x-number": ["5"]})
    assert (binary.body, none.body, none.reads, none.status) == (bytes(range(256)), b"", (), 204)


def test_req_llm_keeps_the_true_reads() -> None:
    (streamed,) = exchanges(REQ_LLM)
    assert streamed.reads == ((None, STREAM[:11]), (None, STREAM[11:]))
    assert streamed.headers == {"x-a": ["1", "2"]}
    assert exchanges(REQ_LLM_UNARY)[0].body == REPLY
    (events,) = exchanges(REQ_LLM_EVENTS)
    assert (events.status, events.headers, events.body) == (503, {"x": ["y"]}, STREAM)


def test_rebuilt_bodies_keep_every_digit() -> None:
    stream, error, array = exchanges(TEST_SERVER)
    assert (
        stream.body.decode()
        == 'data: {"a":[1.10,1E5,-0,18446744073709551616]}\r\n\r\ndata: {"b":"<é\u2028"}\r\n\r\n'
    )
    assert stream.headers == {"Content-Type": ["text/event-stream"]}
    assert (
        asked(stream)[1]
        == "https://generativelanguage.googleapis.com/v1/models/m-1:streamGenerateContent?alt=sse"
    )
    assert (asked(error)[1].split("/")[2], error.body) == (
        "example.com:8080",
        b'{"error":{"code":404}}',
    )
    assert array.body == b'[{"a":1},\r\n{"b":2}]'


def test_a_replay_file_of_google_genai() -> None:
    stream, error = exchanges(GENAI_REPLAY)
    assert (asked(stream)[1], stream.body) == (
        STREAM_URL,
        b'data: {"a":1.50}\r\n\r\ndata: {"b":2}\r\n\r\n',
    )
    assert asked(error)[1].endswith(
        "/projects/REDACTED/locations/REDACTED/publishers/google/models/m-1:generateContent"
    )
    assert (error.status, error.body, asked(error)[2]) == (
        400,
        b'{"error":{"code":400,"message":"no"}}',
        b"",
    )


def test_har_entries_come_in_start_order() -> None:
    unary, stream, none = exchanges(HAR)
    assert (unary.body, unary.headers) == (REPLY, {"Vary": ["a", "b"]})
    assert (stream.body, none.body) == (STREAM, b"")
    assert stream.request is not None
    assert stream.request.headers == {}
    assert exchanges(HAR.replace(b"+02:00", b""))[0].body == STREAM, (
        "without a common clock the file's order stands"
    )


def test_httprr_messages_are_taken_apart() -> None:
    stream, error = exchanges(HTTPRR)
    assert (asked(stream), stream.body) == (("POST", STREAM_URL, b"{}"), STREAM)
    assert stream.headers == {"Vary": ["Origin", "Referer"]}
    assert (error.status, error.reason_phrase, error.body) == (401, "Unauthorized", b"{\r\n}\xff")


def test_braintrust_bodies_by_kind() -> None:
    stream, elsewhere = exchanges(BRAINTRUST)
    assert (asked(stream)[2], stream.body) == (
        b'{"contents":[]}',
        b'data: {"a":1}\r\n\r\nevent: done\ndata: [DONE]\r\n\r\n',
    )
    assert (stream.headers, elsewhere.body, asked(elsewhere)[2]) == ({}, b"", b"")


def test_nock_bodies_by_shape() -> None:
    parsed, text, encoded, binary = exchanges(NOCK)
    assert (asked(parsed)[1], parsed.body) == (
        "https://example.com/v1/models/m-1:generateContent",
        REPLY,
    )
    assert parsed.headers == {"Content-Type": ["application/json"], "X": ["1"]}
    assert (asked(text)[1], text.body) == ("http://example.com/a", STREAM)
    assert (asked(encoded)[1], encoded.reads) == (
        "https://example.com:8443/b",
        ((None, PACKED[:9]), (None, PACKED[9:])),
    )
    assert (encoded.header("content-encoding"), binary.body) == ("gzip", b"\xff\x00")


def test_one_exchange_in_one_object() -> None:
    (exchange,) = exchanges(SINGLE)
    assert (asked(exchange), exchange.body, exchange.status) == (("POST", URL, b"{}"), REPLY, 200)
    (reads,) = exchanges(SINGLE_READS)
    assert [data for _, data in reads.reads] == [STREAM[:20], STREAM[20:]]
    for status in (
        {"status": 503},
        {"status_code": 503},
        {"statusCode": 503},
        {"status": {"code": "503"}},
    ):
        assert (
            exchanges(json.dumps({"request": {"url": "u"}, "response": status}).encode())[0].status
            == 503
        )


def test_recorded_responses_of_the_cli_are_an_exchange_a_line() -> None:
    stream, unary, count, empty = exchanges(CLI_RESPONSES)
    assert (
        stream.body
        == b'data: {"candidates":[{"index":0}]}\r\n\r\ndata: {"usageMetadata":{"totalTokenCount":1}}\r\n\r\n'
    )
    assert (stream.header("content-type"), stream.request) == ("text/event-stream", None)
    assert (unary.body, count.body, empty.body) == (b'{"candidates":[]}', b'{"totalTokens":7}', b"")
    assert empty.header("content-type") == "text/event-stream"


def test_batch_results_are_an_exchange_each() -> None:
    assert [(one.status, one.body) for one in exchanges(BATCH_LINES)] == [
        (200, REPLY),
        (429, b'{"error":{"code":429,"message":"slow down"}}'),
    ]
    assert exchanges(BATCH_INLINED)[0].body == b'{"candidates":[]}'
    assert exchanges(BATCH_ELLMER)[0].body == REPLY


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (kind, _) in SAMPLES.items()
        if kind in ("sse", "json", "json-array", "json-lines")
    ],
)
def test_a_bare_body_is_one_read_untouched(name: str) -> None:
    data = SAMPLES[name][1]
    (exchange,) = exchanges(data)
    assert (exchange.request, exchange.reads, exchange.status, exchange.end) == (
        None,
        ((None, data),),
        200,
        "unknown",
    )


def test_the_output_of_the_cli_is_one_read_with_its_noise() -> None:
    assert exchanges(CLI_STREAM)[0].reads == ((None, CLI_STREAM),)


def test_a_lone_error_was_no_200() -> None:
    assert exchanges(b'{"error": {"code": 503}}')[0].status == 503
    assert exchanges(b'[{"error": {"code": 429}}]')[0].status == 429
    assert exchanges(b'[{"candidates": []}, {"error": {"code": 429}}]')[0].status == 200


def test_a_lone_surrogate_stays_what_it_is() -> None:
    parsed = b'{"method":"generateContent","response":{"candidates":["\\ud83d",1.10]}}'
    assert exchanges(parsed)[0].body == b'{"candidates":["\\ud83d",1.1]}'
    (exchange,) = exchanges(
        rb'{"request":{"url":"https://h/\udc00"},"response":{"status":200,"headers":{"\ud800":"\ud800"},"body":"\ud800"}}'
    )
    assert (asked(exchange)[1], exchange.headers, exchange.body) == (
        "https://h/\\udc00",
        {"\\ud800": ["\\ud800"]},
        b"\xed\xa0\x80",
    )


UNREAD = {
    "the Interactions API": [
        b'{"id": "v1", "object": "interaction", "status": "completed"}',
        b'event: interaction.created\ndata: {"interaction":{"id":"v1","status":"in_progress"},"event_type":"interaction.created"}\n\n',
        b'data: {"index":0,"step":{"type":"thought"},"event_type":"step.start"}\n\n',
    ],
    "the OpenAI-compatible endpoint": [
        b'{"object": "chat.completion", "choices": []}',
        b'data: {"choices":[{"delta":{}}],"object":"chat.completion.chunk"}\n\ndata: [DONE]\n\n',
    ],
    "the Live API": [
        b'{"setup": {"model": "m"}}\n{"setupComplete": {}}\n',
        b'{"serverContent": {}, "usageMetadata": {}}',
    ],
}


@pytest.mark.parametrize(
    ("kind", "data"), [(kind, data) for kind, samples in UNREAD.items() for data in samples]
)
def test_what_is_known_and_not_read_yet_is_named(kind: str, data: bytes) -> None:
    with pytest.raises(CassetteError, match=f"looks like {kind}, which is not read yet"):
        read(data)


def test_exchanges_of_unread_kinds_inside_a_recording_are_kept() -> None:
    data = NOCK.replace(b"/v1/models/m-1:generateContent", b"/v1beta/interactions").replace(
        b'"candidates"', b'"steps"'
    )
    assert len(exchanges(data)) == 4


def test_an_event_that_nests_beyond_every_depth_is_an_event_of_the_stream() -> None:
    deep = b'data: {"candidates": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\r\n\r\n"
    (exchange,) = exchanges(deep + STREAM)
    assert exchange.body == deep + STREAM


REFUSED = {
    "there.yaml: the file is empty; restore it or record it again$": b" \n",
    "there.yaml: this is a spec or a features file, not a recording; `harness check` reads it$": b"# mine\r\n\nharness: 1\ncases: []\n",
    "text of an unknown kind, beginning 'empty'": b"empty\n",
    "an unknown kind, with 'a', 'b'": b'{"a": 1, "b": 2}',
    "JSON array of an unknown kind": b"[1]",
    "an empty JSON array": b"[]",
    "UTF-16": '{"candidates": []}'.encode("utf-16"),
    "gzip file; unpack it first": PACKED,
    "not text": b"\x89PNG\r\n\x1a\n\x00\xff",
    "not JSON at line 2, column 1: expecting value": b'{"candidates": [\n',
    "nested too deeply": b"[" * 100_000,
    "vcrpy or pytest-recording cassette, ": b"?",
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
    "a body of kind 'blob'": BRAINTRUST.replace(b'"empty"', b'"blob"'),
    "a body in encoding 'rot13'": HAR.replace(b'"base64"', b'"rot13"'),
    "definition 4: response is not hex": NOCK.replace(b"ff00", b"ff0"),
    "raw_gzip: cut short": R.replace(
        text64(gzip.compress(bytes(range(256)), mtime=0)).encode(), b"H4sIAAAAAAAC/wAA"
    ),
}


@pytest.mark.parametrize(("message", "data"), REFUSED.items(), ids=REFUSED)
def test_damage_is_an_error_that_says_where_and_what(message: str, data: bytes) -> None:
    with pytest.raises(CassetteError, match=message) as caught:
        read(data, "there.yaml")
    assert str(caught.value).startswith("there.yaml: ")


def test_aliases_that_multiply_are_refused_before_they_are_written_out() -> None:
    lines = [
        "interactions:",
        "- request: {method: POST, uri: u}",
        "  response: {status: {code: 200}, parsed_body: *a30}",
    ]
    bomb = ["x:", "- &a0 " + "y" * 1000] + [f"- &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 31)]
    with pytest.raises(CassetteError, match="with aliases expanded"):
        read("\n".join(bomb + lines).encode())


def test_what_comes_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(CassetteError, match=r"\d+ bytes; at most 99 are read"):
        read(recording.encode())


HOSTILE = [
    b"\n" * 2_000_000,
    b"data:" * 400_000,
    b'{"type":"init"' * 140_000,
    b"/models/" * 200_000,
    b"\n ? " * 500_000,
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_repetition_costs_no_more_than_length(hostile: bytes) -> None:
    for data in (hostile, b"interactions:\n" + hostile, b":" + hostile, b"data: 1\n" + hostile):
        settled(data)


def settled(data: bytes) -> Cassette | None:
    """What reading gives, None for a `CassetteError`; any other exception is a failure."""
    try:
        return read(data)
    except CassetteError:
        return None


@given(
    st.binary(max_size=300)
    | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_arbitrary_bytes_give_a_cassette_or_a_cassette_error(data: bytes) -> None:
    settled(data)


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=400)
@given(st.data())
def test_mutated_samples_give_a_cassette_or_a_cassette_error(data: st.DataObject) -> None:
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
def test_json_samples_with_any_value_replaced_give_a_cassette_or_a_cassette_error(
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
def test_every_prefix_of_a_recording_gives_a_cassette_or_a_cassette_error(name: str) -> None:
    sample = SAMPLES[name][1]
    for length in range(0, len(sample), max(1, len(sample) // 150)):
        settled(sample[:length])


def test_aliases_that_nest_a_body_beyond_every_depth_are_refused() -> None:
    """Each line is flat: what is deep is only the value that the last one stands for."""
    chain = ["x:", "- &a0 [y]"] + [f"- &a{n} [*a{n - 1}]" for n in range(1, 10_000)]
    lines = [
        "interactions:",
        "- request: {method: POST, uri: u}",
        "  response: {status: {code: 200}, parsed_body: *a9999}",
    ]
    with pytest.raises(CassetteError, match="nested too deeply to be a recording"):
        read("\n".join(chain + lines).encode())
