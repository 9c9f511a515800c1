"""An import format: the row of the table `FORMATS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.stream.exchange import Cassette

from .content import Content


@dataclass(frozen=True, slots=True)
class Format:
    """``name`` is short and unique; ``title`` is the name in messages.

    ``recognises`` is cheap, and does not raise for content of another format. ``read`` raises
    `CassetteError` for content that is damaged.
    """

    name: str
    title: str
    recognises: Callable[[Content], bool]
    read: Callable[[Content], Cassette]
