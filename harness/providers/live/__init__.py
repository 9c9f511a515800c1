"""The Live API (BidiGenerateContent): sessions over a WebSocket, each connection one exchange."""

from __future__ import annotations

import re
from typing import Final

from harness.stream.websocket import MessageFramer, is_log

from ..gemini.history import read_contents
from ..gemini.request import VENDOR
from ..provider import SHAPE, FirstMessages, Identity, Provider
from .facts import LiveFacts
from .messages import is_session
from .normalizer import LiveNormalizer

NAME: Final = "live"
_URL: Final = re.compile(r"\b(?P<method>BidiGenerateContent(?:Constrained)?)$")


def _detect(first: FirstMessages) -> Identity | None:
    if is_log(first.body) and is_session(first.body):
        return Identity(NAME, generates=True, streamed=True)
    return None


PROVIDER: Final = Provider(
    name=NAME,
    title="Live API",
    normalizer=LiveNormalizer,
    facts_reader=LiveFacts,
    shape=SHAPE | {"from", "turnComplete", "thought"},
    stored_url=_URL,
    detect=_detect,
    framer=MessageFramer,
    driver="harness.recording.drivers.live:LiveDriver",
    read=read_contents,
    vendor=VENDOR,
    variant_table="harness.judging.metamorphic.catalogue:SESSIONS",
)
