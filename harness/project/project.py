"""The folders of a project, for specs, cassettes and features, and its adapters.

Only this module turns a name in a spec into a path. It ensures that no name leads out of its
folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, Literal

from harness.adapters import ADAPTERS, EVENTS, FACTS, Adapter, AdapterError
from harness.adapters.clients import CLIENTS, make_client_adapter
from harness.adapters.declarations import declared_losses, known_failures, with_declarations
from harness.adapters.named import NamedAdapter, adapter_of_target, make_adapter, read_line
from harness.cassettes import Cassette, CassetteError
from harness.cassettes.load import load
from harness.dialects import DIALECTS
from harness.judging.judge import Cell, NormalizedOnce
from harness.providers import PROVIDERS
from harness.specs.models import LAYERS, Case, Feature
from harness.specs.reader import is_features, is_questions, is_spec, read_features, read_spec

from .folders import SUFFIXES, names_below, nearest_name, read_text, shown_path, yaml_files
from .suite import CASSETTES, FEATURES

KEPT: Final = 8
"""The number of cassettes that stay in memory. Most cases of one file use the same cassette."""
SMALL: Final = 64 * 1024
"""The maximum size of a small cassette in bytes."""
KEPT_SMALL: Final = 512
"""The number of small cassettes that also stay in memory, because other spec files use them."""


class Project:
    """The folders and adapters of one project.

    ``adapters`` are lines of configuration (see `adapters.named`). ``losses`` and ``known_failing``
    are also lines of configuration (see `adapters.declarations`). Raises `AdapterError`.
    """

    def __init__(
        self,
        specs: Sequence[Path],
        cassettes: Path,
        adapters: Sequence[str] = (),
        folder: Path = Path(),
        *,
        losses: Sequence[str] = (),
        known_failing: Sequence[str] = (),
    ) -> None:
        lines = [read_line(line) for line in adapters]
        self.adapters = {named.name: named for named in lines}
        """The user's adapters by name, as configured."""
        if len(self.adapters) < len(lines):
            names = [named.name for named in lines]
            repeated = next(name for name in names if names.count(name) > 1)
            raise AdapterError(f"two adapters have the name {repeated}; give each its own")
        if taken := self.adapters.keys() & {*DIALECTS, *LAYERS, *CLIENTS}:
            raise AdapterError(
                f"adapter {min(taken)}: the name is reserved; write `NAME: {min(taken)} = …` with"
                " another name"
            )
        self.specs = [path.resolve() for path in specs]
        """The folders of specs."""
        self.cassettes = cassettes.resolve()
        self.cassette = lru_cache(maxsize=KEPT)(self._cassette)
        self._load_small = lru_cache(maxsize=KEPT_SMALL)(lambda path, changed: load(path))
        self.normalize = NormalizedOnce()
        self.folder = folder
        """The folder with the modules and programs of the user's adapters."""
        self._targets: dict[str, Adapter] = {}
        self._users = with_declarations(
            {name: make_adapter(named, folder) for name, named in self.adapters.items()},
            declared_losses(losses),
            known_failures(known_failing),
        )
        self._clients = {
            name: make_client_adapter(client, self.cassette) for name, client in CLIENTS.items()
        }
        self.adapters |= {name: NamedAdapter(name, name, "") for name in CLIENTS}

    def adapter(self, column: str) -> Adapter | None:
        """Return the user's adapter or the client with that name; None for a dialect or a layer."""
        return self._users.get(column) or self._clients.get(column)

    def chosen(self, target: str) -> Adapter:
        """Return the user's adapter with that name, one of our adapters, or the adapter of a
        target, which is made once. Raises `AdapterError`.
        """
        adapter = self.adapter(target) or self._targets.get(target)
        if adapter is None:
            adapter = adapter_of_target(target, self.folder, self.adapters)
            self._targets[target] = adapter
        return adapter

    def stoppable(self, adapter: Adapter) -> Adapter:
        """Return one of the user's adapters, which asks a service that fails in a process of its
        own with a time limit.
        """
        guest = make_adapter(self.adapters[adapter.name], self.folder, guest=True)
        return replace(adapter, ask_failing=guest.ask_failing)

    def law_adapters(self) -> list[Adapter]:
        """Return the adapters that the laws check: the events, the dialects, and the user's
        adapters.
        """
        return [EVENTS, *ADAPTERS.values(), *self._users.values()]

    def fills(self, column: str, key: str) -> bool:
        """Return whether the output of a column fills empty expectations under a key. The column
        has the same name, or is the first of the user's adapters with this event model.
        """
        if column == key or key in DIALECTS or key in LAYERS or key in self.adapters:
            return column == key
        return column == next(
            (named.name for named in self.adapters.values() if named.dialect == key), None
        )

    def root_of(self, path: Path) -> Path | None:
        """Return the folder of specs that contains ``path``, or None."""
        return next((root for root in self.specs if _below(path, root)), None)

    def name_of(self, path: Path) -> str:
        """Return the path of a spec file relative to its folder of specs, with slashes. Results
        show this path.
        """
        root = self.root_of(path)
        inner = root and _below(path, root)
        return inner.as_posix() if inner else path.name

    @cached_property
    def features(self) -> list[Feature]:
        """The features in the project's files, or in the checklist of the package."""
        own = [
            path for root in self.specs for path in yaml_files(root) if kind_of(path) == "features"
        ]
        texts = [(shown_path(path), read_text(path)) for path in own] or [shipped_features()]
        return [feature for name, text in texts for feature in read_features(text, name)]

    def cells(self, path: Path) -> list[Cell]:
        """Return one cell for every case and column of a spec file, first for our adapters, then
        for the user's. Raises `SpecError`.
        """
        name = self.name_of(path)
        return [cell for case in self.cases(path) for cell in self._cells_of(case, name)]

    def _cells_of(self, case: Case, name: str) -> Iterator[Cell]:
        yield from (
            Cell(case, name, column, lost_features=self._lost_features(case, column))
            for column in case.expect
            if column in DIALECTS or column in LAYERS
        )
        if case.kind == "stream":  # a user's adapter makes no requests
            yield from (
                Cell(
                    case,
                    name,
                    named.name,
                    named.dialect,
                    self._lost_features(case, named.dialect),
                )
                for named in self.adapters.values()
                if named.dialect in case.expect and named.dialect != FACTS
            )
            by_facts = [named for named in self.adapters.values() if named.by_facts]
            known = {feature.id: feature.aspects for feature in self.features if by_facts}
            aspects = tuple((feature, known.get(feature)) for feature in case.features)
            yield from (Cell(case, name, named.name, FACTS, aspects=aspects) for named in by_facts)

    def _lost_features(self, case: Case, key: str) -> tuple[str, ...] | None:
        """Return the features of a case that its declared losses concern. A loss that no feature
        names concerns all features.
        """
        losses = {loss.partition("[")[0] for loss in case.not_carried.get(key, ())}
        if not losses:
            return None
        concerned = {feature.id: feature.losses for feature in self.features}
        named = {loss for losses in concerned.values() for loss in losses}
        if not named.issuperset(losses):
            return None
        return tuple(
            feature for feature in case.features if not losses.isdisjoint(concerned[feature])
        )

    def cases(self, path: Path, today: date | None = None) -> list[Case]:
        """Return the cases of a spec file. Raises `SpecError`, with ``today`` also for expired
        known-failing marks.
        """
        return read_spec(
            read_text(path),
            shown_path(path),
            dialects=DIALECTS,
            providers=PROVIDERS,
            features={feature.id for feature in self.features},
            losses={name: [*map(str, dialect.losses)] for name, dialect in DIALECTS.items()},
            today=today,
            adapters={named.name: named.dialect for named in self.adapters.values()},
        )

    def cassette_path(self, name: str) -> Path:
        """Return the path of the cassette with that name in the project. Raises `CassetteError` if
        it is outside the folder of cassettes.
        """
        return _path_below(self.cassettes, name)

    def has_cassette(self, name: str) -> bool:
        """Return whether the project, or else the suite of the package, has a cassette with that
        name. Raises as `cassette_path` does.
        """
        return self._path_to_read(name) is not None

    def reads_suite(self, names: Iterable[str]) -> bool:
        """Return whether one of these cassettes is read from the suite of the package."""
        for name in filter(None, names):
            with suppress(CassetteError):  # the result of its cell has the error
                path = self._path_to_read(name)
                if path is not None and path.is_relative_to(CASSETTES.resolve()):
                    return True
        return False

    def _path_to_read(self, name: str) -> Path | None:
        """Return the path of a cassette that exists: that of the project, else that of the suite,
        to which nothing writes.
        """
        own = self.cassette_path(name)
        if own.exists():
            return own
        shipped = _path_below(CASSETTES.resolve(), name)
        return shipped if shipped.exists() else None

    def _cassette(self, name: str) -> Cassette:
        path = self._path_to_read(name)
        if path is None:
            own = shown_path(self.cassette_path(name))
            raise CassetteError(f"no cassette {name}: {own} does not exist; {self._way_out(name)}")
        stat = path.stat()
        if stat.st_size > SMALL:
            return load(path)
        return self._load_small(path, (stat.st_size, stat.st_mtime_ns))

    def _way_out(self, name: str) -> str:
        folder = name.rpartition("/")[0]
        shipped = (known for known in self.readable_names if known.rpartition("/")[0] == folder)
        near = nearest_name(name, self.cassette_names) or nearest_name(name, shipped)
        return f"did you mean {near}?" if near else "record or import it there, or use another name"

    @cached_property
    def cassette_names(self) -> list[str]:
        """The names of all cassettes of the project."""
        return names_below(self.cassettes)

    @cached_property
    def readable_names(self) -> list[str]:
        """The names that a case can have: those of the suite, then those of the project."""
        return list(dict.fromkeys([*names_below(CASSETTES), *self.cassette_names]))


