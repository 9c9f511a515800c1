"""Decides which answers are not kept in a recording.

A suite that recorded "quota exceeded" would always pass. Therefore answers about an account or an
overload are refused, before a stream and inside it, unless the user allows them because the case is
about them. Broken answers are refused too, because the network failed.

A request to a model must get a complete answer of a model: not an error, and for the oracle of the
wire, an answer with a readable last message and a finish reason or a block reason. These rules are
the same for every way of recording.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from harness.cassettes import CassetteError, Exchange
from harness.facts import WireFacts
from harness.pipeline.replay import ReplayError, has_content, replay
from harness.providers import EXIT_CODE, PROVIDERS, detect_provider, with_provider
from harness.stream.decompression import CODINGS, FIRST_BYTES, is_text, unpack_before_fault
from harness.stream.events import End
from harness.stream.framing import frames_of_body
from harness.stream.printable import plural, printable, shorten

from .tape import CLIENT_LEFT, InFlightExchange

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
"""HTTP statuses, and codes of errors inside a stream → a description of the answer."""

CODES: Final = {
    "authentication": 401,
    "permission_denied": 403,
    "rate_limit_exceeded": 429,
    "quota_exceeded": 429,
    "too_many_requests": 429,
    "service_unavailable": 503,
    "deadline_exceeded": 504,
    "authentication_error": 401,
    "permission_error": 403,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
    "invalid_api_key": 401,
    "insufficient_quota": 429,
}
"""Codes of errors inside a stream → the HTTP status of the same error: of the Interactions API
(https://ai.google.dev/gemini-api/docs/api-errors), Anthropic
(https://platform.claude.com/docs/en/api/errors) and OpenAI
(https://platform.openai.com/docs/guides/error-codes).
"""

BROKEN: Final[dict[End, str]] = {
    "cut": "was cut off before its end",
    "reset": "was reset before its end",
    "aborted": "was given up",
}
"""Ends of incomplete answers → a description of the end."""

KEY_REASONS: Final = frozenset({"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "CONSUMER_INVALID"})
"""Reasons of an ErrorInfo that mean, with any status, that the key is wrong
(https://cloud.google.com/apis/design/errors).
"""

NO_LOGIN: Final = 41
"""The Gemini CLI's exit code without a login
(https://geminicli.com/docs/cli/headless/#exit-codes).
"""

PACKED: Final = tuple(bytes([byte]) for byte in FIRST_BYTES)
_NOT_FINISHED: Final = frozenset({"failed", "cancelled"})
"""The ends, in small letters, of answers that a service did not finish."""
_WITHOUT_REASON: Final = frozenset({"incomplete", "finish_reason_unspecified"})
"""The ends, in small letters, that give no reason."""

_MAX_QUOTED: Final = 200
_MAX_SHOWN: Final = 80
"""The length of the beginning of a body in a message."""
_MASKED: Final = 4096
"""The length of the beginning of a body that is masked, so that no secret is cut before that."""
_SHORTEST_NEED: Final = 6
"""The minimum size of a header value that is searched in later requests; a shorter value may occur
by chance.
"""
_CODE: Final = re.compile(r'"code":\s*([45]\d\d)\b')


class RecordingRefused(CassetteError):
    """A recording is not kept; the message has the exchange, the reason and a solution.

    ``quoted``: the provider's own message, as quoted in this message.
    """

    def __init__(self, message: str, quoted: str = "") -> None:
        super().__init__(message)
        self.quoted = quoted


class Refusal(NamedTuple):
    """An answer that is not kept: its status or error code, its description, and the provider's
    message.
    """

    code: int
    kind: str
    quoted: str

    @property
    def details(self) -> str:
        """Code and message, for an error message."""
        return f"{self.code}: {self.quoted}" if self.quoted else str(self.code)


def refuse_answers(
    answered: Sequence[InFlightExchange],
    mask: Callable[[str], str],
    *,
    allow_status: Collection[int] = (),
    allow_end: Collection[End] = (),
    allow_incomplete: bool = False,
) -> None:
    """Raise `RecordingRefused` for the first answer that a recording must not have."""
    exchanges = [in_flight.exchange() for in_flight in answered]
    of_model = [not allow_incomplete and asks for asks in _ask_model(exchanges)]
    for number, (exchange, every) in enumerate(zip(exchanges, of_model, strict=True), 1):
        if refusal := refusal_of(exchange, allow_status, every=every):
            raise RecordingRefused(
                f"exchange {number} is {refusal.kind} ({refusal.details}); correct the cause and"
                f" record again, or allow the status {refusal.code} if the case is about it:"
                f" allow_status=[{refusal.code}]",
                refusal.quoted,
            )
    refuse_broken(answered, allow_end)
    for number, (exchange, every) in enumerate(zip(exchanges, of_model, strict=True), 1):
        stopped = exchange.end == "aborted" and not answered[number - 1].failure
        if not every or stopped or is_allowed(exchange, allow_status, allow_end):
            continue
        if is_followed(exchange, exchanges[number:]):
            continue
        if fault := incompleteness(exchange):
            shown = beginning(exchange, mask)
            raise RecordingRefused(
                f"the answer of exchange {number} {fault}: {shown}; a recording needs complete"
                " answers of a model; record again, or, if the case is about this answer, allow it:"
                " allow_incomplete=True",
                shown,
            )


def refuse_broken(exchanges: Iterable[InFlightExchange], allowed: Collection[End] = ()) -> None:
    """Raise `RecordingRefused` for the first answer that was cut, reset or given up, unless such an
    end is ``allowed``. If the client stopped reading and there was no network error, the answer is
    kept. The client of a relay may stop because of a time-out, so its answer must be complete.
    """
    for number, in_flight in enumerate(exchanges, 1):
        exchange = in_flight.exchange()
        allowed_here = allowed if in_flight.failure else {"aborted", *allowed}
        breakage = breakage_of(exchange, allowed_here)
        if breakage and not (in_flight.failure == CLIENT_LEFT and not incompleteness(exchange)):
            why = f": {in_flight.failure}" if exchange.end == "aborted" else ""
            raise RecordingRefused(
                f"the answer of exchange {number} {breakage}{why}; a recording needs complete"
                " answers; record again, or allow this end if the case is about it:"
                f" allow_end=[{exchange.end!r}]"
            )


def _ask_model(exchanges: Sequence[Exchange]) -> Iterator[bool]:
    """Return, for each exchange, whether a model was asked. The URL of the request decides. A
    request that follows a redirect of such a request asks a model too.
    """
    asks = False
    before: Exchange | None = None
    for exchange in exchanges:
        request = exchange.request
        follows = asks and before is not None and _redirects_to(before, exchange)
        asks = (
            follows
            or request is None
            or detect_provider(request.method, request.url, request.body, b"").generates
        )
        before = exchange
        yield asks


def _redirects_to(exchange: Exchange, following: Exchange) -> bool:
    """Return whether the next request follows the redirect of an answer. A relay may have changed
    the host, so the paths decide.
    """
    place = exchange.header("location")
    if place is None or not (exchange.request and following.request):
        return False
    target = urlsplit(urljoin(exchange.request.url, place))
    return 300 <= exchange.status < 400 and target.path == urlsplit(following.request.url).path


def is_followed(exchange: Exchange, later: Sequence[Exchange]) -> bool:
    """Return whether the answer of a model is in a later exchange: after a redirect, or if the
    client polls an answer in the background.
    """
    if later and _redirects_to(exchange, later[0]):
        return True
    return exchange.request is not None and any(
        follower.request is not None
        and follower.request.method == "GET"
        and detect_provider("GET", follower.request.url, b"", b"").generates
        for follower in later
    )


def is_allowed(
    exchange: Exchange, allow_status: Collection[int], allow_end: Collection[End]
) -> bool:
    """Return whether the error or the end of an answer is allowed, so that the answer need not be
    complete.
    """
    codes = {status_of(exchange), *(error.get("code") for error in errors_of(exchange))} - {200}
    return not codes.isdisjoint(allow_status) or (
        exchange.end in BROKEN and exchange.end in allow_end
    )


def incompleteness(exchange: Exchange, provider: str | None = None) -> str:
    """Return why an answer is not the complete answer of a model, or "". ``provider`` is used if
    neither URL nor body shows it. The oracle of the provider decides.
    """
    if fault := not_of_model(exchange, provider):
        return fault
    facts, body = _facts_of(exchange, provider)
    if facts.unreadable:
        last = facts.unreadable[-1].rstrip().encode("utf-8", "surrogateescape")
        if body.rstrip().endswith(last.rpartition(b"\n")[2]):
            return "ends with a message that can't be read"
    if facts.finish is None and facts.block_reason is None:
        return "has no finish reason"
    return _fault_of_end(exchange, provider)


def refuse_plain(exchanges: Iterable[InFlightExchange]) -> None:
    """Raise `RecordingRefused` for the first answer whose headers say that it is packed, although
    it is not: a client that reads the recording could not unpack it.
    """
    for number, in_flight in enumerate(exchanges, 1):
        exchange = in_flight.exchange()
        coding = (exchange.header("content-encoding") or "").strip().lower()
        body = exchange.body
        plain = body[:1] not in PACKED if coding in CODINGS else is_text(body)
        if body and coding not in ("", "identity") and plain:
            raise RecordingRefused(
                f"the answer of exchange {number} has `content-encoding: {coding}`, but its body is"
                " not packed; a client can't read it; repair the server or proxy that sends it,"
                " then record again"
            )


def _fault_of_end(exchange: Exchange, provider: str | None) -> str:
    """Return why an answer with a finish reason is no answer that a model finished, or ""."""
    exchange = with_provider(exchange)
    name = exchange.provider or provider
    body, _ = unpack_before_fault(exchange.body, exchange.header("content-encoding"))
    if name and (fault := PROVIDERS[name].fault(exchange.request, frames_of_body(body))):
        return fault
    events = events_of(exchange)
    kinds = {event["kind"] for event in events}
    for event in events:
        if event["kind"] != "finish":
            continue
        word = str(event["raw"]).lower()
        if event["reason"] == "failed" or word in _NOT_FINISHED:
            return f"ended as {event['raw']}"
        if event["reason"] == "stop" and "call_invalid" in kinds:
            return f"has a call whose arguments are cut, and ends with {event['raw']}"
        if word in _WITHOUT_REASON and not has_content(exchange):
            return f"has no output and no reason: {event['raw']}"
    return ""


def not_of_model(exchange: Exchange, provider: str | None = None) -> str:
    """Return why an answer is not one of a model at all, or ""."""
    facts, _ = _facts_of(exchange, provider)
    if 300 <= exchange.status < 400:
        return f"is no answer of a model, but status {exchange.status}"
    return "" if facts.understood else "is no answer of a model"


def _facts_of(exchange: Exchange, provider: str | None) -> tuple[WireFacts, bytes]:
    """Return the oracle's account of an answer, and its body without content coding."""
    exchange = with_provider(exchange)
    name = exchange.provider or provider
    facts = PROVIDERS[name].facts(exchange) if name else WireFacts()
    body, _ = unpack_before_fault(exchange.body, exchange.header("content-encoding"))
    return facts, body


def beginning(exchange: Exchange, mask: Callable[[str], str]) -> str:
    """Return the first characters of a body, without secrets, for a message."""
    body, _ = unpack_before_fault(exchange.body, exchange.header("content-encoding"))
    text = printable(mask(body[:_MASKED].decode("utf-8", "replace")))
    if not text.strip():
        return f"status {exchange.status}, {'only blanks' if body else 'an empty body'}"
    return f"status {exchange.status}, {shorten(text, _MAX_SHOWN)!r}"


def refuse_unread(exchanges: Iterable[InFlightExchange], kept: Collection[str]) -> None:
    """Raise `RecordingRefused` if the client read a response header that is not ``kept``, because a
    replay would not have it. Reading all headers at once does not count, because clients copy them.
    """
    for number, in_flight in enumerate(exchanges, 1):
        copied = {name.lower() for name in in_flight.headers} <= in_flight.asked_headers
        for name in () if copied else in_flight.headers:
            if name.lower() in in_flight.asked_headers and name.lower() not in kept:
                raise RecordingRefused(_needed(number, name, "the client read it"))


def refuse_unfollowed(exchanges: Sequence[Exchange], kept: Collection[str]) -> None:
    """Raise `RecordingRefused` if a request contains the value of an earlier response header that
    is not ``kept``, because a replayed client could not send this request.
    """
    seen = b""
    for number, exchange in enumerate(exchanges, 1):
        seen += _sent(exchange)
        for name, values in exchange.headers.items():
            if name.lower() in kept:
                continue
            for value in map(str.encode, values):
                if len(value) < _SHORTEST_NEED or value in seen:
                    continue
                for later, follower in enumerate(exchanges[number:], number + 1):
                    if value in _sent(follower):
                        why = f"the request of exchange {later} contains its value"
                        raise RecordingRefused(_needed(number, name, why))


def _sent(exchange: Exchange) -> bytes:
    """Return the parts of a request that a replay compares: URL and body."""
    request = exchange.request
    return b"" if request is None else request.url.encode() + b"\n" + request.body


def _needed(number: int, name: str, why: str) -> str:
    return (
        f"the client needs the header {name} of the answer of exchange {number} ({why}), and a"
        " cassette does not keep this header, so the recording could not be replayed; keep it with"
        f' `redact = ["keep:{name.lower()}"]` in [tool.harness] of pyproject.toml, then record'
        " again"
    )


def breakage_of(exchange: Exchange, allowed: Collection[End] = ()) -> str | None:
    """Describe how an answer was interrupted; None if it is complete or its end is ``allowed``."""
    if exchange.end not in BROKEN or exchange.end in allowed:
        return None
    reads = plural(len(exchange.reads), "read")
    return f"{BROKEN[exchange.end]}, after {reads} of {len(exchange.body)} bytes"


def refusal_of(
    exchange: Exchange, allowed: Collection[int] = (), *, every: bool = False
) -> Refusal | None:
    """Return the reason why this answer is not kept, or None. With ``every``, any error is
    refused.
    """
    status, errors = status_of(exchange), errors_of(exchange)
    for error in errors:
        code = error.get("code") or CODES.get(error.get("status", ""), status)
        message = str(error["message"])
        of_key = KEY_REASONS & set(error.get("reasons", ())) or any(
            reason in message for reason in KEY_REASONS
        )
        kind = "an answer about the key" if of_key else REFUSED.get(code)
        if kind and code not in allowed:
            return Refusal(code, kind, message[:_MAX_QUOTED])
    if status in REFUSED and status not in allowed:
        return Refusal(status, REFUSED[status], exchange.reason_phrase)
    if every:
        for error in errors:
            code = error.get("code")
            known = code in allowed or (status >= 400 and status in allowed)
            if code and code >= 400 and not known:
                return Refusal(code, "an error answer", str(error["message"])[:_MAX_QUOTED])
    if every and (status >= 400 or status != exchange.status) and status not in allowed:
        message = str(errors[0]["message"])[:_MAX_QUOTED] if errors else exchange.reason_phrase
        return Refusal(status, "an error answer", message)
    return None


def status_of(exchange: Exchange) -> int:
    """Return the HTTP status of an answer. For a program that failed: the status of the API error
    that it reports, else its exit code.

    The Gemini CLI exits with the status modulo 256. A program that was killed has no exit code; its
    output is cut.
    """
    code = int(exchange.header(EXIT_CODE) or 0) if exchange.request is None else 0
    if code <= 0:
        return exchange.status
    for error in errors_of(exchange):
        if error.get("code"):
            return int(error["code"])
        if match := _CODE.search(str(error["message"])):
            return int(match[1])
    if code == NO_LOGIN:
        return 401
    return next((status for status in REFUSED if status % 256 == code), code)


def errors_of(exchange: Exchange) -> list[dict[str, Any]]:
    """Return the error events of an answer."""
    return [event for event in events_of(with_provider(exchange)) if event["kind"] == "error"]


def unusual_ends(exchange: Exchange) -> list[str]:
    """Return the reasons of an answer that did not just stop, such as MAX_TOKENS."""
    return [
        event.get("raw") or event["reason"]
        for event in events_of(with_provider(exchange))
        if event["kind"] in ("finish", "blocked") and event["reason"] != "stop"
    ]


def events_of(exchange: Exchange) -> list[dict[str, Any]]:
    """Return the events of an answer; an empty list if it can't be replayed."""
    if not exchange.generates:
        return []
    try:
        return replay(exchange, layer="events")
    except ReplayError:
        return []
