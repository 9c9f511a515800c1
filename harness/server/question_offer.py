"""Answers the requests of one adapter to a question: each gets a short answer of its wire."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from harness.providers import Identity
from harness.stream.sample_media import MEDIA_PATH, TYPES, medium_bytes

from .connection import HttpRequest
from .google import FINAL_WIRES, error_answer, final_answer
from .offer import Offer
from .options import Options
from .response import ServedAnswer


class QuestionOffer(Offer):
    """Answers every request that generates, and serves the media of questions."""

    def __init__(
        self, base_url: str, *, options: Callable[[], Options], close: Callable[[], object]
    ) -> None:
        super().__init__(base_url, (), final=False, options=options, close=close)

    def _generated(self, request: HttpRequest, path: str, identity: Identity) -> ServedAnswer:
        if identity.provider not in FINAL_WIRES:
            note = f"there is no answer for a request to {path}"
            return replace(error_answer(request, 404, f"{note}."), notes=(note,))
        return final_answer(request, identity)

    def _other(self, request: HttpRequest, path: str) -> ServedAnswer:
        name = unquote(urlsplit(path).path).removeprefix(MEDIA_PATH)
        with suppress(ValueError):
            data = medium_bytes(name)
            headers = [
                ("Content-Type", TYPES.get(name.partition("-")[0], "application/octet-stream"))
            ]
            return ServedAnswer(200, "OK", headers, [(None, data)])
        return error_answer(request, 404, f"{path} is not served.")
