"""The search for the processes that an adapter has started."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adapters import started

MARKED = b"A=1\0MARK=m\0"


def process(folder: Path, environment: bytes, memory: int, start: int, end: int) -> Path:
    """A process as `/proc` shows it: its environment, and the fields of its state."""
    fields = [b"0"] * 50
    fields[20], fields[47], fields[48] = (str(number).encode() for number in (memory, start, end))
    folder.mkdir()
    (folder / "environ").write_bytes(environment)
    (folder / "stat").write_bytes(b"7 (a) b) " + b" ".join(fields))
    return folder


@pytest.mark.parametrize(
    ("start", "end"), [(0, 0), (4, 9)], ids=["its memory is new", "its memory was replaced"]
)
def test_a_process_that_loads_another_program_is_found(
    start: int, end: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loading = process(tmp_path / "7", b"", 1, start, end)

    def loaded(_: float) -> None:
        (loading / "environ").write_bytes(MARKED)

    monkeypatch.setattr(started, "PROCESSES", tmp_path)
    monkeypatch.setattr("time.sleep", loaded)
    assert [*started._marked(b"MARK=m")] == [7]


def test_a_process_without_an_environment_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process(tmp_path / "1", b"", 0, 0, 0)  # a kernel thread, or one that has ended
    process(tmp_path / "2", b"", 1, 4, 4)
    process(tmp_path / "3", MARKED, 1, 4, 9)
    (tmp_path / "4").mkdir()  # it has ended during the search

    def waited(_: float) -> None:
        raise AssertionError("a process that has no environment was waited for")

    monkeypatch.setattr(started, "PROCESSES", tmp_path)
    monkeypatch.setattr("time.sleep", waited)
    assert [*started._marked(b"MARK=m")] == [3]
