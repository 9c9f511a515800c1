"""Specs: what is read, every way of being wrong with its line and words, what is filled in, what
editors are told.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness.cassettes.yaml import parse, parse_located
from harness.specs import (
    Case,
    SpecError,
    accept,
    cassette_fault,
    is_features,
    is_spec,
    json_schema,
    read_features,
    read_spec,
)
from harness.specs.matching.operators import OPERATORS

FEATURES = Path(__file__).parents[2] / "specs" / "features.yaml"
KNOWN: dict[str, Any] = {
    "dialects": ["anthropic", "unified-llm"],
    "providers": ["code-assist", "gemini-api"],
    "features": ["text.streaming", "tool-calls.parallel", "tool-calls.single"],
    "losses": {"anthropic": ["grounding", "other candidates"], "unified-llm": []},
}

WHOLE = """\
# Every key there is.
harness: 1
cases:
- case: parallel-calls
  requirement: Two calls in one reply stay two calls.
  features: [tool-calls.parallel, text.streaming]
  level: should
  source: https://ai.google.dev/gemini-api/docs/function-calling
  cassette: gemini-api/parallel-calls
  exchange: 2
  provider: code-assist
  tool_code: false
  expect:
    frames:
    events: []
    anthropic:
    - type: message_start
      message: {$any: object}
    unified-llm: [{type: FINISH}]
  not_carried: {anthropic: [grounding]}
  known_failing:
    unified-llm: {reason: The id is lost., link: "https://example.org/1", expires: 2027-01-31}
  reviewed: no
"""

SMALL = """\
harness: 1
cases:
- case: one
  requirement: It holds.
  features: [text.streaming]
  source: https://example.org/docs
  cassette: gemini-api/one
  expect:
    anthropic: [{type: ping}]
