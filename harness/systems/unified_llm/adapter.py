"""The client of unified-llm as an adapter: one call of it against a served cassette.

The ``context`` of a case has the call: ``request``, a Request of the event model, ``call``, which
is ``complete`` or ``stream``, and perhaps ``provider``, the wire. The cassette's exchanges answer
in their order. The client does not sleep between tries.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx2

from harness.dialects.dialect import ContextError, ServedCassette
from harness.dialects.unified_llm.request import translate
from harness.providers import PROVIDERS
from harness.stream.generation import TranslationError
from harness.stream.session import Session

from .call import ENDPOINTS
from .client import Client
from .errors import SDKError
from .retry import RetryPolicy

KEY: Final = "no-key-in-a-replay"
CALLS: Final = ("complete", "stream")
HALFWAY: Final = 0.5
"""Replaces the random number, so that waits keep their length."""


def adapt(
    context: Mapping[str, Any], served: ServedCassette, client: Callable[..., Client] = Client
) -> list[Any]:
    """Make one call; ``client`` replaces our client.

    Payloads, in the order of time: ``{"sent": {"path", "query"?, "key"}}`` for every
    request, ``key`` being the headers and the parameters (``?name``) that have it; ``{"waited":
    seconds}`` before another try; the stream events, or ``{"response": Response}``; and
    ``{"raised": {"type", "message", "status_code"?, "retryable", "retry_after"?}}``. Raises
    `ContextError` for any other context, and for a request that can't be sent.
    """
    call, request, provider = _read_context(context)
    payloads: list[Any] = []

    class Recorder(httpx2.HTTPTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            payloads.append({"sent": _sent(str(request.url), request.headers)})
            return super().handle_request(request)

    with client(
        KEY,
        served.base_url,
        provider=provider,
        retry=RetryPolicy(chance=lambda: HALFWAY),
        sleep=lambda seconds: payloads.append({"waited": seconds}),
        transport=Recorder(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)),  # trusts no certificate
    ) as opened:
        try:
            if call == "complete":
                payloads.append({"response": dict(opened.complete(request))})
            else:
                payloads.extend(opened.stream(request))
        except SDKError as error:
            payloads.append({"raised": _raised(error)})
    return payloads


def _read_context(context: Mapping[str, Any]) -> tuple[str, dict[str, Any], str]:
    call, request = context.get("call"), context.get("request")
    provider = context.get("provider", "gemini-api")
    unknown = context.keys() - {"call", "request", "provider"}
    if unknown or call not in CALLS or not isinstance(request, dict) or provider not in ENDPOINTS:
        raise ContextError(
            f"context must have call ({' or '.join(CALLS)}) and request, a Request of unified-llm,"
            f" and may have provider ({', '.join(ENDPOINTS)})"
        )
    try:
        session = Session()
        prompt = translate(request, {}, session)  # reads no file; the client would
        PROVIDERS[provider].request(prompt, session)
    except TranslationError as error:
        raise ContextError(f"context.request can't be sent: {error}") from None
    return call, request, provider


def _sent(url: str, headers: Mapping[str, str]) -> dict[str, Any]:
    split = urlsplit(url)
    query = parse_qsl(split.query, keep_blank_values=True)
    places = [name.lower() for name, value in headers.items() if KEY in value] + [
        f"?{name}" for name, value in query if KEY in value
    ]
    plain = {name: value for name, value in query if KEY not in value}
    return {"path": split.path, **({"query": plain} if plain else {}), "key": places}


def _raised(error: Any) -> dict[str, Any]:
    given = {name: getattr(error, name, None) for name in ("status_code", "retry_after")}
    known = {name: value for name, value in given.items() if value is not None}
    return {
        "type": type(error).__name__,
        "message": error.message,
        "retryable": error.retryable,
        **known,
    }
