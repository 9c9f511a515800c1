"""ag-ui: the events of the Agent-User Interaction Protocol, version 1.0."""

from typing import Final

from ..dialect import Dialect, type_of
from .facts import read_facts
from .mutations import MUTATIONS
from .protocol import LOSSES, ORDER
from .response import Translator

DIALECT: Final = Dialect(
    name="ag-ui",
    title="AG-UI 1.0",
    translator=Translator,
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