"""


def read(text: str, **other: Any) -> list[Case]:
    return read_spec(text, "specs/x.yaml", **{**KNOWN, **other})


def problems(text: str, **other: Any) -> list[tuple[int, str]]:
    with pytest.raises(SpecError) as caught:
        read(text, **other)
    return caught.value.problems


def failure(attempt: Callable[[str], object], text: str) -> SpecError | None:
    try:
        attempt(text)
    except SpecError as error:
        return error
    return None


def edited(*edits: tuple[str, str], text: str = SMALL) -> str:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


# ---------------------------------------------------------------- what is read


def test_every_key_is_read() -> None:
    [case] = read(WHOLE)
    assert case.case == "parallel-calls"
    assert case.requirement == "Two calls in one reply stay two calls."
    assert case.features == ("tool-calls.parallel", "text.streaming")
    assert (case.level, case.exchange, case.provider, case.tool_code, case.reviewed) == (
        "should",
        2,
        "code-assist",
        False,
        "no",
    )
    assert case.source == "https://ai.google.dev/gemini-api/docs/function-calling"
    assert case.cassette == "gemini-api/parallel-calls"
    assert case.expect == {
        "frames": None,
        "events": [],
        "anthropic": [{"type": "message_start", "message": {"$any": "object"}}],
        "unified-llm": [{"type": "FINISH"}],
    }
    assert case.not_carried == {"anthropic": ("grounding",)}
    mark = case.known_failing["unified-llm"]
    assert (mark.reason, mark.link, mark.expires) == (
        "The id is lost.",
        "https://example.org/1",
        date(2027, 1, 31),
    )


def test_what_is_left_out_has_defaults() -> None:
    [case] = read(SMALL)
    assert (case.level, case.exchange, case.provider, case.tool_code, case.reviewed) == (
        "must",
        1,
        None,
        None,
        None,
    )
    assert case.not_carried == {}
    assert case.known_failing == {}


def test_a_case_knows_its_lines() -> None:
    [case] = read(WHOLE)
    assert case.line == 4
    assert case.lines == {"frames": 14, "events": 15, "anthropic": 16, "unified-llm": 19}


def test_a_case_cannot_be_changed() -> None:
    [case] = read(SMALL)
    with pytest.raises(ValueError, match="frozen"):
        case.level = "should"


def test_an_empty_expectation_is_allowed() -> None:
    [case] = read(edited(("[{type: ping}]", "")))
    assert case.expect == {"anthropic": None}


def test_a_whole_expectation_may_be_an_operator() -> None:
    [case] = read(edited(("[{type: ping}]", "{$contains: [{type: ping}]}")))
    assert case.expect == {"anthropic": {"$contains": [{"type": "ping"}]}}


@pytest.mark.parametrize(
    ("head", "ours"),
    [
        ("harness: 1\n", True),
        ("# words\n\n  # more\n---\nharness:   1  # the format\n", True),
        ("\ufeffharness: 1\r\n", True),
        ('harness: "1"\n', True),
        ("'harness': 1\n", True),
        ("harness: 2\n", True),
        ("harness: 1.5\n", True),
        ("", False),
        ("# only words\n", False),
        ("cases: []\nharness: 1\n", False),
        ("  harness: 1\n", False),
        ("harness: one\n", False),
        ("harness:1\n", False),
        ("harness_version: 1\n", False),
        ("- harness: 1\n", False),
        ("interactions: []\n", False),
    ],
)
def test_a_spec_begins_with_its_number_and_other_yaml_is_left_alone(head: str, ours: bool) -> None:
    assert is_spec(head) is ours
    assert is_features(head) is False


def test_a_features_file_is_told_from_a_spec() -> None:
    assert is_features("harness: 1\nfeatures:\n- id: a.b\n")
    assert not is_spec("harness: 1\nfeatures:\n- id: a.b\n")
    assert is_spec("harness: 1\nfeatures: []\ncases: []\n"), (
        "a slip in a spec must not hide the file"
    )
    assert is_spec("harness: 1\ncases:\n- case: x\n  features: [a.b]\n")


def test_a_long_head_of_comments_takes_linear_time() -> None:
    assert is_spec("# x\r\n\r\n" * 200_000 + "harness: 1\n")


# ---------------------------------------------------------------- what is wrong, and where

KEYS = (
    "known keys are case, requirement, features, level, source, cassette, exchange, prompt, turns, remembers, options, provider, "
    "tool_code, context, expect, not_carried, known_failing, reviewed"
)
NEEDS = "required keys are case, requirement, features, source, expect"

WRONG: list[tuple[str, list[tuple[str, str]], list[tuple[int, str]]]] = [
    # the file
    ("not ours", [("harness: 1", "version: 1")], [(1, "the file does not begin with harness: 1; make that its first line")]),
    ("newer", [("harness: 1", "# x\nharness: 2")], [(2, "harness is the number 2, a newer format than 1; update gemini-conformance")]),
    ("older", [("harness: 1", "harness: 0")], [(1, "harness must be the number 1, not the number 0")]),
    ("float", [("harness: 1", "harness: 1.0")], [(1, "harness must be the number 1, not the number 1.0")]),
    ("string", [("harness: 1", 'harness: "1"')], [(1, "harness must be the number 1, not '1'")]),
    (
        "no YAML",
        [("[text.streaming]", "[text.streaming")],
        [(6, "a bracket that opens on line 5 is not closed with `]`, or a value in it needs quotes")],
    ),
    ("twice", [("  source:", "  case: two\n  source:")], [(6, "the key 'case' is used twice in one mapping")]),
    ("alias", [("gemini-api/one", "*one")], [(7, "alias *one is not allowed; write the value in full")]),
    ("top key", [("cases:", "case:")], [
        (1, "cases is missing; required keys are harness, cases"),
        (2, "unknown key 'case' (did you mean cases?); known keys are harness, cases"),
    ]),
    ("top null", [(SMALL.partition("cases:")[2], "\n")], [(2, "cases is empty; it must be a list")]),
    ("top empty", [(SMALL.partition("cases:")[2], " []\n")], [(2, "cases holds nothing; it needs one entry at least")]),
    ("top kind", [(SMALL.partition("cases:")[2], " {a: 1}\n")], [(2, "cases must be a list, not a mapping")]),
    ("case kind", [("- case: one", "- word\n- case: one")], [(3, "cases[0] must be a mapping, not 'word'")]),
    # keys
    ("unknown key", [("cassette:", "casette:")], [
        (3, "cassette is missing; a case replays a recording, or has a prompt"),
        (7, f"unknown key 'casette' (did you mean cassette?); {KEYS}"),
    ]),
    ("far key", [("cassette:", "zzz: 1\n  cassette:")], [(7, f"unknown key 'zzz'; {KEYS}")]),
    ("hostile key", [("cassette:", '"\\e[2J\\u202e": 1\n  cassette:')], [(7, rf"unknown key '\x1b[2J\u202e'; {KEYS}")]),
    ("long key", [("cassette:", f'"{"z" * 900}": 1\n  cassette:')], [(7, f"unknown key '{'z' * 59}…'; {KEYS}")]),
    ("missing", [("  requirement: It holds.\n", "")], [(3, f"requirement is missing; {NEEDS}")]),
    # values
    ("empty", [("It holds.", "")], [(4, "requirement is empty; it must be a string")]),
    ("blank", [("It holds.", "' '")], [(4, "requirement must be a sentence, not ' '")]),
    ("number", [("It holds.", "12")], [(4, "requirement must be a string, not the number 12")]),
    ("name", [("case: one", "case: One")], [(3, "case must be lower-case words joined by '-', not 'One'")]),
    ("level", [("  source:", "  level: may\n  source:")], [(6, "level must be 'must' or 'should', not 'may'")]),
    ("link", [("https://example.org/docs", "javascript:alert(1)")], [
        (6, "source must be a link that begins with http:// or https://, not 'javascript:alert(1)'"),
    ]),
    ("exchange 0", [("  source:", "  exchange: 0\n  source:")], [(6, "exchange must be 1 or more, not the number 0")]),
    ("exchange", [("  source:", "  exchange: true\n  source:")], [(6, "exchange must be a whole number, not true")]),
    ("exchange float", [("  source:", "  exchange: 1.0\n  source:")], [(6, "exchange must be a whole number, not the number 1.0")]),
    ("remembers nothing", [("  source:", "  remembers: 0\n  source:")], [
        (6, "remembers must be 1 or more, not the number 0"),
        (6, "nothing is remembered outside a conversation; a case with remembers has turns"),
    ]),
    ("tool_code", [("  source:", "  tool_code: no\n  source:")], [(6, "tool_code must be true or false, not 'no'")]),
    ("tool_code empty", [("  source:", "  tool_code:\n  source:")], [(6, "tool_code is empty; it must be given a value, or its line deleted")]),
    ("reviewed", [("  source:", "  reviewed: yes\n  source:")], [
        (6, "reviewed must be 'no', not 'yes'; delete the line once somebody has read the expectation"),
    ]),
    ("reviewed empty", [("  source:", "  reviewed:\n  source:")], [(6, "reviewed is empty; it must be given a value, or its line deleted")]),
    # features, provider
    ("feature", [("text.streaming", "tool-call.paralel")], [
        (5, "unknown feature 'tool-call.paralel' (did you mean tool-calls.parallel?); "
            "known features are text.streaming, tool-calls.parallel, tool-calls.single"),
    ]),
    ("feature twice", [("[text.streaming]", "\n  - text.streaming\n  - text.streaming")], [
        (7, "feature text.streaming stands twice; once is enough"),
    ]),
    ("feature kind", [("[text.streaming]", "[5]")], [(5, "features[0] must be a string, not the number 5")]),
    ("no features", [("[text.streaming]", "[]")], [(5, "features holds nothing; it needs one entry at least")]),
    ("features kind", [("[text.streaming]", "text.streaming")], [(5, "features must be a list, not 'text.streaming'")]),
    ("huge", [("[text.streaming]", f"[0x{'f' * 3990}]")], [(5, "features[0] must be a string, not a huge number")]),
    ("provider", [("  source:", "  provider: gemini\n  source:")], [
        (6, "unknown provider 'gemini' (did you mean gemini-api?); known providers are code-assist, gemini-api"),
    ]),
    # cassette
    ("cassette", [("gemini-api/one", "../secrets")], [
        (7, "cassette '../secrets' has a folder . or ..; it is a path below the cassettes folder"),
    ]),
    # expect
    ("expect empty", [("\n    anthropic: [{type: ping}]", "")], [(8, "expect is empty; it must be a mapping")]),
    ("expect none", [("\n    anthropic: [{type: ping}]", " {}")], [(8, "expect holds nothing; it needs one entry at least")]),
    ("cell", [("anthropic:", "antropic:")], [
        (9, "unknown layer or dialect 'antropic' (did you mean anthropic?); known ones are frames, events, anthropic, unified-llm"),
    ]),
    ("cell kind", [("[{type: ping}]", "{type: ping}")], [(9, "expect.anthropic must be a list, an operator, or empty, not a mapping")]),
    ("operator", [("[{type: ping}]", "{$contain: [{type: ping}]}")], [
        (9, "unknown operator '$contain' (did you mean $contains?); known operators are $any, $re, $same, $json, $contains, "
            "$unordered, $absent, $literal"),
    ]),
    ("cell string", [("[{type: ping}]", "ping")], [(9, "expect.anthropic must be a list, an operator, or empty, not 'ping'")]),
    # not_carried, known_failing
    ("loss", [("  expect:", "  not_carried: {anthropic: [groundin]}\n  expect:")], [
        (8, "unknown loss 'groundin' (did you mean grounding?); declared losses of anthropic are grounding, 'other candidates'"),
    ]),
    ("no losses", [("  expect:", "  not_carried: {unified-llm: [media]}\n  expect:\n    unified-llm: []")], [
        (8, "unknown loss 'media'; there are no declared losses of unified-llm"),
    ]),
    ("loss of what", [("  expect:", "  not_carried: {unified-llm: [x]}\n  expect:")], [
        (8, "not_carried names 'unified-llm', which expect does not have; it has anthropic"),
        (8, "unknown loss 'x'; there are no declared losses of unified-llm"),
    ]),
    ("mark of what", [("  expect:", "  known_failing: {events: {reason: x, link: 'https://x.y'}}\n  expect:")], [
        (8, "known_failing names 'events', which expect does not have; it has anthropic"),
    ]),
    ("mark", [("  expect:", "  known_failing: {anthropic: {reasons: x, link: x, expires: tomorrow}}\n  expect:")], [
        (8, "known_failing.anthropic.reason is missing; required keys are reason, link"),
        (8, "known_failing.anthropic.link must be a link that begins with http:// or https://, not 'x'"),
        (8, "known_failing.anthropic.expires must be a date like 2027-01-31, not 'tomorrow'"),
        (8, "known_failing.anthropic: unknown key 'reasons' (did you mean reason?); known keys are reason, link, expires"),
    ]),
    ("day", [("  expect:", "  known_failing: {anthropic: {reason: x, link: 'https://x.y', expires: 2027-02-30}}\n  expect:")], [
        (8, "known_failing.anthropic.expires must be a date like 2027-01-31, not '2027-02-30'"),
    ]),
    ("short day", [("  expect:", "  known_failing: {anthropic: {reason: x, link: 'https://x.y', expires: '20270131'}}\n  expect:")], [
        (8, "known_failing.anthropic.expires must be a date like 2027-01-31, not '20270131'"),
    ]),
    ("no day", [("  expect:", "  known_failing: {anthropic: {reason: x, link: 'https://x.y', expires: }}\n  expect:")], [
        (8, "known_failing.anthropic.expires is empty; it must be given a value, or its line deleted"),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("edits", "expected"),
    [pytest.param(edits, expected, id=name) for name, edits, expected in WRONG],
)
def test_what_is_wrong_is_said_with_its_line(
    edits: list[tuple[str, str]], expected: list[tuple[int, str]]
) -> None:
    assert problems(edited(*edits)) == expected


def test_an_error_reads_as_file_line_fact() -> None:
    with pytest.raises(SpecError) as caught:
        read(edited(("level: should", "level: x"), ("exchange: 2", "exchange: 0"), text=WHOLE))
    assert str(caught.value).splitlines() == [
        "specs/x.yaml:7: level must be 'must' or 'should', not 'x'",
        "specs/x.yaml:10: exchange must be 1 or more, not the number 0",
    ]


def test_all_problems_of_a_file_are_found_at_once_shapes_and_meaning_in_the_order_of_the_lines() -> (
    None
):
    first = edited(("[text.streaming]", "[nothing]"), ("gemini-api/one", "/etc/passwd"))
    second = edited(("harness: 1\ncases:\n", ""), ("It holds.", ""))
    assert [(line, message.split()[0]) for line, message in problems(first + second)] == [
        (5, "unknown"),
        (7, "cassette"),
        (10, "case"),
        (11, "requirement"),
    ]


def test_a_name_is_unique_in_its_file() -> None:
    assert problems(SMALL + SMALL.partition("cases:\n")[2]) == [
        (10, "case 'one' stands on line 3 already; give this one a name of its own"),
    ]


def test_a_malformed_operator_has_its_line() -> None:
    text = edited(("[{type: ping}]", "\n    - type: ping\n    - {id: 1,\n       name: {$re: '('}}"))
    [(line, message)] = problems(text)
    assert line == 12
    assert message.startswith("expect.anthropic[1].name: ")


def test_a_mark_expires_after_its_day() -> None:
    text = edited(
        (
            "  expect:",
            "  known_failing: {anthropic: {reason: x, link: 'https://x.y', expires: 2027-01-31}}\n  expect:",
        )
    )
    assert read(text, today=date(2027, 1, 31))
    assert read(text), "no date, no expiry"
    assert (
        len(problems(edited(("2027-01-31", "2027-1-1"), text=text), today=date(2030, 1, 1))) == 1
    ), "what is no date has not expired"
    assert problems(text, today=date(2027, 2, 1)) == [
        (
            8,
            "known_failing.anthropic expired on 2027-01-31; make the cell pass, or set a later date",
        ),
    ]


def test_of_many_known_names_the_nearest_are_shown() -> None:
    known = {f"group-{n}.x" for n in range(70)}
    [(_, message)] = problems(edited(("text.streaming", "group-33.y")), features=known)
    assert message == (
        "unknown feature 'group-33.y' (did you mean group-33.x?); "
        "the nearest of 70 known features are group-33.x, group-3.x, group-63.x, group-53.x, group-43.x"
    )


def test_known_names_are_listed_in_the_same_order_every_time() -> None:
    text = edited(("text.streaming", "zzz"))
    assert problems(text, features=["b.x", "a.x"]) == problems(text, features=["a.x", "b.x"])


@pytest.mark.parametrize("group", ["keys", "values"])
def test_so_many_problems_are_listed_and_no_more(group: str) -> None:
    many = "".join(f"  k{n}: 1\n" if group == "keys" else f"  - f{n}\n" for n in range(40_000))
    text = edited(
        ("  source:", f"{many}  source:"),
        ("[text.streaming]", "[text.streaming]" if group == "keys" else ""),
    )
    start = time.perf_counter()
    parse_located(text)
    parsed = time.perf_counter()
    found = problems(text)
    judged = time.perf_counter()
    assert [line for line, _ in found] == [*range(6, 106), 106]
    assert found[-1][1] == "there are more; the first 100 problems are listed"
    assert judged - parsed < 5 * (parsed - start), "the time goes into reading, not into advice"


def test_a_long_word_is_compared_by_its_beginning() -> None:
    [(_, message)] = problems(
        edited(("text.streaming", "k" * 40 + "x" * 500_000)),
        features=["k" * 40, *(f"g.{n}" for n in range(60))],
    )
    assert f"(did you mean {'k' * 40}?)" in message


def test_an_oversize_file_is_refused() -> None:
    assert problems(SMALL + "#" * (32 * 1024 * 1024))[0][1].startswith("the file has 335")


@pytest.mark.parametrize("name", ["one", "gemini-api/one", "a/b/c.d_e-1"])
def test_names_of_cassettes(name: str) -> None:
    assert cassette_fault(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("../one", "has a folder . or .."),
        ("a/../../one", "has a folder . or .."),
        ("./one", "has a folder . or .."),
        ("..", "has a folder . or .."),
        ("/etc/passwd", "is absolute"),
        ("c:/one", "has other characters"),
        ("a\\one", "has a backslash"),
        ("..\\one", "has a backslash"),
        ("a//one", "has an empty folder"),
        ("a/", "has an empty folder"),
        ("", "has an empty folder"),
        ("A/one", "has other characters"),
        ("one two", "has other characters"),
        ("one\n", "has other characters"),
        ("one\0", "has other characters"),
        ("~/one", "has other characters"),
        ("é", "has other characters"),
        ("one.yaml", "ends in .yaml"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name: str, fault: str) -> None:
    assert (cassette_fault(name) or "").startswith(fault)


# ---------------------------------------------------------------- hostile input

CASE_KEYS = [*Case.model_fields, "x"]
INNER_KEYS = ["anthropic", "events", "reason", "link", "expires", "$re", "$any", "$absent", "x"]
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(INNER_KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(text=st.text())
@example("harness: 1")
@example("harness: 1\n  2")
@example("harness: 1\n? [a]\n: 1")
@example("harness: 1\ncases: " + "[" * 5000)
@example("harness: 1\ncases:\n" + "- " * 5000)
@example("harness: 1\n---\nharness: 1")
@example("harness: " + "9" * 5000)
@example("harness: 1\ncases: \x00")
@example("harness: 1\ncases: \ud800")
def test_no_text_raises_anything_else(text: str) -> None:
    for candidate in (text, "harness: 1\n" + text, SMALL + text, SMALL.replace("It holds.", text)):
        is_spec(candidate), is_features(candidate)
        for attempt in (read, partial(read_features, path="f.yaml")):
            found = failure(attempt, candidate)
            assert found is None or found.problems
            assert found is None or all(line >= 1 for line, _ in found.problems)


@given(case=st.dictionaries(st.sampled_from(CASE_KEYS), TREES), top=TREES)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_no_tree_raises_anything_else_and_no_words_of_pydantic_come_through(
    case: dict[str, Any], top: Any
) -> None:
    for cases in ([case], [case, top], top):
        text = "harness: 1\ncases: " + json.dumps(cases).replace("\\ud", "\\\\ud")
        found = str(failure(read, text))
        assert "nput should be" not in found
        assert "pydantic" not in found


# ---------------------------------------------------------------- filling in

EMPTY = """\
# A comment.
harness: 1
cases:
- case: first   # the name
  requirement: "It  holds."
  expect:
    anthropic: []
