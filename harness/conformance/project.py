"""A project's folders — specs, cassettes, features — and the reading of files in them.

The one place that turns a name in a spec into a path, so that no name leaves its folder.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Final, Literal

from harness.cassettes import Cassette, CassetteError
from harness.cassettes.load import load
from harness.dialects import DIALECTS
from harness.providers import PROVIDERS
from harness.specs import (
    LAYERS,
    Case,
    Feature,
    SpecError,
    is_features,
    is_spec,
    read_features,
    read_spec,
)

from .adapters import ADAPTERS, EVENTS, Adapter, AdapterError
from .adapters.clients import CLIENTS, make_client_adapter
from .adapters.named import NamedAdapter, make_adapter, read_line
from .judge import Cell

SUFFIXES: Final = (".yaml", ".yml")
_LONGEST: Final = 100
"""So much of a name is compared with others: the time goes by the square of it."""
KEPT: Final = 8
"""So many cassettes stay in memory: cases of one file mostly share one."""


class Project:
    """The folders of one project; ``specs`` are the roots below which specs stand.

    ``adapters`` are the lines that name the user's own (see `adapters.named`), ``folder`` is where
    those are found. Raises `AdapterError`.
    """

    def __init__(
        self,
        specs: Sequence[Path],
        cassettes: Path,
        adapters: Sequence[str] = (),
        folder: Path = Path(),
    ) -> None:
        read = [read_line(line) for line in adapters]
        self.adapters = {named.name: named for named in read}
        if len(self.adapters) < len(read):
            raise AdapterError(
                f"{len(read)} adapters have {len(self.adapters)} names; give each a name of its own"
            )
        if taken := self.adapters.keys() & {*DIALECTS, *LAYERS, *CLIENTS}:
            raise AdapterError(
                f"adapter {min(taken)}: the name is one of our own; give it another, and say `NAME:"
                f" {min(taken)} = …`"
            )
        self._called = {name: make_adapter(named, folder) for name, named in self.adapters.items()}
        self.specs = [path.resolve() for path in specs]
        self.cassettes = cassettes.resolve()
        self.cassette = lru_cache(maxsize=KEPT)(self._cassette)
        self._called |= {
            name: make_client_adapter(client, self.cassette) for name, client in CLIENTS.items()
        }
        self.adapters |= {name: NamedAdapter(name, name, "") for name in CLIENTS}
        self._features: list[Feature] | None = None

    def adapter(self, column: str) -> Adapter | None:
        """The user's adapter of that name, or None for a column of our own."""
        return self._called.get(column)

    def law_adapters(self) -> list[Adapter]:
        """The adapters that the laws are asked of: the events, the dialects, the user's."""
        users = [adapter for name, adapter in self._called.items() if name not in CLIENTS]
        return [EVENTS, *ADAPTERS.values(), *users]

    def root_of(self, path: Path) -> Path | None:
        """The specs root that ``path`` is below, or None."""
        resolved = path.resolve()
        return next((root for root in self.specs if resolved.is_relative_to(root)), None)

    def name_of(self, path: Path) -> str:
        """A spec file's path below its root, with slashes: what results and reports call it."""
        root = self.root_of(path)
        return path.resolve().relative_to(root).as_posix() if root else path.name

    def features(self) -> list[Feature]:
        """The features files of the specs roots, or the checklist that comes with the package."""
        if self._features is None:
            own = [
                path
                for root in self.specs
                for path in yaml_files(root)
                if kind_of(path) == "features"
            ]
            texts = [(_shown(path), read_text(path)) for path in own] or [shipped_features()]
            self._features = [
                feature for name, text in texts for feature in read_features(text, name)
            ]
        return self._features

    def cells(self, path: Path) -> list[Cell]:
        """One cell for every case and column of a spec file, our own and then those of the user's
        adapters; raises `SpecError`.
        """
        name = self.name_of(path)
        return [cell for case in self.cases(path) for cell in self._cells_of(case, name)]

    def _cells_of(self, case: Case, name: str) -> Iterator[Cell]:
        yield from (
            Cell(case, name, column)
            for column in case.expect
            if column in DIALECTS or column in LAYERS
        )
        if case.kind == "stream":  # what is sent, an adapter of answers does not make
            yield from (
                Cell(case, name, one.name, one.dialect)
                for one in self.adapters.values()
                if one.dialect in case.expect
            )

    def cases(self, path: Path, today: date | None = None) -> list[Case]:
        """The cases of a spec file; raises `SpecError`, with ``today`` also for marks that have
        expired.
        """
        return read_spec(
            read_text(path),
            _shown(path),
            dialects=DIALECTS,
            providers=PROVIDERS,
            features={feature.id for feature in self.features()},
            losses={name: dialect.losses for name, dialect in DIALECTS.items()},
            today=today,
            adapters={one.name: one.dialect for one in self.adapters.values()},
        )

    def cassette_path(self, name: str) -> Path:
        """Where the cassette of that name stands; raises `CassetteError` if that is outside the
        cassettes folder.
        """
        try:
            path = next(
                (
                    self.cassettes / f"{name}{suffix}"
                    for suffix in SUFFIXES
                    if (self.cassettes / f"{name}{suffix}").exists()
                ),
                None,
            )
            path = path or self.cassettes / f"{name}.yaml"
            inside = path.resolve().is_relative_to(self.cassettes)
        except (
            OSError,
            RuntimeError,
            ValueError,
        ) as error:  # too long, a link in a circle, a character that no path holds
            raise CassetteError(f"the name {name[:80]!r} leads nowhere: {error}") from None
        if not inside:
            raise CassetteError(
                f"the name {name!r} leads out of {self.cassettes}; name a file below it"
            )
        return path

    def _cassette(self, name: str) -> Cassette:
        path = self.cassette_path(name)
        if not path.exists():
            raise CassetteError(
                f"no cassette {name}: {_shown(path)} does not exist; {self._way_out(name)}"
            )
        return load(path)

    def _way_out(self, name: str) -> str:
        folder, _, last = name[:_LONGEST].rpartition("/")
        known = {
            one.rpartition("/")[2]: one
            for one in sorted(self._names, key=lambda one: one.rpartition("/")[0] == folder)
        }
        near = difflib.get_close_matches(last, known, 1)
        return (
            f"did you mean {known[near[0]]}?"
            if near
            else "record or import one there, or name another"
        )

    @cached_property
    def _names(self) -> list[str]:
        """The names of all cassettes, for whoever mistyped one."""
        return [
            path.relative_to(self.cassettes).with_suffix("").as_posix()
            for path in yaml_files(self.cassettes)
        ]


