"""Rows of the ledger: what each subject of a row is, and how files keep the rows.

A row of a verdict file is one exchange for one adapter. A letter stands for each verdict, in the
order of the names in the first line. A capital letter has words after the row: two digits of the
reason's digest, and four of the whole finding's. The other files have one row of JSON on each line.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).with_name("kept")
LETTERS = {
    "kept": "k",
    "lost": "l",
    "wrong": "w",
    "raised": "r",
    "not_carried": "c",
    "not_asked": "n",
    "documented": "d",
    "variant": "v",
    "passed": "p",
    "failed": "f",
    "error": "e",
    "not-run": "o",
    "not-carried": "t",
    "noted": "q",
}
NAMES = {letter: verdict for verdict, letter in LETTERS.items()}
ABSENT = "."


class Value(NamedTuple):
    """One subject of a row: its verdict, the digest of the reason, the digest of the values."""

    verdict: str
    reason: str = ""
    values: str = ""
    sentence: str = ""
    """For a reader; the files do not keep it."""


Row = Mapping[str, Value]
Rows = Mapping[str, Row]
Ledger = dict[str, Rows]
"""The name of a file → its rows by their keys: ``CASSETTE:EXCHANGE``, a faulty adapter, a law."""


def digest(value: object, length: int) -> str:
    """The first characters of the digest of a value."""
    whole = hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).digest()
    return base64.b32encode(whole)[:length].decode().lower()


def order(place: str) -> tuple[str, int]:
    """Sorts places by cassette and number."""
    cassette, _, number = place.rpartition(":")
    return cassette, int(number)


def lines_of_verdicts(rows: Rows) -> Iterator[str]:
    """The lines of a verdict file. The name of a cassette is before the rows of its exchanges."""
    subjects = sorted({subject for row in rows.values() for subject in row})
    yield f"# {' '.join(subjects)}"
    above = ""
    for place in sorted(rows, key=order):
        cassette, number = order(place)
        if cassette != above:
            yield (above := cassette)
        letters, words = "", ""
        for subject in subjects:
            value = rows[place].get(subject)
            letter = LETTERS[value.verdict] if value else ABSENT
            if value and value.values:
                letter = letter.upper()
                words += f" {value.reason}{value.values}"
            letters += letter
        yield f" {number} {letters}{words}"


def verdicts_of_lines(lines: Sequence[str]) -> Rows:
    """The rows that `lines_of_verdicts` wrote."""
    subjects = lines[0].split()[1:]
    rows, cassette = {}, ""
    for line in lines[1:]:
        if not line.startswith(" "):
            cassette = line
            continue
        number, letters, *words = line.split()
        left = iter(words)
        row = {}
        for subject, letter in zip(subjects, letters, strict=True):
            if letter != ABSENT:
                word = next(left) if letter.isupper() else ""
                row[subject] = Value(NAMES[letter.lower()], word[:2], word[2:])
        rows[f"{cassette}:{number}"] = row
    return rows


def lines_of_counts(rows: Rows) -> Iterator[str]:
    """The lines of a file of counts."""
    for key in sorted(rows):
        row = {subject: value[:3] for subject, value in sorted(rows[key].items())}
        yield json.dumps([key, row], ensure_ascii=False)


def counts_of_lines(lines: Iterable[str]) -> Rows:
    """The rows that `lines_of_counts` wrote."""
    return {
        key: {subject: Value(*value) for subject, value in row.items()}
        for key, row in map(json.loads, lines)
    }


def write(ledger: Ledger, folder: Path = FOLDER) -> None:
    """Write all files, and delete those of adapters that are gone."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.stem not in ledger:
            path.unlink()
    for name, rows in ledger.items():
        suffix, lines = (
            ("jsonl", lines_of_counts(rows)) if name in COUNTS else ("txt", lines_of_verdicts(rows))
        )
        (folder / f"{name}.{suffix}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(folder: Path = FOLDER) -> Ledger:
    """Read all files."""
    ledger: Ledger = {}
    for path in sorted(folder.glob("*.*")):
        lines = path.read_text(encoding="utf-8").splitlines()
        ledger[path.stem] = (
            counts_of_lines(lines) if path.stem in COUNTS else verdicts_of_lines(lines)
        )
    return ledger


FAULTY, LAWS = "faulty", "laws"
COUNTS = (FAULTY, LAWS)
