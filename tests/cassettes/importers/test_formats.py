"""Importers: a format is detected from the content, and the bytes are kept."""

from __future__ import annotations

import json

import pytest

from harness.cassettes import CassetteError
from harness.cassettes.importers import FORMATS, read
from harness.cassettes.importers.content import Content
from harness.providers import with_provider
from harness.stream.websocket import read_messages
from tests.cassettes.importers.samples import (
    BATCH_ELLMER,
    BATCH_INLINED,
    BATCH_LINES,
    BRAINTRUST,
    CLI_RESPONSES,
    CLI_STREAM,
    GENAI_REPLAY,
    GO_VCR,
    GO_VCR_1,
    HAR,
    HTTP_RECORDER,
    HTTPRR,
    LLM_RECORDER,
    LLM_RECORDER_LIST,
    NOCK,
    OLD_HTTPX,
    PACKED,
    PARSED,
    PYDANTIC_REALTIME,
    REPLY,
    REQ_LLM,
    REQ_LLM_EVENTS,
    REQ_LLM_UNARY,
    RIG,
    RUBY,
    SAMPLES,
    SINGLE,
    SINGLE_READS,
    STREAM,
    STREAM_URL,
    TEST_SERVER,
    URL,
    VCRPY,
    WEBSOCKET_LOG,
    R,
    exchanges,
    recognised,
    sent,
    text64,
)


@pytest.mark.parametrize(("name", "data"), SAMPLES.values(), ids=SAMPLES)
def test_the_content_decides_the_format(name: str, data: bytes) -> None:
    assert recognised(data) == name
    assert read(data).origin.kind == "imported"


def test_every_format_has_a_sample_and_a_unique_name() -> None:
    assert sorted({name for name, _ in SAMPLES.values()}) == sorted(known.name for known in FORMATS)


def test_vcrpy_keeps_bytes_and_drops_only_contradicting_headers() -> None:
    first, packed, decoded = exchanges(VCRPY)
    assert (sent(first), first.body, first.status, first.reason_phrase) == (
        ("POST", URL, b'{"contents": []}'),
        REPLY,
        200,
        "OK",
    )
    assert sent(packed) == ("POST", STREAM_URL, b"")
    assert (packed.body, packed.header("content-encoding"), packed.header("Content-Length")) == (
        PACKED,
        "gzip",
        "99",
    )
    assert (decoded.status, decoded.body, decoded.headers) == (429, STREAM, {"x-kept": ["a", "b"]})
    assert {exchange.end for exchange in exchanges(VCRPY)} == {"complete"}


def test_the_origin_comes_from_the_recording() -> None:
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


def test_parsed_bodies_are_written_as_compact_json() -> None:
    (exchange,) = exchanges(PARSED)
    assert sent(exchange)[2] == b'{"contents":[{"parts":[{"text":"no"}]}]}'
    expected = '{"candidates":[{"avgLogprobs":-0.25,"content":{"parts":[{"text":"Zoë 😀"}],"role":"model"}}],"again":[{"parts":[{"text":"no"}]}]}'
    assert exchange.body.decode() == expected
    assert exchange.headers == {}
    assert exchange.request is not None
    assert exchange.request.headers == {"Accept": ["*/*"]}


def test_a_vcrpy_cassette_in_json_reads_as_in_yaml() -> None:
    recorded = {
        "request": {"method": "POST", "uri": URL, "body": "{}"},
        "response": {"status": {"code": 200}, "body": {"string": "x"}},
    }
    assert (
        exchanges(json.dumps({"version": 1, "interactions": [recorded]}).encode())[0].body == b"x"
    )
    assert exchanges(json.dumps({"http_interactions": [recorded]}).encode())[0].body == b"x"


def test_cassettes_of_the_first_httpx_support_are_read() -> None:
    (exchange,) = exchanges(OLD_HTTPX)
    assert (exchange.status, exchange.body) == (200, REPLY)


def test_go_vcr_has_two_layouts() -> None:
    (exchange,) = exchanges(GO_VCR)
    assert (sent(exchange), exchange.body) == (("POST", STREAM_URL, b'{"contents":[]}'), STREAM)
    assert (exchange.status, exchange.reason_phrase) == (200, "OK")
    (old,) = exchanges(GO_VCR_1)
    assert (sent(old)[1], old.status, old.reason_phrase) == (
        "https://example.com/v1/models/m-1:generateContent",
        404,
        "Not Found",
    )


