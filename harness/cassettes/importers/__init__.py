"""Imports recordings in the formats of other tools.

A format is detected from the content of a file, never from its name, and every exchange is kept.
Bytes in a recording are kept as they are. A body that a recording has only in parsed form is
serialized again, with every digit of its numbers. The files are untrusted: sizes are bounded,
nothing is executed, and every fault is a `CassetteError`.
"""

from __future__ import annotations

import re
from pkgutil import resolve_name
from typing import Final

from harness.stream.exchange import Cassette, CassetteError, UnknownFormat
from harness.stream.plugins import installed

from ..yaml import MAX_BYTES
from .bare_body import BARE_SSE, body_of
from .content import Content, Format
from .unsupported import describe


def _formats(*places: str) -> tuple[Format, ...]:
    return tuple(resolve_name(f"{__name__}.{place}") for place in places)


_RECORDINGS: Final = _formats(
    "har:HAR",  # without reading the whole document
    "httprr:HTTPRR",
    "websocket_log:WEBSOCKET_LOG",
    "google_test_server:TEST_SERVER",
    "genai_replay:GENAI_REPLAY",
    "go_vcr:GO_VCR",
    "ruby_vcr:VCR",
    "vcrpy:VCRPY",
    "http_recorder:HTTP_RECORDER",
    "pydantic_realtime:PYDANTIC_REALTIME",
    "rig:RIG",
    "braintrust:BRAINTRUST",
    "nock:NOCK",
    "llm_recorder:LLM_RECORDER",
    "req_llm:REQ_LLM",
    "single_exchange:SINGLE_EXCHANGE",
    "gemini_cli_responses:CLI_RESPONSES",
    "batch:BATCH",
    "gemini_cli_stream:CLI_STREAM",
    "gemini_cli_json:CLI_DOCUMENT",
)
_BODIES: Final = _formats(
    "bare_body:BARE_SSE",
    "bare_body:BARE_ARRAY",
    "bare_body:BARE_JSON",
    "bare_body:BARE_LINES",
)

FORMATS: Final[tuple[Format, ...]] = (
    *_RECORDINGS,
    *installed("formats", Format, {known.name: known for known in (*_RECORDINGS, *_BODIES)}),
    *_BODIES,
)
"""All formats: ours and those of other distributions. The first format that recognises the content
reads it, so the format of a recording is before the format of the bodies that it contains.
"""

_SPEC: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:(?:---|[ \t]*#[^\r\n]*|[ \t]*)\r?\n)*harness:[ \t]*[0-9]"
)
"""The beginning of a spec or a features file."""
_HEAD: Final = 4096
"""The number of bytes that are searched for this beginning."""

__all__ = ["FORMATS", "Format", "read", "read_body", "read_events"]


def read(data: bytes, name: str = "the recording") -> Cassette:
    """Read the recording in ``data`` as a cassette of origin ``imported``, with the exchanges in
    start order. ``name`` is the file's name in errors.

    Date, model and client are taken from the recording if it has them. The caller adds source,
    commit and licence. Raises `CassetteError` for content that is damaged, too large, of no known
    format, or of a known format that is not read yet; `UnknownFormat` if no format recognises it.
    """
    try:
        return _read(data)
    except CassetteError as error:
        raise type(error)(f"{name}: {error}") from None
    except RecursionError:
        raise CassetteError(f"{name}: nested too deeply to be a recording") from None


def read_events(data: bytes, name: str) -> Cassette:
    """Read, as `read` does, a text that is certainly a bare body of server-sent events."""
    try:
        _check_size(data)
        return BARE_SSE.read(Content(data))
    except CassetteError as error:
        raise type(error)(f"{name}: {error}") from None


def read_body(data: bytes, name: str, provider: str) -> Cassette:
    """Read the bare body of a provider as `read` does, whatever it looks like."""
    try:
        _check_size(data)
        return body_of(Content(data), provider)
    except CassetteError as error:
        raise type(error)(f"{name}: {error}") from None


def _check_size(data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise CassetteError(f"the file has {len(data)} bytes; the limit is {MAX_BYTES}")


def _read(data: bytes) -> Cassette:
    _check_size(data)
    if not data or data.isspace():
        raise CassetteError("the file is empty; restore it or record it again")
    if _SPEC.match(data[:_HEAD]):
        raise UnknownFormat(
            "this is a spec or a features file, not a recording; `harness check` reads it"
        )
    content = Content(data)
    for known in FORMATS:
        if known.recognises(content):
            return known.read(content)
    raise UnknownFormat(
        f"{describe(content)}; `harness import --help` lists the {len(FORMATS)} known formats, and"
        " --provider names the provider of a bare answer"
    )
