"""The script of the user of a session: an adapter asks the served address for each step."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit

from harness.facts import Call
from harness.stream.json_codec import decode_json

StepKind = Literal[
    "text",
    "history",
    "audio",
    "video",
    "activityStart",
    "activityEnd",
    "audioStreamEnd",
    "contextUpdate",
]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the user."""

    kind: StepKind
    """``text``: the user writes, and waits for an answer. ``history``: earlier turns. The others
    have the words of the Live API.
    """
    text: str = ""
    """The text of ``text`` and ``history``."""
    data: bytes = b""
    """The sound or the pictures of ``audio`` and ``video``."""
    mime_type: str = ""
    """The type of ``data``, such as ``audio/pcm;rate=16000``."""
    turns: tuple[Mapping[str, Any], ...] = ()
    """The turns of ``text`` and ``history`` in the form of the Live API, if they have any."""


@dataclass(frozen=True, slots=True)
class Script:
    """The user of a session. Iterating over it, with ``for`` or ``async for``, waits for each step
    of the user, and ends when the user ends the session.
    """

    base_url: str
    certificate: str
    """The file of the certificate that the adapter must trust. ``SSL_CERT_FILE`` and
    ``NODE_EXTRA_CA_CERTS`` name it too.
    """
    setup: Mapping[str, Any] = field(default_factory=dict)
    """The recorded setup, in the form of the Live API."""

    def __iter__(self) -> Iterator[Step]:
        while (step := self._next()) is not None:
            yield step

    async def __aiter__(self) -> AsyncIterator[Step]:
        import asyncio  # slow to import, and few commands need it

        while (step := await asyncio.to_thread(self._next)) is not None:
            yield step

    def result(self, call: Call) -> str:
        """Wait until the tool of a call has ended, and return its result."""
        query = f"id={quote(call.id or '')}&name={quote(call.name or '')}"
        return str(self._get(f"/result?{query}"))

    def _next(self) -> Step | None:
        given = self._get(USER)
        if given is None:
            return None
        data, turns = base64.b64decode(given.get("data", "")), tuple(given.get("turns", ()))
        return Step(given["kind"], given.get("text", ""), data, given.get("mime_type", ""), turns)

    def _get(self, path: str) -> Any:
        import ssl  # these are slow to import, and few commands need them
        from http.client import HTTPSConnection

        url = urlsplit(self.base_url)
        context = ssl.create_default_context(cafile=self.certificate)
        connection = HTTPSConnection(url.hostname or "", url.port, context=context)
        try:
            connection.request("GET", url.path + path)
            return decode_json(connection.getresponse().read())
        finally:
            connection.close()


USER: Final = "/user"
"""The path of the next step of the user, below the address."""
RESULT: Final = "/result"
"""The path of the result of a call."""
