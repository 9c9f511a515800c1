"""``harness review``: in the terminal, and as a list."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.project.review import before_update, keep_before
from tests.cli.project import write

CASE = """\
- case: {name}
{mark}  requirement: r
  features: [text.streaming]
  source: https://ai.google.dev
  cassette: two
  exchange: 2
  expect:
    mine:
    - {{type: text, text: "<b>"{field}}}  # own
    - {{type: end}}
"""


def spec(mark: str, *fields: str) -> str:
    return "harness: 1\ncases:\n" + "".join(
        CASE.format(name=f"c{at}", mark=mark, field=field) for at, field in enumerate(fields)
    )


MARK = "  reviewed: no\n"
NEW = ', "n": 1'
BEFORE, AFTER = spec("", "", "", ""), spec(MARK, NEW, NEW, ', "m": 2')
PATH = Path("specs/s.yaml")


@pytest.fixture(autouse=True)
def project(here: Path) -> None:
    """Three cases were updated, two of them at the same path."""
    write("pytest.ini", "[pytest]\nharness_adapters =\n    mine = mine:payloads\n")
    write("cassettes/two.yaml", Path("two.yaml").read_text(encoding="utf-8"))
    write(str(PATH), AFTER)
    keep_before(PATH, BEFORE)


def answer(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return main(["review"])


def test_a_group_is_accepted_without_the_other_values_of_its_paths(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(str(PATH), spec(MARK, NEW, NEW, ', "n": 2'))
    assert answer("A\nq\n", monkeypatch) == 1
    out = capsys.readouterr().out
    assert "\n  all changes at extra n: null → 1 ×2, null → 2 ×1\n" in out
    assert out.endswith("\n2 accepted, 1 left\n")


def test_each_change_is_accepted_or_rejected_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer("a\nr\ns\n", monkeypatch) == 1
    out, err = capsys.readouterr()
    assert out.startswith(
        "\nspecs/s.yaml:12  c0[mine]  (the same change in 1 other place)\n"
        '-     - {type: text, text: "<b>"}  # own\n'
        '+     - {type: text, text: "<b>", "n": 1}  # own\n'
        "[a]ccept, [r]eject, [s]kip, [A]ccept or [R]eject all 2, [w]ire, [q]uit? "
    )
    assert out.endswith("[w]ire, [q]uit? s\n1 accepted, 1 rejected, 1 left\n")
    assert err == ""
    assert PATH.read_text(encoding="utf-8") == spec("", NEW, "", "").replace(
        CASE.format(name="c2", mark="", field=""),
        CASE.format(name="c2", mark=MARK, field=', "m": 2'),
    )
    assert answer("a\n", monkeypatch) == 0
    assert PATH.read_text(encoding="utf-8") == spec("", NEW, "", ', "m": 2')
    assert before_update(PATH) is None
    assert capsys.readouterr().out.endswith("[q]uit? a\n1 accepted, 0 left\n")
    assert main(["review"]) == 0
    assert capsys.readouterr().out.startswith(
        f"nothing to review: no case in {Path('specs').resolve()} has the mark `reviewed: no`; "
    )


def test_a_folder_without_specs_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "--specs", "nosuch"]) == 0
    folder = Path("nosuch").resolve()
    assert capsys.readouterr().out == (
        f"nothing to review: there is no spec in {folder}; name another folder with --specs\n"
    )


def test_equal_changes_are_decided_together(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer("A\nw\nx\nq\n", monkeypatch) == 1
    shown = '  start gemini-x  text "é\\u001b[2J"  finish STOP\n'
    assert shown in capsys.readouterr().out  # the recording
    text = PATH.read_text(encoding="utf-8")
    assert (text.count('"n": 1'), text.count("reviewed: no")) == (2, 1)
    assert answer("R\nr\n", monkeypatch) == 0
    assert PATH.read_text(encoding="utf-8") == spec("", NEW, NEW, "")


def test_a_list_of_changes_is_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "--list"]) == 1
    out, err = capsys.readouterr()
    assert out.count("\n+ ") == 3
    assert err == "harness: 3 changes not reviewed\n"
    assert PATH.read_text(encoding="utf-8") == AFTER


def test_an_unreviewed_case_without_a_kept_text_is_shown_as_a_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in a fresh clone, which has no folder .harness."""
    write(str(PATH), spec(MARK, NEW))
    (kept,) = Path(".harness").rglob("s.yaml.before")
    kept.unlink()
    assert answer("a\n", monkeypatch) == 0
    assert capsys.readouterr().out.count("\n+ ") == 2
    assert PATH.read_text(encoding="utf-8") == spec("", NEW)
    write(str(PATH), spec(MARK, NEW))
    assert answer("r\n", monkeypatch) == 0
    assert (
        PATH.read_text(encoding="utf-8") == spec("", NEW).partition("    mine:")[0] + "    mine:\n"
    )
