"""The text of a cassette is readable and holds every byte of a recording."""

from __future__ import annotations

import gzip
import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassettes import (
    Cassette,
    CassetteError,
    Exchange,
    Origin,
    Request,
    dumps,
    is_cassette,
    loads,
)

REQUEST = Request(
    "POST",
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    {"content-type": ["application/json"]},
    b'{"contents": []}',
)
EXCHANGE = Exchange(
    REQUEST,
    200,
    {"Content-Type": ["text/event-stream"], "x-two": ["1", "null"]},
    (
        (0.0, b'data: {"a":1}\r\n\r\n'),
        (251.25, 'data: {"b":"x\u2028y\\n"}\r\n\r\n'.encode()),
        (300.0, b'{\n  "error": {}\n}\n'),
    ),
    "complete",
    "OK",
)
TEXT = """\
version: 1
metadata:
  harness: 1
  origin: written
  date: 2026-11-21
interactions:
- request:
    method: POST
    uri: https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse
    headers:
      content-type: application/json
    body:
      string: |2-
        {"contents": []}
  response:
    status: {code: 200, message: "OK"}
    headers:
      Content-Type: text/event-stream
      x-two: ["1", "null"]
    body:
      eol: crlf; lf 5-7
      escaped: [3]
      string: |2+
        data: {"a":1}

        data: {"b":"x\\u2028y\\\\n"}

        {
          "error": {}
        }
    reads: |
      0 17
      251.25 25
      300 18
    end: complete
"""


def test_the_text_is_readable() -> None:
    assert dumps(Cassette((EXCHANGE,), Origin("written", date="2026-11-21"))) == TEXT


def test_the_text_reads_back() -> None:
    assert loads(TEXT) == Cassette((EXCHANGE,), Origin("written", date="2026-11-21"))


def test_a_value_that_looks_like_a_key_reads_back() -> None:
    headers = {"x-stderr": ["error: no model"], "server": ["a: b"], "via": ["a:"]}
    odd = Cassette((Exchange(None, 200, headers, ()),), Origin("recorded", note="see: this"))
    assert loads(dumps(odd)) == odd


def test_a_checkout_with_other_line_ends_reads_the_same() -> None:
    assert loads(TEXT.replace("\n", "\r\n")) == loads(TEXT)


def test_a_binary_body_is_base64_under_a_comment() -> None:
    body = gzip.compress(b"data: {}\n\n", mtime=0)
    text = dumps(Cassette((replace(EXCHANGE, reads=((None, body),)),), Origin("recorded")))
    assert "      # gzip, decoded:\n      #   data: {}\n" in text
    assert loads(text).exchanges[0].body == body


ODD = "\r\n\t \x00\x0b\x1b\x7f\x85\xa0\u2028\u2029\ufeff\ufffe\\\"'#:-|>{}[],&*!%@`é😀aZ0~"
BODIES = st.binary(max_size=60) | st.text(alphabet=ODD, max_size=80).map(str.encode)
NAMES = st.text(alphabet=ODD, min_size=1, max_size=6)
HEADERS = st.dictionaries(
    NAMES, st.lists(st.text(alphabet=ODD, max_size=8), max_size=3), max_size=3
)


@given(
    BODIES,
    BODIES,
    HEADERS,
    st.text(alphabet=ODD, max_size=10),
    st.lists(st.integers(0, 60), max_size=4),
)
@settings(max_examples=400)
@pytest.mark.slow
def test_every_byte_and_read_comes_back(
    sent: bytes, got: bytes, headers: dict[str, list[str]], word: str, cuts: list[int]
) -> None:
    places = sorted({0, *(cut for cut in cuts if cut < len(got)), len(got)})
    reads = tuple((float(start), got[start:stop]) for start, stop in itertools.pairwise(places))
    exchange = Exchange(
        Request(word, f"https://{word}", headers, sent), 200, headers, reads, "cut", word
    )
    cassette = Cassette(
        (exchange, replace(exchange, request=None)), Origin("recorded", note=word, client=word)
    )
    text = dumps(cassette)
    assert loads(text) == cassette
    assert is_cassette(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nmetadata: {harness: 1, origin: written}\ninteractions: []\n",
        "version: 1\nmetadata: {\n  origin: written, harness: 1}\ninteractions: []\n",
        "version: 1\nmetadata:\n  origin: written\n  harness: 1\ninteractions: []\n",
        "interactions: []\nmetadata: {harness: 1, origin: written}\nversion: 1\n",
        "---\n'version': 1\n'metadata':\n  'harness': 1\n  'origin': written\n'interactions': []\n",
        '{"version": 1, "metadata": {"harness": 1, "origin": "written"}, "interactions": []}',
        "version: 1\nmetadata: # where it is from\n  # by hand\n  harness: 1\n  origin: written\ninteractions: []\n",
    ],
)
def test_a_cassette_is_recognised_in_any_yaml_style(text: str) -> None:
    assert loads(text) == Cassette((), Origin("written"))
    assert is_cassette(text.encode())


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (
            "version: 1\nmetadata: {harness: 1, origin: written}\ninteractions: [\n",
            True,
        ),  # a damaged cassette, so the fault is reported
        ("version: 1\ninteractions: []\nmetadata: {about: harness}\n", False),
        ("version: 1\ninteractions: []\nmetadata: {harness: {kind: recorded}}\n", False),
        ("metadata: [harness\n", False),
    ],
)
def test_damaged_cassettes_are_distinguished_from_other_files(text: str, ours: bool) -> None:
    assert is_cassette(text.encode()) is ours


