"""Holds a session of the Live API with a key, as the client of a recording: each message of the
user is sent when the answer to the one before it has ended.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any, Final

from harness.cassettes import Request
from harness.pipeline.replay import ReplayError
from harness.providers.live.messages import (
    URL_PATH,
    blobs_of,
    called,
    canonical,
    ends_turn,
    sent_member,
)
from harness.stream.json_codec import decode_object
from harness.stream.websocket import NORMAL, SWITCHED, Message, write_message

from ..endpoints import ENDPOINTS
from ..sessions import ProviderSocket, note_refusal, session_url
from ..settings import GenerateAsk, MissingCredentials, Settings
from ..tape import InFlightExchange, Tape
from ..transport import http_library, tls_context, transports
from .genai import model_of

_ENDPOINT: Final = "gemini-api"
_VERSION: Final = "v1beta"


class LiveDriver:
    """Each request is one session. Its body has ``prompts``, each of them a turn, or ``messages``:
    those of the client, in order.
    """

    def __init__(self, tape: Tape, settings: Settings) -> None:
        endpoint = ENDPOINTS[_ENDPOINT]
        names = (settings.api_key, *map(os.environ.get, endpoint.keys))
        self._key = next(filter(None, names), "")
        if not self._key:
            raise MissingCredentials(f"no key for the Live API: set {endpoint.keys[0]}")
        base = settings.base_url or os.environ.get(endpoint.variable) or endpoint.base_url
        version = settings.api_version or _VERSION
        self._url = session_url(base.rstrip("/") + URL_PATH.format(version=version))
        self._model = settings.model
        self._tape = tape
        self._context = tls_context(transports(http_library()).http)

    def ask(self, ask: GenerateAsk) -> None:
        """Hold one session. Raises `ReplayError` for a session that can't be held again."""
        messages = ask.body.get("messages")
        if messages is None:
            messages = _messages_of(ask.body["prompts"], self._model or model_of(ask))
        if any(isinstance(blob.get("bytes"), int) for each in messages for blob in blobs_of(each)):
            raise ReplayError(
                "the recording has only the length of its sound, so the session can't be held again"
            )
        asyncio.run(self._hold([canonical(message) for message in messages]))

    def close(self) -> None:
        """Nothing is open between two sessions."""

    async def _hold(self, messages: Sequence[dict[str, Any]]) -> None:
        headers = {"x-goog-api-key": [self._key]}
        exchange = self._tape.begin(Request("GET", self._url, headers, b""))
        provider = ProviderSocket()
        try:
            async with asyncio.timeout(self._tape.silence_s):
                raw = [(b"x-goog-api-key", self._key.encode())]
                refused = await provider.open(self._url, raw, self._context)
            if refused is not None:
                note_refusal(exchange, refused)
                return
            exchange.answered(SWITCHED, {}, "Switching Protocols")
            await self._talk(provider, exchange, messages)
        except (OSError, TimeoutError) as error:
            exchange.failure = str(error) or type(error).__name__
            exchange.ended("reset")
        except EOFError:
            exchange.ended("cut")
        finally:
            await provider.close()

    async def _talk(
        self,
        provider: ProviderSocket,
        exchange: InFlightExchange,
        messages: Sequence[dict[str, Any]],
    ) -> None:
        calls: list[tuple[str, str]] = []
        for number, message in enumerate(messages):
            content = self._with_own(message, calls)
            await _send(provider, exchange, Message("client", json.dumps(content).encode()))
            following = messages[number + 1 : number + 2]
            if following and sent_member(message) == sent_member(following[0]) == "realtimeInput":
                continue  # sound comes in several messages
            calls = []
            while True:
                async with asyncio.timeout(self._tape.silence_s):
                    received = await provider.receive()
                exchange.read(write_message(received))
                if received.kind == "close":
                    exchange.ended("complete")
                    return
                answer = decode_object(received.data) or {}
                calls += called(answer)
                if "setupComplete" in answer or ends_turn(answer):
                    break
                if calls and following and sent_member(following[0]) == "toolResponse":
                    break
        await _send(provider, exchange, Message("client", b"", "close", NORMAL))
        exchange.ended("complete")

    def _with_own(
        self, message: dict[str, Any], calls: Sequence[tuple[str, str]]
    ) -> dict[str, Any]:
        """Return a message with the model of the settings, and with the ids of the present
        calls.
        """
        match message:
            case {"setup": dict(setup)} if self._model:
                model = self._model if "/" in self._model else f"models/{self._model}"
                return {"setup": {**setup, "model": model}}
            case {"toolResponse": {"functionResponses": list(results)}}:
                pairs = zip(results, [*calls, *[("", "")] * len(results)], strict=False)
                own = [{**each, **({"id": new} if new else {})} for each, (new, _) in pairs]
                return {"toolResponse": {"functionResponses": own}}
        return message


async def _send(provider: ProviderSocket, exchange: InFlightExchange, message: Message) -> None:
    exchange.read(write_message(message))
    await provider.send(message)


def _messages_of(prompts: Sequence[str], model: str) -> list[dict[str, Any]]:
    """Return the messages of a session with these texts of the user, each one turn."""
    model = model if "/" in model else f"models/{model}"
    setup = {"model": model, "generationConfig": {"responseModalities": ["TEXT"]}}
    turns = [{"role": "user", "parts": [{"text": text}]} for text in prompts]
    contents = [{"clientContent": {"turns": [turn], "turnComplete": True}} for turn in turns]
    return [{"setup": setup}, *contents]
