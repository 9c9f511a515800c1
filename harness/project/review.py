"""The changes of a project's expectations that nobody has reviewed, and the decisions on them.

A change is a hunk: a run of lines below one expectation. Lines with ``reviewed: no`` do not count.
Hunks that change the same paths from the same values to the same values have one `Hunk.group`, so
that the same change in many cases is one decision.

The text that a spec had before its expectations were filled or updated is kept in the folder
``.harness``, which git ignores, until everything in the spec is reviewed.
"""

from __future__ import annotations

import difflib
import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import yaml

from harness.cassettes import CassetteError
from harness.judging.judge import resolve_fixture
from harness.pipeline.replay import ReplayError
from harness.pipeline.show import show_frames
from harness.recording.atomic_file import save
from harness.recording.state_folder import make_state_folder, state_folder
from harness.specs.matching import compare
from harness.specs.spec_error import SpecError
from harness.specs.spec_text import (
    TextEdit,
    empty_edit,
    line_around,
    line_end,
    named_cases,
    read_body,
    spec_error,
)

from .folders import read_text, yaml_files
from .project import Project, kind_of

_REVIEWED: Final = re.compile(r"\s*(- )?reviewed: no\s*")
_INDEX: Final = re.compile(r"\[\d+(\.\.\d+)?\]")
_ONLY: Final = re.compile(r",? *reviewed: *no")


@dataclass(frozen=True, slots=True)
class Hunk:
    """A change."""

    case: str
    key: str
    old: tuple[str, ...]
    """Its lines in the old text, without line ends."""
    new: tuple[str, ...]
    """Its lines in the new text, without line ends."""
    old_at: int
    """The number of the first line of ``old``, from 0."""
    new_at: int
    """The number of the first line of ``new``, from 0."""
    paths: str
    """The changed paths, such as ``extra [*].usage``."""
    values: str
    """Their values, such as ``"STOP" → "stop"``."""

    @property
    def group(self) -> tuple[str, str]:
        """Equal for the same change elsewhere."""
        return self.paths, self.values

    @property
    def place(self) -> str:
        """The expectation: ``hello[mine]``."""
        return f"{self.case}[{self.key}]" if self.key else self.case


@dataclass(frozen=True, slots=True)
class SpecChange:
    """A hunk of a spec."""

    path: Path
    hunk: Hunk
    same: int = 1
    """The number of hunks with its group, itself included."""
    pairs: tuple[tuple[str, int], ...] = ()
    """The values of all hunks with its paths, its own first, each with the number of hunks."""

    @property
    def id(self) -> str:
        """A name that stays while other changes are decided."""
        hunk = self.hunk
        parts = (str(self.path), hunk.place, *hunk.old, "", *hunk.new)
        return sha256("\n".join(parts).encode()).hexdigest()[:16]


