"""ag-ui: the events of the Agent-User Interaction Protocol, version 1.0."""

from dataclasses import replace
from typing import Final

from ..dialect import Dialect, type_of
from .facts import read_facts
from .mutations import MUTATIONS
from .prompt_writer import WRITER
from .protocol import LOSSES, ORDER
from .request import REQUEST
from .response import Translator

DIALECT: Final = Dialect(
    name="ag-ui",
    title="AG-UI 1.0",
    translator=Translator,
    request=replace(REQUEST, writer=WRITER),
    facts=read_facts,
    losses=LOSSES,
    order=ORDER,
    label=type_of,
    final=frozenset({"over"}),
    mutations=MUTATIONS,
    client=None,
    apis=(),
)
