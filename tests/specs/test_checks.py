"""The faults of a spec file, each with its line and its message."""

from __future__ import annotations

from datetime import date

import pytest

from harness.specs.checks import cassette_fault
from harness.specs.spec_error import SpecError

from .spec_files import SMALL, WHOLE, edited, problems, read

KEYS = (
    "known keys are case, requirement, features, level, source, regression_of, cassette, exchange, prompt, turns, remembers, question, options, provider, "
    "tool_code, context, expect, not_carried, kill, known_failing, reviewed"
)
NEEDS = "required keys are case, requirement, features, source"

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
    ("twice", [("  source:", "  case: two\n  source:")], [(6, "the key 'case' is used twice in one mapping; delete one of them")]),
    ("alias", [("gemini-api/one", "*one")], [(7, "alias *one is not allowed; write the value in full")]),
    ("top key", [("cases:", "case:")], [
        (1, "cases is missing; required keys are harness, cases"),
        (2, "unknown key 'case' (did you mean cases?); known keys are harness, cases"),
    ]),
    ("top null", [(SMALL.partition("cases:")[2], "\n")], [(2, "cases is empty; it must be a list")]),
    ("top empty", [(SMALL.partition("cases:")[2], " []\n")], [(2, "cases has no entries; it needs at least one")]),
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
        (6, "only a conversation remembers calls; add turns, or remove remembers"),
    ]),
    ("tool_code", [("  source:", "  tool_code: no\n  source:")], [(6, "tool_code must be true or false, not 'no'")]),
    ("tool_code empty", [("  source:", "  tool_code:\n  source:")], [(6, "tool_code is empty; it must be given a value, or its line deleted")]),
    ("reviewed", [("  source:", "  reviewed: yes\n  source:")], [
        (6, "reviewed must be 'no', not 'yes'; delete the line after you have reviewed the expectation"),
    ]),
    ("reviewed empty", [("  source:", "  reviewed:\n  source:")], [(6, "reviewed is empty; it must be given a value, or its line deleted")]),
    # features, provider
    ("feature", [("text.streaming", "tool-call.paralel")], [
        (5, "unknown feature 'tool-call.paralel' (did you mean tool-calls.parallel?); "
            "known features are text.streaming, tool-calls.parallel, tool-calls.single"),
    ]),
    ("feature twice", [("[text.streaming]", "\n  - text.streaming\n  - text.streaming")], [
        (7, "feature text.streaming is listed twice; list it once"),
    ]),
    ("feature kind", [("[text.streaming]", "[5]")], [(5, "features[0] must be a string, not the number 5")]),
    ("no features", [("[text.streaming]", "[]")], [(5, "features has no entries; it needs at least one")]),
    ("features kind", [("[text.streaming]", "text.streaming")], [(5, "features must be a list, not 'text.streaming'")]),
    ("huge", [("[text.streaming]", f"[0x{'f' * 3990}]")], [(5, "features[0] must be a string, not a huge number")]),
    ("provider", [("  source:", "  provider: gemini\n  source:")], [
        (6, "unknown provider 'gemini' (did you mean gemini-api?); known providers are code-assist, gemini-api"),
    ]),
    # regression_of
    ("thread", [("  source:", "  regression_of: [owner/repo]\n  source:")], [
        (6, "regression_of[0] must be a public thread like owner/repo#12, not 'owner/repo'"),
    ]),
    ("thread 0", [("  source:", "  regression_of: ['owner/repo#0']\n  source:")], [
        (6, "regression_of[0] must be a public thread like owner/repo#12, not 'owner/repo#0'"),
    ]),
    ("thread twice", [("  source:", "  regression_of:\n  - 'o/r#1'\n  - 'o/r#1'\n  source:")], [
        (8, "thread 'o/r#1' is listed twice; list it once"),
    ]),
    ("no threads", [("  source:", "  regression_of: []\n  source:")], [(6, "regression_of has no entries; it needs at least one")]),
    ("threads kind", [("  source:", "  regression_of: o/r#1\n  source:")], [(6, "regression_of must be a list, not 'o/r#1'")]),
    # cassette
    ("cassette", [("gemini-api/one", "../secrets")], [
        (7, "cassette '../secrets' has a folder . or ..; it is a path below the cassettes folder"),
    ]),
    # expect
    ("expect empty", [("\n    anthropic: [{type: ping}]", "")], [(8, "expect is empty; it must be a mapping")]),
    ("expect none", [("\n    anthropic: [{type: ping}]", " {}")], [(8, "expect has no entries; it needs at least one")]),
    ("cell", [("anthropic:", "antropic:")], [
        (9, "unknown layer or dialect 'antropic' (did you mean anthropic?); known ones are frames, events, anthropic, unified-llm"),
    ]),
    ("cell kind", [("[{type: ping}]", "{type: ping}")], [(9, "expect.anthropic must be a list, an operator, or empty, not a mapping")]),
    ("operator", [("[{type: ping}]", "{$contain: [{type: ping}]}")], [
        (9, "unknown operator '$contain' (did you mean $contains?); known operators are $any, $re, $same, $json, $contains, "
            "$unordered, $absent, $literal"),
    ]),
    ("cell string", [("[{type: ping}]", "ping")], [(9, "expect.anthropic must be a list, an operator, or empty, not 'ping'")]),
    # kill
    ("kill of a layer", [("  expect:", "  kill: {events: text-lost}\n  expect:")], [
        (8, "kill names the layer events; only payloads of a dialect are mutated"),
    ]),
    ("kill of nothing", [("  expect:", "  kill: {unified-llm: text-lost}\n  expect:")], [
        (8, "kill names 'unified-llm', which expect does not have; it has anthropic"),
    ]),
    ("kill of a list", [("  expect:", "  kill: {anthropic: [text-lost]}\n  expect:")], [
        (8, "kill.anthropic must be a string, not a list"),
    ]),
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
    ("loss of nothing", [("  expect:\n", "  not_carried: {anthropic: [x]}\n  expect: {}\n"), ("    anthropic: [{type: ping}]\n", "")], [
        (8, "not_carried names 'anthropic', which expect does not have; it has no entries"),
        (8, "unknown loss 'x'; declared losses of anthropic are grounding, 'other candidates'"),
        (9, "expect has no entries; it needs at least one"),
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
def test_each_fault_has_its_line_and_message(
    edits: list[tuple[str, str]], expected: list[tuple[int, str]]
) -> None:
    assert problems(edited(*edits)) == expected


def test_an_error_reads_as_file_line_fact() -> None:
    with pytest.raises(SpecError) as caught:
        read(edited(("level: should", "level: x"), ("exchange: 2", "exchange: 0"), text=WHOLE))
    assert str(caught.value).splitlines() == [
        "specs/x.yaml:7: level must be 'must' or 'should', not 'x'",
        "specs/x.yaml:11: exchange must be 1 or more, not the number 0",
    ]


def test_all_problems_of_a_file_are_reported_by_line() -> None:
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
        (10, "case 'one' is already on line 3; give this one another name"),
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


def test_the_nearest_of_many_known_names_are_listed() -> None:
    known = {f"group-{n}.x" for n in range(70)}
    [(_, message)] = problems(edited(("text.streaming", "group-33.y")), features=known)
    assert message == (
        "unknown feature 'group-33.y' (did you mean group-33.x?); "
        "the nearest of 70 known features are group-33.x, group-3.x, group-63.x, group-53.x, group-43.x"
    )


def test_known_names_are_listed_in_the_same_order_every_time() -> None:
    text = edited(("text.streaming", "zzz"))
    assert problems(text, features=["b.x", "a.x"]) == problems(text, features=["a.x", "b.x"])


@pytest.mark.slow
@pytest.mark.parametrize("group", ["keys", "values"])
def test_at_most_100_problems_are_listed(group: str) -> None:
    many = "".join(f"  k{n}: 1\n" if group == "keys" else f"  - f{n}\n" for n in range(40_000))
    text = edited(
        ("  source:", f"{many}  source:"),
        ("[text.streaming]", "[text.streaming]" if group == "keys" else ""),
    )
    first = problems(text)
    assert [line for line, _ in first] == [*range(6, 106), 106]
    assert first[-1][1] == "there are more; the first 100 problems are listed"


def test_only_the_beginning_of_a_long_word_is_compared() -> None:
    [(_, message)] = problems(
        edited(("text.streaming", "k" * 40 + "x" * 500_000)),
        features=["k" * 40, *(f"g.{n}" for n in range(60))],
    )
    assert f"(did you mean {'k' * 40}?)" in message


@pytest.mark.slow
def test_an_oversize_file_is_refused() -> None:
    assert problems(SMALL + "#" * (32 * 1024 * 1024))[0][1].startswith("the file has 33,5")


@pytest.mark.parametrize("name", ["one", "gemini-api/one", "a/b/c.d_e-1"])
def test_names_of_cassettes_are_accepted(name: str) -> None:
    assert cassette_fault(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("../one", "has a folder . or .."),
        ("a/../../one", "has a folder . or .."),
        ("./one", "has a folder . or .."),
        ("..", "has a folder . or .."),
        ("/etc/passwd", "is absolute"),
        ("c:/one", "has characters other than"),
        ("a\\one", "has a backslash"),
        ("..\\one", "has a backslash"),
        ("a//one", "has an empty folder"),
        ("a/", "has an empty folder"),
        ("", "has an empty folder"),
        ("A/one", "has characters other than"),
        ("one two", "has characters other than"),
        ("one\n", "has characters other than"),
        ("one\0", "has characters other than"),
        ("~/one", "has characters other than"),
        ("é", "has characters other than"),
        ("one.yaml", "ends in .yaml"),
        ("a/one:2", "ends in the number of an exchange"),
    ],
)
def test_names_of_cassettes_that_lead_elsewhere_are_refused(name: str, fault: str) -> None:
    assert (cassette_fault(name) or "").startswith(fault)
