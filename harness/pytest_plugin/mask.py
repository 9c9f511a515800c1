"""Replaces secrets in the ids, the test reports and the warnings of our items, because the
terminal, ``--junitxml`` and other plugins show them.

An item is ours if it is a cell or a law, or if it uses our fixtures or marker. Other tests do not
change.
"""

from __future__ import annotations

import linecache
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest

from .markers import is_ours

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Generator, Iterator

    from harness.cassettes.redaction.mask import Mask


def usage_error(message: str) -> pytest.UsageError:
    """Return an error in options or configuration. pytest prints its message unchanged."""
    return pytest.UsageError(masked(message))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if is_ours(item):
        _mask_report(report, _mask)
    return report


@contextmanager
def masked_prints(config: pytest.Config) -> Iterator[None]:
    """Mask printed text that pytest does not capture, or shows at once."""
    if config.getoption("capture") not in ("no", "tee-sys"):
        yield
        return
    from harness.cassettes.redaction.masked_output import masked_output

    with masked_output(by_line=True, until=BaseException):
        yield


@pytest.hookimpl(wrapper=True, trylast=True)  # while pytest's own capture is active
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    if not is_ours(item):
        return (yield)
    with masked_prints(item.config):
        return (yield)


pytest_runtest_setup = pytest_runtest_teardown = pytest_runtest_call


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if type(collector).__module__.startswith("harness."):
        _mask_report(report, _mask)
        if report.failed:
            report.nodeid = masked(report.nodeid)
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mask the ids when the items are selected. ``request.node.name`` does not change."""
    ours = [item for item in items if is_ours(item)]
    if not ours:
        return
    if not _mask().is_clean(item.nodeid for item in ours):
        for item in ours:
            _mask_id(item)
    config.pluginmanager.register(_Warnings(frozenset(item.nodeid for item in ours)))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> Generator[None]:
    """Mask the names of our items and their files while ``--collect-only`` prints them."""
    ours = filter(is_ours, session.items) if session.config.option.collectonly else ()
    names = {node: node.name for item in ours for node in item.listchain()}
    for node, name in names.items():
        node.name = masked(name)
    try:
        return (yield)
    finally:
        for node, name in names.items():
            node.name = name


def _mask_id(item: Any) -> None:
    """Mask the id of an item and its location. pytest has no public interface for this."""
    path, line, name = item.location
    vars(item)["location"] = masked(path), line, masked(name)
    shown = masked(item.nodeid)
    if hasattr(item, "_id"):  # since pytest 9.2
        item._id = type(item._id).parse(shown)
    else:
        item._nodeid = shown


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    if warning_message.category.__module__.startswith("harness."):
        _mask_warning(warning_message)


@dataclass(frozen=True)
class _Warnings:
    """Masks the warnings of the items with these ids."""

    ours: frozenset[str]

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, nodeid: str
    ) -> None:
        if nodeid in self.ours:
            _mask_warning(warning_message)


def _mask_warning(warning: warnings.WarningMessage) -> None:
    """Mask the text of a warning, and the line of the source that is shown below it."""
    text, line = str(warning.message), linecache.getline(warning.filename, warning.lineno)
    if (shown := masked(text)) != text:
        warning.message = Warning(shown)
    warning.line = masked(line)


def masked(text: str) -> str:
    """Return a text for the terminal, without secrets."""
    return _mask().text(text)


def _mask() -> Mask:
    from harness.cassettes.redaction.secrets import mask

    return mask()


def _mask_report(
    report: pytest.TestReport | pytest.CollectReport, mask: Callable[[], Mask]
) -> None:
    """Mask the failure or the reason of a skip, the captured output, and the properties."""
    fields = vars(report)
    shown = {name: value for name in _SHOWN if (value := fields.get(name))}
    if shown:
        fields.update(mask().value(shown))


_SHOWN: Final = ("longrepr", "sections", "user_properties", "wasxfail")
