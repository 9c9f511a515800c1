"""mind: the records of the mind command-line program."""

from dataclasses import replace
from typing import Final

from ..dialect import ClientAdapter, Dialect, type_of
from .facts import read_facts
from .mutations import MUTATIONS
from .prompt_writer import WRITER
from .request import REQUEST
from .response import LOSSES, ORDER, Translator

DIALECT: Final = Dialect(
    name="mind",
    title="mind records",
    translator=Translator,
    request=replace(REQUEST, writer=WRITER),
    facts=read_facts,
    losses=LOSSES,
    order=ORDER,
    label=type_of,
    final=frozenset({"called", "over"}),
    mutations=MUTATIONS,
    client=ClientAdapter(
        "mind-program",
        "google.genai",
        "genai",
        "harness.systems.mind.adapter:adapt",
    ),
    apis=(),
)
