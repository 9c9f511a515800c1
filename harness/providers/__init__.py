"""The providers: each reads one wire and turns its frames into canonical events."""

from __future__ import annotations

from .detection import detect_provider, with_provider
from .gemini.messages import is_decision
from .gemini.tools import json_schema
from .provider import (
    EXIT_CODE,
    GENERATE_CONTENT,
    PROGRAM,
    STATED,
    STDERR,
    Answer,
    Api,
    Endpoint,
    FirstMessages,
    Identity,
    Normalizer,
    Provider,
)
from .request_rules import RequestRules
from .request_tools import (
    DeclaredTools,
    asked_features,
    declared_tools,
    declares_known_tools,
    server_tools,
)
from .table import PROVIDERS

__all__ = [
    "EXIT_CODE",
    "GENERATE_CONTENT",
    "PROGRAM",
    "PROVIDERS",
    "STATED",
    "STDERR",
    "Answer",
    "Api",
    "DeclaredTools",
    "Endpoint",
    "FirstMessages",
    "Identity",
    "Normalizer",
    "Provider",
    "RequestRules",
    "asked_features",
    "declared_tools",
    "declares_known_tools",
    "detect_provider",
    "is_decision",
    "json_schema",
    "server_tools",
    "with_provider",
]
