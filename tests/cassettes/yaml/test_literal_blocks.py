"""A lifted literal block equals the YAML parser's reading; an ambiguous block is not lifted."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.cassettes.yaml import YamlError, parse
from harness.cassettes.yaml.literal_blocks import Lifted, lift

BLOCKS = [
    ("a:\n  string: |2-\n    x\n  end: e\n", ["x"]),
    ("a:\n  string: |2+\n    x\n\n  end: e\n", ["x\n\n"]),
    ("a:\n  reads: |\n    1 2\n    3 4\n  end: e\n", ["1 2\n3 4\n"]),
    ("a:\n  string: |2-\n\n      x\n\n  end: e\n", ["\n  x"]),
    ("a:\n  string: |2+\n  end: e\n", [""]),
    (
        "a:\n  string: |2-\n    b:\n      string: |2-\n        c\n  end: e\n",
        ["b:\n  string: |2-\n    c"],
    ),
    (
        "a:\n  string: |2-\n    x\n  reads: |\n    1 2\nb:\n  base64: |\n    QQ==\nend: e\n",
        ["x", "1 2\n", "QQ==\n"],
    ),
    ("a:\n  string: |2-\n    é😀\n  end: e\n", ["é😀"]),
]


def whole(lifted: Lifted) -> Any:
    """The parsed rest with each block in place of its placeholder; None unless the rest has every
    placeholder once, as a whole value.
    """
    words = lifted.blocks.copy()

    def put_back(value: Any) -> Any:
        match value:
            case dict():
                return {key: put_back(inner) for key, inner in value.items()}
            case list():
                return [put_back(inner) for inner in value]
            case str() if value in words:
                return words.pop(value).decode()
            case _:
                return value

    data = put_back(parse(lifted.text, foreign=True))
    return None if words else data


@pytest.mark.parametrize(("text", "blocks"), BLOCKS)
def test_lifted_blocks_are_those_of_the_parser(text: str, blocks: list[str]) -> None:
    lifted = lift(text.encode())
    assert [*lifted.blocks.values()] == [block.encode() for block in blocks]
    assert whole(lifted) == parse(text, foreign=True) is not None


LEFT = {
    "to the end of the file": "a:\n  string: |2-\n    x\n",
    "a line of blanks": "a:\n  string: |2-\n    x\n  \n    y\n  end: e\n",
    "a line of blanks, one less than the indent": (
        "a:\n  string: |2-\n    x\n   \n    y\n  end: e\n"
    ),
    "a tab in the indent": "a:\n  string: |2-\n    x\n   \ty\n    z\n  end: e\n",
    "an indent of its own": "a:\n  reads: |\n      1 2\n    3 4\n  end: e\n",
    "a carriage return": "a:\n  string: |2-\n    x\r\n  end: e\n",
    "a next line": "a:\n  string: |2-\n    x\x85y\n  end: e\n",
    "a line separator": "a:\n  string: |2-\n    x\u2028y\n  end: e\n",
    "the word itself": "a:\n  string: |2-\n    x\n  end: lifted-block-0\n",
    "another indicator": "a:\n  string: |4-\n      x\n  end: e\n",
    "a folded one": "a:\n  string: >2-\n    x\n  end: e\n",
}


@pytest.mark.parametrize("text", LEFT.values(), ids=list(LEFT))
def test_ambiguous_blocks_are_left_to_the_parser(text: str) -> None:
    assert not lift(text.encode()).blocks


def test_a_block_header_inside_quotes_is_not_a_block() -> None:
    text = 'a: "q\n  string: |2-\n    x\n  end"\n'
    lifted = lift(text.encode())
    assert [*lifted.blocks.values()] == [b"x"]
    assert whole(lifted) is None  # so that the whole text is parsed
    assert parse(text) == {"a": "q string: |2- x end"}


def test_an_error_beside_a_block_has_the_line_of_the_whole_text() -> None:
    with pytest.raises(YamlError) as caught:
        parse("a:\n  string: |2-\n    x\n    y\n  end: [\n")
    assert caught.value.line >= 5


LINES = st.lists(st.text(st.sampled_from("ab :|-+2\n\té\x85\u2028'\"#[{"), max_size=8), max_size=6)


@pytest.mark.slow
@given(LINES, st.sampled_from(["|2-", "|2+", "|", "|2", "|-"]), st.integers(0, 6), st.booleans())
@example(["x", "", " "], "|2-", 4, True)
def test_a_text_means_the_same_with_and_without_lifting(
    lines: list[str], mark: str, indent: int, more: bool
) -> None:
    block = "".join(f"{' ' * indent}{line}\n" for line in lines)
    text = f"a:\n  string: {mark}\n{block}" + (
        "  reads: |\n    1 2\n  end: e\n" if more else "b: c\n"
    )
    assert outcome(text) == outcome(f"# lifted-block- stands here, so nothing is lifted\n{text}")


def outcome(text: str) -> object:
    try:
        return parse(text)
    except YamlError as error:
        return re.sub(r"line \d+", "a line", error.reason)  # the comment is one line more