def _path_below(folder: Path, name: str) -> Path:
    """Return the path of the cassette with that name below a folder, whose links are resolved.
    Raises `CassetteError` if it is outside the folder.
    """
    try:
        path = next(
            (
                folder / f"{name}{suffix}"
                for suffix in SUFFIXES
                if (folder / f"{name}{suffix}").exists()
            ),
            None,
        )
        path = path or folder / f"{name}.yaml"
        inside = path.resolve().is_relative_to(folder)
    except (
        OSError,
        RuntimeError,
        ValueError,
    ) as error:  # too long, a circle of links, or a character that no path can contain
        raise CassetteError(f"the name {name[:80]!r} is not a path: {error}") from None
    if not inside:
        raise CassetteError(f"the name {name!r} leads out of {folder}; name a file below it")
    return path


def kind_of(path: Path) -> Literal["spec", "features", "questions", "other"]:
    """Return the kind of a YAML file, from its first words. A file of the kind ``other`` may have
    any encoding.
    """
    text = path.read_bytes().decode("utf-8", "replace")
    if is_questions(text):
        return "questions"
    return "spec" if is_spec(text) else "features" if is_features(text) else "other"


def unheaded(data: bytes) -> str:
    """Return the fault of a file that looks like a spec but does not begin like a spec, else ""."""
    looks = re.search(rb"^(cases|questions):", data, re.MULTILINE)
    return (
        f"has `{looks[1].decode()}:` but does not begin with `harness: 1`, so it is not a spec and"
        " is not run"
        if looks
        else ""
    )


def shipped_features() -> tuple[str, str]:
    """Return the path and the text of the checklist file of the package."""
    return str(FEATURES), FEATURES.read_text(encoding="utf-8")


def _below(path: Path, root: Path) -> Path | None:
    """Return the path relative to ``root``, as it is written, or else with its links resolved. None
    if it is not in ``root``.
    """
    places = (Path(os.path.normpath(path.absolute())), path.resolve())
    return next((at.relative_to(root) for at in places if at.is_relative_to(root)), None)
