"""Reads errors in every form that Google's servers, and proxies in front of them, send.

The usual body is ``{"error": {code, message, status, details[]}}``, a google.rpc.Status
(https://cloud.google.com/apis/design/errors). Other forms are this body in a one-element array,
with the older list ``errors[]``, with a word as code, ``{"error": "text"}``, an object without
``error``, plain text, HTML, or nothing. OpenAI's errors have a word as code, or at least a type.
Nothing here raises; ``raw`` is the whole body.
"""

from __future__ import annotations

import re
from typing import Any, Final

from harness.stream.events import Error
from harness.stream.json_codec import Json, objects_in

from .provider import Answer

MAX_PLAIN_TEXT: Final = 500
"""A longer text is a page, not a message."""

_DURATION: Final = re.compile(
    r"(?:([0-9.]{1,30})h)?(?:([0-9.]{1,30})m)?(?:([0-9.]{1,30})s)?(?:([0-9.]{1,30})ms)?"
)
_SECONDS: Final = (3600.0, 60.0, 1.0, 0.001)


def read_error(body: Json, answer: Answer) -> Error:
    """Return the error in a parsed body. ``code`` is the HTTP status if that reports an error, else
    the error's own number.
    """
    # Without `alt=sse`, Gemini's error is the only element of an array.
    document = body[0] if type(body) is list and body else body
    error = document.get("error", document) if type(document) is dict else document
    around = document if type(document) is dict else {}
    own = error if type(error) is dict else {}
    code, status = own.get("code"), own.get("status")
    number = (
        code
        if type(code) is int
        else int(code)
        if type(code) is str and re.fullmatch("[0-9]{3}", code)
        else None
    )
    words = [
        status,
        code if number is None else None,
        error if type(around.get("error_description")) is str else None,
        own.get("type") if error is not document or own.get("type") != "error" else None,
    ]
    details = objects_in(own.get("details"))
    return Error(
        message=_message(error, own, around) or _no_message(answer, number),
        code=answer.status if answer.failed else number,
        status=next((word for word in words if type(word) is str and word), None),
        reasons=[reason for detail in details if type(reason := detail.get("reason")) is str],
        quotas=[
            quota
            for detail in details
            for violation in objects_in(detail.get("violations"))
            if (quota := _quota(violation))
        ],
        retry_after=_retry_after(details, answer),
        raw=body,
    )


def read_error_text(text: str, answer: Answer) -> Error:
    """Return the error of an HTTP status and a body that is not JSON; ``text`` may be empty."""
    plain = text.strip()
    message = (
        plain
        # A proxy answers with a page of HTML, which is no message.
        if plain and len(plain) <= MAX_PLAIN_TEXT and not plain.startswith("<")
        else _no_message(answer, None)
    )
    return Error(
        message=message, code=answer.status, retry_after=_retry_after([], answer), raw=text or None
    )


def _no_message(answer: Answer, number: int | None) -> str:
    code = answer.status if answer.failed else number
    return "an error without a message" if code is None else f"HTTP {code}"


def _message(error: Json, own: dict[str, Json], around: dict[str, Json]) -> str | None:
    """Return the first text for a person."""
    legacy = [item.get("message") for item in objects_in(own.get("errors"))]
    beside = [around.get(key) for key in ("error_description", "message", "detail")]
    places = [own.get("message"), *legacy, *beside, own.get("detail"), error]
    return next((place for place in places if type(place) is str and place), None)


def _quota(violation: dict[str, Any]) -> str | None:
    quota = violation.get("quotaId", violation.get("quota_id"))
    return quota if type(quota) is str else None


def _retry_after(details: list[dict[str, Any]], answer: Answer) -> float | None:
    """Return the seconds, from RetryInfo, or else from the header ``Retry-After-Ms``, or else from
    ``Retry-After`` if it is a number: a date would need a clock.
    """
    for detail in details:
        seconds = read_duration(detail.get("retryDelay", detail.get("retry_delay")))
        if seconds is not None:
            return seconds
    for name, unit in (("retry-after-ms", "ms"), ("retry-after", "s")):
        header = answer.headers.get(name, "").strip()
        if header and (seconds := read_duration(f"{header}{unit}")) is not None:
            return seconds
    return None


def read_duration(duration: Json) -> float | None:
    """Return the seconds of ``34.07s``, ``900ms``, ``1h2m3.4s`` or ``{seconds, nanos}``; None for
    anything else.
    """
    if type(duration) is dict:
        seconds, nanos = duration.get("seconds", 0), duration.get("nanos", 0)
        duration = (
            f"{seconds}s"
            if nanos == 0
            else f"{seconds}s{nanos / 1e6}ms"
            if type(nanos) is int
            else None
        )
    match = _DURATION.fullmatch(duration) if type(duration) is str and duration else None
    if match is None:
        return None
    try:
        total = sum(
            float(amount) * unit
            for amount, unit in zip(match.groups(), _SECONDS, strict=True)
            if amount
        )
    except ValueError:
        return None
    return total