def test_ruby_vcr_and_r_vcr_are_read() -> None:
    (ruby,) = exchanges(RUBY)
    assert (sent(ruby), ruby.body, ruby.reason_phrase) == (
        ("POST", STREAM_URL, b"{}"),
        STREAM,
        "OK",
    )
    text, binary, none = exchanges(R)
    assert (text.body, text.headers) == (REPLY, {"vary": ["Origin", "Referer"], "x-number": ["5"]})
    assert (binary.body, none.body, none.reads, none.status) == (bytes(range(256)), b"", (), 204)


def test_req_llm_keeps_the_network_reads() -> None:
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
        sent(stream)[1]
        == "https://generativelanguage.googleapis.com/v1/models/m-1:streamGenerateContent?alt=sse"
    )
    assert (sent(error)[1].split("/")[2], error.body) == (
        "example.com:8080",
        b'{"error":{"code":404}}',
    )
    assert array.body == b'[{"a":1},\r\n{"b":2}]'


def test_genai_replay_rebuilds_bodies_and_urls() -> None:
    stream, error = exchanges(GENAI_REPLAY)
    assert (sent(stream)[1], stream.body) == (
        STREAM_URL,
        b'data: {"a":1.50}\r\n\r\ndata: {"b":2}\r\n\r\n',
    )
    assert sent(error)[1].endswith(
        "/projects/REDACTED/locations/REDACTED/publishers/google/models/m-1:generateContent"
    )
    assert (error.status, error.body, sent(error)[2]) == (
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


def test_a_body_of_an_archive_may_be_a_list_of_reads() -> None:
    pieces = json.dumps([text64(PACKED[:9]), text64(PACKED[9:])])
    encoded = HAR.replace(json.dumps(text64(STREAM)).encode(), json.dumps(pieces).encode())
    stream = exchanges(encoded)[1]
    assert [data for _, data in stream.reads] == [PACKED[:9], PACKED[9:]]
    with pytest.raises(CassetteError, match="entry 1: not base64"):
        read(encoded.replace(b"H4s", b"!4s"))


@pytest.mark.parametrize("size", [4, 7, 50])
@pytest.mark.parametrize("ascii", [True, False])
def test_long_texts_of_an_archive_are_decoded_in_windows(
    size: int, ascii: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'data: {"a": "\\u00e9\\\\", "b": "\N{GRINNING FACE}é"}\r\n' * 9
    entries = [
        {
            "text": "no body",
            "request": {"method": "POST", "url": "https://e.com/", "postData": {"text": text}},
            "response": {"status": 200, "content": {"text": content, "encoding": encoding}},
        }
        for content, encoding in ((text, None), (text64(PACKED * 9), "base64"), ("x", None))
    ]
    data = json.dumps({"log": {"entries": entries}}, ensure_ascii=ascii).encode()
    monkeypatch.setattr("harness.cassettes.importers.content._LONG", size)
    read = exchanges(data)
    assert [exchange.body for exchange in read] == [text.encode(), PACKED * 9, b"x"]
    assert {exchange.request and exchange.request.body for exchange in read} == {text.encode()}


@pytest.mark.parametrize("size", [4, 7, 50])
def test_a_long_array_is_read_in_windows(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    body = (
        '\ufeff [ {"candidates": [{"a": "]\N{GRINNING FACE},"}]} ,\n{"candidates": [12.50]}\n] \n'
    )
    monkeypatch.setattr("harness.cassettes.importers.content._LONG", size)
    (exchange,) = exchanges(body.encode())
    assert exchange.body == body.encode()
    for damaged in (body + "x", body.replace("\n] ", "\n "), body.replace(",\n", "\n")):
        with pytest.raises(CassetteError):
            read(damaged.encode())


def test_httprr_messages_are_split() -> None:
    stream, error = exchanges(HTTPRR)
    assert (sent(stream), stream.body) == (("POST", STREAM_URL, b"{}"), STREAM)
    assert stream.headers == {"Vary": ["Origin", "Referer"]}
    assert (error.status, error.reason_phrase, error.body) == (401, "Unauthorized", b"{\r\n}\xff")


def test_braintrust_bodies_by_kind() -> None:
    stream, elsewhere = exchanges(BRAINTRUST)
    assert (sent(stream)[2], stream.body) == (
        b'{"contents":[]}',
        b'data: {"a":1}\r\n\r\nevent: done\ndata: [DONE]\r\n\r\n',
    )
    assert (stream.headers, elsewhere.body, sent(elsewhere)[2]) == ({}, b"", b"")


def test_nock_bodies_by_shape() -> None:
    parsed, text, encoded, binary = exchanges(NOCK)
    assert (sent(parsed)[1], parsed.body) == (
        "https://example.com/v1/models/m-1:generateContent",
        REPLY,
    )
    assert parsed.headers == {"Content-Type": ["application/json"], "X": ["1"]}
    assert (sent(text)[1], text.body) == ("http://example.com/a", STREAM)
    assert (sent(encoded)[1], encoded.reads) == (
        "https://example.com:8443/b",
        ((None, PACKED[:9]), (None, PACKED[9:])),
    )
    assert (encoded.header("content-encoding"), binary.body) == ("gzip", b"\xff\x00")


def test_a_single_exchange_in_an_object_is_read() -> None:
    (exchange,) = exchanges(SINGLE)
    assert (sent(exchange), exchange.body, exchange.status) == (("POST", URL, b"{}"), REPLY, 200)
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


def test_each_line_of_cli_responses_is_an_exchange() -> None:
    stream, unary, count, empty = exchanges(CLI_RESPONSES)
    assert (
        stream.body
        == b'data: {"candidates":[{"index":0}]}\r\n\r\ndata: {"usageMetadata":{"totalTokenCount":1}}\r\n\r\n'
    )
    assert (stream.header("content-type"), stream.request) == ("text/event-stream", None)
    assert (unary.body, count.body, empty.body) == (b'{"candidates":[]}', b'{"totalTokens":7}', b"")
    assert empty.header("content-type") == "text/event-stream"


def test_each_batch_result_is_an_exchange() -> None:
    assert [(exchange.status, exchange.body) for exchange in exchanges(BATCH_LINES)] == [
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
def test_a_bare_body_is_one_unchanged_read(name: str) -> None:
    data = SAMPLES[name][1]
    (exchange,) = exchanges(data)
    assert (exchange.request, exchange.reads, exchange.status, exchange.end) == (
        None,
        ((None, data),),
        200,
        "unknown",
    )


def test_cli_output_is_one_read_with_its_other_lines() -> None:
    assert exchanges(CLI_STREAM)[0].reads == ((None, CLI_STREAM),)


def test_a_lone_error_has_its_own_status() -> None:
    assert exchanges(b'{"error": {"code": 503}}')[0].status == 503
    assert exchanges(b'[{"error": {"code": 429}}]')[0].status == 429
    assert exchanges(b'[{"candidates": []}, {"error": {"code": 429}}]')[0].status == 200


def test_a_lone_surrogate_is_kept() -> None:
    parsed = b'{"method":"generateContent","response":{"candidates":["\\ud83d",1.10]}}'
    assert exchanges(parsed)[0].body == b'{"candidates":["\\ud83d",1.1]}'
    (exchange,) = exchanges(
        rb'{"request":{"url":"https://h/\udc00"},"response":{"status":200,"headers":{"\ud800":"\ud800"},"body":"\ud800"}}'
    )
    assert (sent(exchange)[1], exchange.headers, exchange.body) == (
        "https://h/\\udc00",
        {"\\ud800": ["\\ud800"]},
        b"\xed\xa0\x80",
    )


UNREAD = {
    "a session of the Live API in another format": [
        b'{"setup": {"model": "m"}}\n{"setupComplete": {}}\n',
        b'{"serverContent": {}, "usageMetadata": {}}',
        b'{"toolCall": {"functionCalls": []}}\n{"serverContent": {}}\n',
        b'{"goAway": {"timeLeft": "9s"}}\n{"serverContent": {}}\n',
        b'{"voiceActivity": {}}\n{"serverContent": {}}\n',
        b'{"usageMetadata": {}}\nnoise\n{"serverContent": {}}\n',
        b'{"client_content": {"turns": []}}',
        b'[{"setup": {}}, {"setupComplete": {}}]',
        b'[{"direction": "sent", "data": "{\\"setup\\": {}}"}]',
        b'{"version": 1, "interactions": [{"direction": "received", "body": {"goAway": {}}}]}',
        b'{"messages": [{"text": "{\\"toolCall\\": {}, \\"usageMetadata\\": {}}"}]}',
    ],
    "Decisions of the Gemini API": [
        b'{"prompt_feedback": {"block_reason": "safety"}}',
        b'{"answers": {"q": {"type": "choice", "choice": "a", "confidence": 0.5}}, "usage": {}}',
    ],
}
OPENAI = [
    b'{"object": "chat.completion", "choices": []}',
    b'data: {"choices":[{"delta":{}}],"object":"chat.completion.chunk"}\n\ndata: [DONE]\n\n',
    b'{"object": "response", "output": []}',
    b'data: {"type":"response.created","response":{"object":"response"}}\n\n',
    b'event: keepalive\ndata: {"type":"keepalive"}\n\ndata: {"type":"response.created"}\n\n',
    b'{"type":"response.created","response":{}}\n{"type":"response.completed","response":{}}\n',
]


@pytest.mark.parametrize("data", OPENAI)
def test_a_bare_body_of_openai_is_read(data: bytes) -> None:
    (exchange,) = exchanges(data)
    assert (exchange.body, with_provider(exchange).provider) == (data, "openai")


@pytest.mark.parametrize(
    ("kind", "data"), [(kind, data) for kind, samples in UNREAD.items() for data in samples]
)
def test_a_kind_that_is_not_read_yet_is_named(kind: str, data: bytes) -> None:
    with pytest.raises(CassetteError, match=f"looks like {kind}, which is not supported yet"):
        read(data)


@pytest.mark.parametrize(
    "data",
    [
        b'{"candidates": [], "serverContent": {}}',
        b'{"prompt_feedback": {"block_reason": "SAFETY"}}',
        b'{"usageMetadata": {}}\n{"candidates": []}\n',
    ],
)
def test_an_answer_that_resembles_another_kind_is_read(data: bytes) -> None:
    (exchange,) = exchanges(data)
    assert with_provider(exchange).generates


def test_http_recorder_has_text_or_base64() -> None:
    streamed, packed = exchanges(HTTP_RECORDER)
    assert (sent(streamed), streamed.body) == (("POST", STREAM_URL, b"{}"), STREAM)
    assert (packed.status, packed.body, packed.header("content-encoding")) == (429, PACKED, "gzip")


def messages(body: bytes) -> list[tuple[str, str, bytes]]:
    return [(known.side, known.kind, known.data) for known in read_messages(body)]


def test_a_log_of_an_sdk_keeps_the_bytes_of_its_messages() -> None:
    (session,) = exchanges(WEBSOCKET_LOG)
    assert (session.request, session.status, session.end) == (None, 101, "unknown")
    assert len(session.reads) == 3
    assert messages(session.body) == [
        ("client", "text", b'{"setup": {"model": "m"}}'),
        ("server", "text", b'{\n  "setupComplete": {}\n}\n'),
        ("server", "text", '{"serverContent": "\u00e9"}'.encode()),
    ]


def test_a_log_of_an_sdk_that_is_cut_keeps_the_rest() -> None:
    (session,) = exchanges(WEBSOCKET_LOG[:-9])
    assert (session.end, session.reads[-1]) == ("cut", (None, b'< {"serverContent'))


def test_a_wrong_length_in_a_log_of_an_sdk_is_an_error() -> None:
    fault = r"message 2 at byte 30: expected `>` or `<`, the number of bytes and a blank, got b'x"
    with pytest.raises(CassetteError, match=fault):
        read(WEBSOCKET_LOG.replace(b"\n<27", b"\nx<27"))


def test_a_close_of_a_realtime_cassette_ends_its_connection() -> None:
    first, second = exchanges(PYDANTIC_REALTIME)
    assert (first.end, second.end) == ("complete", "unknown")
    assert [at for at, _ in first.reads] == [None, 1500.0, None]
    assert messages(first.body) == [
        ("client", "text", b'{"setup":{"model":"m"}}'),
        ("server", "text", b'{"setupComplete":{}}'),
        ("server", "close", b"bye"),
    ]
    assert read_messages(first.body)[2].code == 1011
    assert messages(second.body) == [("client", "text", b'{"setup":{}}')]


def test_a_web_socket_of_http_recorder_is_named() -> None:
    cassette = json.loads(HTTP_RECORDER)
    opened = {"url": "wss://example.com/live", "headers": {}}
    cassette["interactions"].append({"transport": "websocket", "open": opened, "events": []})
    fault = r"interaction 3: the transport is 'websocket' \(wss://example.com/live\)"
    with pytest.raises(CassetteError, match=fault):
        read(json.dumps(cassette).encode())


def test_llm_recorder_keeps_reads_with_their_times() -> None:
    streamed, unary = exchanges(LLM_RECORDER)
    assert streamed.reads == ((40.0, STREAM[:9]), (102.5, STREAM[9:]))
    assert sent(streamed) == ("POST", STREAM_URL, b'{"contents":[]}')
    assert (unary.body, unary.headers) == (REPLY, {})
    assert read(LLM_RECORDER_LIST).origin.date == "2026-11-21"
    assert [*exchanges(LLM_RECORDER_LIST)] == [streamed, unary]


def test_exchanges_of_unread_kinds_inside_a_recording_are_kept() -> None:
    data = NOCK.replace(b"/v1/models/m-1:generateContent", b"/v1beta/interactions").replace(
        b'"candidates"', b'"steps"'
    )
    assert len(exchanges(data)) == 4


def test_a_deeply_nested_event_stays_in_the_stream() -> None:
    deep = b'data: {"candidates": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\r\n\r\n"
    (exchange,) = exchanges(deep + STREAM)
    assert exchange.body == deep + STREAM


def test_rig_has_no_host_and_may_have_bodies_in_base64() -> None:
    first, second = exchanges(RIG)
    assert sent(first) == (
        "POST",
        "/v1beta/models/m-1:streamGenerateContent?alt=sse&key=%5BREDACTED%5D",
        b'{"contents":[]}',
    )
    assert first.body == b'data: {"candidates":[]}\r\n\r\n'
    assert (sent(second)[2], second.status) == (b"\xff\x00", 429)
    assert second.body == b'{"error":{"code":429}}'
    assert with_provider(first).streamed


def test_damage_in_rig_has_its_document() -> None:
    with pytest.raises(CassetteError, match="document 2: then"):
        read(RIG.replace(b"  status: 429\n", b"  status: [1]\n"))
    with pytest.raises(CassetteError, match="document 1: line 5: "):
        read(RIG.replace(b"  method: POST\n", b"  method: [\n", 1))
    with pytest.raises(CassetteError, match=r"document 2: then\.body_base64: not base64"):
        read(RIG.replace(b"eyJl", b"=!"))


def test_a_body_behind_base64_is_its_bytes() -> None:
    packed = f'{{"request": {{"url": "{URL}", "body": "base64:e30="}}, "response": {{"status": 200, "headers": {{"content-encoding": "gzip"}}, "body": "base64:{text64(PACKED)}"}}}}'
    (exchange,) = exchanges(packed.encode())
    assert (sent(exchange)[2], exchange.body) == (b"{}", PACKED)
    assert exchange.headers == {"content-encoding": ["gzip"]}
    with pytest.raises(CassetteError, match=r"response\.body: not base64"):
        read(packed.replace("base64:H4s", "base64:!!").encode())


@pytest.mark.parametrize(
    "text",
    [
        "[]", " [ ] ", "[1]", "[1, {}]", "\n[ 1.0 ,\r\n[2]\t] \n", "[1] x", "[1,]", "[,1]", "[1 2]",
        "[1", "[1,", "[", "[[1]", '["]"]', "{}", "1", "", "\u00a0[1]", "[1]\u00a0", "[1]]", "[NaN]",
    ],
)  # fmt: skip
def test_an_array_is_known_without_keeping_its_elements(text: str) -> None:
    content = Content(text.encode())
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    assert content.is_array == (isinstance(document, list) and bool(document))
    assert content.is_array_of(lambda element: element == 1) == (document in ([1], [1.0]))
