"""The changes of a project's expectations that nobody has reviewed, and the decisions on them.

The text that a spec had before its expectations were filled or updated is kept in the folder
``.harness``, which git ignores, until everything in the spec is reviewed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from harness.cassettes import CassetteError
from harness.judging.judge import resolve_fixture
from harness.pipeline.replay import ReplayError
from harness.pipeline.show import show_frames
from harness.recording.part_file import make_state_folder, state_folder
from harness.specs.review import (
    Hunk,
    accepted,
    emptied,
    hunks_of,
    mark_reviewed,
    rejected,
    unreviewed_cases,
)
from harness.specs.spec_error import SpecError

from .folders import read_text, yaml_files
from .project import Project, kind_of


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
    from harness.recording.persister import save  # imports vcrpy

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
    from harness.recording.persister import save  # imports vcrpy

    kept = _kept(spec)
    make_state_folder(kept.parent)
    save(kept, [text.encode()])


def forget_before(spec: Path) -> None:
    """Delete the kept text of a spec."""
    _kept(spec).unlink(missing_ok=True)


def _kept(spec: Path) -> Path:
    return state_folder(spec.resolve(), "before-update") / f"{spec.name}.before"
