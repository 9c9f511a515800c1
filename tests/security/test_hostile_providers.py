"""A hostile provider: each behaviour directly and through the relay, for blocking clients and
asyncio clients. Nothing hangs, only received data is recorded, and nothing ends well.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import httpx2
import pytest
import trustme

from harness.adapters import ADAPTERS
from harness.cassettes import CassetteError
from harness.facts import View
from harness.judging.aspects import facts_of
from harness.judging.laws import check
from harness.recording.cassette import Playback, UnknownRequest, use_cassette
from harness.recording.relay import relay
from harness.recording.tape import Tape
from harness.recording.transport import transports
from harness.stream.decompression import unpack_before_fault
from tests.security.hostile_answers import BEHAVIOURS, FLOOD, SILENCE_S, Behaviour
from tests.support.raw_server import raw_server

pytestmark = pytest.mark.slow

PATH = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
BODY = {"contents": [{"parts": [{"text": "hi"}]}]}
TRUST = httpx2.create_ssl_context()
PATIENCE_S = 60
"""Far longer than any answer takes: a client that has not ended by then hangs."""


@dataclass
class Outcome:
    """The bytes of the last answer that a client got, and the error that ended it."""

    body: bytes = b""
    error: Exception | None = None


def block(url: str, tape: Tape | None, timeout: float) -> Outcome:
    """The outcome for a blocking client. ``tape`` records it; None: the client runs without one."""
    transport = transports("httpx2").sync(tape) if tape else None
    outcome = Outcome()
    try:
        with (
            httpx2.Client(
                transport=transport, verify=TRUST, follow_redirects=True, timeout=timeout
            ) as http,
            http.stream("POST", url + PATH, json=BODY) as response,
        ):
            for data in response.iter_raw():
                outcome.body += data
    except (httpx2.HTTPError, httpx2.InvalidURL, UnknownRequest) as error:
        outcome.error = error
    return outcome


def wait(url: str, tape: Tape | None, timeout: float) -> Outcome:
    """The outcome for an asyncio client; the parameters are those of `block`."""
    transport = transports("httpx2").asynchronous(tape) if tape else None
    outcome = Outcome()

    async def ask() -> None:
        async with (
            httpx2.AsyncClient(
                transport=transport, verify=TRUST, follow_redirects=True, timeout=timeout
            ) as http,
            http.stream("POST", url + PATH, json=BODY) as response,
        ):
            async for data in response.aiter_raw():
                outcome.body += data

    try:
        asyncio.run(ask())
    except (httpx2.HTTPError, httpx2.InvalidURL, UnknownRequest) as error:
        outcome.error = error
    return outcome


Client = Callable[[str, Tape | None, float], Outcome]


def in_time(ask: Callable[[], Outcome]) -> Outcome:
    """The outcome; if a client hangs, the test fails with an error."""
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(ask()), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive(), "the client hangs"
    return outcomes[0]


def through(path: str, client: Client, tape: Tape, upstream: str) -> Outcome:
    """The outcome for a client on our transport, or for a client that uses only the relay."""
    if path == "direct":
        return in_time(partial(client, upstream, tape, PATIENCE_S))
    with relay(tape, upstream) as url:
        return in_time(partial(client, url, None, PATIENCE_S))


def untrusted() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


@contextmanager
def served(behaviour: Behaviour) -> Iterator[str]:
    with raw_server(behaviour.script, tls=untrusted() if behaviour.tls else None) as url:
        yield url


@pytest.fixture(params=BEHAVIOURS)
def behaviour(request: pytest.FixtureRequest) -> Behaviour:
    return BEHAVIOURS[request.param]


@pytest.mark.parametrize("client", [block, wait])
@pytest.mark.parametrize("path", ["direct", "relay"])
def test_the_received_answers_are_recorded_and_replay_the_same(
    behaviour: Behaviour, path: str, client: Client, tmp_path: Path
) -> None:
    file = tmp_path / "a.yaml"
    with ExitStack() as stack:
        if behaviour.refused:
            stack.enter_context(pytest.raises(CassetteError, match=behaviour.refused))
        upstream = stack.enter_context(served(behaviour))
        tape = stack.enter_context(
            use_cassette(
                file,
                mode="once",
                allow_end=["cut", "reset", "aborted"],
                allow_incomplete=not behaviour.ends_well,
            )
        )
        tape.silence_s = SILENCE_S if behaviour.stalls else None
        live = through(path, client, tape, upstream)
        recorded = [(each.status, each.body, each.end) for each in tape.exchanges()]
        unaided = in_time(partial(client, upstream, None, tape.silence_s or PATIENCE_S))
    answers = behaviour.answers * (len(recorded) if behaviour.many else 1)
    assert (recorded, bool(live.error)) == (list(answers), behaviour.fails)
    assert (live.body, bool(live.error)) == (unaided.body, bool(unaided.error))
    if path == "direct":
        assert type(live.error) is type(unaided.error)
    if not answers:
        assert [bool(asked.failure) for asked in tape.in_flight] == [True]
    assert file.exists() == bool(answers and not behaviour.refused)
    if file.exists():
        with use_cassette(file) as tape:
            assert isinstance(tape, Playback)
            played = through(path, client, tape, upstream)
            assert (played.body, bool(played.error)) == (live.body, bool(live.error))
            assert tape.problems() == []


ANSWERED = [name for name, behaviour in BEHAVIOURS.items() if behaviour.answers]


@pytest.mark.parametrize("behaviour", ANSWERED, indirect=True)
def test_no_dialect_treats_a_hostile_answer_as_good(behaviour: Behaviour) -> None:
    tape = Tape()
    tape.silence_s = SILENCE_S if behaviour.stalls else None
    with served(behaviour) as upstream:
        in_time(partial(block, upstream, tape, PATIENCE_S))
    exchange = replace(tape.exchanges()[0], provider="gemini-api")
    for adapter in ADAPTERS.values():
        facts = facts_of(adapter, adapter.output(exchange))
        assert isinstance(facts, View)
        assert facts.ended_well == behaviour.ends_well, adapter.name
    if len(unpack_before_fault(exchange.body, exchange.header("content-encoding"))[0]) < FLOOD:
        assert check(exchange) == []
