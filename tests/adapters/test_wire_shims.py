"""Shims of google-genai's ``client.interactions``, of `openai` and of `anthropic` are judged on
served answers.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.support.need import need

SHIMS = Path(__file__).parent / "wire_shims"
ANSWERS = {
    "interactions": [
        *(f"interactions/calls:{number}" for number in (1, 2, 3)),
        *("interactions/thoughts:1", "interactions/text:1", "interactions/whole:1"),
    ],
    "chat": [
        *(f"openai-compat/calls:{number}" for number in (1, 2, 3)),
        *("openai-compat/signatures:1", "openai-compat/text:1", "openai-compat/unary:1"),
    ],
    "messages": [
        *(f"anthropic/calls:{number}" for number in (1, 2, 3)),
        *("anthropic/thinking:4", "anthropic/text:1", "anthropic/server-tools:1"),
    ],
}


NUMBERS = count()


def judged(
    name: str, capsys: pytest.CaptureFixture[str], line: str = "", fault: str = ""
) -> tuple[list[str], str]:
    """The counts of passed cells by answer and by second turn, and the whole output, for the shim
    with ``line`` replaced by ``fault``.
    """
    package = "anthropic" if name == "messages" else "openai"
    need("clients", find_spec(package), f"{package} is not installed")
    text = (SHIMS / f"{name}.py").read_text(encoding="utf-8")
    assert line in text
    module = f"{name}_shim_{next(NUMBERS)}"  # a process imports a module only once
    Path(f"{module}.py").write_text(text.replace(line, fault, 1), encoding="utf-8")
    main(["judge", f"serve: {module}:replay", "--cassettes", *ANSWERS[name], "--questions", "none"])
    out, err = capsys.readouterr()
    assert not err, err
    return re.findall(r": (\d+ of \d+ cells passed.*)", out), out


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_a_shim_of_each_wire_keeps_answers_and_sends_them_back(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    counts, out = judged(name, capsys)
    assert counts == ["6 of 6 cells passed", "6 of 6 cells passed"], out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "line", "fault", "aspect"),
    [
        (
            "interactions",
            "for index in sorted(steps)",
            'for index in sorted(steps) if steps[index]["type"] != "thought"',
            "other signatures lost",
        ),
        (
            "chat",
            'answer["tool_calls"] += reply.get("tool_calls", ())',
            'answer["tool_calls"] += [{**call, "extra_content": None}'
            ' for call in reply.get("tool_calls", ())]',
            "signatures lost",
        ),
        (
            "messages",
            "[block.to_dict() for block in content]",
            '[block.to_dict() for block in content if block.type != "thinking"]',
            "other signatures lost",
        ),
    ],
)
def test_a_shim_that_drops_signatures_is_found_at_its_second_turn(
    name: str, line: str, fault: str, aspect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (answers, second), out = judged(name, capsys, line, fault)
    assert answers == "6 of 6 cells passed"
    assert second != answers
    assert f"- {aspect}: " in out
