"""What is no recording of the API: answers that say something of an account or of a bad moment, not
of the wire.

A suite that has recorded "quota exceeded" is green for ever after. So such an answer is refused,
before a stream and inside one, unless whoever records says that it is what the case is about. So is
an answer that broke off: the network failed, and a half answer would take the place of a whole one.
Where no test has looked at the answer, any other error is refused as well: it is most often a name
that was mistyped.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable
from typing import Any, Final

from harness.cassettes import CassetteError, Exchange
from harness.pipeline.replay import ReplayError, replay
from harness.providers import EXIT_CODE, with_provider
from harness.stream.events import End

from .tape import InFlightExchange

REFUSED: Final = {
    401: "an authentication answer",
    403: "an authorization answer",
    407: "a proxy's authentication answer",
    429: "a quota answer",
    502: "an overload answer",
    503: "an overload answer",
    504: "an overload answer",
    529: "an overload answer",
}
"""HTTP statuses, and the codes of errors inside a stream, by what they are."""
BROKEN: Final[dict[End, str]] = {
    "cut": "was cut off before its end",
    "reset": "was reset before its end",
    "aborted": "was given up",
}
"""Ends of an answer that is not whole, by what became of it."""
KEY_REASONS: Final = frozenset({"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "CONSUMER_INVALID"})
"""Reasons of an ErrorInfo that make an answer of any status one about a key
(https://cloud.google.com/apis/design/errors).
"""
NO_LOGIN: Final = 41
"""The Gemini CLI's exit code where nobody is logged in
(https://geminicli.com/docs/cli/headless/#exit-codes).
"""

_TOLD: Final = re.compile(r'"code":\s*([45]\d\d)\b')


class RecordingRefused(CassetteError):
    """What was recorded is not kept; the message says which exchange, why, and what to do.

    ``said``: the provider's own words, as the message quotes them.
    """

    def __init__(self, message: str, said: str = "") -> None:
        super().__init__(message)
        self.said = said


def refuse_errors(exchanges: Iterable[Exchange], allowed: Collection[int] = ()) -> None:
    """Raises `RecordingRefused` for the first answer of a status in `REFUSED` that is not
    ``allowed``.
    """
    for number, exchange in enumerate(exchanges, 1):
        found = refused(exchange, allowed)
        if found:
            code, what, said = found
            raise RecordingRefused(
                f"exchange {number} is {what} ({code}{': ' if said else ''}{said}), not what a case"
                f" is about; mend that and record again, or allow the status {code} for this"
                " recording",
                said,
            )


def refuse_broken(takes: Iterable[InFlightExchange], allowed: Collection[End] = ()) -> None:
    """Raises `RecordingRefused` for the first answer that was cut, reset or given up, unless such
    an end is ``allowed``.

    One that its client left, and not because of the network, is what was recorded.
    """
    for number, take in enumerate(takes, 1):
        exchange = take.exchange()
        if told := broken(exchange, allowed if take.failure else {"aborted", *allowed}):
            why = f": {take.failure}" if exchange.end == "aborted" else ""
            raise RecordingRefused(
                f"the answer of exchange {number} {told}{why}; a recording holds whole answers;"
                " record again, or, if that is what it is about, allow this end:"
                f" allow_end=[{exchange.end!r}]"
            )


def broken(exchange: Exchange, allowed: Collection[End] = ()) -> str | None:
    """What became of an answer that is not whole and whose end is not ``allowed``; None for any
    other.
    """
    if exchange.end not in BROKEN or exchange.end in allowed:
        return None
    count = len(exchange.reads)
    return (
        f"{BROKEN[exchange.end]}, after {count} read{'' if count == 1 else 's'} of"
        f" {len(exchange.body)} bytes"
    )


def refused(
    exchange: Exchange, allowed: Collection[int] = (), *, every: bool = False
) -> tuple[int, str, str] | None:
    """Code, what it is, and the provider's words, if this answer is one to refuse; with ``every``
    any that `status_of` calls an error.
    """
    status, errors = status_of(exchange), errors_of(exchange)
    for error in errors:
        code, said = error.get("code") or status, str(error["message"])
        of_key = KEY_REASONS & set(error.get("reasons", ())) or any(
            reason in said for reason in KEY_REASONS
        )
        what = "an answer about the key" if of_key else REFUSED.get(code)
        if what and code not in allowed:
            return code, what, said[:200]
    if status in REFUSED and status not in allowed:
        return status, REFUSED[status], exchange.reason_phrase
    if every and (status >= 400 or status != exchange.status) and status not in allowed:
        said = str(errors[0]["message"])[:200] if errors else exchange.reason_phrase
        return status, "an answer of an error", said
    return None


def status_of(exchange: Exchange) -> int:
    """The status of an answer; of a program that failed, that of the error of the API which it
    tells of, else its exit code.

    The Gemini CLI exits with the status modulo 256. One that was killed has no code of its own: its
    output is cut.
    """
    code = int(exchange.header(EXIT_CODE) or 0) if exchange.request is None else 0
    if code <= 0:
        return exchange.status
    told = next(
        (found for error in errors_of(exchange) if (found := _TOLD.search(str(error["message"])))),
        None,
    )
    if told:
        return int(told[1])
    return (
        401
        if code == NO_LOGIN
        else next((status for status in REFUSED if status % 256 == code), code)
    )


def errors_of(exchange: Exchange) -> list[dict[str, Any]]:
    """The error events of an answer."""
    exchange = with_provider(exchange)
    if not exchange.generates:
        return []
    with warnings.catch_warnings(action="ignore"):  # whose wire it is does not matter here
        try:
            events = replay(exchange, layer="events")
        except ReplayError:
            return []
    return [event for event in events if event["kind"] == "error"]
