"""Reads other people's recordings: the format is told by the content, never by a name, and every
exchange in it is kept.

`FORMATS` is tried in order; the first that recognises the content reads it. What a recording kept
as bytes stays those bytes; what it kept only parsed is written anew, numbers digit for digit.
Everything read here is untrusted: sizes are bounded, nothing is executed, and whatever is wrong
with a file is a `CassetteError`.
"""

from __future__ import annotations

import re
from typing import Final

from .. import Cassette, CassetteError
from .bare_body import BARE_ARRAY, BARE_JSON, BARE_LINES, BARE_SSE
from .batch import BATCH
from .braintrust import BRAINTRUST
from .content import MAX_BYTES, Content
from .format import Format
from .gemini_cli_json import CLI_DOCUMENT
from .gemini_cli_responses import CLI_RESPONSES
from .gemini_cli_stream import CLI_STREAM
from .genai_replay import GENAI_REPLAY
from .go_vcr import GO_VCR
from .google_test_server import TEST_SERVER
from .har import HAR
from .httprr import HTTPRR
from .nock import NOCK
from .req_llm import REQ_LLM
from .ruby_vcr import VCR
from .single_exchange import SINGLE_EXCHANGE
from .unsupported import UNREAD, describe
from .vcrpy import VCRPY

FORMATS: Final[tuple[Format, ...]] = (
    HTTPRR,
    TEST_SERVER,
    GENAI_REPLAY,
    GO_VCR,
    VCR,
    VCRPY,
    HAR,
    BRAINTRUST,
    NOCK,
    REQ_LLM,
    SINGLE_EXCHANGE,
    CLI_RESPONSES,
    BATCH,
    CLI_STREAM,
    CLI_DOCUMENT,
    BARE_SSE,
    BARE_ARRAY,
    BARE_JSON,
    BARE_LINES,
)
"""In the order in which they are tried: a recording before the bodies that it holds."""

_OURS: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:(?:---|[ \t]*#[^\r\n]*|[ \t]*)\r?\n)*harness:[ \t]*[0-9]"
)
"""How specs and features files begin, after comments."""
_HEAD: Final = 4096
"""So many bytes are looked at for that."""

__all__ = ["FORMATS", "MAX_BYTES", "Format", "read"]


def read(data: bytes, name: str = "the recording") -> Cassette:
    """The recording in ``data`` as a cassette of origin ``imported``, exchanges in start order;
    ``name`` only stands in errors.

    Date, model and client are the recording's own where it has them; source, commit and licence are
    for the caller to add. Raises `CassetteError` for content that is damaged, too large, of no
    known format, or of one that is known and not read yet.
    """
    try:
        return _read(data)
    except CassetteError as error:
        raise CassetteError(f"{name}: {error}") from None
    except RecursionError:
        raise CassetteError(f"{name}: nested too deeply to be a recording") from None


def _read(data: bytes) -> Cassette:
    if len(data) > MAX_BYTES:
        raise CassetteError(f"{len(data)} bytes; at most {MAX_BYTES} are read")
    if not data.strip():
        raise CassetteError("the file is empty; restore it, or record it again")
    if _OURS.match(data[:_HEAD]):
        raise CassetteError(
            "this is a spec or a features file, no recording; `harness check` reads it"
        )
    content = Content(data)
    for known in FORMATS:
        if known.recognises(content):
            return known.read(content)
    titles = ", ".join(known.title for known in FORMATS)
    raise CassetteError(
        f"{describe(content)}; formats that are read: {titles}; known, but not read yet:"
        f" {', '.join(UNREAD)}"
    )
