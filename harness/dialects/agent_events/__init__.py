"""agent-events: Gemini CLI output as AgentEvents."""

from typing import Final

from ..dialect import Dialect, type_of
from .facts import read_facts
from .mutations import MUTATIONS
from .response import LOSSES, ORDER, AgentEventsTranslator

DIALECT: Final = Dialect(
    name="agent-events",
    title="agent-events (AgentEvent)",
    translator=AgentEventsTranslator,
    request=None,
    facts=read_facts,
    losses=LOSSES,
    order=ORDER,
    label=type_of,
    final=frozenset({"over"}),
    mutations=MUTATIONS,
    client=None,
    apis=(),
)
