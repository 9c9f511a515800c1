"""Patterns of ``$re``."""

from __future__ import annotations

import pytest

from harness.specs.matching import check_expectation, compare

from .payloads import findings

NOT_IN_RE2 = [
    (r"(a)\1", r"RE2, which matches $re, has no back-reference \1; write the pattern without it"),
    (r"(?P<n>a)(?P=n)", "RE2, which matches $re, has no back-reference"),
    ("(a)?(?(1)b|c)", "RE2, which matches $re, has no condition"),
    ("a(?=b)", "RE2, which matches $re, has no look-ahead (?=;"),
    ("a(?!b)", "RE2, which matches $re, has no look-ahead (?!;"),
    ("(?<=a)b", "RE2, which matches $re, has no look-behind"),
    ("(?<!a)b", "RE2, which matches $re, has no look-behind"),
    ("a++", "RE2, which matches $re, has no possessive repeat ++;"),
    ("(?>a*)b", "RE2, which matches $re, has no atomic group"),
    ("(?#word)a", "RE2, which matches $re, has no comment"),
    ("(", "not a valid regular expression: missing ): ("),
    ("((){9999}){9999}", "not a valid regular expression: invalid repetition size: {9999}"),
    ("(" * 240 + "a" + ")" * 240 + "(", "not a valid regular expression"),
    ("a" * 501, "the pattern has 501 characters; at most 500 are allowed"),
    (r"\pL{9}", "the pattern is too large"),
    ("(((a?b?){9}){9}){9}", "the pattern is too large: 2,"),
]


@pytest.mark.parametrize(("pattern", "reason"), NOT_IN_RE2)
def test_an_unusable_pattern_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    ((path, message),) = check_expectation({"$re": pattern})
    assert path == ("$re",)
    assert message.startswith(f"$re: {reason}")
    (mismatch,) = compare({"$re": pattern}, "a" * 60)
    assert mismatch.note == message


BACKTRACKING = [
    "(a+)+",
    "(a*)*b",
    "(a|a)*b",
    "(ab|cd)+",
    "((ab|cd)e)*",
    "(?:a{1,50}){1,9}!",
    "(.*)*!",
    "(a?){50}",
    "a?" * 60 + "a" * 60 + "!",
    ".*.*.*.*.*.*.*x",
    "(?:ab)*a" * 8,
]


@pytest.mark.parametrize("pattern", BACKTRACKING)
def test_a_pattern_on_which_other_engines_hang_ends(pattern: str) -> None:
    assert check_expectation({"$re": pattern}) == []
    assert findings({"$re": f"(?:{pattern})#"}, "a" * 100_000) == [("$", "changed")]


USUAL = [
    ("(a?)?b", "ab"),
    ("(ab|cd){10}", "abcd" * 5),
    ("[0-9]{20}" * 6, "0" * 120),
    ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "00112233-4455-6677-8899-aabbccddeeff"),
    (r"\d{4}-\d{2}-\d{2}T.*Z", "2026-01-01T00:00:00.123Z"),
    ("https?://[^/]+/.*", "https://a.example/b"),
    ("(?i)(stop|max_tokens)?", "STOP"),
    ("(?i:S)top", "stop"),
    ("(?s).*error.*", "an\nerror\nhere"),
    ("(ab){2,3}c*", "ababcc"),
    ("[A-Za-z0-9+/]+={0,2}", "aGk="),
    ("(?:(?:a|b)c){3}", "acbcac"),
    (".*?x", "aax"),
    ("Grüße, .{2}", "Grüße, 世界"),
    (".🌊", "\ud83c\udf0a🌊"),
    ("a.b", "a\ud800b"),
]


@pytest.mark.parametrize(("pattern", "text"), USUAL)
def test_a_pattern_matches_the_whole_text(pattern: str, text: str) -> None:
    assert check_expectation({"$re": pattern}) == []
    assert compare({"$re": pattern}, text) == []
    assert findings({"$re": pattern}, "\n") == [("$", "changed")]


@pytest.mark.parametrize(("pattern", "text"), [(r"\d", "٣"), (r"\w", "é"), (r"\s", "\u2003")])
def test_classes_of_characters_are_ascii(pattern: str, text: str) -> None:
    assert findings({"$re": pattern}, text) == [("$", "changed")]


def test_a_text_too_long_for_a_pattern_is_a_finding() -> None:
    (mismatch,) = compare({"$re": "a*"}, "a" * 100_001)
    assert mismatch.note == ("a text of 100,001 characters is too long for $re (at most 100,000)")


def test_patterns_that_take_too_many_steps_are_stopped() -> None:
    expected = [{"$re": f"(((a?){{9}}){{9}}){{9}}{n}"} for n in range(20)]
    mismatches = compare(expected, [f"{'a' * 99_990}{n}" for n in range(19)])
    assert "given up" in mismatches[-1].note
