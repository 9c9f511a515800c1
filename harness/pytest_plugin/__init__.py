"""The pytest plugin: options, items for specs and laws, results, and fixtures for tests.

pytest loads the modules of `pytest_plugins` in every run, so they import nothing of `harness` at
the top. They call the other modules of this package when a spec, a fixture or an option needs them;
a run without these does not change.
"""

from __future__ import annotations

pytest_plugins = [
    "harness.pytest_plugin.mask",  # first, because the others import it
    "harness.pytest_plugin.options",
    "harness.pytest_plugin.collection",
    "harness.pytest_plugin.fixtures",
    "harness.pytest_plugin.outcomes",
]
