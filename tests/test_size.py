"""The ratchet of the size: growth is red and says the way out, and each addition has a reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.size import limits, rooms

ROOT = Path(__file__).parents[1]
LIMITS = """\
gone = ["old_name"]
added = [
    {kind = "nodes", name = "judging", number = 5, why = "A fix."},
]

[nodes]
"judging" = 100
"stream" = 100

[files]
"candidates" = 3

[hops]
"playback" = 10
"""


def measured(**nodes: int) -> limits.Numbers:
    return {"nodes": nodes, "files": {"candidates": 3}, "hops": {"playback": 10}}


def test_a_number_may_have_its_limit_and_its_additions() -> None:
    rows = limits.read(LIMITS).rows(measured(judging=105, stream=100))

    assert [row.is_above for row in rows] == [False] * 4


def test_a_number_above_its_limit_is_named() -> None:
    rows = limits.read(LIMITS).rows(measured(judging=106, stream=100, fresh=1))

    assert [str(row).split() for row in rows if row.is_above] == [
        ["nodes", "judging", "106", "105", "-1", "ABOVE"],
        ["nodes", "fresh", "1", "0", "-1", "ABOVE"],
    ]


def test_a_number_far_below_its_limit_is_to_be_lowered() -> None:
    [row, *_] = limits.read(LIMITS).rows(measured(judging=90, stream=100))

    assert row.is_low
    assert not row.is_above


def test_lowering_folds_the_additions_in_and_raises_nothing() -> None:
    text = limits.lowered(limits.read(LIMITS), measured(judging=103, stream=101))

    after = limits.read(text)
    assert after.numbers["nodes"] == {"judging": 103, "stream": 100}
    assert after.added == ()
    assert after.gone == ("old_name",)


def test_an_addition_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="the reason why"):
        limits.read(LIMITS.replace("A fix.", " "))


def test_code_and_data_count_and_docstrings_do_not(tmp_path: Path) -> None:
    plain, told, data = (tmp_path / name for name in ("plain.py", "told.py", "data.yaml"))
    plain.write_text("def f():\n    return 1\n")
    told.write_text('"""A module."""\n\ndef f():\n    """Return one."""\n    return 1\n')
    data.write_text("a: [1, 2]\n")

    assert rooms.nodes_of(plain) == rooms.nodes_of(told) > 0
    assert rooms.nodes_of(data) == 4


def test_a_name_that_is_gone_is_found_again(tmp_path: Path) -> None:
    for name in ("harness", "docs"):
        (tmp_path / name).mkdir()
    (tmp_path / "harness" / "a.py").write_text("old_name = 1\nold_names = 2\n")
    (tmp_path / "docs" / "a.md").write_text("Nothing about it.\n")

    assert rooms.find_gone(tmp_path, ["old_name"]) == ["harness/a.py has old_name, which is gone"]
    (tmp_path / "harness" / "a.py").write_text("class A:\n    x: int\n    def f(self): ...\n")
    assert rooms.find_gone(tmp_path, ["A.x", "A.f", "A.g", "B.x"]) == [
        f"harness/a.py has {name}, which is gone" for name in ("A.x", "A.f")
    ]


def test_planted_growth_is_seen_in_its_room(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "harness" / "sweep", tmp_path / "harness" / "sweep")
    before = rooms.count_rooms(tmp_path)["sweep"]
    with (tmp_path / "harness" / "sweep" / "parts.py").open("a") as file:
        file.write("\nGROWTH = 1\n")

    assert rooms.count_rooms(tmp_path)["sweep"] > before


def test_the_limits_of_the_house_can_be_read() -> None:
    known = limits.read(limits.FILE.read_text(encoding="utf-8"))

    assert {*known.numbers["hops"]} == {
        "golden cell",
        "judge of an own model",
        "judge of a shim",
        "recording",
        "playback",
    }
    assert {*known.numbers["files"]} == {*rooms.WORDS}
