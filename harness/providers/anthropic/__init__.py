"""Anthropic's Messages API, and Claude on Vertex AI: answers made of content blocks."""

from __future__ import annotations

from typing import Final

from ..provider import Api, Endpoint, Mirror, Provider
from .facts import MessagesFacts
from .history import HISTORY, read_messages
from .messages import CREATE, NAME, PATHS, detect
from .mirror import normal_form
from .normalizer import MessagesNormalizer
from .order import fault_of, variants_in
from .places import PLACES
from .refusals import REFUSALS
from .request import write_message
from .serving import error_body, final_body, made_body


def _authorize(key: str) -> dict[str, str]:
    return {"x-api-key": key, "anthropic-version": "2023-06-01"}


PROVIDER: Final = Provider(
    name=NAME,
    title="Anthropic Messages",
    normalizer=MessagesNormalizer,
    facts_reader=MessagesFacts,
    url=CREATE,
    detect=detect,
    write=write_message,
    read=read_messages,
    reads_whole=True,
    apis=(Api("messages"),),
    asked_model="claude-opus-4-6",
    history=HISTORY,
    places=PLACES,
    endpoint=Endpoint(
        "https://api.anthropic.com",
        "ANTHROPIC_BASE_URL",
        "/v1/messages",
        PATHS,
        keys=("ANTHROPIC_API_KEY",),
        authorize=_authorize,
        limits="anthropic-ratelimit-{unit}-{value}",
        error=error_body,
        made=made_body,
        final=final_body,
    ),
    framing=frozenset({"event:, id: or retry: lines", "JSON lines", "an error without a code"}),
    variants=variants_in,
    fault=fault_of,
    mirror=Mirror("anthropic", normal_form),
    refusals=REFUSALS,
    driver="harness.recording.drivers.anthropic:AnthropicDriver",
    variant_table="harness.judging.metamorphic.catalogue:BLOCKS",
)
