"""Replaces the references of a JSON Schema by the schemas that they refer to.

A reference and its target both apply, so ``$ref`` becomes an ``allOf``. A schema may come from
anywhere, and references multiply: depth and size of the result are bounded.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

MAX_DEPTH: Final = 40
MAX_SIZE: Final = 50_000
"""Keywords and list items that are read, counted each time that a reference leads to them."""

_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
_REMOVED: Final = frozenset({"$ref", "$defs", "definitions"})

Refs = frozenset[str]
"""The references that lead to a schema."""


class Resolver:
    """Resolves the references of one schema; warnings become keys of ``losses``."""

    def __init__(self, root: Any, place: str, losses: dict[str, None]) -> None:
        self._root = root
        self._place = place
        self._losses = losses
        self._left = MAX_SIZE

    def resolve(self, schema: Any, path: str, refs: Refs, depth: int = 0) -> Any:
        """Return the schema without ``$ref``. A recursive reference ends in the type of its
        target.
        """
        if not isinstance(schema, dict):
            return schema
        self._left -= 1 + sum(
            len(value) if isinstance(value, list) else 1 for value in schema.values()
        )
        if depth > MAX_DEPTH or self._left < 0:
            self._losses[
                f"{self._place}: 'schema' is cut off at {MAX_DEPTH} levels or"
                f" {MAX_SIZE} values, including references"
            ] = None
            return {}
        resolved: dict[str, Any] = {}
        for keyword, value in schema.items():
            inside = path if keyword == "allOf" else f"{path}.{keyword}"
            if keyword == "properties" and isinstance(value, dict):
                resolved[keyword] = {
                    name: self.resolve(inner, f"{inside}.{name}", refs, depth + 1)
                    for name, inner in value.items()
                }
            elif keyword in _LISTS and isinstance(value, list):
                resolved[keyword] = [
                    self.resolve(
                        inner, inside if keyword == "allOf" else f"{inside}[{at}]", refs, depth + 1
                    )
                    for at, inner in enumerate(value)
                ]
            elif keyword == "items":
                resolved[keyword] = self.resolve(value, inside, refs, depth + 1)
            elif keyword not in _REMOVED:
                resolved[str(keyword)] = value
        if "$ref" in schema:
            target = self._follow(schema["$ref"], path, refs, depth + 1)
            others = {"allOf": resolved["allOf"]} if "allOf" in resolved else {}
            resolved["allOf"] = [target, others]
        return resolved

    def _follow(self, ref: Any, path: str, refs: Refs, depth: int) -> Any:
        target = _find(self._root, ref)
        if target is None:
            missing = f"is left out; this schema has nothing at {str(ref)[:80]!r}"
            self._losses[f"{path}: '$ref' {missing}"] = None
            return {}
        if ref not in refs:
            return self.resolve(target, path, refs | {ref}, depth)
        recursive = f"to {ref!r} is recursive; from here on only its type is sent"
        self._losses[f"{path}: '$ref' {recursive}"] = None
        if not isinstance(target, dict):
            return {}
        kept = {key: target[key] for key in ("type", "title", "description") if key in target}
        return {"type": "object", **kept} if "properties" in target else kept


def _find(root: Any, ref: Any) -> Any:
    """Return the value at a JSON pointer (RFC 6901) in a URI fragment; None if there is none."""
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        return None
    node = root
    for escaped in unquote(ref[1:]).split("/")[1:]:
        token = escaped.replace("~1", "/").replace("~0", "~")
        try:
            node = node[int(token) if isinstance(node, list) else token]
        except (LookupError, TypeError, ValueError):
            return None
    return node
