"""The classes of errors, in the words and numbers of all public wires."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

ErrorClass = Literal["limit", "caller", "server"]
"""A limit was reached, so that waiting helps; the request is wrong, so that nothing helps; the
server failed, so that a second try may help.
"""

_WORDS: Final[dict[ErrorClass, str]] = {
    "limit": (
        "429 RESOURCE_EXHAUSTED RATE_LIMIT_EXCEEDED RATE_LIMIT_ERROR RATE_LIMIT TOO_MANY_REQUESTS"
        " QUOTA_EXCEEDED INSUFFICIENT_QUOTA BILLING_ERROR"
    ),
    "caller": (
        "400 401 403 404 INVALID_ARGUMENT FAILED_PRECONDITION UNAUTHENTICATED PERMISSION_DENIED"
        " NOT_FOUND INVALID_REQUEST INVALID_REQUEST_ERROR AUTHENTICATION AUTHENTICATION_ERROR"
        " PERMISSION_ERROR NOT_FOUND_ERROR INVALID_API_KEY REQUEST_TOO_LARGE"
    ),
    "server": (
        "500 502 503 504 529 INTERNAL UNAVAILABLE DEADLINE_EXCEEDED API_ERROR OVERLOADED_ERROR"
        " SERVER_ERROR INTERNAL_SERVER_ERROR SERVICE_UNAVAILABLE TIMEOUT_ERROR"
    ),
}
_CLASSES: Final = {word: kind for kind, words in _WORDS.items() for word in words.split()}


def error_classes(words: Iterable[int | str | None]) -> set[ErrorClass]:
    """Return the classes of the codes and status words among ``words``. Unknown words have none."""
    known = (_CLASSES.get(str(word).upper().replace("-", "_")) for word in words)
    return {kind for kind in known if kind is not None}
