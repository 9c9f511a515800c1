"""`make ledger` prints each difference by kind, and accepts differences with a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import Exchange
from harness.adapters import RunOptions
from harness.facts import Call, Entry, Error, Finding, Finish, Raised, Text, Transcript, Usage
from harness.judging.aspect_run import JudgedExchange
from harness.judging.rows import ExchangeRow
from tests.ledger import outputs
from tests.ledger.__main__ import main
from tests.ledger.rows import FAULTY, LAWS, Ledger, Row, Value, read, write
from tests.ledger.run import Run, row_of

KEPT = Value("kept")
WRONG = Value("wrong", "ab", "cdef", "text wrong: the text is 'a'")
PLACES = ("gemini-api/text:1", "gemini-api/text:10", "openai/chat:2")
BEFORE: Ledger = {
    "litellm": {place: {"text": KEPT, "usage": KEPT} for place in PLACES},
    "openai": {"openai/chat:2": {"text": WRONG, "2.calls": Value("not_asked", "xy", "zzzz")}},
    FAULTY: {"answer of art: x": {"text": Value("2", "", "text.yaml a; text.yaml b")}},
    LAWS: {"law 3 art": {"law 3": Value("3 passed", "a", "b")}},
}


def kept(ledger: Ledger) -> Ledger:
    """A ledger as files keep it, without sentences."""
    return {
        name: {
            key: {subject: Value(*value[:3]) for subject, value in row.items()}
            for key, row in rows.items()
        }
        for name, rows in ledger.items()
    }


class Trial:
    """Runs the command with a given result, in its own folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.accepted, self._capsys = folder / "kept", folder / "accepted.md", capsys
        write(BEFORE, self.folder)

    def run(self, ledger: Ledger, *arguments: str, stale: dict[str, set[str]] | None = None) -> int:
        run = Run(ledger, stale or {})
        status = main([*arguments], lambda: run, self.folder, self.accepted)
        self.lines = re.sub(r"\d+ s$", "0 s", self._capsys.readouterr().out, flags=re.M).split("\n")
        return status

    @property
    def entries(self) -> list[str]:
        return self.accepted.read_text().splitlines() if self.accepted.exists() else []


@pytest.fixture
def trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Trial:
    return Trial(tmp_path, capsys)


def changed(name: str, key: str, row: Row) -> Ledger:
    """The ledger with another row."""
    return {**BEFORE, name: {**BEFORE[name], key: {**BEFORE[name].get(key, {}), **row}}}


def test_files_keep_the_rows(tmp_path: Path) -> None:
    write({"gone": BEFORE["litellm"]}, tmp_path)
    write(BEFORE, tmp_path)
    assert read(tmp_path) == kept(BEFORE)


def test_the_same_ledger_has_no_differences(trial: Trial) -> None:
    assert trial.run(BEFORE, "--accept", "Judge: nothing") == 0
    assert trial.lines[0] == "6 rows, 0 differences, 0 s"
    assert trial.entries == []


@pytest.mark.parametrize(
    ("name", "key", "row", "line"),
    [
        (
            "litellm",
            PLACES[1],
            {"usage": Value("not_asked")},
            "usage kept → not_asked ×1 (litellm 1), e.g. gemini-api/text:10",
        ),
        (
            "openai",
            PLACES[2],
            {"text": WRONG._replace(reason="aa", values="bbbb")},
            "text wrong: another reason ×1 (openai 1), e.g. openai/chat:2: text wrong: the text is 'a'",
        ),
        (
            "openai",
            PLACES[2],
            {"2.calls": Value("not_asked", "xy", "aaaa")},
            "2.calls not_asked: other values ×1 (openai 1), e.g. openai/chat:2",
        ),
        (
            "openai",
            PLACES[2],
            {"usage": KEPT},
            "usage – → kept ×1 (openai 1), e.g. openai/chat:2",
        ),
        (
            "openai",
            "openai/new:1",
            {"text": KEPT},
            "answer added ×1 (openai 1), e.g. openai/new:1",
        ),
        (
            FAULTY,
            "answer of art: x",
            {"text": Value("1", "", "text.yaml a")},
            "faulty adapters: text red in fewer places ×1 (answer of art: x 1), e.g. text.yaml a",
        ),
        (
            FAULTY,
            "answer of art: y",
            {"text": Value("1", "", "text.yaml a")},
            "faulty adapter added ×1 (answer of art: y 1)",
        ),
        (
            LAWS,
            "law 3 art",
            {"law 3": Value("1 failed, 2 passed", "c", "d")},
            "law 3 3 passed → 1 failed, 2 passed ×1 (law 3 art 1)",
        ),
        (
            LAWS,
            "law 3 art",
            {"law 3": Value("3 passed", "a", "d")},
            "law 3 3 passed: other values ×1 (law 3 art 1)",
        ),
    ],
)
def test_a_difference_is_printed_by_kind_and_accepted_with_a_reason(
    trial: Trial, name: str, key: str, row: Row, line: str
) -> None:
    now = changed(name, key, row)
    assert trial.run(now) == 1
    assert trial.lines[0] == line
    assert (read(trial.folder), trial.entries) == (kept(BEFORE), [])
    assert trial.run(now, "--accept", "Judge: a ruling") == 0
    assert read(trial.folder) == kept(now)
    kind = line.partition(" (")[0]
    assert [entry[14:] for entry in trial.entries] == [f"Judge: a ruling ({kind})"]
    assert trial.run(now) == 0


