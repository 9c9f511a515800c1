"""The hooks of cells that run only code of this package. It prints and logs nothing, and opens no
connection. So pytest does not capture its output, because that would take longer than most cells.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

_CAPTURES: Final = ("capturemanager", "logging-plugin", "threadexception", "unraisableexception")
"""Plugins of pytest that capture the output, the logs and the unhandled exceptions of a test."""
_PHASES: Final = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")


class QuietHooks:
    """The hooks of a spec file without the plugins that capture. All other plugins are called."""

    def __init__(self, file: pytest.File) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        hook = getattr(self._file.ihook, name)
        if name in _PHASES:
            plugins = self._file.config.pluginmanager
            called = {impl.plugin for impl in hook.get_hookimpls()}
            called -= {plugins.get_plugin(capture) for capture in _CAPTURES}
            hook = plugins.subset_hook_caller(name, plugins.get_plugins() - called)
        if name.startswith("pytest_runtest_"):  # no conftest.py is loaded later
            vars(self)[name] = hook
        return hook
