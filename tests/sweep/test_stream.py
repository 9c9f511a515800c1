"""Each column of an input row, and each kind of row that is no exchange."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from harness.stream.exchange import Exchange
from harness.sweep.stream import COLUMNS, CapturedStream, stream_of_row
from tests.support.captured import URL, body, row


def exchange_of(**columns: Any) -> Exchange:
    stream = stream_of_row(row("s", **columns), "day:1")
    assert stream.exchange is not None, stream.fault
    return stream.exchange


def test_id_and_body_are_enough() -> None:
    exchange = stream_of_row({"id": "s", "body": body()}, "day:1").exchange
    assert exchange is not None
    assert (exchange.status, exchange.end, exchange.request) == (200, "unknown", None)
    assert exchange.reads == ((None, body().encode()),)
    assert exchange.generates


def test_the_request_decides_provider_and_model() -> None:
    exchange = exchange_of()
    assert (exchange.provider, exchange.model, exchange.streamed) == (
        "gemini-api",
        "gemini-x",
        True,
    )


def test_the_provider_of_a_row_is_used_in_place_of_the_detected_one() -> None:
    assert exchange_of(provider="vertex-ai").provider == "vertex-ai"
    alone = exchange_of(provider="vertex-ai", request=None)
    assert (alone.provider, alone.generates) == ("vertex-ai", True)


REQUEST = {"url": URL, "method": "PUT", "headers": {"a": "b"}, "body": '{"c":1}'}


@pytest.mark.parametrize(
    "request_column", [REQUEST, json.dumps(REQUEST), json.dumps(REQUEST).encode()]
)
def test_a_request_is_an_object_or_its_text(request_column: Any) -> None:
    request = exchange_of(request=request_column).request
    assert request is not None
    assert (request.method, request.url, request.headers, request.body) == (
        "PUT",
        URL,
        {"a": ["b"]},
        b'{"c":1}',
    )


@pytest.mark.parametrize(
    "headers",
    [{"x": "1", "y": ["2", "3"]}, [("x", "1"), ("y", "2"), ("y", "3")], '{"x":"1","y":["2","3"]}'],
)
def test_headers_have_several_forms(headers: Any) -> None:
    assert exchange_of(headers=headers).headers == {"x": ["1"], "y": ["2", "3"]}


def test_a_body_may_be_bytes_text_or_base64() -> None:
    data = b"\xff" + body().encode()
    assert exchange_of(body=data).body == data
    assert exchange_of(body=None, body_base64=base64.b64encode(data).decode()).body == data


@pytest.mark.parametrize("first", [5, {"bytes": 5}, {"bytes": 5, "at_ms": 1.5}])
def test_reads_are_sizes_with_or_without_times(first: Any) -> None:
    data = body().encode()
    at = first.get("at_ms") if isinstance(first, dict) else None
    reads = exchange_of(reads=[first, len(data) - 5]).reads
    assert reads == ((at, data[:5]), (None, data[5:]))


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"id": None}, "the row has no id"),
    ({"body": None}, "the row has no body"),
    ({"body": 5}, "body is 5; expected bytes or text"),
    ({"body": None, "body_base64": "*"}, "body_base64 is not base64"),
    ({"status": "ok"}, "status is 'ok'; expected a whole number"),
    ({"end": "gone"}, "end is 'gone'; expected one of complete"),
    ({"provider": "mine"}, "provider is 'mine'; expected gemini-api"),
    ({"reads": [1]}, "the reads have 1 bytes, the body has "),
    ({"reads": ["x"]}, "a read is 'x'; expected its size in bytes"),
    ({"reads": 7}, "reads is 7; expected a list"),
    ({"headers": ["x"]}, "a header is 'x'; expected a name and a value"),
    ({"headers": "{"}, "headers is not JSON"),
    ({"request": "[]"}, "request is []; expected an object with a url"),
    ({"request": {"url": URL, "body": 1}}, "the body of the request is 1; expected bytes or text"),
]


@pytest.mark.parametrize(("columns", "fault"), FAULTS)
def test_a_row_that_is_no_exchange_says_why(columns: dict[str, Any], fault: str) -> None:
    stream = stream_of_row(row("s") | columns, "day:1")
    assert stream.exchange is None
    assert fault in stream.fault
    assert (stream.id, stream.source) == (columns.get("id", "s") or "day:1", "day:1")


def test_every_column_is_described() -> None:
    assert {*row("s"), "provider", "status", "headers", "reads", "body_base64"} == {*COLUMNS}


def test_other_columns_are_ignored() -> None:
    assert isinstance(stream_of_row(row("s", colour="red"), "day:1"), CapturedStream)
    assert exchange_of(colour="red") == exchange_of()


DEEP = "[" * 1200 + "]" * 1200
NESTED: Any = []
for _ in range(1200):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"headers": 5}, "headers is 5; expected an object or a list"),
        ({"provider": []}, "provider is []; expected "),
        ({"provider": {"a": 1}}, "provider is {'a': 1}; expected "),
        ({"request": {"url": "http://h/", "headers": 7}}, "headers is 7; expected an object or"),
        ({"status": NESTED}, "status is a deeply nested value; expected a whole number"),
    ],
)
def test_a_row_that_can_not_be_read_is_a_row_with_an_error(
    columns: dict[str, Any], fault: str
) -> None:
    stream = stream_of_row(row("s", **columns), "day:1")
    assert stream.exchange is None
    assert stream.fault.startswith(fault)


@pytest.mark.parametrize("name", [5.5, {"a": 1}, [], NESTED])
def test_an_id_is_a_text(name: Any) -> None:
    stream = stream_of_row(row("s", id=name), "day:1")
    assert (stream.id, stream.exchange) == ("day:1", None)
    assert stream.group == "id; expected a string"


@pytest.mark.parametrize("column", ["body", "headers", "request"])
def test_a_deep_row_is_a_row(column: str) -> None:
    text = f'data: {{"candidates": {DEEP}}}\n\n' if column == "body" else f'{{"a": {DEEP}}}'
    stream = stream_of_row({"id": "s", "body": body(), column: text}, "day:1")
    assert (stream.id, stream.exchange is None) == ("s", column != "body")
