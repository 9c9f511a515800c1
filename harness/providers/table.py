"""The table of providers."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from harness.stream.plugins import installed

from .provider import Provider

MODULES: Final = (
    "gemini_api",
    "vertex_ai",
    "code_assist",
    "interactions",
    "openai_compat",
    "anthropic",
    "openai",
    "gemini_cli",
)
"""The modules or folders of the providers, in the order of reports and of detection. Each has its
`Provider` as ``PROVIDER``.
"""


def _provider(module: str) -> Provider:
    provider = getattr(import_module(f"..{module}", __name__), "PROVIDER", None)
    if not isinstance(provider, Provider):
        raise TypeError(f"harness/providers/{module} must define PROVIDER, a Provider")
    return provider


_OURS: Final = {provider.name: provider for provider in map(_provider, MODULES)}

PROVIDERS: Final[dict[str, Provider]] = _OURS | {
    provider.name: provider for provider in installed("providers", Provider, _OURS)
}
"""Ours, then those of other distributions."""
