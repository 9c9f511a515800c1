"""No secret stays in a finding, in whichever member it is, and the finding keeps its form."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.cassettes.redaction.mask import Mask
from harness.facts import Finding, Place, call_value
from harness.judging.rows import ExchangeRow, WireProperty, encode_item
from harness.stream.json_codec import Json

KEY = "AIzaSyA1b2C3d4E5f6G7h8I9j0KlMnOpQrStUvWxY"
BY_NAME = "abcdefgh12345678"
"""A secret only by the name of its member."""

PLACES: dict[str, Callable[[str], Finding]] = {
    "subject": lambda text: Finding(f"[0].{text}", "wrong", "changed"),
    "wire": lambda text: Finding("finish", "wrong", "finish", text, "stop"),
    "adapter": lambda text: Finding("finish", "wrong", "finish", "STOP", text),
    "list": lambda text: Finding("error", "wrong", "other-error", ["503", text], text),
    "object": lambda text: Finding("text", "raised", "needless", adapter={"words": text}),
    "key": lambda text: Finding("calls", "wrong", "calls", [call_value("f", {text: 1})], []),
    "deep": lambda text: Finding("calls", "wrong", "calls", [], [call_value("f", {"a": [[text]]})]),
    "text of the wire": lambda text: Finding("text", "lost", "text", place=Place(wire=text)),
    "text of the adapter": lambda text: Finding("text", "lost", "text", place=Place(adapter=text)),
    "remark": lambda text: Finding("$", "wrong", "law", remark=f"it says {text}"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_key_is_in_no_member_of_a_finding(place: str) -> None:
    finding = PLACES[place](f"key {KEY} x")
    result = ExchangeRow("failed", adapter="shop", findings=(finding,))
    assert KEY.encode() in encode_item(result)
    shown = Mask().value(result)
    assert KEY.encode() not in encode_item(shown)
    assert KEY not in shown.findings[0].sentence
    assert (shown.adapter, shown.findings[0].reason) == ("shop", finding.reason)


def test_a_value_that_is_secret_by_its_name_is_masked() -> None:
    call = call_value("f", {"api_key": BY_NAME, "n": [1, None, 2.5]})
    finding = Finding("calls", "lost", "calls-missing", {"missing": 1, "of": 2, "first": call})
    shown = Mask().value(finding)
    arguments = {"api_key": "REDACTED", "n": [1, None, 2.5]}
    assert shown.wire == {"missing": 1, "of": 2, "first": call_value("f", arguments)}
    assert shown.note.startswith('1 of 2 calls lost: f({"api_key": "REDACTED", "n": [1')


@pytest.mark.parametrize("value", [None, 0, 1.5, [], {}, ["a", {"b": [True]}], "half \ud83d"])
def test_a_finding_without_a_secret_is_not_changed(value: Json) -> None:
    finding = Finding("text", "wrong", "finish", value, value, Place(1, 2, "a", "b", "c", 3))
    assert Mask().value(finding) == finding


def test_a_name_of_a_field_on_the_wire_is_masked_in_every_result() -> None:
    mask = Mask()
    for _ in range(2):  # the second time from the cache
        result = ExchangeRow("passed", properties=(WireProperty("field", KEY),))
        assert KEY.encode() not in encode_item(mask.value(result))
