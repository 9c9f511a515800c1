"""The fuzzer finds what is there to be found, and a few hundred inputs of every target find nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.guided import fuzz
from fuzz.memory import peak
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


GROWING = {
    "framing": (b'data: {"a": [1, 2]}\n\n', 60),
    "normalization": (b'data: {"candidates": [{"content": {"parts": [{"text": "piece"}]}}]}\n\n', 60),
    "tool-code": (b"a <tool_code>print(default_api.f(a='x', b=[1]))</tool_code> b", 120),
    "cassette": (b"    x-a: [b]\n", 200),
    "spec": (b"    - {type: TEXT_DELTA, delta: x}\n", 200),
}
"""Target → a piece of its input, and so many bytes of memory for each byte of many such pieces at most."""


@pytest.mark.parametrize("name", GROWING)
def test_memory_grows_with_the_input_and_no_faster(name: str) -> None:
    piece, most = GROWING[name]
    head = {"cassette": CASSETTE, "spec": SPEC}.get(name, b"")
    small, large = (head + piece * (size // len(piece)) for size in (30_000, 300_000))
    less, more = (peak(TARGETS[name].run, data) for data in (small, large))
    assert more <= most * len(large)
    assert more <= 25 * max(less, len(small))  # the square would be 100


CASSETTE = b"version: 1\nmetadata: {harness: 1, origin: written}\ninteractions:\n- response:\n    status: {code: 200}\n    headers:\n"
SPEC = (
    b"harness: 1\ncases:\n- case: c\n  requirement: It holds.\n  features: [text.streaming]\n  source: https://ai.google.dev/api\n"
    b"  cassette: c\n  expect:\n    unified-llm:\n"
)