def test_a_kind_has_the_count_of_each_adapter_and_the_most_frequent_is_first(trial: Trial) -> None:
    lost = {"text": Value("lost", "ab", "cdef"), "usage": KEPT}
    now = {**BEFORE, "litellm": dict.fromkeys(PLACES, lost), "openai": {}}
    assert trial.run(now) == 1
    assert trial.lines[:2] == [
        "text kept → lost ×3 (litellm 3), e.g. gemini-api/text:1",
        "answer removed ×1 (openai 1), e.g. openai/chat:2",
    ]


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_reason_is_needed(trial: Trial, reason: str) -> None:
    assert trial.run(changed("litellm", PLACES[0], {"text": WRONG}), "--accept", reason) == 2
    assert trial.lines[0].startswith("make ledger: the reason is missing")
    assert (read(trial.folder), trial.entries) == (kept(BEFORE), [])


def test_a_stale_output_is_counted_and_not_compared(trial: Trial) -> None:
    now = {**BEFORE, "openai": {}}
    assert trial.run(now, stale={"openai": {PLACES[2]}}) == 0
    assert trial.lines[0] == (
        "openai: 1 exchanges without a stored output (make ledger-outputs records them)"
    )


def test_a_stored_output_is_judged_as_the_adapter() -> None:
    transcript = Transcript(
        (
            Entry({"id": "a"}, (Text("Hi"), Call("a", "f", {"x": 1e3}))),
            Entry(None, (Usage(input=1), Finish("STOP"), Error(400, "bad"))),
        ),
        Raised("ValueError", "no", 3, place="shim.py:1", crash=True),
        asked_again=2,
        entries_of_first_request=1,
        path="/v1",
        notes=("a note",),
        asks_thoughts=False,
    )
    assert outputs.transcript_of_json(outputs.json_of(transcript)) == transcript


def test_an_output_belongs_to_the_content_of_its_exchange(tmp_path: Path) -> None:
    exchange, other = (Exchange(None, 200, {}, ((None, body),)) for body in (b"{}", b"[]"))
    key = outputs.key_of(exchange, RunOptions())
    path = tmp_path / "outputs.xz"
    outputs.write_outputs({"litellm": {key: {"first": {"skipped": "no"}}}}, path)
    stored = outputs.Stored("litellm", outputs.read_outputs(path)["litellm"])
    assert stored.knows(JudgedExchange("any/name", 1, exchange))
    assert not stored.knows(JudgedExchange("any/name", 1, other))
    assert not stored.knows(JudgedExchange("any/name", 1, exchange), "second")


def test_a_value_and_a_reason_have_digests_of_their_own() -> None:
    def text(finding: Finding) -> Value:
        result = ExchangeRow("passed", aspects={"text": finding.verdict}, findings=(finding,))
        return row_of(result)["text"]

    first, other_value, other_reason = (
        text(Finding("text", "not_asked", "skipped", adapter="one")),
        text(Finding("text", "not_asked", "skipped", adapter="two")),
        text(Finding("text", "not_asked", "unread")),
    )
    assert first.reason == other_value.reason != other_reason.reason
    assert first.values != other_value.values
    assert row_of(ExchangeRow("passed", aspects={"text": "kept"}))["text"] == KEPT
