"""The collector of a file with rows (a spec, a cassette with the laws, or questions), and the base
class of its items. An item judges its row and keeps it for the report.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
from msgspec.structs import replace

from harness.cassettes import CassetteError
from harness.cassettes.redaction.secrets import mask
from harness.judging.explain import explain
from harness.judging.rows import VERDICTS, Row, Verdict, brief, encode
from harness.specs.spec_error import SpecError
from harness.stream.printable import printable, printable_lines

from .failures import HarnessFailure, HarnessWarning
from .paths import relative_path
from .project import pytest_options

_GREEN: Final[tuple[Verdict, ...]] = ("passed", "not-carried")


class Planned(Protocol):
    """A row that is planned."""

    @property
    def name(self) -> str:
        """The name of its test item."""

    @property
    def blank(self) -> Row:
        """The row before it is judged: only its names."""


class RowFile(pytest.File):
    """A file with rows."""

    def __init__(self, *, kind: type[RowItem], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind

    def collect(self) -> Iterator[pytest.Item]:
        try:
            cells = self.kind.named_cells(self.path, self.config)
        except (CassetteError, SpecError) as error:
            raise self.CollectError(str(error)) from None
        for name, cell in cells:
            # The whole id is given, because pytest 9 would make it from the name. Then --lf would
            # not find the item.
            nodeid = f"{self.nodeid}::{name}"
            yield self.kind.from_parent(self, name=name, nodeid=nodeid, cell=cell)


class RowItem(pytest.Item):
    """An item with a row for the report. The output of a red item is only its row."""

    cell: Any
    line = 1
    """The line of its row in the file."""
    result: Row | None = None

    def __init__(self, *, cell: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cell = cell

    @staticmethod
    def cells(path: Path, config: pytest.Config) -> Sequence[Planned]:
        """Return the selected rows of a file. Raises `CassetteError` and `SpecError`."""
        raise NotImplementedError

    @classmethod
    def named_cells(cls, path: Path, config: pytest.Config) -> list[tuple[str, Planned]]:
        """Return the selected rows of a file, each with the name of its item. Raises as `cells`."""
        cells = cls.cells(path, config)
        names = [cell.name for cell in cells]
        if not (masks := mask()).is_clean(names):
            names = masks.texts(names)
        return list(zip(names, cells, strict=True))

    @classmethod
    def blank(cls, cell: Any, config: pytest.Config) -> Row:
        """Return the row of an item before it is judged."""
        row: Row = cell.blank
        return row

    @classmethod
    def options_of(cls, cell: Any) -> Sequence[str]:
        """Return the additional options of the command of an item."""
        return ()

    def keep(self, result: Row) -> Row:
        """Keep the row of this item without secrets, and return it. If no report is written, a row
        that passes is kept `brief`.
        """
        if result.verdict in _GREEN and not self.config.getoption("--harness-report"):
            result = brief(result)
        else:
            command = command_of(self.path, self.name, self.config, *self.options_of(self.cell))
            result = replace(result, command=command)
        self.result = mask().value(result)
        return self.result

    @property
    def encoded_result(self) -> str:
        """The result, encoded for the controller; "" if there is none."""
        return encode([self.result]).decode() if self.result is not None else ""

    def conclude(
        self,
        result: Row,
        cause: BaseException | None,
        *,
        strict: bool = False,
        way_out: str = "",
    ) -> None:
        """End the item with the outcome of its verdict. ``cause`` is an exception of an adapter,
        ``way_out`` the last line of the message of a red item.
        """
        reason = f"{VERDICTS[result.verdict].word}: {result.reason}"
        match result.verdict:
            case "passed":
                return
            case "known-failing":
                pytest.xfail(printable(reason + (f" ({result.link})" if result.link else "")))
            case "not-carried":
                pytest.skip(printable(reason))
            case "not-run" | "unreviewed" if not strict:
                pytest.skip(printable(reason))
            case "warning" if not strict:
                self.warn(HarnessWarning(explain(result, self.place(self.line_of(result)))))
            case _:
                case = result.evidence.small_case if result.evidence else ""
                shown = f"\n\nA case that shows it:\n{case}" if case else ""
                text = explain(result, self.place(self.line_of(result)))
                last = f"\n{way_out}" if way_out else ""
                raise HarnessFailure(text + shown + last) from cause

    def line_of(self, result: Row) -> int:
        """Return the line of the row in the file of the item."""
        return self.line

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, self.name

    def place(self, line: int) -> str:
        """Return a line of this item's file, relative to the folder where pytest was started."""
        return f"{relative_path(self.path, self.config.invocation_params.dir) or self.path}:{line}"

    def named(self) -> str:
        """Return the id of the item, relative to the folder where pytest was started."""
        return named(self.path, self.name, self.config)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, HarnessFailure | HarnessWarning):
            shown, chosen = str(excinfo.value), self.config.getoption("tbstyle")
            if chosen == "line":
                return shown.partition("\n")[0]
            if (cause := excinfo.value.__cause__) is None:
                return shown
            style = chosen if chosen in ("short", "native") else "long"
            chain = super().repr_failure(pytest.ExceptionInfo.from_exception(cause), style)
            return f"{shown}\n\n{printable_lines(str(chain))}"
        return super().repr_failure(excinfo, style)


def named(path: Path, name: str, config: pytest.Config) -> str:
    """Return the id of an item of a file, relative to the folder where pytest was started."""
    return f"{(relative_path(path, config.invocation_params.dir) or path).as_posix()}::{name}"


def command_of(path: Path, name: str, config: pytest.Config, *options: str) -> str:
    """Return a shell line that runs only one item, from the folder where pytest was started:
    ``pytest 'specs/x.yaml::case[column]'``.
    """
    settings = pytest_options(path.parent, config)
    return shlex.join(["pytest", *settings, *options, named(path, name, config)])