- case: second
  requirement: It holds too.
  expect:
    # what comes out
    unified-llm:  # still open
    anthropic:
    events: ~

  # the tail
"""

PAYLOADS = [{"type": "text", "delta": 'a"\n\u00e9'}, {"type": "stop", "n": 1.0}]


def test_an_empty_expectation_is_filled_and_nothing_else_changes() -> None:
    assert accept(EMPTY, "second", "anthropic", PAYLOADS) == EMPTY.replace(
        "- case: second\n", "- case: second\n  reviewed: no\n"
    ).replace(
        "    anthropic:\n    events",
        '    anthropic:\n      - {"type": "text", "delta": "a\\"\\né"}\n      - {"type": "stop", "n": 1.0}\n    events',
    )


def test_comments_beside_the_key_stay() -> None:
    filled = accept(EMPTY, "second", "unified-llm", [{"a": 1}])
    assert '    unified-llm:  # still open\n      - {"a": 1}\n    anthropic:\n' in filled


def test_a_written_null_gives_way() -> None:
    assert '    anthropic:\n    events:\n      - {"a": 1}\n\n  # the tail\n' in accept(
        EMPTY, "second", "events", [{"a": 1}]
    )


def test_what_is_filled_one_by_one_is_marked_once() -> None:
    text = EMPTY
    for key in ("unified-llm", "anthropic", "events"):
        text = accept(text, "second", key, PAYLOADS)
    assert text.count("reviewed: no") == 1
    assert parse(text)["cases"][1] == {
        "case": "second",
        "reviewed": "no",
        "requirement": "It holds too.",
        "expect": dict.fromkeys(("unified-llm", "anthropic", "events"), PAYLOADS),
    }


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_marks_stay(ending: str, last: str, mark: str) -> None:
    text = (
        mark
        + "harness: 1\ncases:\n- case: a\n  expect:\n    events:".replace("\n", ending)
        + last.replace("\n", ending)
    )
    expected = (
        'harness: 1\ncases:\n- case: a\n  reviewed: no\n  expect:\n    events:\n      - {"b": 1}'
        + last
    )
    assert accept(text, "a", "events", [{"b": 1}]) == mark + expected.replace("\n", ending)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("expect: {events: }", 'expect: {events: [{"b": 1}]}'),
        ("expect: {events: null, x: 1}", 'expect: {events: [{"b": 1}], x: 1}'),
        (
            "expect:\n    events:\n      ~  # none",
            'expect:\n    events:\n        # none\n      - {"b": 1}',
        ),
        ("expect:\n    events:\n      ~", 'expect:\n    events:\n      - {"b": 1}'),
        ("expect:\n        events: ~", 'expect:\n        events:\n          - {"b": 1}'),
    ],
)
def test_forms_of_an_empty_expectation(before: str, after: str) -> None:
    head = "harness: 1\ncases:\n- case: a\n"
    assert (
        accept(f"{head}  {before}\n", "a", "events", [{"b": 1}])
        == f"{head}  reviewed: no\n  {after}\n"
    )


def test_a_case_in_braces() -> None:
    assert (
        accept("harness: 1\ncases: [{case: a, expect: {events: }}]\n", "a", "events", [])
        == "harness: 1\ncases: [{case: a, reviewed: no, expect: {events: []}}]\n"
    )


def test_nothing_came_out() -> None:
    assert "    anthropic: []\n    events: ~\n" in accept(EMPTY, "second", "anthropic", [])


def test_data_that_looks_like_an_operator_is_made_literal() -> None:
    text = accept(
        EMPTY,
        "second",
        "anthropic",
        [{"args": {"$any": True}}, {"$re": {"$re": "x"}}, {"$any": 1, "b": 2}],
    )
    assert parse(text)["cases"][1]["expect"]["anthropic"] == [
        {"args": {"$literal": {"$any": True}}},
        {"$literal": {"$re": {"$re": "x"}}},
        {"$any": 1, "b": 2},
    ]


STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
)


@given(
    value=st.lists(
        st.dictionaries(
            st.text("ab #:-{'\"\\\u0085\u2028\ufeff\x7f\x00", max_size=4), JSON, max_size=3
        )
    )
    | JSON
)
@example(value=["\ufffe\uffff\ufdd0\U0001fffe\ufeff\x00\x1f\x7f\x85\x9f\u2028\u2029\t\\/"])
@example(
    value=[
        {
            "no": "no",
            "yes": 1,
            "": None,
            "~": "~",
            "1": 1.0,
            "big": 2**80,
            "tiny": 5e-324,
            "date": "2027-01-31",
        }
    ]
)
def test_any_json_reads_back_as_it_was(value: Any) -> None:
    if value is None:
        return
    text = accept(
        EMPTY,
        "second",
        "anthropic",
        {"$literal": value} if not isinstance(value, list) else [{"$literal": value}],
    )
    [wrapped] = _wrapped(parse(text)["cases"][1]["expect"]["anthropic"])
    assert json.dumps(wrapped) == json.dumps({"$literal": value})
    assert text.replace("  reviewed: no\n", "").startswith(EMPTY[: EMPTY.index("    anthropic:\n")])
    assert text.endswith(EMPTY[EMPTY.index("    events: ~") :])


def _wrapped(found: Any) -> Sequence[Any]:
    return [item["$literal"] for item in (found if isinstance(found, list) else [found])]


@pytest.mark.parametrize(
    ("case", "key", "value", "message"),
    [
        (
            "first",
            "anthropic",
            [],
            "line 7: expect.anthropic is not empty; delete what stands there to have it filled",
        ),
        ("third", "anthropic", [], "line 1: there is no case 'third' in this file"),
        (
            "second",
            "frames",
            [],
            "line 8: case 'second' expects nothing of 'frames'; write the key with no value to have it filled",
        ),
        (
            "second",
            "anthropic",
            [{"a": float("nan")}],
            "line 13: the value of expect.anthropic cannot be written here (",
        ),
        (
            "second",
            "anthropic",
            [{"a": object()}],
            "line 13: the value of expect.anthropic cannot be written here (",
        ),
        (
            "second",
            "anthropic",
            [{"a": "\ud800"}],
            "line 13: the value of expect.anthropic cannot be written here (",
        ),
        (
            "second",
            "anthropic",
            [{"k" * 2000: 1}],
            "line 13: the value of expect.anthropic cannot be written here (",
        ),
    ],
)
def test_what_cannot_be_filled(case: str, key: str, value: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        accept(EMPTY, case, key, value)
    assert str(caught.value).startswith(message)
    with pytest.raises(SpecError) as caught:
        accept(EMPTY, case, key, value, path="specs/x.yaml")
    assert str(caught.value).startswith(message.replace("line ", "specs/x.yaml:", 1))


def test_what_is_nested_too_deep_cannot_be_filled() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(SpecError, match="cannot be written here"):
        accept(EMPTY, "second", "anthropic", deep)
    with pytest.raises(
        SpecError, match=r"cannot be written here \(nested deeper than 100 levels\)"
    ):
        accept(EMPTY, "second", "anthropic", json.loads("[" * 120 + "]" * 120))


def test_a_line_end_that_only_yaml_knows_is_no_trap() -> None:
    text = "harness: 1\ncases:\n- case: a\n  expect:\n    events: ~ # c\u2028    frames:\n"
    assert parse(text)["cases"][0]["expect"] == {"events": None, "frames": None}
    with pytest.raises(SpecError, match="it reads back as something else"):
        accept(text, "a", "events", [1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "harness: 1",
        "cases: word",
        "cases: [word, {x: 1}, {case: b}]",
        "cases: {case: a, expect: {x: }}",
    ],
)
def test_there_is_no_such_case(text: str) -> None:
    with pytest.raises(SpecError, match="there is no case 'a' in this file"):
        accept(text, "a", "x", [])


def test_other_cases_may_be_broken() -> None:
    assert accept("cases: [word, {x: 1}, {case: a, expect: {x: }}]", "a", "x", []) == (
        "cases: [word, {x: 1}, {case: a, reviewed: no, expect: {x: []}}]"
    )
    with pytest.raises(SpecError, match="line 1: case 'a' expects nothing of 'x'"):
        accept("cases: [{case: a, expect: x}]", "a", "x", [])


def test_text_that_is_no_yaml_is_not_filled() -> None:
    with pytest.raises(SpecError, match="line 3: "):
        accept("harness: 1\ncases: [", "a", "events", [])


# ---------------------------------------------------------------- features


def test_the_checklist_is_sound() -> None:
    features = read_features(FEATURES.read_text("utf-8"), "specs/features.yaml")
    assert len(features) > 40
    assert all(
        feature.id.count(".") == 1
        and feature.meaning.endswith(".")
        and not feature.title.endswith(".")
        for feature in features
    )
    groups = [feature.id.partition(".")[0] for feature in features]
    assert [group for index, group in enumerate(groups) if group not in groups[:index]] == [
        group for index, group in enumerate(groups) if index == 0 or groups[index - 1] != group
    ], "a group stands in one place"


def test_features_are_judged_like_specs() -> None:
    with pytest.raises(SpecError) as caught:
        read_features(
            """\
