"""Replaces secrets in the test reports of our items, which are what the terminal, ``--junitxml``
and other plugins show.

An item is ours if it is a cell or a law, or if it uses our fixtures or marker. The reports of all
other tests stay as they are.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from .markers import is_ours

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Generator


def usage_error(message: str) -> pytest.UsageError:
    """An error about options or configuration, whose message pytest prints as it is."""
    return pytest.UsageError(masked(message))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if is_ours(item):
        _mask_report(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if type(collector).__module__.startswith("harness."):
        _mask_report(report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    warning = warning_message.message
    if isinstance(warning, Warning) and type(warning).__module__.startswith("harness."):
        warning.args = tuple(masked(str(text)) for text in warning.args)


def masked(text: str) -> str:
    """A text for the terminal, without secrets."""
    from harness.cassettes.redaction.secrets import mask

    return mask().text(text)


def _mask_report(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Masks the failure or the reason of a skip, the captured output, and the properties."""
    fields = vars(report)
    shown = {name: value for name in _SHOWN if (value := fields.get(name))}
    if shown:
        from harness.cassettes.redaction.secrets import mask

        fields.update(mask().value(partial(_with_texts, shown)))


_SHOWN: Final = ("longrepr", "sections", "user_properties", "wasxfail")


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A copy of a part of a report with each text changed."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _with_texts(item, change) for key, item in value.items()}
        case list() | tuple():
            return type(value)(_with_texts(item, change) for item in value)
        case object(toterminal=_):  # how pytest shows an exception, a traceback or a line of it
            shown = copy(value)
            vars(shown).update(_with_texts({**vars(value)}, change))
            return shown
        case _:
            return value