def kind_of(path: Path) -> Literal["spec", "features", "other"]:
    """What a YAML file is, told by its first words; what is none of ours is left alone, whatever
    its encoding.
    """
    text = path.read_bytes().decode("utf-8", "replace")
    return "spec" if is_spec(text) else "features" if is_features(text) else "other"


def unheaded(data: bytes) -> str:
    """What is wrong with a file that looks like a spec and does not begin like one; "" for any
    other.
    """
    looks = re.search(rb"^cases:", data, re.MULTILINE)
    return (
        "has `cases:` but does not begin with `harness: 1`, so it is no spec and nothing runs it"
        if looks
        else ""
    )


def yaml_files(folder: Path) -> Iterator[Path]:
    """The YAML files below a folder, in order; a file itself if it is one."""
    if folder.is_file():
        yield folder
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            yield path


def read_text(path: Path) -> str:
    """A file's text with its own line ends; raises `SpecError` where it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise SpecError(
            _shown(path), [(1, f"not UTF-8 at byte {error.start}; save the file as UTF-8")]
        ) from None


def shipped_features() -> tuple[str, str]:
    """Name and text of the checklist that comes with the package: in a wheel beside the code, in a
    checkout below ``specs/``.
    """
    inside = resources.files("harness") / "features.yaml"
    path = inside if inside.is_file() else Path(__file__).parents[2] / "specs" / "features.yaml"
    return str(path), path.read_text(encoding="utf-8")


def _shown(path: Path) -> str:
    """A path as somebody in the working folder would type it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
