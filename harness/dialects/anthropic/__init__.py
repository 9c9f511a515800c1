"""anthropic: the Anthropic Messages stream and its requests."""

from dataclasses import replace
from typing import Final

from ..dialect import Dialect
from .facts import read_facts
from .http_api import API
from .mutations import MUTATIONS
from .prompt_writer import WRITER
from .request import REQUEST
from .response import Translator
from .stream import FINAL, LOSSES, ORDER, label

DIALECT: Final = Dialect(
    name="anthropic",
    title="Anthropic Messages stream",
    translator=Translator,
    request=replace(REQUEST, writer=WRITER),
    facts=read_facts,
    losses=LOSSES,
    order=ORDER,
    label=label,
    final=FINAL,
    mutations=MUTATIONS,
    client=None,
    apis=(API,),
)
