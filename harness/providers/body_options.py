"""Merges the options of a prompt for one wire into its body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.stream.generation import TranslationError
from harness.stream.prompt import Prompt


def with_options(body: dict[str, Any], prompt: Prompt, name: str) -> dict[str, Any]:
    """Return the body with the options under ``name``, of a provider or vendor: objects are merged,
    tools are added, any other value replaces ours.
    """
    options = prompt.options.get(name) or {}
    if not isinstance(options, Mapping):
        raise TranslationError(f"provider_options.{name}", "must be an object")
    tools = [*body.get("tools", []), *(options.get("tools") or [])]
    merged = _merged(body, options)
    return {**merged, "tools": tools} if tools else merged


def _merged(body: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    both = {
        key: _merged(body[key], value)
        for key, value in more.items()
        if isinstance(body.get(key), Mapping) and isinstance(value, Mapping)
    }
    return {**body, **more, **both}
