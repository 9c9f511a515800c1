"""OpenAI's two APIs: Responses (https://platform.openai.com/docs/api-reference/responses) and Chat
Completions (https://platform.openai.com/docs/api-reference/chat), of any server that speaks them.

The path of the URL recognizes a request; the messages of the answer tell the two apart. A request
to a path of Gemini's compatible endpoint belongs to the provider `openai-compat`.
"""

from __future__ import annotations

from typing import Final

from ..provider import SHAPE, Api, Endpoint, Provider, bearer
from .history import HISTORY, read_request
from .messages import GENERATE, NAME, PATHS, STORED, detect
from .normalizer import OpenAiFacts, OpenAiNormalizer
from .order import fault_of, variants_in
from .places import PLACES
from .refusals import REFUSALS
from .request import write
from .serving import error_body, final_body
from .settings import CHAT

PROVIDER: Final = Provider(
    name=NAME,
    title="OpenAI",
    normalizer=OpenAiNormalizer,
    facts_reader=OpenAiFacts,
    url=GENERATE,
    stored_url=STORED,
    detect=detect,
    write=write,
    read=read_request,
    reads_whole=True,
    apis=(Api("chat", "messages", CHAT), Api("responses")),
    asked_model="gpt-5.2",
    history=HISTORY,
    places=PLACES,
    endpoint=Endpoint(
        "https://api.openai.com",
        "OPENAI_BASE_URL",
        "/v1/responses",
        PATHS,
        others={"messages": "/v1/chat/completions"},
        version="/v1",
        error=error_body,
        final=final_body,
        keys=("OPENAI_API_KEY",),
        authorize=bearer,
        limits="x-ratelimit-{value}-{unit}",
    ),
    # OpenRouter sends comments while it waits: https://openrouter.ai/docs/api-reference/streaming
    framing=frozenset({"event:, id: or retry: lines", "[DONE]", "comments"}),
    # The reason of a response says more than its status. The id of an item, and its thoughts,
    # encrypted anew, are repeated. `obfuscation` pads a piece.
    shape=SHAPE | {"sequence_number", "obfuscation", "status", "item_id", "encrypted_content"},
    variants=variants_in,
    fault=fault_of,
    refusals=REFUSALS,
    driver="harness.recording.drivers.openai:OpenAiDriver",
    variant_table="harness.judging.metamorphic.catalogue:ITEMS",
)
