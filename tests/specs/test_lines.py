"""The lines of the paths of a spec file."""

from __future__ import annotations

from harness.cassettes.yaml import parse_located
from harness.specs.lines import DEPTH
from harness.specs.reader import _parse

TEXT = """\
harness: 1
cases:
- case: hello
  requirement: Text arrives.
  cassette: hello
  expect:
    art:
    - {a: 1.0, b: 1}
    - {text: "Hi"}
"""


def test_only_the_lines_of_cases_and_their_keys_are_read_at_once() -> None:
    _, lines = _parse(TEXT, "x")
    everything = parse_located(TEXT)[1]
    assert lines.first == {place: line for place, line in everything.items() if len(place) <= DEPTH}
    assert parse_located(TEXT, 0)[1] == {(): 1}
    assert [lines(place) for place in everything] == [*everything.values()]
