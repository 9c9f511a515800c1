"""The pytest plugin: options, items for specs and laws, results, and fixtures for tests.

pytest loads the modules of `pytest_plugins` in every run, so they import nothing from `harness` at
the top. They import the other modules of this package only when a spec, a fixture or an option
needs them. A run without these does not change.
"""

from __future__ import annotations

pytest_plugins = [
    "harness.pytest_plugin.mask",  # first, because the others import it
    "harness.pytest_plugin.options",
    "harness.pytest_plugin.collection",
    "harness.pytest_plugin.fixtures",
    "harness.pytest_plugin.outcomes",
]
