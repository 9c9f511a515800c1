"""Gemini's OpenAI-compatible endpoint: Chat Completions with Gemini's additions
(https://ai.google.dev/gemini-api/docs/openai).

The path distinguishes this wire from those of other services: ``/v1beta/openai/chat/completions``
of the Gemini API, ``/endpoints/openapi/chat/completions`` of Vertex AI. A body without such a path
is Google's if it has ``extra_content`` with a signature or a mark, or if its keys are in
alphabetical order, its model is one of Google's, and neither its id nor a field is OpenAI's.
"""

from __future__ import annotations

import re
from typing import Any, Final

from harness.stream.json_codec import objects_in

from ..gemini.request import VENDOR
from ..provider import SHAPE, Answer, Endpoint, FirstMessages, Identity, Provider, bearer
from .choices import VENDORS
from .facts import ChatFacts
from .history import HISTORY, read_compatible
from .normalizer import OBJECTS, ChatReader
from .places import PLACES
from .request import NAME, write_completion
from .serving import final_completion
from .thoughts import TAG, thought_tag
from .variants import variants_in
from .whole import fault_of

_MODEL: Final = re.compile(r"(?:^|/)(?:gemini|gemma|learnlm)[^/]*$")
_OF_OPENAI: Final = frozenset({"system_fingerprint", "service_tier", "obfuscation", "provider"})


def _normalizer(answer: Answer) -> ChatReader:
    return ChatReader(answer, thought_tag(answer.asked))


def _facts_reader(answer: Answer) -> ChatFacts:
    return ChatFacts(answer, tagged=True)


def _detect(first: FirstMessages) -> Identity | None:
    if any(map(_is_ours, first.messages)):
        return Identity(NAME, generates=True, streamed=first.streamed)
    return None


def _is_ours(message: dict[str, Any]) -> bool:
    choices = message.get("choices")
    if message.get("object") not in OBJECTS or type(choices) is not list:
        return False
    holders = [
        holder
        for choice in objects_in(choices)
        for name in ("delta", "message")
        if type(holder := choice.get(name)) is dict
    ]
    calls = [call for holder in holders for call in objects_in(holder.get("tool_calls"))]
    if any(_has_extra(item) for item in (*holders, *calls)):
        return True
    names = list(message)
    return (
        names == sorted(names)
        and _OF_OPENAI.isdisjoint(names)
        and not str(message.get("id", "")).startswith("chatcmpl")
        and _MODEL.search(str(message.get("model"))) is not None
    )


def _has_extra(item: dict[str, Any]) -> bool:
    extra = item.get("extra_content")
    return type(extra) is dict and not extra.keys().isdisjoint(VENDORS)


PROVIDER: Final = Provider(
    name=NAME,
    title="Gemini, OpenAI-compatible",
    normalizer=_normalizer,
    facts_reader=_facts_reader,
    url=re.compile(r"/(?:v1\w*/openai|endpoints/[^/]+)/chat/completions$"),
    detect=_detect,
    write=write_completion,
    read=read_compatible,
    reads_whole=True,
    history=HISTORY,
    vendor=VENDOR,
    wire="chat/completions",
    places=PLACES,
    endpoint=Endpoint(
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GEMINI_BASE_URL",
        "/v1beta/openai/chat/completions",
        re.compile(r"/v1\w*/openai/"),
        authorize=bearer,
        final=final_completion,
    ),
    tags=(f"<{TAG}>", f"</{TAG}>"),
    framing=frozenset({"[DONE]"}),
    shape=SHAPE | {"obfuscation", "thought"},
    variants=variants_in,
    fault=fault_of,
    driver="harness.recording.drivers.openai_compat:OpenAiCompatDriver",
    variant_table="harness.judging.metamorphic.catalogue:PIECES",
)
