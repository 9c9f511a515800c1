"""Finds drift: differences in shape between two recordings of a provider, independent of the text
of the answers.

The shape of an exchange (`shape`) is its form without its text: paths of fields with their types,
values of enums, the order of parts, the messages that have counts, and the end. `compare` finds the
differences between two shapes; `severity` assigns a feature and a severity to each. A difference
never contains text of an answer, only paths, types, and enum values.
"""

from __future__ import annotations

from .compare import Drift, compare_cassettes
from .severity import SEVERITIES, Severity

__all__ = ["SEVERITIES", "Drift", "Severity", "compare_cassettes"]