harness: 1
features:
- {id: a.b, title: A, meaning: It is., link: "https://x.y"}
- {id: a.b, title: A, meaning: It is., link: "https://x.y"}
- {id: A, title: "", mening: x, link: nowhere}
""",
            "f.yaml",
        )
    assert str(caught.value).splitlines() == [
        "f.yaml:4: id 'a.b' stands on line 3 already; give this one a name of its own",
        "f.yaml:5: id must be lower-case words joined by '.' and '-', not 'A'",
        "f.yaml:5: title must be a sentence, not ''",
        "f.yaml:5: meaning is missing; required keys are id, title, meaning, link",
        "f.yaml:5: link must be a link that begins with http:// or https://, not 'nowhere'",
        "f.yaml:5: unknown key 'mening' (did you mean meaning?); known keys are id, title, meaning, link",
    ]


# ---------------------------------------------------------------- for editors


def test_the_schema_names_every_key_with_its_meaning() -> None:
    definitions = json_schema()["$defs"]
    assert set(definitions["Case"]["properties"]) == set(Case.model_fields)
    for name in ("Case", "KnownFailing", "Feature"):
        assert definitions[name]["additionalProperties"] is False
        assert all(key["description"] for key in definitions[name]["properties"].values()), name
    assert "null" not in json.dumps(
        {name: definitions[name] for name in ("Case", "KnownFailing")}
    ), "an empty key is an error"


def test_every_reference_of_the_schema_leads_somewhere() -> None:
    schema = json_schema()
    text = json.dumps(schema)
    references = {part.partition('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert references == set(schema["$defs"])
    assert schema["$defs"]["Case"]["properties"]["expect"]["additionalProperties"] == {
        "$ref": "#/$defs/Expectation"
    }


def test_the_schema_describes_every_operator() -> None:
    assert list(json_schema()["$defs"]["Expectation"]["properties"]) == list(OPERATORS)
