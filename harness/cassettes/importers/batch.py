"""Reads results of the batch API: many unary responses, each an exchange without a request.

Three layouts are read: Google's result file (``{"key": …, "response": …}`` on each line), inlined
responses in a document (with Google's or the SDK's names), and the results that ellmer stores.
https://ai.google.dev/gemini-api/docs/batch-api
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from harness.stream.exchange import Cassette, CassetteError, Exchange

from .build import body_bytes, build_cassette, build_exchange
from .content import Content, Format, as_shape, parse_json

_JSON: Final = {"Content-Type": "application/json; charset=UTF-8"}


def _recognises(content: Content) -> bool:
    return _inlined(content.mapping) is not None or _is_result(content.first_line)


def _read(content: Content) -> Cassette:
    results = _inlined(content.mapping)
    exchanges = _from_lines(content.lines) if results is None else map(_exchange, results)
    return build_cassette(exchanges, note="batch results, bodies rebuilt")


def _inlined(document: dict[str, Any]) -> list[Any] | None:
    """Return the results in a batch document; None if it has no results."""
    match document:
        case {"batch": {"dest": {"inlined_responses": list(results)}}} | {
            "dest": {"inlined_responses": list(results)}
        }:
            return results
        case {"response": {"inlinedResponses": {"inlinedResponses": list(results)}}}:
            return results
        case {"batch": _, "results": [{"body": _}, *_] as results}:
            return list(results)
    return None


def _is_result(line: Any) -> bool:
    match line:
        case {"key": _, "response": dict()} | {"key": _, "error": dict()}:
            return True
    return False


def _from_lines(lines: Iterable[tuple[int, str]]) -> Iterator[Exchange]:
    for number, line in lines:
        try:
            yield _exchange(parse_json(line))
        except CassetteError as error:
            raise CassetteError(f"line {number} of the batch results: {error}") from None


def _exchange(result: Any) -> Exchange:
    match result:
        case {"response": dict(body)}:
            return build_exchange(None, 200, _JSON, body_bytes(body), end="unknown")
        case {"error": dict(error)}:
            code = error.get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            return build_exchange(None, status, _JSON, body_bytes({"error": error}), end="unknown")
        case {"body": body}:
            status = as_shape(result.get("status_code", 200), int, "status_code")
            return build_exchange(None, status, _JSON, body_bytes(body), end="unknown")
    raise CassetteError("a batch result without response or error")


BATCH: Final = Format("batch", "batch API results", _recognises, _read)
