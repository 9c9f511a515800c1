"""Recordings in the formats of other tools, one for each format and layout."""

from __future__ import annotations

import base64
import gzip
import json

from harness.cassettes import Exchange
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

HTTP_RECORDER = json.dumps(
    {
        "version": 1,
        "metadata": {"name": "n"},
        "interactions": [
            {"transport": "http",
             "request": {"method": "POST", "url": STREAM_URL, "headers": {"accept": "*/*"}, "body": "{}"},
             "response": {"status": 200, "headers": {"content-type": "text/event-stream"}, "body": STREAM.decode()}},
            {"transport": "http",
             "request": {"method": "POST", "url": URL, "headers": {}, "body": ""},
             "response": {"status": 429, "headers": {"content-encoding": "gzip"}, "body": text64(PACKED), "bodyEncoding": "base64"}},
        ],
    }
).encode()  # fmt: skip

WEBSOCKET_LOG = (
    b'>26 {"setup": {"model": "m"}}\n<27 {\n  "setupComplete": {}\n}\n\n'
    b'<24 {"serverContent": "\xc3\xa9"}\n'
)
PYDANTIC_REALTIME = b"""version: 1
interactions:
- kind: message
  direction: sent
  data:
    setup: {model: m}
- kind: message
  direction: received
  at: 1.5
  data: {setupComplete: {}}
- kind: close
  code: 1011
  reason: bye
  ok: false
- kind: message
  direction: sent
  data: {setup: {}}
"""

LLM_RECORDER = json.dumps(
    {
        "meta": {"name": "n", "createdAt": "2026-11-21T10:00:00.000Z"},
        "recordings": [
            {"hash": "9c", "request": {"url": STREAM_URL, "method": "POST", "body": {"contents": []}, "timestamp": 1795255200000},
             "response": {"status": 200, "statusText": "OK", "headers": {"content-type": "text/event-stream"},
                          "chunks": [STREAM.decode()[:9], "", STREAM.decode()[9:]], "chunkTimings": [40, 2.5, 60], "isStreaming": True}},
            {"hash": "9d", "request": {"url": URL, "method": "POST", "body": {}, "timestamp": 1795255200000},
             "response": {"status": 200, "headers": {"content-length": "9"}, "body": json.loads(REPLY), "isStreaming": False}},
        ],
    }
).encode()  # fmt: skip
LLM_RECORDER_LIST = json.dumps(json.loads(LLM_RECORDER)["recordings"]).encode()

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

RIG = b"""\
when:
  path: /v1beta/models/m-1:streamGenerateContent
  method: POST
  query_param:
  - name: alt
    value: sse
  - name: key
    value: '[REDACTED]'
  header:
  - name: accept
    value: text/event-stream
  body: '{"contents":[]}'
then:
  status: 200
  header:
  - name: content-type
    value: text/event-stream
  body: "data: {\\"candidates\\":[]}\\r\\n\\r\\n"
---
when:
  path: /v1/files
  method: POST
  query_param: []
  header: []
  body_base64: /wA=
then:
  status: 429
  header: []
  body_base64: eyJlcnJvciI6eyJjb2RlIjo0Mjl9fQ==
"""

ANTHROPIC_LINES = b"""{"type":"message_start","message":{"id":"msg_1","content":[]}}
{"type":"message_delta","delta":{"stop_reason":"end_turn"}}
"""
INTERACTION_LINES = b"""{"interaction":{"id":"v1","status":"in_progress","object":"interaction"},"event_type":"interaction.created"}
{"index":0,"step":{"type":"model_output"},"event_type":"step.start"}
{"index":0,"delta":{"type":"text","text":"Hi"},"event_type":"step.delta"}
"""
COMPAT = (
    b'{"choices":[{"delta":{"content":"Hi","extra_content":{"google":{"thought":true}},'
    b'"role":"assistant"},"index":0}],"created":1,"id":"x","model":"gemini-3.8-flash",'
    b'"object":"chat.completion.chunk"}'
)

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
    "http-recorder": ("http-recorder", HTTP_RECORDER),
    "websocket-log": ("websocket-log", WEBSOCKET_LOG),
    "pydantic-realtime": ("pydantic-realtime", PYDANTIC_REALTIME),
    "llm-recorder": ("llm-recorder", LLM_RECORDER),
    "llm-recorder, older layout": ("llm-recorder", LLM_RECORDER_LIST),
    "json-lines, a WebSocket": (
        "json-lines",
        b'{"events":[{"event_type":"interaction.created","interaction_id":"v1_a"}]}\n'
        b'{"event_type":"interaction.completed"}\n',
    ),
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
    "gemini-cli-stream-json, without times": (
        "gemini-cli-stream-json",
        b'{"session_id":"s","model":"m","type":"init"}\n{"content":"Hi","role":"assistant","type":"message"}\n',
    ),
    "rig": ("rig", RIG),
    "rig, marked beginning": ("rig", b"---\n" + RIG),
    "json-lines, interactions": ("json-lines", INTERACTION_LINES),
    "sse, Anthropic": (
        "sse",
        b'event: message_start\ndata: {"type":"message_start","message":{}}\n\n',
    ),
    "json, Anthropic": ("json", b'{"type": "message", "role": "assistant", "content": []}'),
    "json-lines, Anthropic": ("json-lines", ANTHROPIC_LINES),
    "json, interaction": ("json", b'{"id": "v1", "object": "interaction", "status": "completed"}'),
    "json-array, compatible": ("json-array", b"[" + COMPAT + b"," + COMPAT + b"]"),
    "sse, compatible": ("sse", b"data: " + COMPAT + b"\n\ndata: [DONE]\n\n"),
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


def sent(exchange: Exchange) -> tuple[str, str, bytes]:
    assert exchange.request is not None
    return exchange.request.method, exchange.request.url, exchange.request.body
