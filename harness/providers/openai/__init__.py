"""OpenAI's two APIs: Responses (https://platform.openai.com/docs/api-reference/responses) and Chat
Completions (https://platform.openai.com/docs/api-reference/chat), of any server that speaks them.

The path of the URL recognizes a request; the messages of the answer tell the two apart. A request
to a path of Gemini's compatible endpoint belongs to the provider `openai-compat`.
"""

from __future__ import annotations

from typing import Final

from harness.facts import Facts
from harness.stream.events import INTERRUPTED, End

from ..oracle.openai import is_responses
from ..oracle.openai_compat import gather_compat
from ..provider import Answer, Api, Endpoint, Provider, bearer
from .facts import ResponsesFacts
from .history import HISTORY, read_request
from .messages import GENERATE, NAME, PATHS, STORED, detect
from .normalizer import OpenAiNormalizer
from .order import fault_of, variants_in
from .places import PLACES
from .refusals import REFUSALS
from .request import write
from .serving import error_body, final_body
from .settings import CHAT


def _read_facts(body: bytes, answer: Answer, end: End) -> Facts:
    """Return the account of one answer: of Chat Completions that of the oracle."""
    if is_responses(body, answer.asked):
        return PROVIDER.facts_of(PROVIDER.steps(body, answer, end), answer)
    return gather_compat(body, answer.status, interrupted=end in INTERRUPTED, tag=None)


PROVIDER: Final = Provider(
    name=NAME,
    title="OpenAI",
    normalizer=OpenAiNormalizer,
    facts_reader=ResponsesFacts,
    oracle=_read_facts,
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
    variants=variants_in,
    fault=fault_of,
    refusals=REFUSALS,
    driver="harness.recording.drivers.openai:OpenAiDriver",
    variant_table="harness.judging.metamorphic.catalogue:ITEMS",
)
