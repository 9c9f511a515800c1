"""The benchmark of recordings measures every message of an answer."""

from pathlib import Path

from benchmarks.recorded import answers_in, messages_of, rows, taken
from harness.cassettes import Exchange

CASSETTES = Path(__file__).parents[1] / "cassettes"


def answer(body: bytes) -> Exchange:
    return Exchange(None, 200, {}, ((None, body),))


def test_the_messages_of_an_answer_are_those_of_the_wire() -> None:
    assert messages_of(answer(b' {\n"a": 1}\n')) == [b'{\n"a": 1}']
    assert messages_of(answer(b'event: e\ndata: {"a": 1}\n\ndata: [DONE]\n\n')) == [b'{"a": 1}']
    assert messages_of(answer(b'noise\n{"a": 1}\n{"b": 2}\n{')) == [b'{"a": 1}', b'{"b": 2}']


def test_the_table_has_a_row_for_each_kind_of_answer() -> None:
    answers = [*answers_in(CASSETTES / "interactions")]
    assert sum(map(taken, answers)) > 0
    names = [line.split("  ")[0] for line in rows(answers, 1)]
    assert names == ["", "all", "interactions, one frame", "interactions, stream"]
