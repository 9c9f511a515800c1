"""art: ArtStandardPrompt and its StreamEvents."""

from dataclasses import replace
from typing import Final

from ..dialect import Dialect, type_of
from .facts import read_facts
from .mutations import MUTATIONS
from .prompt_writer import WRITER
from .request import REQUEST
from .response import LOSSES, ORDER, Translator

DIALECT: Final = Dialect(
    name="art",
    title="ART StreamEvents",
    translator=Translator,
    request=replace(REQUEST, writer=WRITER),
    facts=read_facts,
    losses=LOSSES,
    order=ORDER,
    label=type_of,
    final=frozenset({"ended"}),
    mutations=MUTATIONS,
    client=None,
    apis=(),
)
