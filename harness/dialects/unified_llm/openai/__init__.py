"""OpenAI's two APIs in front of recorded answers of other providers: Responses and Chat
Completions.

A request becomes a unified-llm Request, and the StreamEvents of an answer are written as messages
of the API. The APIs have no place for some facts: signatures of texts and calls, media, code and
tools of the server, grounding and other facts beside the answer.
"""

from __future__ import annotations

from typing import Final

from ...dialect import HttpApi
from . import chat, responses
from .ends import failure

RESPONSES: Final = HttpApi(
    path="/v1/responses",
    translate=responses.translate,
    is_streamed=lambda body: body.get("stream") is True,
    turns=responses.turns,
    writer=responses.ResponseWriter,
    failure=failure,
    resume=responses.resume,
    store=responses.store,
)
CHAT: Final = HttpApi(
    path="/v1/chat/completions",
    translate=chat.translate,
    is_streamed=lambda body: body.get("stream") is True,
    turns=chat.turns,
    writer=chat.CompletionWriter,
    failure=failure,
)

__all__ = ["CHAT", "RESPONSES"]
