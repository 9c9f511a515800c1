"""Specs: YAML text → cases, with a file and a line in every error; and the one way a spec is ever
written to.

`models` holds the closed shapes of a file and their JSON Schema; `reading` turns text into them and
finds everything that is wrong, with `meaning` for what values name and `wording` for how it is
said; `accepting` fills an empty expectation and leaves every other character alone. No file is
opened here and no clock is read: text, known names and today's date come from the caller.
"""

from .accept import accept
from .checks import cassette_fault
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
from .prompts import RECORDED
from .reader import is_features, is_spec, read_features, read_spec

__all__ = [
    "LAYERS",
    "RECORDED",
    "Case",
    "Feature",
    "FeaturesFile",
    "KnownFailing",
    "SpecError",
    "SpecFile",
    "Turn",
    "accept",
    "cassette_fault",
    "is_features",
    "is_spec",
    "json_schema",
    "read_features",
    "read_spec",
]