class Review:
    """The review of the specs of a project. Each decision is written at once, atomically."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self.accepted = 0
        """The number of changes that were accepted."""
        self.rejected = 0

    @property
    def folders(self) -> Sequence[Path]:
        """The folders of specs."""
        return self._project.specs

    @property
    def has_specs(self) -> bool:
        """Whether there is a spec in these folders."""
        return any(self._specs())

    def _specs(self) -> Iterator[Path]:
        return (
            path
            for root in self._project.specs
            for path in yaml_files(root)
            if kind_of(path) == "spec"
        )

    def changes(self) -> list[SpecChange]:
        """Return all changes, in the order of the files. Raises `SpecError` for a spec that can't
        be read, and `OSError`.
        """
        found = [SpecChange(path, hunk) for path in self._specs() for hunk in _hunks(path)]
        groups: dict[str, Counter[str]] = {}
        for change in found:
            groups.setdefault(change.hunk.paths, Counter())[change.hunk.values] += 1
        return [
            SpecChange(one.path, one.hunk, pairs[values], tuple(own_first.items()))
            for one in found
            for pairs, values in [(groups[one.hunk.paths], one.hunk.values)]
            for own_first in [{values: pairs[values], **pairs}]
        ]

    def group(self, change: SpecChange) -> list[SpecChange]:
        """Return the changes with the same paths and values, this one included."""
        return [other for other in self.changes() if other.hunk.group == change.hunk.group]

    def decide(self, changes: Iterable[SpecChange], *, accept: bool) -> None:
        """Accept or reject changes. Those that were decided meanwhile are left out. Raises as
        `changes` does.
        """
        for change in changes:
            hunks = (SpecChange(change.path, hunk) for hunk in _hunks(change.path))
            if same := next((one for one in hunks if one.id == change.id), None):
                _decide(same, accept=accept)
                self.accepted += accept
                self.rejected += not accept

    def wire(self, change: SpecChange) -> Iterator[str]:
        """Yield the lines of the recording of a case, one for each frame; or the reason why there
        is none.
        """
        try:
            cases = self._project.cases(change.path)
            case = next(case for case in cases if case.case == change.hunk.case)
            fixture = resolve_fixture(case, self._project.cassette)
            for exchange in fixture.exchanges:
                yield from show_frames(exchange, fixture.provider)
            if not fixture.exchanges:
                yield "a request case has no recording"
        except (CassetteError, ReplayError, SpecError, StopIteration) as error:
            yield f"no recording can be shown: {error}"


def _hunks(path: Path) -> list[Hunk]:
    """Return the changes of a spec. A kept text that is of no use any more is deleted."""
    text = read_text(path)
    if unreviewed_cases(text):
        return hunks_of(_base(path, text), text)
    forget_before(path)
    return []


def _base(path: Path, text: str) -> str:
    """Return the text with which a spec is compared: the kept one. An unreviewed case without a
    change since then has no expectation yet, so all of it is shown.
    """
    base = before_update(path)
    if base is None:
        base = text
    changed = {hunk.case for hunk in hunks_of(base, text)}
    for case in unreviewed_cases(text):
        if case not in changed:
            base = emptied(base, case)
    return base


def _decide(change: SpecChange, *, accept: bool) -> None:
    path, hunk = change.path, change.hunk
    text = read_text(path)
    base = _base(path, text)
    if accept:
        base = accepted(base, hunk)
    else:
        text = rejected(text, hunk)
    if all(other.case != hunk.case for other in hunks_of(base, text)):
        text = mark_reviewed(text, hunk.case)
    if unreviewed_cases(text):
        keep_before(path, base)
    else:
        forget_before(path)
    save(path.resolve(), [text.encode()])


def before_update(spec: Path) -> str | None:
    """Return the text of a spec before its first update that is not reviewed; None if none is
    kept.
    """
    try:
        return _kept(spec).read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None


def keep_before(spec: Path, text: str) -> None:
    """Keep the text of a spec. Raises `OSError`."""
    kept = _kept(spec)
    make_state_folder(kept.parent)
    save(kept, [text.encode()])


def forget_before(spec: Path) -> None:
    """Delete the kept text of a spec."""
    _kept(spec).unlink(missing_ok=True)


def _kept(spec: Path) -> Path:
    return state_folder(spec.resolve(), "before-update") / f"{spec.name}.before"


def hunks_of(before: str, after: str) -> list[Hunk]:
    """Return the changes of the unreviewed cases of ``after``, in order. Raises `SpecError` for a
    text that is not YAML.
    """
    old, new = _lines(before), _lines(after)
    places, unreviewed = _places(after)
    starts = [line for line, _, _ in places]
    return [
        Hunk(case, key, given, made, i, j, *_paths_and_values(given, made))
        for i, given, j, made in _changes(old, new)
        for _, case, key in [places[bisect_right(starts, max(j if made else j - 1, 0)) - 1]]
        if case in unreviewed
    ]


def accepted(before: str, hunk: Hunk) -> str:
    """Return the text before the update, with the change of a hunk."""
    return _with_lines(before, hunk.old_at, len(hunk.old), hunk.new)


def rejected(after: str, hunk: Hunk) -> str:
    """Return the text of the spec without the change of a hunk."""
    return _with_lines(after, hunk.new_at, len(hunk.new), hunk.old)


def unreviewed_cases(text: str) -> list[str]:
    """Return the names of the cases with ``reviewed: no``. Raises `SpecError`."""
    return _places(text)[1]


def mark_reviewed(text: str, case: str) -> str:
    """Return the text without the mark of a case. Raises `SpecError`."""
    body = text.removeprefix("\ufeff")
    _, _, pairs = named_cases(body)[case]
    key, value = pairs["reviewed"]
    start, end = key.start_mark.index, value.end_mark.index
    left, right = line_around(body, start)
    edit: TextEdit = (left, right + len(_line_end_at(body, right)), "")
    if not _REVIEWED.fullmatch(body[left:right]) or "- " in body[left:start]:
        before = _ONLY.search(body, max(left, start - 3), end)
        if before is None or not before[0].startswith(","):
            raise spec_error(key.start_mark.line + 1, "delete `reviewed: no` by hand")
        edit = (before.start(), end, "")
    return text[: len(text) - len(body)] + _edited(body, [edit])


def emptied(text: str, case: str) -> str:
    """Return the text with no value in the expectations of a case, as before they were filled.
    Raises `SpecError`.
    """
    body = text.removeprefix("\ufeff")
    _, _, pairs = named_cases(body)[case]
    cells = pairs["expect"][1]
    values = list(cells.value) if isinstance(cells, yaml.MappingNode) else []
    edits = [empty_edit(body, key, value) for key, value in values]
    return text[: len(text) - len(body)] + _edited(body, edits)


def _edited(body: str, edits: Sequence[TextEdit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        body = body[:start] + new + body[end:]
    return body


def _line_end_at(body: str, index: int) -> str:
    rest = body[index : index + 2]
    return rest if rest == "\r\n" else rest[:1]


def _places(text: str) -> tuple[list[tuple[int, str, str]], list[str]]:
    """Return the first line, the case and the key of each part, in order; the unreviewed cases."""
    body = text.removeprefix("\ufeff")
    read_body(body)
    places: list[tuple[int, str, str]] = [(0, "", "")]
    unreviewed: list[str] = []
    for name, (_, node, pairs) in named_cases(body).items():
        places.append((int(node.start_mark.line), name, ""))
        if "reviewed" in pairs:
            unreviewed.append(name)
        cells = pairs.get("expect", (None, None))[1]
        if isinstance(cells, yaml.MappingNode):
            places += [(int(key.start_mark.line), name, key.value) for key, _ in cells.value]
    return sorted(places), unreviewed


def _changes(
    old: Sequence[str], new: Sequence[str]
) -> Iterator[tuple[int, tuple[str, ...], int, tuple[str, ...]]]:
    """Yield the changed lines of both sides, with their numbers. A line that replaces one line is a
    change of its own.
    """
    left, right = (
        [
            (at, line.rstrip("\r\n"))
            for at, line in enumerate(lines)
            if not _REVIEWED.fullmatch(line)
        ]
        for lines in (old, new)
    )
    matcher = difflib.SequenceMatcher(
        None, [line for _, line in left], [line for _, line in right], autojunk=False
    )
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            continue
        parts = [(i1, i2, j1, j2)]
        if i2 - i1 == j2 - j1:
            parts = [(i1 + n, i1 + n + 1, j1 + n, j1 + n + 1) for n in range(i2 - i1)]
        for a, b, c, d in parts:
            yield (
                _number(left, a, len(old)),
                tuple(line for _, line in left[a:b]),
                _number(right, c, len(new)),
                tuple(line for _, line in right[c:d]),
            )


def _number(lines: Sequence[tuple[int, str]], at: int, end: int) -> int:
    """Return the number of a line in its whole text. An insertion is behind the line before it."""
    if at < len(lines):
        return lines[at][0]
    return lines[-1][0] + 1 if lines else end


def _paths_and_values(old: Sequence[str], new: Sequence[str]) -> tuple[str, str]:
    """Return the paths that a hunk changes, with ``[*]`` for every index, and their values."""
    before, after = _items(old), _items(new)
    text = (" ".join(map(str.strip, old)), " ".join(map(str.strip, new)))
    if before is None or after is None:
        return "", _pair(*text)
    changes = [
        (f"{mismatch.kind} {_INDEX.sub('[*]', mismatch.path)}", _pair(*values))
        for want, got in zip(before, after, strict=False)
        for mismatch in compare(want, got)
        for values in [map(_json, (mismatch.expected, mismatch.got))]
    ]
    changes += [(f"without {_tag(item)}", _json(item)) for item in before[len(after) :]]
    changes += [(f"with {_tag(item)}", _json(item)) for item in after[len(before) :]]
    if not changes:
        return "", _pair(*text)
    return ", ".join(sorted({path for path, _ in changes})), ", ".join(
        values for _, values in sorted(changes)
    )


def _pair(old: str, new: str) -> str:
    return f"{old} → {new}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _items(lines: Sequence[str]) -> list[Any] | None:
    """Return the items of the lines of a list, or the one mapping of other lines; None if they are
    no YAML.
    """
    text = "\n".join(lines)
    try:
        read_body(text)
        data = yaml.load(text, Loader=yaml.CSafeLoader)  # a safe loader, in C
    except (SpecError, yaml.YAMLError, ValueError):
        return None
    if data is None:
        return []
    return data if isinstance(data, list) else [data]


def _tag(item: Any) -> str:
    """Return an item in a word: its type or kind."""
    named = (item.get("type") or item.get("kind")) if isinstance(item, dict) else None
    return f"item {named}" if isinstance(named, str) else "item"


def _with_lines(text: str, at: int, count: int, new: Sequence[str]) -> str:
    lines = _lines(text)
    end = line_end(text)
    if at == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += end
    lines[at : at + count] = [line + end for line in new]
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """Return the lines of a text, with their line ends."""
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+", text)
