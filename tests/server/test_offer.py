"""Single exchanges, each served to one adapter under test."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from harness.cassettes import Exchange, Request
from harness.pipeline.replay import ReplayError
from harness.server import Offer, Server, connection, serve
from harness.server import offer as offers
from tests.server.socket_client import (
    JSON,
    MODEL,
    PATH,
    SSE,
    UNARY,
    USER,
    VERTEX,
    Seen,
    answered,
    asks,
    call,
    result,
    turn,
)

TEXT = b'data: {"candidates": [{"content": {"parts": [{"text": "Hi"}],"role": "model"},"finishReason": "STOP"}]}\r\n\r\n'
STREAM = answered(((None, TEXT),))
ENVELOPE = answered(
    ((None, b'data: {"response": {}}\n\n'),), path="/v1internal:streamGenerateContent?alt=sse"
)
DOCUMENT = answered(((None, b'{"candidates": []}'),), path=UNARY, headers=JSON)
GROWN = json.dumps(
    {
        "contents": [
            USER,
            turn("model", call("f", thoughtSignature="U0lH")),
            turn("user", result("f")),
        ]
    }
).encode()


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[Server]:
    with serve(pace="instant") as server:
        yield server


def ask(
    offer: Offer, path: str = PATH, body: bytes = asks("anything"), method: str = "POST"
) -> Seen:
    origin, _, below = offer.base_url.rpartition("/")
    server = Server()
    server.base_url = origin
    return Seen(server, body, f"/{below}{path}", method)


def error_of(seen: Seen) -> dict[str, Any]:
    answer = json.loads(seen.rest)
    error: dict[str, Any] = (answer[0] if isinstance(answer, list) else answer)["error"]
    return error


@pytest.mark.parametrize(
    ("path", "notes"),
    [
        (PATH, ()),
        (PATH + "&key=secret", ()),
        (PATH.replace(MODEL, "other"), (f"model other, recorded {MODEL}",)),
        (PATH.replace("v1beta", "v1alpha"), ("version v1alpha, recorded v1beta",)),
        (PATH.replace("/v1beta", ""), ("version none, recorded v1beta",)),
        (PATH.removesuffix("?alt=sse"), ("alt none, recorded sse",)),
        (PATH.replace("sse", "json"), ("alt json, recorded sse",)),
        (
            VERTEX,
            (
                "version v1beta1, recorded v1beta",
                "path /projects/p/locations/global/publishers/google/models/MODEL:streamGenerateContent,"
                " recorded /models/MODEL:streamGenerateContent",
            ),
        ),
        (
            "/google-ai-studio" + PATH,
            (
                "path /google-ai-studio/models/MODEL:streamGenerateContent,"
                " recorded /models/MODEL:streamGenerateContent",
            ),
        ),
        (
            ":streamGenerateContent?alt=sse",
            (
                f"model none, recorded {MODEL}",
                "version none, recorded v1beta",
                "path :streamGenerateContent, recorded /models/MODEL:streamGenerateContent",
            ),
        ),
    ],
)
def test_any_address_of_the_method_is_answered_and_noted(
    server: Server, path: str, notes: tuple[str, ...]
) -> None:
    with server.offer(STREAM) as offer:
        assert ask(offer, path).blocks == [TEXT]
        assert [(request.notes, request.status) for request in offer.requests] == [(notes, 200)]
        assert offer.requests[0].exchange is STREAM
        assert offer.answered == 1


@pytest.mark.parametrize(
    ("exchange", "path", "message"),
    [
        (
            STREAM,
            UNARY,
            f"mode unary was requested with {UNARY}, but the offered exchange is streamed.",
        ),
        (DOCUMENT, PATH, "mode streamed was requested"),
        (
            ENVELOPE,
            PATH,
            f"path {PATH.partition('?')[0]} belongs to gemini-api, but the offered exchange is from code-assist",
        ),
        (
            STREAM,
            "/v1internal:streamGenerateContent?alt=sse",
            "path /v1internal:streamGenerateContent belongs to code-assist",
        ),
        (
            Exchange(None, 200, SSE, ((None, TEXT),), "complete"),
            UNARY,
            "mode unary was requested with " + UNARY + ", but the offered exchange is streamed.",
        ),
    ],
)
def test_another_mode_or_wire_is_a_miss_that_leaves_the_exchange(
    server: Server, exchange: Exchange, path: str, message: str
) -> None:
    with server.offer(exchange) as offer:
        seen = ask(offer, path)
        assert (seen.status[9:12], error_of(seen)["message"][: len(message)]) == ("404", message)
        assert (offer.answered, offer.asked_again) == (0, 0)
        assert [(request.status, request.exchange) for request in offer.requests] == [(404, None)]


def test_an_error_without_a_request_answers_both_modes(server: Server) -> None:
    body = b'{"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}'
    exchange = Exchange(None, 429, JSON, ((None, body),), "complete")
    for path in (PATH, UNARY):
        with server.offer(exchange) as offer:
            assert ask(offer, path).blocks == [body]


def test_the_same_turn_is_answered_once(server: Server) -> None:
    with server.offer(STREAM) as offer:
        ask(offer)
        array, plain = ask(offer, PATH.removesuffix("?alt=sse")), ask(offer)
        assert (array.status, plain.status) == ("HTTP/1.1 409 Conflict",) * 2
        assert (error_of(plain)["code"], error_of(plain)["status"]) == (409, "ABORTED")
        assert error_of(array) == error_of(plain)
        assert (offer.asked_again, offer.answered) == (2, 1)
        assert [request.notes for request in offer.requests][1:] == [
            ("this turn was asked before",)
        ] * 2


def test_the_same_turn_gets_the_next_attempt(server: Server) -> None:
    whole, second = answered(((None, b"data: {}\n\n"),)), answered(((None, b"data: []\n\n"),))
    with server.offer(STREAM, second, attempts=[whole]) as offer:
        statuses = [ask(offer, body=body).status[9:12] for body in (asks("hi"), asks("hi"))]
        assert (statuses, offer.attempts, offer.answered) == (["200", "200"], 2, 1)
        assert ask(offer).status[9:12] == "409"
        assert ask(offer, body=GROWN).status[9:12] == "200"
        assert ask(offer, body=GROWN).status[9:12] == "409"
        assert [request.exchange for request in offer.requests] == [
            *(STREAM, whole, None, second, None)
        ]
        assert offer.requests[1].notes == ("the same turn, attempt 2",)


def test_a_longer_history_gets_the_next_exchange(server: Server) -> None:
    second = answered(((None, b"data: {}\n\n"),))
    with server.offer(STREAM, second) as offer:
        assert [
            ask(offer, body=body).status[9:12] for body in (asks("hi"), asks("hi"), GROWN, GROWN)
        ] == [
            "200",
            "409",
            "200",
            "409",
        ]
        assert [request.exchange for request in offer.requests] == [STREAM, None, second, None]
        assert offer.requests[2].body == GROWN


def test_a_longer_history_without_an_exchange_is_refused_and_caught(server: Server) -> None:
    with server.offer(STREAM) as offer:
        ask(offer)
        assert ask(offer, body=GROWN).status[9:12] == "409"
        assert (offer.requests[1].body, offer.requests[1].notes) == (
            GROWN,
            ("no exchange is offered for this turn",),
        )


@pytest.mark.parametrize(
    ("exchange", "path", "rest"),
    [
        (STREAM, PATH, b"data: "),
        (STREAM, PATH.removesuffix("?alt=sse"), b"["),
        (DOCUMENT, UNARY, b"{"),
        (ENVELOPE, "/v1internal:streamGenerateContent?alt=sse", b'data: {"response": '),
    ],
)
def test_a_final_answer_has_the_framing_that_was_asked_for(
    server: Server, exchange: Exchange, path: str, rest: bytes
) -> None:
    with server.offer(exchange, final=True) as offer:
        grown = json.dumps({"request": json.loads(GROWN)}).encode() if "internal" in path else GROWN
        ask(offer, path)
        seen = ask(offer, path, grown)
        answer = b"".join(seen.blocks) or seen.rest
        assert answer.startswith(rest)
        assert b'"Done."' in answer
        assert "X-Harness: not recorded" in seen.headers


def test_requests_that_do_not_generate_use_no_exchange(server: Server) -> None:
    with server.offer(STREAM) as offer:
        count = ask(offer, f"/v1beta/models/{MODEL}:countTokens")
        model = ask(offer, "/v1beta/models/any-model", method="GET", body=b"")
        other = ask(offer, "/v1beta/cachedContents")
        assert [json.loads(count.rest), json.loads(model.rest)["name"]] == [
            {"totalTokens": 2},
            "models/any-model",
        ]
        assert error_of(other)["message"] == (
            "POST /v1beta/cachedContents does not generate, and no answer to it is known."
        )
        assert ask(offer).blocks == [TEXT]
        assert [request.generates for request in offer.requests] == [False, False, False, True]
        assert all(request.notes for request in offer.requests[:3])


def test_late_requests_do_not_reach_the_next_offer(server: Server) -> None:
    with server.offer(STREAM) as first:
        pass
    with server.offer(STREAM) as second:
        seen = ask(first)
        assert error_of(seen)["message"] == (
            f"the offer /{first.base_url.rpartition('/')[2]} is closed; this request is too late"
        )
        assert (first.requests, second.requests) == ([], [])
        assert ask(second).blocks == [TEXT]


def test_a_client_that_drops_the_path_of_its_base_url_is_answered() -> None:
    with serve(pace="instant") as server, server.offer(STREAM) as offer:
        assert Seen(server).blocks == [TEXT]
        assert offer.requests[0].notes == ("the client left out /x1, the path of its base URL",)
        with server.offer(STREAM):
            assert Seen(server).status[9:12] == "404"


@pytest.mark.parametrize(
    ("exchange", "message"),
    [
        (Exchange(None, 200, {"x-exit-code": ["0"]}, (), "complete"), "output of a program"),
        (
            answered(((None, b"{}"),), path=f"/v1beta/models/{MODEL}:countTokens"),
            f"POST /v1beta/models/{MODEL}:countTokens does not generate",
        ),
    ],
)
def test_an_exchange_that_can_not_be_offered_is_an_error(
    server: Server, exchange: Exchange, message: str
) -> None:
    with pytest.raises(ReplayError, match=message):
        server.offer(exchange)


@pytest.mark.parametrize(
    ("end", "seen"), [("cut", "closed"), ("reset", "reset"), ("aborted", "closed")]
)
def test_an_offer_ends_as_it_was_recorded(
    server: Server, end: Any, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "GRACE_S", 1e6)
    with server.offer(answered(((None, TEXT),), end=end)) as offer:
        assert (ask(offer).end, offer.answered) == (seen, 1)


def test_a_wire_without_a_final_answer_is_an_error(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offers, "FINAL_WIRES", frozenset())
    with pytest.raises(ReplayError, match="there is no final answer for gemini-api"):
        server.offer(STREAM, final=True)


def test_pace_and_faults_are_those_of_the_server() -> None:
    with serve(pace="recorded", fault="cut:1") as server:
        with server.offer(answered(((200.0, b"data: 1\n\n"), (230.0, b"data: 2\n\n")))) as offer:
            seen = ask(offer)
            # The client starts its clock a little later than the server.
            assert (seen.blocks, seen.end, seen.times[-1][0] >= 0.1) == (
                [b"data: 1\n\n"],
                "closed",
                True,
            )
        server.behave(fault="status:429")
        with server.offer(STREAM) as offer:
            assert ask(offer).status[9:12] == "429"


def test_the_requests_of_an_offer_end_with_it(server: Server) -> None:
    before = len(server.requests)
    with server.offer(STREAM) as offer, server.offer(STREAM) as other:
        ask(offer, body=b'{"contents": []}')
        ask(other, PATH + "&key=k")
        assert len(server.requests) == before
        ((first,), (second,)) = offer.requests, other.requests
        assert (first.method, first.path, first.query) == (
            "POST",
            PATH.partition("?")[0],
            "alt=sse",
        )
        assert (first.body, second.query) == (b'{"contents": []}', "alt=sse&key=k")
        assert first.headers["host"] == "127.0.0.1"
        assert 0 < first.at_s <= second.at_s <= time.monotonic()


@pytest.mark.slow
def test_offers_of_many_threads_do_not_mix(server: Server) -> None:
    failures: list[str] = []

    def run(number: int) -> None:
        data = b"data: %d\n\n" % number
        for _ in range(10):
            with server.offer(answered(((None, data),))) as offer:
                if ask(offer).blocks != [data] or len(offer.requests) != 1:
                    failures.append(f"offer {offer.base_url} of thread {number}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.slow
def test_google_genai_asks_an_offer(server: Server) -> None:
    with server.offer(STREAM, final=True) as offer:
        with genai.Client(
            api_key="none", http_options=types.HttpOptions(base_url=offer.base_url)
        ) as client:
            chat = client.chats.create(model="any-model")
            texts = [
                [piece.text for piece in chat.send_message_stream(text)] for text in ("hi", "on")
            ]
            assert texts == [["Hi"], ["Done."]]
            with pytest.raises(errors.ClientError, match="409 ABORTED"):
                client.models.generate_content_stream(model="any-model", contents="hi").__next__()
        assert [request.status for request in offer.requests] == [200, 200, 409]
        contents = json.loads(offer.requests[1].body)["contents"]
        assert [content["role"] for content in contents] == ["user", "model", "user"]


@pytest.mark.slow
def test_google_genai_asks_an_offer_as_vertex(server: Server) -> None:
    exchange = Exchange(
        Request("POST", f"https://aiplatform.googleapis.com{VERTEX}", {}, b"{}"),
        200,
        SSE,
        ((None, TEXT),),
        "complete",
    )
    with (
        server.offer(exchange) as offer,
        genai.Client(
            vertexai=True, api_key="none", http_options=types.HttpOptions(base_url=offer.base_url)
        ) as client,
    ):
        stream = client.models.generate_content_stream(model=MODEL, contents="hi")
        assert [piece.text for piece in stream] == ["Hi"]
        assert offer.answered == 1
