"""The redactor replaces secret values by their place and keeps every other byte."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassettes.redaction.redactor import Redactor, redact_request, redact_url
from harness.cassettes.redaction.scanner import Finding, Scanner
from harness.pipeline.request_index import RequestIndex
from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, Request

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
    (f"{URL}?%6bey=abc", f"{URL}?%6bey=REDACTED"),
    (f"{URL}?api%5Fkey=a&access_token=b", f"{URL}?api%5Fkey=REDACTED&access_token=REDACTED"),
    ("https://me:password@host/a?b", "https://REDACTED@host/a?b"),
    ("https://host/cb#access_token=abc&state=1", "https://host/cb#access_token=REDACTED&state=1"),
    (
        "https://storage.googleapis.com/o?X-Goog-Signature=abc&X-Goog-Date=1",
        "https://storage.googleapis.com/o?X-Goog-Signature=REDACTED&X-Goog-Date=1",
    ),
    (f"{URL}?pageToken=abc&keys=1&key", f"{URL}?pageToken=abc&keys=1&key"),
    ("HTTPS://Host/a?", "HTTPS://Host/a?"),
    ("http://[bad?key=1", "http://[bad?key=1"),
]


@pytest.mark.parametrize(("url", "kept"), URLS)
def test_keys_in_urls_are_redacted(url: str, kept: str) -> None:
    assert redact_url(url) == redact_url(kept) == kept


BODIES = [
    (
        b'{"access_token": "abc", "expires_in": 3599}',
        b'{"access_token": "REDACTED", "expires_in": 3599}',
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
    (b'[{"apiKey":"a"},{"apiKey":"b"}]', b'[{"apiKey":"REDACTED"},{"apiKey":"REDACTED"}]'),
    (
        b"grant_type=refresh_token&refresh_token=abc&client_id=x",
        b"grant_type=refresh_token&refresh_token=REDACTED&client_id=x",
    ),
    (b"assertion=eyJ.abc", b"assertion=REDACTED"),
    (b'{"access_token": "cut in the midd', b'{"access_token": "REDACTED'),
    (b'{"access_token": "cut in an escape\\', b'{"access_token": "REDACTED\\'),
]
KEPT = [
    b"",
    b'{"usageMetadata": {"promptTokenCount": 8, "totalTokenCount": 1234567890}, "maxOutputTokens": 5}',
    b'{"thoughtSignature": "QUJDREVGRw==", "nextPageToken": "abc", "responseId": "x"}',
    b'{"logprobsResult": {"topCandidates": [{"token": "Hello", "tokenId": 7}]}}',
    b'{"properties": {"api_key": {"type": "string", "description": "the key"}}, "required": ["api_key"]}',
    b'{"text": "send access_token: abc, or key=abc"}',
    b'{"access_token": "", "refresh_token": null, "id_token": 7}',
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


def test_reads_end_where_they_ended() -> None:
    reads = (b'{"a": 1, "access_', b'token": "sec', b"ret", b'-value", "b', b'": 2}')
    kept = Redactor().exchange(exchange(*reads))
    assert kept is not None
    assert kept.reads == (
        (1.0, b'{"a": 1, "access_'),
        (1.0, b'token": "REDACTED'),
        (1.0, b'", "b'),
        (1.0, b'": 2}'),
    )


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
    words = {name: f"{name} hunter2-{name} 1" for name in ("client", "model", "licence", "note")}
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
        **{name: f"{name} REDACTED 1" for name in words},
    )
    assert kept.exchanges[0].reason_phrase == "Fine REDACTED"
    assert Scanner(redactor=redactor).scan_cassette(Cassette((), origin)) == [
        Finding("metadata", "a value that must be redacted")
    ]
    assert Scanner(redactor=redactor).scan_cassette(kept) == []


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
