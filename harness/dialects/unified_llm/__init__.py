"""unified-llm: unified messages and their StreamEvents."""

from dataclasses import replace
from typing import Final

from ..dialect import ClientAdapter, Dialect, type_of
from .facts import read_facts
from .mutations import MUTATIONS
from .openai import CHAT, RESPONSES
from .prompt_writer import WRITER
from .protocol import ORDER
from .request import REQUEST
from .response import UnifiedLlmTranslator

DIALECT: Final = Dialect(
    name="unified-llm",
    title="unified-llm (StreamEvent)",
    translator=UnifiedLlmTranslator,
    request=replace(REQUEST, writer=WRITER),
    facts=read_facts,
    losses=(),
    order=ORDER,
    label=type_of,
    final=frozenset({"over"}),
    mutations=MUTATIONS,
    client=ClientAdapter(
        "unified-llm-client",
        "httpx2",
        "clients",
        "harness.systems.unified_llm.adapter:adapt",
    ),
    apis=(RESPONSES, CHAT),
)
