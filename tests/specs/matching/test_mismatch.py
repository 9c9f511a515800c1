"""The text of the two sides of a finding."""

from __future__ import annotations

from harness.specs.matching import Mismatch, compare, sides


def test_both_sides_are_json_text_or_none() -> None:
    mismatches = compare(
        [{"type": "a", "n": 1}, {"type": "b"}, {"type": "c"}],
        [{"type": "a", "n": None}, {"type": "c"}, {"type": "d"}],
    )
    assert [sides(mismatch) for mismatch in mismatches] == [
        ("1", "null"),
        ('{"type": "b"}', None),
        (None, '{"type": "d"}'),
    ]
    assert sides(Mismatch("$contains[0]", "missing", 1, 2)) == ("1", "2")
    assert sides(compare([1, 2, 3], ["a", "b", "c"], limit=1)[1]) == (None, None)


def test_a_long_value_is_shortened_and_shows_its_length() -> None:
    expected, _ = sides(compare({"t": "x" * 5000 + "END"}, {"t": ""})[0])
    assert expected is not None
    assert len(expected) < 1300
    assert "(5,005 characters)" in expected
    assert expected.endswith('END"')


def test_long_strings_begin_shortly_before_their_first_difference() -> None:
    same = "a" * 1000 + "b" * 40
    expected, got = sides(compare({"t": f'{same}"END'}, {"t": f"{same}another end"})[0])
    assert expected == f'(1,000 equal characters) …{"b" * 40} ▶ \\"END"'
    assert got == f'(1,000 equal characters) …{"b" * 40} ▶ another end"'
    assert sides(compare(same, same[:-1])[0])[1] == f'(999 equal characters) …a{"b" * 39} ▶ "'
    assert sides(compare("short", "shore")[0]) == ('"short"', '"shore"')
