"""The table of providers."""

from __future__ import annotations

from typing import Final

from harness.stream.plugins import Table

from .provider import Provider

MODULES: Final = (
    "gemini_api",
    "vertex_ai",
    "code_assist",
    "interactions",
    "openai_compat",
    "anthropic",
    "openai",
    "live",
    "gemini_cli",
)
"""The modules or folders of the providers, in the order of reports and of detection. Each has its
`Provider` as ``PROVIDER``. The name of the provider is that of the module, with ``-``.
"""


PROVIDERS: Final = Table("providers", Provider, __package__, MODULES, "PROVIDER")
"""Ours, then those of other distributions."""
