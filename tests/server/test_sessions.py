"""Recorded sessions are served to the real client of Google over TLS, and to plain sockets."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from google.genai.live import AsyncSession
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from harness.cassettes.load import load
from harness.pipeline.replay import Cuts, ReplayError
from harness.providers.live.messages import asks
from harness.server import Server, serve
from harness.server.session import SessionConnection
from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin
from harness.stream.websocket import Message, read_messages, write_message

CASSETTES = Path(__file__).parents[2] / "cassettes" / "live"
MODEL = "gemini-3.8-live"
PATH = "//ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"


def session(*messages: Message, end: Any = "complete") -> Cassette:
    reads = tuple((None, write_message(message)) for message in messages)
    return Cassette((Exchange(None, 101, {}, reads, end),), Origin("written"))


def client_of(server: Server) -> genai.Client:
    context = ssl.create_default_context(cafile=str(server.certificate))
    options = types.HttpOptions(base_url=server.base_url, async_client_args={"ssl": context})
    return genai.Client(api_key="no-key", http_options=options)


@asynccontextmanager
async def connected(server: Server, **config: Any) -> AsyncIterator[AsyncSession]:
    given = types.LiveConnectConfig.model_validate({"response_modalities": ["TEXT"], **config})
    async with client_of(server).aio.live.connect(model=MODEL, config=given) as live:
        yield live


async def ask(live: AsyncSession, text: str) -> None:
    await live.send_client_content(turns={"role": "user", "parts": [{"text": text}]})


async def texts(live: AsyncSession) -> list[str]:
    return [message.text async for message in live.receive() if message.text]


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


def test_two_turns_come_to_the_client_and_its_messages_decide_when() -> None:
    with serve(CASSETTES / "text.yaml", pace="instant", tls=True) as server:

        async def test() -> None:
            async with connected(server) as live:
                await ask(live, "Say hello.")
                assert await texts(live) == ["Hel", "lo."]
            async with connected(server) as live:
                await ask(live, "Say hello.")
                assert await texts(live) == ["Hello."]
                await ask(live, "And goodbye.")
                assert await texts(live) == ["Good", "bye."]

        run(test)
    first, second = server.sessions
    assert [first.differences, second.differences] == [[], []]
    assert [message.kind for message in second.sent] == ["text"] * 3 + ["close"]
    assert server.unused == []


@pytest.mark.parametrize("cuts", ["recorded", "bytes"])
def test_a_call_and_its_result(cuts: Cuts) -> None:
    with serve(CASSETTES / "tool-round.yaml", pace="instant", tls=True, cuts=cuts) as server:

        async def test() -> None:
            async with connected(server, response_modalities=["AUDIO"]) as live:
                await ask(live, "What is the weather in Oslo?")
                audio, words = b"", ""
                async for message in live.receive():
                    if message.tool_call:
                        call = (message.tool_call.function_calls or [])[0]
                        assert (call.name, call.args) == ("get_weather", {"city": "London"})
                        result = {"output": "It is foggy and 12 degrees in London."}
                        answer = types.FunctionResponse(id=call.id, name=call.name, response=result)
                        await live.send_tool_response(function_responses=answer)
                    audio += message.data or b""
                    content = message.server_content
                    if content and content.output_transcription:
                        words += content.output_transcription.text or ""
                assert words.startswith("It is")
                assert audio

        run(test)
    (served,) = server.sessions
    assert any("clientContent" in each and "Oslo" in each for each in served.differences)
    assert not any("toolResponse" in each for each in served.differences)


def test_a_close_of_the_server_has_its_code_and_text() -> None:
    with serve(CASSETTES / "closes.yaml", pace="instant", tls=True) as server:

        async def test() -> None:
            async with connected(server) as live:
                await ask(live, "Hello.")
                async for _ in live.receive():
                    pass
                with pytest.raises(errors.APIError) as caught:
                    async for _ in live.receive():
                        pass
                assert caught.value.code == 1011
                assert "Deadline expired" in str(caught.value)

        run(test)


@pytest.mark.parametrize(("fault", "code"), [("close:1:1008", 1008), ("cut:2", 1006)])
def test_faults_count_the_messages_of_the_server(fault: str, code: int) -> None:
    with serve(CASSETTES / "text.yaml", pace="instant", tls=True, fault=fault) as server:

        async def test() -> None:
            async with connected(server) as live:
                await ask(live, "Say hello.")
                with pytest.raises(errors.APIError) as caught:
                    await texts(live)
                assert caught.value.code == code

        run(test)


def test_a_silent_service_sends_no_further_message() -> None:
    with serve(CASSETTES / "text.yaml", pace="instant", tls=True, fault="stall:2") as server:

        async def test() -> None:
            async with connected(server) as live:
                await ask(live, "Say hello.")
                assert (await anext(live.receive())).text == "Hel"
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(live.receive()), 0.2)

        run(test)


def test_a_refused_upgrade_and_a_session_too_many() -> None:
    with serve(CASSETTES / "thoughts.yaml", tls=True, fault="status:503") as server:

        async def test() -> None:
            with pytest.raises(Exception, match="503"):
                async with connected(server):
                    pass
            server.behave(fault=None)
            async with connected(server):
                pass
            with pytest.raises(Exception, match="404"):
                async with connected(server):
                    pass

        run(test)


@pytest.mark.parametrize("path", sorted(CASSETTES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_session_is_served_as_recorded(path: Path) -> None:
    """A client that repeats the recorded messages gets those of the server, byte for byte."""
    with serve(path, pace="instant", tls=True) as server:

        async def play(exchange: Exchange) -> None:
            messages = read_messages(exchange.body, cut=True)
            context = ssl.create_default_context(cafile=str(server.certificate))
            async with connect(f"wss{server.base_url[5:]}{PATH}", ssl=context) as socket:
                for message in messages:
                    text = message.data if message.kind == "binary" else message.data.decode()
                    if message.kind == "close" and message.side == "server":
                        with pytest.raises(ConnectionClosed):
                            await socket.recv()
                        close = socket.close_code, (socket.close_reason or "").encode()
                        assert close == (message.code, message.data)
                    elif message.kind == "close":
                        await socket.close(message.code or 1000)
                    elif message.side == "client":
                        await socket.send(text)
                    else:
                        assert await socket.recv() == text

        for exchange in load(path).exchanges:
            asyncio.run(play(exchange))
    assert [session.differences for session in server.sessions] == [[]] * len(server.sessions)
    assert (server.misses, server.unused) == ([], [])


def test_a_session_that_cannot_be_read_is_named() -> None:
    wrong = Cassette((Exchange(None, 101, {}, ((None, b"<64 ?\n"),)),), Origin("written"))
    with pytest.raises(CassetteError, match="exchange 1: the message at byte 0 of the session is"):
        serve([wrong])


def test_without_the_extra_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(CASSETTES / "text.yaml", tls=True) as server:
        monkeypatch.setitem(sys.modules, "wsproto.connection", None)

        async def test() -> None:
            with pytest.raises(Exception, match="501"):
                async with connected(server):
                    pass

        run(test)
    monkeypatch.setitem(sys.modules, "trustme", None)
    with pytest.raises(ReplayError, match=r"pip install 'gemini-conformance\[live\]'"):
        serve(tls=True)


def test_audio_counts_by_its_length() -> None:
    recorded = session(
        Message("client", b'{"setup": {"model": "models/gemini-3.8-live"}}'),
        Message("server", b'{"setupComplete": {}}'),
        Message("client", b'{"realtimeInput": {"audio": {"data": "AAAAAAAA", "mimeType": "a"}}}'),
        Message("client", b'{"realtimeInput": {"audio": {"data": "AAAAAAAA", "mimeType": "a"}}}'),
        Message("server", b'{"serverContent": {"interrupted": true, "turnComplete": true}}'),
    )
    with serve(recorded, tls=True) as server:

        async def test() -> None:
            async with connected(server) as live:
                for _ in range(4):
                    blob = types.Blob(data=bytes(3), mime_type="audio/pcm;rate=16000")
                    await live.send_realtime_input(audio=blob)
                (message,) = [message async for message in live.receive()]
                assert message.server_content
                assert message.server_content.interrupted

        run(test)
    assert len(server.sessions[0].sent) == 6


def test_a_message_of_another_kind_ends_the_session() -> None:
    with serve(CASSETTES / "text.yaml", tls=True) as server:

        async def test() -> None:
            async with connected(server) as live:
                await live.send_realtime_input(activity_start=types.ActivityStart())
                with pytest.raises(errors.APIError, match="expected clientContent"):
                    await texts(live)

        run(test)
    (served,) = server.sessions
    assert "expected clientContent, got" in served.differences[-1]


def test_each_difference_of_a_message_is_a_sentence() -> None:
    setup = {"model": "models/a", "generationConfig": {"responseModalities": ["AUDIO"]}}
    more = {"labels": {}, "tools": [], "seed": 1}
    with serve([load(CASSETTES / "closes.yaml")], pace="instant", tls=True) as server:
        closed_after(server, json.dumps({"setup": setup | {"labels": {}}}), "{}")
        closed_after(server, json.dumps({"setup": setup | more}), "{}")
    first, second = [
        [each.partition(": ")[2] for each in session.differences] for session in server.sessions
    ]
    assert first == [
        "setup.labels: expected nothing, got {}",
        'setup.model: expected "models/gemini-3.8-live", got "models/a"',
        "setup.sessionResumption: expected {}, got nothing",
        "expected clientContent, got {}",
    ]
    assert second[3] == "and 2 more differences that are not shown"


def test_a_turn_that_is_not_complete_is_not_answered() -> None:
    with serve(CASSETTES / "text.yaml", pace="instant", tls=True) as server:

        async def test() -> None:
            async with connected(server) as live:
                turn = types.Content(role="user", parts=[types.Part(text="Say hello.")])
                await live.send_client_content(turns=turn, turn_complete=False)
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(texts(live), 0.2)
                await live.send_client_content(turn_complete=True)
                assert await texts(live) == ["Hel", "lo."]

        run(test)
    (served,) = server.sessions
    assert served.differences[0].endswith(
        ": clientContent without turnComplete, which is recorded; waiting for it"
    )


@pytest.mark.parametrize("complete", ["turnComplete", "turn_complete"])
@pytest.mark.parametrize("content", ["clientContent", "client_content"])
def test_each_spelling_completes_a_turn(content: str, complete: str) -> None:
    assert asks({content: {"turns": [], complete: True}})
    assert not asks({content: {"turns": [], complete: False}})
    assert not asks({content: {"turns": []}})


def test_a_text_may_be_input_in_real_time() -> None:
    with serve(CASSETTES / "text.yaml", tls=True) as server:

        async def test() -> None:
            async with connected(server) as live:
                await live.send_realtime_input(text="Hi")
                assert await texts(live)

        run(test)


def test_a_client_that_sends_nothing_is_named() -> None:
    with serve(CASSETTES / "text.yaml", tls=True) as server:

        async def test() -> None:
            async with connected(server):
                pass

        run(test)
    (served,) = server.sessions
    assert served.differences[-1].endswith(
        "the client closed the session before it sent clientContent"
    )


def closed_after(server: Server, *messages: str) -> tuple[int | None, str | None]:
    """The close that a client gets that sends these messages and then only listens."""

    async def test() -> tuple[int | None, str | None]:
        context = ssl.create_default_context(cafile=str(server.certificate))
        async with connect(f"wss{server.base_url[5:]}{PATH}", ssl=context) as socket:
            with suppress(ConnectionClosed):
                for message in messages:
                    await socket.send(message)
                while True:
                    await socket.recv()
        return socket.close_code, socket.close_reason

    return asyncio.run(test())


@pytest.mark.parametrize("pieces", [1, 40])
def test_a_client_that_sends_too_much_is_told(pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.server.session.MAX_BODY", 100_000)
    sound = json.dumps({"realtimeInput": {"audio": {"data": "A" * (160_000 // pieces)}}})
    setup = json.dumps({"setup": {"model": f"models/{MODEL}"}})
    with serve(CASSETTES / "text.yaml", pace="instant", tls=True) as server:
        close = closed_after(server, setup, *[sound] * pieces)
    fact = "the client has sent more than 100000 bytes"
    assert close == (1009, f"harness: {fact}")
    (served,) = server.sessions
    assert served.differences[-1].endswith(fact)
    assert sum(len(message.data) for message in served.sent) <= 100_000


def test_a_client_that_is_silent_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionConnection, "idle_s", 0.05)
    with serve(CASSETTES / "text.yaml", pace="instant", tls=True) as server:
        assert closed_after(server) == (1008, "harness: the client sent nothing for 0.05 s")
    (difference,) = server.sessions[0].differences
    assert difference.endswith("text.yaml: the client sent nothing for 0.05 s")


@pytest.mark.parametrize("said", ["Hi", {"event_type": "interaction.complete"}])
@pytest.mark.filterwarnings("ignore:Live Interactions usage")
def test_a_connection_of_the_interactions_api_is_served_by_the_same_code(said: Any) -> None:
    step = {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hello."}}
    sides: list[tuple[Any, dict[str, Any]]] = [
        ("client", {"event_type": "interaction.connect", "id": "v1_a"}),
        ("server", {"event_type": "interaction.connected", "interaction_id": "v1_a"}),
        ("client", {"event_type": "input", "content": [{"type": "text", "text": "Hi"}]}),
        ("server", {"events": [step, {"event_type": "step.stop", "index": 0}]}),
        ("server", {"event_type": "interaction.completed"}),
    ]
    recorded = session(*[Message(side, json.dumps(value).encode()) for side, value in sides])
    kinds: list[str] = []

    async def test(url: str) -> None:
        client = genai.Client(api_key="no-key", http_options=types.HttpOptions(base_url=url))
        async with client.aio.interactions.connect(id="v1_a") as live:
            await live.send(said)
            async for event in live.receive():
                kinds.append(event.event_type)

    with serve(recorded, pace="instant") as server:
        if said == "Hi":
            asyncio.run(test(server.base_url))
            assert kinds[0] == "interaction.connected"
            assert kinds[1:] == ["step.delta", "step.stop", "interaction.completed"]
        else:
            with pytest.raises(Exception, match="closed with code 1008"):
                asyncio.run(test(server.base_url))
    assert len(server.sessions[0].differences) == (said != "Hi")
