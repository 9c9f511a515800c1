"""The client of unified-llm as an adapter: one call of it against recorded answers, told as what it
sent, how long it waited, what it gave.

A case for it has ``unified-llm-client`` in its ``expect``, and says in ``context`` what is asked:
``request``, a Request of the event model, and ``call``, which is ``complete`` or ``stream``. The
cassette's exchanges answer in their order. Nothing sleeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from harness.pipeline.request import ask
from harness.specs import Case
from harness.stream.exchange import Cassette, Exchange
from harness.stream.generation import TranslationError
from harness.stream.session import Session

from ..judge import Adapter, AdapterError, AdapterMissing

if TYPE_CHECKING:
    from harness.dialects.unified_llm.client import Client

UNIFIED_LLM_CLIENT: Final = "unified-llm-client"
"""The adapter's name, and that of its event model."""

KEY: Final = "no-key-in-a-replay"
CALLS: Final = ("complete", "stream")
HALFWAY: Final = 0.5
"""In place of chance: the wait is neither stretched nor shortened."""


def make_unified_llm_client(
    load: Callable[[str], Cassette], client: Callable[..., Client] | None = None
) -> Adapter:
    """The callable that the judge knows; ``load`` gives the cassette of a name, ``client`` makes
    another client than ours.

    Payloads, in the order of what happens: ``{"sent": {"path", "query"?, "key"}}`` for every
    request, ``key`` being the headers and the parameters (``?name``) that have it; ``{"waited":
    seconds}`` before another try; the stream events, or ``{"response": Response}``; and
    ``{"raised": {"type", "message", "status_code"?, "retryable", "retry_after"?}}``. Raises
    `AdapterError` for another context, for a request that can't be sent, `AdapterMissing` without
    httpx2.
    """

    def adapt(exchange: Exchange, case: Case) -> list[Any]:
        call, request = _read_context(case.context)
        return _run(load(case.cassette), call, request, client)

    return adapt


def _read_context(context: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    call, request = context.get("call"), context.get("request")
    if context.keys() != {"call", "request"} or call not in CALLS or not isinstance(request, dict):
        raise AdapterError(
            f"context must have call ({' or '.join(CALLS)}) and request, a Request of unified-llm"
        )
    try:
        ask(
            request, dialect="unified-llm", options=None, session=Session()
        )  # which reads no file, as the client would
    except TranslationError as error:
        raise AdapterError(f"context.request can't be sent: {error}") from None
    return call, request


def _run(
    cassette: Cassette, call: str, request: dict[str, Any], client: Callable[..., Client] | None
) -> list[Any]:
    from harness.server import serve

    try:
        import httpx2

        from harness.dialects.unified_llm.client import Client, RetryPolicy, SDKError
    except ImportError as error:
        raise AdapterMissing(str(error)) from None
    told: list[Any] = []

    class Recorder(httpx2.HTTPTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            told.append({"sent": _sent(str(request.url), request.headers)})
            return super().handle_request(request)

    with (
        serve(cassette, pace="instant") as server,
        (client or Client)(
            KEY,
            server.base_url,
            retry=RetryPolicy(chance=lambda: HALFWAY),
            sleep=lambda seconds: told.append({"waited": seconds}),
            transport=Recorder(),
        ) as one,
    ):
        try:
            if call == "complete":
                told.append({"response": dict(one.complete(request))})
            else:
                told.extend(one.stream(request))
        except SDKError as error:
            told.append({"raised": _raised(error)})
    return told


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