HEAD = "version: 1\nmetadata:\n  harness: 1\n  origin: written\n"
DAMAGED = [
    ("", "c:1: the file is empty; a cassette begins with `version: 1`"),
    (
        HEAD.replace("harness: 1", "harness: 2"),
        "c: format 2 is newer than 1, which this version reads; upgrade gemini-conformance",
    ),
    (
        HEAD.replace("written", "faked") + "interactions: []",
        "c:4: metadata.origin must be 'recorded', 'loopback', 'imported' or 'written', not 'faked'",
    ),
    (
        HEAD + "interactions:\n- {}",
        "c:6: interactions[0].request is missing; required keys are request, response; if the file is cut short, restore it or record it again",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    headers: {}",
        "c:7: interactions[0].response.end is missing; required keys are status, end; if the file is cut short, restore it or record it again",
    ),
    (
        HEAD,
        "c:1: interactions is missing; required keys are version, metadata, interactions; if the file is cut short, restore it or record it again",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: many}\n    end: cut",
        "c:8: interactions[0].response.status.code must be a whole number, not a string",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    headers:\n      a: 7\n    end: cut",
        "c:9: interactions[0].response.headers must be a string or a list, not a whole number",
    ),
    (HEAD + "interactions:", "c:5: interactions is empty; it must be a list"),
    ("7", "c:1: the file must be a mapping, not a whole number"),
    (
        HEAD + "interactions:\n- request: null\n  response: {status: {code: 200}, end: fin}",
        "c:7: interactions[0].response.end must be 'complete', 'cut', 'reset', 'aborted' or 'unknown', not 'fin'",
    ),
    (
        HEAD + "interactions:\n- request: null\n  response: {status: {code: 200}, boddy: {}}",
        "c:7: interactions[0].response: unknown key 'boddy' (did you mean body?); known keys are status, headers, body, reads, end",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    end: cut\n    body: {string: xy}\n    reads: 0 9",
        "c:11: the reads add up to 9 bytes, the body has 2; restore the file or, if the body was edited, correct or delete `reads`",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    end: cut\n    body: {string: xy}\n    reads: 1 2 3",
        "c:11: `1 2 3` is not a read; expected `at_ms length`, such as `251.3 209` or `- 209`",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    end: cut\n    body: {string: xy}\n    reads: 1 2.0",
        "c:11: `1 2.0` is not a read; expected `at_ms length`, such as `251.3 209` or `- 209`",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    end: cut\n    body: {string: x, eol: crfl}",
        "c:10: `crfl` is not a line end; known ones are lf, crlf, cr, with exceptions such as `crlf; lf 9-15`",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    end: cut\n    body: {string: x, eol: crlf; lf 3}",
        "c:10: `lf 3` is not a range of lines of the text; give lines 1 to 0",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    end: cut\n    body: {string: x, escaped: [2]}",
        "c:10: line 2 is listed as escaped, but the body has 1 lines",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    end: cut\n    body: {base64: '?'}",
        "c:10: not base64: Only base64 data is allowed",
    ),
    (
        HEAD
        + "interactions:\n- request: null\n  response:\n    status: {code: 200}\n    end: cut\n    body: {string: 'x\\y', escaped: [1]}",
        r"c:10: an escaped line has a backslash that is neither `\\` nor an escape such as `\u2028` (lower-case hexadecimal)",
    ),
    ("version: 1\nmetadata: [", "c:3: the text ends inside a bracket; close it"),
]


@pytest.mark.parametrize(("text", "message"), DAMAGED)
def test_a_damaged_cassette_is_an_error_with_line_and_reason(text: str, message: str) -> None:
    with pytest.raises(CassetteError) as error:
        loads(text, "c")
    assert str(error.value) == message


@pytest.mark.slow
def test_a_cassette_cut_short_anywhere_is_an_error() -> None:
    for length in range(len(TEXT) - len("complete\n")):
        with pytest.raises(CassetteError):
            loads(TEXT[:length])


@pytest.mark.slow
@given(st.integers(0, len(TEXT) - 1), st.text(max_size=3), st.integers(0, 5))
def test_any_damage_is_a_cassette_error_or_still_a_cassette(
    place: int, inserted: str, removed: int
) -> None:
    damaged = TEXT[:place] + inserted + TEXT[place + removed :]
    message = "c:"
    try:
        loads(damaged, "c")
    except CassetteError as error:
        message = str(error)
    assert message.startswith("c:")


def test_a_surrogate_can_not_be_written() -> None:
    with pytest.raises((CassetteError, UnicodeEncodeError)):
        dumps(Cassette((), Origin("written", note="\ud800")))


def test_headers_are_found_in_any_case() -> None:
    assert EXCHANGE.header("content-type") == "text/event-stream"
    assert EXCHANGE.header("nothing") is None
