"""Specs: reads YAML text into cases, with a file and a line in every error, and fills in accepted
expectations.

`models` has the shapes of the files and their JSON Schema. `reader` turns text into them and finds
all faults. `checks` checks names and dates. `accept` fills an empty expectation and changes no
other character; `update` rewrites the parts of one that no longer hold. This package opens no file
and reads no clock: text, known names and the date come from the caller.
"""

from .accept import ExpectationChange, Fill, accept, change_all
from .checks import RECORDED, cassette_fault
from .kept import Kept
from .models import (
    LAYERS,
    Case,
    Feature,
    FeaturesFile,
    KnownFailing,
    SpecError,
    SpecFile,
    Turn,
    json_schema,
)
from .reader import is_features, is_spec, read_features, read_spec
from .update import Update
from .volatile import expectation_of

__all__ = [
    "LAYERS",
    "RECORDED",
    "Case",
    "ExpectationChange",
    "Feature",
    "FeaturesFile",
    "Fill",
    "Kept",
    "KnownFailing",
    "SpecError",
    "SpecFile",
    "Turn",
    "Update",
    "accept",
    "cassette_fault",
    "change_all",
    "expectation_of",
    "is_features",
    "is_spec",
    "json_schema",
    "read_features",
    "read_spec",
]
