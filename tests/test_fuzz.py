"""The fuzzer finds what is there to be found, and a few hundred inputs of every target find nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.guided import fuzz
from fuzz.targets import TARGETS, first_corpus

from harness.tool_code import Splitter


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_a_target_raises_anything_but_its_typed_errors(name: str) -> None:
    result = fuzz(TARGETS[name].run, first_corpus(name)[:10], 150, seed=1)
    assert result.found == []
    assert result.ended >= result.started > 0


def test_new_edges_are_kept_and_a_bug_behind_one_is_found() -> None:
    def target(data: bytes) -> None:
        found = Splitter().feed(data.decode("utf-8", "replace"))
        if any(not isinstance(one, str) for one in found):
            raise RuntimeError("a block")

    result = fuzz(target, [b"a </tool_code>", b"b <tool_code>"], 3000, seed=3)
    assert [what for _, what in result.found if what.startswith("RuntimeError at target:")]
    assert result.ended > result.started
    assert len(result.kept) > 2


def test_a_run_can_be_had_again() -> None:
    one, two = (fuzz(TARGETS["tool-code"].run, [b"<tool_code>{}"], 100, seed=5) for _ in range(2))
    assert (one.kept, one.ended) == (two.kept, two.ended)


def test_the_corpus_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fuzz.__main__ import main

    assert main(["tool-code", "--executions", "50", "--corpus", str(tmp_path)]) == 0
    assert "edges at the start" in capsys.readouterr().out
    assert list((tmp_path / "tool-code").iterdir())
