"""The base class of our items, which keeps a result for the report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace

from harness.cassettes.redaction.secrets import mask
from harness.judging.explain import explain
from harness.judging.rows import VERDICTS, Row, Verdict, brief, encode
from harness.stream.printable import printable, printable_lines

from .failures import HarnessFailure, HarnessWarning
from .paths import relative_path
from .project import pytest_options

_GREEN: Final[tuple[Verdict, ...]] = ("passed", "not-carried")


class ResultItem(pytest.Item):
    """An item with a result for the report. The output of a red item is only its result."""

    result: Row | None = None

    def keep(self, result: Row, *options: str) -> Row:
        """Keep the result of this item without secrets, and return it. ``options`` are additional
        options of its command. If no report is written, a cell that passes is kept `brief`.
        """
        if result.verdict in _GREEN and not self.config.getoption("--harness-report"):
            result = brief(result)
        else:
            result = replace(result, command=self.command(*options))
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
        """Return the line of the result in the file of the item."""
        return 1

    def place(self, line: int) -> str:
        """Return a line of this item's file, relative to the folder where pytest was started."""
        return f"{relative_path(self.path, self.config.invocation_params.dir) or self.path}:{line}"

    def command(self, *options: str) -> str:
        """Return a shell line that runs only this item, from the folder where pytest was started:
        ``pytest 'specs/x.yaml::case[column]'``.
        """
        return command_of(self.path, self.name, self.config, *options)

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
