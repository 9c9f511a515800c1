"""art: ArtStandardPrompt and its StreamEvents."""

from typing import Final

from ..dialect import Dialect, type_of
from .facts import read_facts
from .mutations import MUTATIONS
from .request import REQUEST
from .response import LOSSES, ORDER, Translator

DIALECT: Final = Dialect(
    name="art",
    title="ART StreamEvents",
    translator=Translator,
    request=REQUEST,
    facts=read_facts,
    losses=LOSSES,
    order=ORDER,
    label=type_of,
    final=frozenset({"ended"}),
    mutations=MUTATIONS,
    client=None,
    apis=(),
)
