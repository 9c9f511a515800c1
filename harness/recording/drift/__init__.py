"""Drift: how the shape of what a provider answers differs between two recordings, whatever the
answers say.

A shape (`shapes`) is what is left of an exchange without its wording: paths of fields with their
types, words of enums, the order of parts, which messages carry counts, how it ended. `comparing`
tells two shapes apart, `places` says which feature a difference touches and how bad it is. No text
of an answer goes into a finding: only paths, types, and words of enums.
"""

from __future__ import annotations

from .compare import Drift, compare_cassettes
from .severity import SEVERITIES, Severity

__all__ = ["SEVERITIES", "Drift", "Severity", "compare_cassettes"]
