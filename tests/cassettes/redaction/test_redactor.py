"""The redactor replaces secret values with their place and keeps every other byte."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate, pairwise
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassettes.redaction.guard import FoundSecret, Guard
from harness.cassettes.redaction.redactor import Redactor, redact_request
from harness.pipeline.request_index import RequestIndex
from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, Request
from harness.stream.websocket import read_messages

URL = "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent"


def exchange(*reads: bytes, **headers: str) -> Exchange:
    return Exchange(
        None,
        200,
        {name.replace("_", "-"): [value] for name, value in headers.items()},
        tuple((1.0, read) for read in reads),
    )


def redacted(body: bytes, *rules: str) -> bytes:
    return Redactor(rules).body(body)


URLS = [
    (f"{URL}?alt=sse&key=abc", f"{URL}?alt=sse&key=REDACTED"),
    (f"{URL}?KEY=abc&alt=s%73e", f"{URL}?KEY=REDACTED&alt=s%73e"),
    (
        f"{URL}?sig=a&Signature=b&auth=c&api-key=d",
        f"{URL}?sig=REDACTED&Signature=REDACTED&auth=REDACTED&api-key=REDACTED",
    ),
    (f"{URL}?%6bey=abc", f"{URL}?%6bey=REDACTED"),
    (f"{URL}?api%5Fkey=a&access_token=b", f"{URL}?api%5Fkey=REDACTED&access_token=REDACTED"),
    ("https://me:password@host/a?b", "https://REDACTED@host/a?b"),
    ("https://host/cb#access_token=abc&state=1", "https://host/cb#access_token=REDACTED&state=1"),
    ("https://host/#/cb?a=1?&access_token=abc", "https://host/#/cb?a=1?&access_token=REDACTED"),
    ("https://host/#/cb?access_token=abc", "https://host/#/cb?access_token=REDACTED"),
    (
        "https://storage.googleapis.com/o?X-Goog-Signature=abc&X-Goog-Date=1",
        "https://storage.googleapis.com/o?X-Goog-Signature=REDACTED&X-Goog-Date=1",
    ),
    (f"{URL}?pageToken=abc&keys=1&key", f"{URL}?pageToken=abc&keys=1&key"),
    ("HTTPS://Host/a?", "HTTPS://Host/a?"),
    ("http://[bad?key=1", "http://[bad?key=1"),
]


def test_a_session_is_redacted_and_keeps_its_messages() -> None:
    session = Exchange(
        Request(
            "GET", "wss://host/ws/a.BidiGenerateContentConstrained?access_token=auth_tokens/a&key=b"
        ),
        101,
        {},
        (
            (0.0, b'> {"setup": {"apiKey": "abc"}}\n'),
            (1.5, b'<b {\n  "token": {},\n  "idToken": "d"\n}\n'),
        ),
        "complete",
    )
    kept = Redactor().exchange(session)
    assert kept is not None
    assert kept.request is not None
    assert kept.request.url.endswith("?access_token=REDACTED&key=REDACTED")
    assert [at for at, _ in kept.reads] == [0.0, 1.5]
    assert [message.data for message in read_messages(kept.body)] == [
        b'{"setup": {"apiKey": "REDACTED"}}',
        b'{\n  "token": {},\n  "idToken": "REDACTED"\n}',
    ]


@pytest.mark.parametrize(("url", "kept"), URLS)
def test_keys_in_urls_are_redacted(url: str, kept: str) -> None:
    redactor = Redactor()
    assert redactor.url(url) == redactor.url(kept) == kept
    assert redactor.prose(f"see {url} there") == redactor.prose(f"see {kept} there")


BODIES = [
    (
        b'{"partialArgs": [{"jsonPath": "$.a.api_key", "stringValue": "a\\"b", "willContinue": true}]}',
        b'{"partialArgs": [{"jsonPath": "$.a.api_key", "stringValue": "REDACTED", "willContinue": true}]}',
    ),
    (
        b'{"partial_args":[{"json_path":"$[\'apiKey\'][0]","string_value":"ab"}]}',
        b'{"partial_args":[{"json_path":"$[\'apiKey\'][0]","string_value":"REDACTED"}]}',
    ),
    (
        b'{"partialArgs": [{"jsonPath": "$.my_api_keys", "stringValue": "ab"}]}',
        b'{"partialArgs": [{"jsonPath": "$.my_api_keys", "stringValue": "ab"}]}',
    ),
    (b'data: {"api_key":\ndata:  "abc"}\n\n', b'data: {"api_key":\ndata:  "REDACTED"}\n\n'),
    (b'data: {"api_key"\r\ndata::"abc"}', b'data: {"api_key"\r\ndata::"REDACTED"}'),
    (
        b'{"access_token": "abc", "expires_in": 3599}',
        b'{"access_token": "REDACTED", "expires_in": 3599}',
    ),
    (
        b'{"password":"a","secret":"b","x-api-key":"c","api-key":"d","cookie":"e","sessionToken":"f"}',
        b'{"password":"REDACTED","secret":"REDACTED","x-api-key":"REDACTED","api-key":"REDACTED",'
        b'"cookie":"REDACTED","sessionToken":"REDACTED"}',
    ),
    (b'{"Refresh_Token":"a\\"b\\\\","x":"y"}', b'{"Refresh_Token":"REDACTED","x":"y"}'),
    (b'{"clientSecret" :\n "abc"}', b'{"clientSecret" :\n "REDACTED"}'),
    (
        b'data: {"a": {"private_key": "-----BEGIN\\nabc"}}\r\n\r\n',
        b'data: {"a": {"private_key": "REDACTED"}}\r\n\r\n',
    ),
    (
        rb'{"text": "{\"api_key\": \"abc\", \"b\": 1}"}',
        rb'{"text": "{\"api_key\": \"REDACTED\", \"b\": 1}"}',
    ),
    (rb'{"t": "{\\\"id_token\\\":\\\"abc\\\"}"}', rb'{"t": "{\\\"id_token\\\":\\\"REDACTED\\\"}"}'),
    (
        b'{"webhook_config":{"uris":["https://hook.example/T0/abc"]},"input":"hi"}',
        b'{"webhook_config":{"uris":["REDACTED"]},"input":"hi"}',
    ),
    (
        b'{"tools":[{"headers":{"X-Tool-Key":"abc"},"type":"mcp_server","url":"https://mcp.example"}]}',
        b'{"tools":[{"headers":{"X-Tool-Key":"REDACTED"},"type":"mcp_server","url":"https://mcp.example"}]}',
    ),
    (
        b'{"environment":{"allowlist":[{"domain":"*","transform":[{"X-Key":"abc"}]}]}}',
        b'{"environment":{"allowlist":[{"domain":"*","transform":[{"X-Key":"REDACTED"}]}]}}',
    ),
    (
        b'{"environment":{"env":{"TOKEN":"abc","MODE":{"value":"def"}},"environment_id":"e"}}',
        b'{"environment":{"env":{"TOKEN":"REDACTED","MODE":{"value":"REDACTED"}},"environment_id":"e"}}',
    ),
    (
        b'{"content":[{"type":"image","uri":"https://host/v1beta/files/f?key=abc"}]}',
        b'{"content":[{"type":"image","uri":"https://host/v1beta/files/f?key=REDACTED"}]}',
    ),
    (b'[{"apiKey":"a"},{"apiKey":"b"}]', b'[{"apiKey":"REDACTED"},{"apiKey":"REDACTED"}]'),
    (
        b"grant_type=refresh_token&refresh_token=abc&client_id=x",
        b"grant_type=refresh_token&refresh_token=REDACTED&client_id=x",
    ),
    (b"assertion=eyJ.abc", b"assertion=REDACTED"),
    (b'{"access_token": "cut in the midd', b'{"access_token": "REDACTED'),
    (b'{"access_token": "cut in an escape\\', b'{"access_token": "REDACTED\\'),
    (
        b'{"id_token": ["a", {"b": "c", "d": 7}], "x": ["y"]}',
        b'{"id_token": ["REDACTED", {"b": "REDACTED", "d": 0}], "x": ["y"]}',
    ),
    (b'{"api_key": {"a": ["}", "b"', b'{"api_key": {"a": ["REDACTED", "REDACTED"'),
    (
        rb'{"t": "{\"api_key\": [\"a\"]", "x": "y"}',
        rb'{"t": "{\"api_key\": [\"REDACTED\"]", "x": "y"}',
    ),
    (
        b'{"api_key": {"type": "x", "token": "a"}}',
        b'{"api_key": {"type": "REDACTED", "token": "REDACTED"}}',
    ),
    (rb'{"\u0061PI\u005Fkey": "a"}', rb'{"\u0061PI\u005Fkey": "REDACTED"}'),
    (
        rb'{"t": "{\u0022api_key\u0022: \u0022a\\\u0022b\u0022}"}',
        rb'{"t": "{\u0022api_key\u0022: \u0022REDACTED\u0022}"}',
    ),
    (
        b"data%5Bx%5D=%7B%22api_key%22%3A%22a%22%7D&y=1\r\n",
        b"data%5Bx%5D=%7B%22api_key%22%3A%22REDACTED%22%7D&y=1\r\n",
    ),
    (b"a&b=1&%74oken=abc&c", b"a&b=1&%74oken=REDACTED&c"),
    (
        b'{"body": "refresh_token=abc&a=b", "uri": "https://h/x?a=b&key=abc"}',
        b'{"body": "refresh_token=REDACTED&a=b", "uri": "https://h/x?a=b&key=REDACTED"}',
    ),
    (
        rb'{"uri": "https://h/?a=b\u0026key\u003da\u002bb\u0026c=d"}',
        rb'{"uri": "https://h/?a=b\u0026key\u003dREDACTED\u0026c=d"}',
    ),
    (b'{"u": "x?u=h%3Fkey%3Dabc%26d%3De"}', b'{"u": "x?u=h%3Fkey%3DREDACTED%26d%3De"}'),
    (
        b'--x\r\nContent-Disposition: form-data; name="client_secret"\r\nContent-Type: text/plain'
        b"\r\n\r\na\r\nb\r\n--x\r\ncontent-disposition: form-data; name=a\r\n\r\nb\r\n--x--\r\n",
        b'--x\r\nContent-Disposition: form-data; name="client_secret"\r\nContent-Type: text/plain'
        b"\r\n\r\nREDACTED\r\n--x\r\ncontent-disposition: form-data; name=a\r\n\r\nb\r\n--x--\r\n",
    ),
    (b'{"x": "cut\n\ndata: {"api_key": "a"}', b'{"x": "cut\n\ndata: {"api_key": "REDACTED"}'),
]
KEPT = [
    b"",
    b'{"usageMetadata": {"promptTokenCount": 8, "totalTokenCount": 1234567890}, "maxOutputTokens": 5}',
    b'{"thoughtSignature": "QUJDREVGRw==", "nextPageToken": "abc", "responseId": "x"}',
    b'{"logprobsResult": {"topCandidates": [{"token": "Hello", "tokenId": 7}]}}',
    b'{"properties": {"api_key": {"type": "string", "description": "the key"}}, "required": ["api_key"]}',
    b'{"properties": {"api_key": {"type": "OBJECT", "properties": {"token": {"type": "STRING"}}}}}',
    b'{"text": "send access_token: abc, or key=abc"}',
    b'{"type":"function_call","arguments":{"headers":{"Accept":"text/html"}}}',
    b'{"type":"thought","signature":"QUJDREVGRw=="}',
    b'{"id":"v1_Chd","previous_interaction_id":"v1_Abc","continuation_token":"tok","event_id":"e1"}',
    b'{"extra_content":{"google":{"thought_signature":"QUJD"}},"id":"call_297140"}',
    b'{"access_token": "", "refresh_token": null, "id_token": 0}',
    b'{"access_token": "REDACTED"}',
    b"\x1f\x8b\x08\x00\xff\xfe",
]


@pytest.mark.parametrize(("body", "kept"), BODIES)
def test_only_credentials_in_bodies_are_redacted(body: bytes, kept: bytes) -> None:
    assert redacted(body) == kept
    assert redacted(kept) == kept


@pytest.mark.parametrize("body", KEPT)
def test_other_values_stay(body: bytes) -> None:
    assert redacted(body) == body


@pytest.mark.parametrize(
    "value", ['a"tail', "a\\\\", '\\\\"tail\\\\', 'a", "b": "tail', '{"x": "tail"}', "\u00e9\ntail"]
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_value_is_redacted_whole_at_every_depth(value: str, ascii_only: bool) -> None:
    """Reads the result with `json.loads`, level by level."""
    inner: object = {"a": "before", "api_key": value, "b": {"access_token": [value]}, "c": "after"}
    for _ in range(6):
        body = json.dumps(inner, ensure_ascii=ascii_only)
        kept = redacted(body.encode()).decode()
        inner = {"t": kept, "n": 1}
        while "t" in (read := json.loads(kept)):
            kept = read["t"]
        assert read == {
            "a": "before",
            "api_key": "REDACTED",
            "b": {"access_token": ["REDACTED"]},
            "c": "after",
        }
        inner = {"t": body, "n": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b'{"api_key":' * 60_000,
        b'{"api_key": {"type": "x", "properties": ' * 20_000,
        b'{"api_key": {"type": ' * 40_000,
        b'"api_key": "' + b'\\"' * 500_000,
        b"\\" * 2_000_000,
        b'"api_key' * 200_000,
        b"?key=" * 300_000,
        b"a=" * 500_000,
        b"a=%3D" * 300_000,
        b'\n--\n; name="key"\n' * 100_000,
        rb"\u0061pi_key" * 100_000,
    ],
)
def test_hostile_bodies_are_redacted_in_linear_time(body: bytes) -> None:
    started = process_time()
    redacted(body, "own_name")
    assert process_time() - started < 5


def test_headers_are_kept_by_an_allow_list() -> None:
    headers = {
        "Content-Type": ["application/json"],
        "X-Goog-Api-Key": ["abc"],
        "authorization": ["Bearer abc"],
        "x-new": ["abc"],
    }
    kept = {"Content-Type": ["application/json"]}
    assert redact_request(Request("POST", URL, headers)).headers == kept
    assert (
        Redactor()
        .cassette(Cassette((Exchange(None, 200, headers, ()),), Origin("recorded")))
        .exchanges[0]
        .headers
        == kept
    )


def test_redaction_keeps_the_ends_of_reads() -> None:
    reads = (b'{"a": 1, "access_', b'token": "sec', b"ret", b'-value", "b', b'": 2}')
    kept = Redactor().exchange(exchange(*reads))
    assert kept is not None
    assert kept.reads == (
        (1.0, b'{"a": 1, "access_'),
        (1.0, b'token": "REDACTED'),
        (1.0, b'", "b'),
        (1.0, b'": 2}'),
    )


@pytest.mark.slow
@given(st.binary(max_size=30), st.lists(st.integers(0, 80), max_size=8))
def test_reads_keep_their_ends_for_any_cuts(between: bytes, cuts: list[int]) -> None:
    body = b'{"x": 1, "api_key": "secret"}' + between + b'{"api_key": "other"}'
    ends = sorted({*(min(cut, len(body)) for cut in cuts), len(body)})
    reads = tuple((None, body[start:end]) for start, end in pairwise([0, *ends]))
    kept = Redactor().reads(reads)
    assert b"".join(read for _, read in kept) == redacted(body)
    assert list(accumulate(len(read) for _, read in kept)) == sorted(
        {moved(body, end) for end in ends} - {0}
    )


def moved(body: bytes, cut: int) -> int:
    """The place of a cut after redaction: a cut inside a value moves to its end."""
    for value in b"secret", b"other":
        start = body.rindex(value)
        if start < cut < start + len(value):
            cut = start + len(value)
    return len(body[:cut].replace(b"secret", b"REDACTED").replace(b"other", b"REDACTED"))


def test_the_content_length_follows_the_body() -> None:
    body = b'{"api_key": "x"}'
    kept = Redactor().exchange(
        replace(
            exchange(body, Content_Length="16"),
            request=Request("POST", URL, {"content-length": ["16"]}, body),
        )
    )
    assert kept is not None
    assert kept.request is not None
    assert kept.headers == {"Content-Length": [str(len(kept.body))]}
    assert kept.request.headers == {"content-length": [str(len(kept.request.body))]}
    wrong = Redactor().exchange(exchange(body, content_length="99"))
    assert wrong is not None
    assert wrong.headers == {"content-length": ["99"]}


RULES = [
    (
        "customer_id",
        b'{"Customer_ID": "c-7", "n": {"customer_id": 12.5}}',
        b'{"Customer_ID": "REDACTED", "n": {"customer_id": 0}}',
    ),
    ("customer_id", b"customer_id=7&x=customer_id", b"customer_id=REDACTED&x=customer_id"),
    (
        "re:acct-[0-9]+",
        b'{"acct-1": "see acct-22, acct-3", "n": 4}',
        b'{"REDACTED": "see REDACTED, REDACTED", "n": 4}',
    ),
    (
        "re:[0-9]{3}",
        b'{"totalTokenCount": 12345, "id": "x123y"}',
        b'{"totalTokenCount": 12345, "id": "xREDACTEDy"}',
    ),
    ("re:\u00e9+\n", b'{"t": "a\\u00e9\\u00e9\\nb \xc3\xa9\\n"}', b'{"t": "aREDACTEDb REDACTED"}'),
    ('re:"b', b'{"t": "a\\"b\\\\"}', b'{"t": "aREDACTED\\\\"}'),
    ("re:b*", b'{"t": "abba"}', b'{"t": "aREDACTEDa"}'),
    ("re:[0-9]+", b"number 12 and 13", b"number REDACTED and REDACTED"),
    ("re:\u00e9", "plain \u00e9t\u00e9".encode(), b"plain REDACTEDtREDACTED"),
    ("re:x", b"\xff x", b"\xff x"),
]


@pytest.mark.parametrize(("rule", "body", "kept"), RULES)
def test_user_rules_redact_bodies(rule: str, body: bytes, kept: bytes) -> None:
    assert redacted(body, rule) == kept


def test_overlapping_matches_are_redacted_as_one() -> None:
    assert redacted(b'{"t": "abcd"}', "re:abc", "re:bcd") == b'{"t": "REDACTED"}'


def test_rules_redact_paths_parameters_and_headers() -> None:
    redactor = Redactor(["re:acct-[0-9]+", "tenant"])
    request = redactor.request(
        Request("GET", "https://h/acct-1/x?a=acct-2&Tenant=t", {"user-agent": ["me acct-3"]})
    )
    assert (request.url, request.headers) == (
        "https://h/REDACTED/x?a=REDACTED&Tenant=REDACTED",
        {"user-agent": ["me REDACTED"]},
    )


@pytest.mark.slow
@given(
    st.recursive(
        st.text('ab"\\\n\u00e9x1', max_size=6) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text("kab", max_size=2), inner, max_size=3)
        ),
    ),
    st.booleans(),
)
def test_json_stays_json_for_any_pattern(value: object, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    kept = json.loads(redacted(body, 're:[ab"\\\\\n]+', "re:\u00e9x?"))
    assert type(kept) is type(value)
    assert not set('ab"\\\n\u00e9') & set(
        json.dumps(kept, ensure_ascii=False).replace('"', "").replace("REDACTED", "")
    )


@pytest.mark.parametrize("rule", ["acct [0-9]+", "", "a,b", "re:(", "7"])
def test_a_faulty_rule_is_refused(rule: str) -> None:
    with pytest.raises(CassetteError, match="the redaction rule"):
        Redactor([rule])


def test_rules_redact_reason_phrases_and_origins() -> None:
    redactor = Redactor(["re:hunter2-[a-z0-9]+"])
    names = ("client", "model", "licence", "note")
    words: dict[str, Any] = {name: f"{name} hunter2-{name} 1" for name in names}
    kept_words: dict[str, Any] = {name: f"{name} REDACTED 1" for name in names}
    origin = Origin(
        "imported",
        date="2026-11-22",
        source="https://hunter2-x@h/hunter2-y?key=z&a=hunter2-w",
        commit="c0ffee",
        **words,
    )
    kept = redactor.cassette(
        Cassette((Exchange(None, 200, {}, (), "complete", "Fine hunter2-z"),), origin)
    )
    assert kept.origin == Origin(
        "imported",
        date="2026-11-22",
        source="https://REDACTED@h/REDACTED?key=REDACTED&a=REDACTED",
        commit="c0ffee",
        **kept_words,
    )
    assert kept.exchanges[0].reason_phrase == "Fine REDACTED"
    assert Guard(redactor=redactor).scan_cassette(Cassette((), origin)) == [
        FoundSecret("metadata", "a value that must be redacted")
    ]
    assert Guard(redactor=redactor).scan_cassette(kept) == []


def test_before_record_sees_and_drops_exchanges() -> None:
    seen: list[Exchange] = []

    def hook(exchange: Exchange) -> Exchange | None:
        seen.append(exchange)
        return (
            None
            if exchange.status == 500
            else replace(exchange, headers={**exchange.headers, "x-made-up": ["1"]})
        )

    good, bad = exchange(b'{"api_key": "x"}', set_cookie="abc"), replace(exchange(b""), status=500)
    kept = Redactor(before_record=hook).cassette(Cassette((good, bad), Origin("recorded")))
    assert seen == [good, bad]
    assert [(exchange.headers, exchange.body) for exchange in kept.exchanges] == [
        ({}, b'{"api_key": "REDACTED"}')
    ]


def test_a_live_request_finds_a_redacted_recording() -> None:
    redactor = Redactor(["customer_id"])
    body = b'{"contents": [{"parts": [{"text": "a"}]}], "api_key": "old", "customer_id": "c-1"}'
    kept = redactor.request(Request("POST", f"{URL}?key=old&alt=sse", {}, body))
    index = RequestIndex([Exchange(kept, 200, {}, ())], redact=redactor.request)
    live = body.replace(b"old", b"longer than the old one").replace(b"c-1", b"c-22")
    assert index.find("POST", f"{URL}?key=new&alt=sse", live.replace(b'"a"', b'"b"')) is None
    assert index.find("POST", f"{URL}?key=new&alt=sse", live) == 0


@pytest.mark.parametrize(
    ("body", "redacted"),
    [
        (b'{"api_key": 12345678}', b'{"api_key": 0}'),
        (b'{"a": "{\\"apiKey\\": -1.5e9}"}', b'{"a": "{\\"apiKey\\": 0}"}'),
        (b'{"private_key": [7, {"n": 8}]}', b'{"private_key": [0, {"n": 0}]}'),
        (b'{"totalTokens": 9, "maxOutputTokens": 8}', b'{"totalTokens": 9, "maxOutputTokens": 8}'),
    ],
)
def test_numbers_under_a_secret_name_are_redacted(body: bytes, redacted: bytes) -> None:
    assert [*Redactor().shown(b'{"api_key": 0}')] == []
    assert Redactor().body(body) == redacted
    assert bool([*Redactor().shown(body.replace(b"\\", b""))]) == (body != redacted)


PRINTED = ["x", "it's", 'say "x', 'it\'s "x"', "x\\", "x\\'", "x\ny", "é", "a', 'b"]


@pytest.mark.parametrize("value", PRINTED)
def test_a_member_as_python_prints_it_is_redacted(value: str) -> None:
    printed = f"{ {'api_key': value + 'tail', 'b': 'kept'} } 'kept'"
    redacted = f"{ {'api_key': 'REDACTED', 'b': 'kept'} } 'kept'"
    plain = Redactor().body(printed.encode()).decode()
    assert plain.replace('"', "'") == redacted
    for depth in range(1, 4):
        body = printed
        for _ in range(depth):
            body = json.dumps({"t": body, "u": "it's"})
        redacted_text = Redactor().body(body.encode())
        for _ in range(depth):
            redacted_text = json.loads(redacted_text)["t"]
        assert isinstance(redacted_text, str)
        assert redacted_text.replace('"', "'") == redacted


@pytest.mark.parametrize("value", PRINTED)
def test_json_with_a_cut_member_of_python_stays_json(value: str) -> None:
    printed = str({"api_key": value, "b": "kept"})
    for size in range(len(printed)):
        body = json.dumps({"t": printed[:size], "u": "it's"}).encode()
        assert json.loads(Redactor().body(body))["u"] == "it's"
