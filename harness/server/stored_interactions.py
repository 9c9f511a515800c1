"""Fetches, resumes, cancels and deletes the interactions in recorded answers.

A recorded exchange for such a request has priority. Otherwise the server builds the answer from the
recorded interaction (https://ai.google.dev/gemini-api/docs/background-execution): a streamed
interaction is fetched as a whole, and a stream is resumed after an event.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from harness.pipeline.replay import frames_of
from harness.stream.exchange import Exchange
from harness.stream.json_codec import decode_object

from .connection import HttpRequest
from .google import error_answer
from .options import Options
from .response import MADE, ServedAnswer, made_answer, recorded_answer
from .whole_answers import STORED, interaction_of

_RUNNING: Final = frozenset({"in_progress", "queued"})
_BLANK_LINE: Final = re.compile(rb"\r?\n\r?\n")


class StoredInteractions:
    """The interactions of these exchanges by id. A cancelled or deleted interaction stays cancelled
    or deleted.
    """

    def __init__(self, exchanges: Iterable[Exchange], options: Options) -> None:
        self._options = options
        self._whole: dict[str, dict[str, Any]] = {}
        self._streams: dict[str, Exchange] = {}
        for exchange in exchanges:
            if exchange.provider == "interactions" and exchange.generates:
                self._store(exchange)

    def _store(self, exchange: Exchange) -> None:
        interaction = interaction_of(exchange)
        name = interaction.get("id") if interaction else None
        if not interaction or type(name) is not str or not name:
            return
        sent = decode_object(exchange.request.body if exchange.request else b"") or {}
        if sent.get("store") is False:
            return
        steps = interaction["steps"]
        if "input" in sent and not sent.get("previous_interaction_id"):
            steps = [*_input_steps(sent["input"]), *steps]
        # A later exchange has a later status of the same interaction.
        known = self._whole.get(name, {}).get("steps", [])
        self._whole[name] = {**interaction, "steps": steps or known}
        if exchange.streamed:
            self._streams[name] = exchange

    def answer(self, request: HttpRequest) -> ServedAnswer | None:
        """Return the answer to a request about a stored interaction; None for any other request."""
        split = urlsplit(request.url)
        match = STORED.search(unquote(split.path))
        if match is None or match["id"] not in self._whole:
            return None
        name = match["id"]
        match request.method, match["cancel"]:
            case "GET", None:
                return self._fetch(request, name, parse_qs(split.query))
            case "DELETE", None:
                del self._whole[name]
                return made_answer(200, {}, note="stored", indent=None)
            case "POST", str():
                return self._cancel(request, name)
        return None

    def _fetch(
        self, request: HttpRequest, name: str, query: dict[str, list[str]]
    ) -> ServedAnswer | None:
        if query.get("stream") != ["true"]:
            return made_answer(200, self._whole[name], note="stored", indent=None)
        exchange = self._streams.get(name)
        if exchange is None:
            return None
        last = query.get("last_event_id", [""])[0]
        start = _place_after(exchange, last) if last else 0
        if start is None:
            message = f"last_event_id '{last}' is not an event of interaction '{name}'."
            return error_answer(request, 400, message, note="stored")
        rest = recorded_answer(replace(exchange, reads=_reads_from(exchange, start)), self._options)
        headers = [(key, value) for key, value in rest.headers if key.lower() != "content-length"]
        return replace(rest, headers=[*headers, (MADE, "stored")], exchange=exchange)

    def _cancel(self, request: HttpRequest, name: str) -> ServedAnswer:
        """Answer a request to cancel. The API's reference says that only a running interaction can
        be cancelled.
        """
        status = self._whole[name].get("status")
        if status not in _RUNNING:
            message = f"Interaction '{name}' is not running; its status is {status}."
            return error_answer(request, 400, message, note="stored")
        self._whole[name] = {**self._whole[name], "status": "cancelled"}
        return made_answer(200, self._whole[name], note="stored", indent=None)


def _input_steps(given: Any) -> list[Any]:
    """Return the steps of an input; a stored interaction begins with them
    (https://ai.google.dev/gemini-api/docs/interactions-breaking-changes-may-2026).
    """
    if type(given) is str:
        given = {"type": "text", "text": given}
    items = given if type(given) is list else [given]
    plain = ("text", "image", "audio", "video", "document")
    if all(type(item) is dict and item.get("type") in plain for item in items):
        return [{"type": "user_input", "content": items}]
    return items


def _place_after(exchange: Exchange, event_id: str) -> int | None:
    """Return the offset of the message after the event with this id; None if there is no such
    event.
    """
    for frame in frames_of(exchange):
        if type(frame.json) is dict and frame.json.get("event_id") == event_id:
            end = _BLANK_LINE.search(exchange.body, frame.offset)
            return end.end() if end else len(exchange.body)
    return None


def _reads_from(exchange: Exchange, start: int) -> tuple[tuple[float | None, bytes], ...]:
    """Return the reads from the byte ``start`` on."""
    reads: list[tuple[float | None, bytes]] = []
    size = 0
    for at_ms, data in exchange.reads:
        reads.append((at_ms, data[max(0, start - size) :]))
        size += len(data)
    return tuple((at_ms, data) for at_ms, data in reads if data)
