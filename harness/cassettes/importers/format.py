"""What a foreign format is to the rest: a name, a title, a look at the content that recognises it,
and a reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .. import Cassette
from .content import Content


@dataclass(frozen=True, slots=True)
class Format:
    """``recognises`` judges cheaply and never raises for another format's content; ``read`` raises
    `CassetteError` for broken content.
    """

    name: str
    title: str
    recognises: Callable[[Content], bool]
    read: Callable[[Content], Cassette]
