"""Reads a cassette strictly: an unknown key is refused, and an error has the line of the fault."""

from __future__ import annotations

import base64
import binascii
import re
from io import BytesIO
from typing import Any, Final

import msgspec

from harness.stream.events import End
from harness.stream.exchange import Cassette, CassetteError, Exchange, Origin, OriginKind, Request
from harness.stream.json_codec import decode_json
from harness.stream.json_path import Steps

from .body_block import BodyTextError, text_to_body
from .validation import msgspec_fault
from .yaml import YamlError, parse, parse_located, parse_usual

FORMAT: Final = 1
"""The version of the text format that is written; a newer version is refused."""

ORIGIN_FIELDS: Final = ("date", "client", "model", "source", "commit", "licence", "note")
_READ: Final = re.compile(r"(?:-|[0-9]+(?:\.[0-9]+)?) [1-9][0-9]*")
_BEGINS: Final = re.compile(
    r"(?:---)?(?:\s*#[^\n]*\n|\s*\n)*version: *\d+\s*\n(?:\s*#[^\n]*\n|\s*\n)*metadata:(?:\s*\n +|"
    r" *\{\s*)[\"']?harness[\"']?:"
)
_CUT_SHORT: Final = "; if the file is cut short, restore it or record it again"
_COMMAS: Final = bytes.maketrans(b" \n", b",,")


class _Closed(msgspec.Struct, forbid_unknown_fields=True):
    pass


class _Body(_Closed):
    string: str | None = None
    eol: str = "lf"
    escaped: list[int] = []
    base64: str | None = None


class _Request(_Closed):
    method: str
    uri: str
    headers: dict[str, str | list[str]] = {}
    body: _Body | None = None


class _Status(_Closed):
    code: int
    message: str = ""


class _Response(_Closed, kw_only=True):
    status: _Status
    headers: dict[str, str | list[str]] = {}
    body: _Body | None = None
    reads: str = ""
    end: End  # required and written last, so a file that is cut short is never accepted


class _Interaction(_Closed):
    request: _Request | None
    response: _Response


class _Metadata(_Closed):
    harness: int
    origin: OriginKind
    date: str | None = None
    client: str | None = None
    model: str | None = None
    source: str | None = None
    commit: str | None = None
    licence: str | None = None
    note: str | None = None
    redacted: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


class _File(_Closed):
    version: int
    metadata: _Metadata
    interactions: list[_Interaction]


def is_cassette(data: bytes) -> bool:
    """Return whether a file is in this format. Its first lines show this, also if the rest is
    damaged. Otherwise its ``metadata`` has a number ``harness``, in any order and style of YAML.
    """
    if _BEGINS.match(data[:4096].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")):
        return True
    if b"metadata" not in data or b"harness" not in data:
        return False
    try:
        match parse(data):
            case {"metadata": {"harness": int()}}:
                return True
    except YamlError:
        pass  # damaged, and not with the first lines of a cassette
    return False


def loads(text: str | bytes, name: str = "cassette") -> Cassette:
    """Read a cassette. Raises `CassetteError` for any fault; the message has ``name`` and the
    line.
    """
    if cassette := _read_usual(text):
        return cassette
    try:
        data = parse(text)
        if data is None:
            raise CassetteError(f"{name}:1: the file is empty; a cassette begins with `version: 1`")
        _refuse_newer(data, name)
        file = msgspec.convert(data, _File)
        return _read_file(file, {})
    except YamlError as error:
        raise CassetteError(f"{name}:{error.line}: {error.reason}") from None
    except msgspec.ValidationError as error:
        raise _located(*msgspec_fault(error, _File), text, name) from None
    except _BodyError as error:
        raise _located(error.path, error.fact, text, name) from None


def _read_usual(text: str | bytes) -> Cassette | None:
    """Read a cassette in the form of our writer, without decoding its long texts; None for another
    form and for a faulty cassette.
    """
    usual = parse_usual(text)
    if usual is None:
        return None
    data, blocks = usual
    try:
        file = msgspec.convert(data, _File)
        cassette = _read_file(file, blocks)
    except (msgspec.ValidationError, _BodyError):
        return None
    return None if blocks or file.metadata.harness > FORMAT else cassette


def _refuse_newer(data: Any, name: str) -> None:
    match data:
        case {"metadata": {"harness": int(version)}} if version > FORMAT:
            raise CassetteError(
                f"{name}: format {version} is newer than {FORMAT}, which this version reads;"
                " upgrade gemini-conformance"
            )


class _BodyError(Exception):
    def __init__(self, path: Steps, fact: str) -> None:
        self.path = path
        self.fact = fact


_Blocks = dict[str, bytes]
"""Placeholder → block in UTF-8, which is not decoded. A reader removes each block that it uses."""


def _read_file(file: _File, blocks: _Blocks) -> Cassette:
    meta = file.metadata
    texts = {name: getattr(meta, name) for name in ORIGIN_FIELDS}
    origin = Origin(meta.origin, **texts, redacted=meta.redacted, allowed=meta.allowed)
    exchanges = tuple(
        _read_interaction(item, ("interactions", index), blocks)
        for index, item in enumerate(file.interactions)
    )
    return Cassette(exchanges, origin)


def _read_interaction(item: _Interaction, path: Steps, blocks: _Blocks) -> Exchange:
    request = None
    if item.request is not None:
        sent = item.request
        body = _read_body(sent.body, (*path, "request", "body"), blocks)
        request = Request(sent.method, sent.uri, _read_headers(sent.headers), body)
    answer = item.response
    body = _read_body(answer.body, (*path, "response", "body"), blocks)
    reads = _read_reads(_text(answer.reads, blocks), body, (*path, "response", "reads"))
    return Exchange(
        request,
        answer.status.code,
        _read_headers(answer.headers),
        reads,
        answer.end,
        answer.status.message,
    )


def _text(text: str, blocks: _Blocks) -> str:
    """Return a text, or the block if the text is the placeholder of a block."""
    return blocks.pop(text).decode() if text in blocks else text


def _read_headers(headers: dict[str, str | list[str]]) -> dict[str, list[str]]:
    return {
        name: [values] if isinstance(values, str) else values for name, values in headers.items()
    }


def _read_body(body: _Body | None, path: Steps, blocks: _Blocks) -> bytes:
    if body is None:
        return b""
    if body.base64 is not None:
        if body.string is not None:
            raise _BodyError(path, "a body has `string` or `base64`, not both")
        encoded = re.sub(r"\s+", "", _text(body.base64, blocks))
        try:
            return base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise _BodyError((*path, "base64"), f"not base64: {error}") from None
    if body.string is None:
        raise _BodyError(path, "a body needs `string` or `base64`")
    try:
        string = blocks.pop(body.string, None)
        text = body.string.encode() if string is None else string
        return text_to_body(text, body.eol, body.escaped)
    except BodyTextError as error:
        raise _BodyError((*path, error.field), str(error)) from None


def _read_reads(text: str, body: bytes, path: Steps) -> tuple[tuple[float | None, bytes], ...]:
    """Read lines of ``at_ms length``, one per read; ``-`` is an unknown time. If there are no
    lines, the body is one read.
    """
    if not text.strip():
        return ((None, body),) if body else ()
    # With commas and brackets the lines are JSON; a JSON decoder is the fastest reader of numbers.
    total: int | None = None
    try:
        lines = text.removesuffix("\n").encode("ascii")
        numbers = decode_json(b"[" + lines.translate(_COMMAS).replace(b"-", b"null") + b"]")
        lengths = numbers[1::2]
        form = lines.translate(None, b"0123456789.-") + b"\n"
        if form == b" \n" * len(lengths) and all(lengths):
            total = sum(lengths)
    except (TypeError, ValueError):
        pass
    if type(total) is not int:
        raise _BodyError(
            path,
            f"{_first_fault(text)} is not a read; expected `at_ms length`, such as `251.3 209` or"
            " `- 209`",
        )
    if total != len(body):
        raise _BodyError(
            path,
            f"the reads add up to {total} bytes, the body has {len(body)}; restore the file or, if"
            " the body was edited, correct or delete `reads`",
        )
    return tuple(zip(numbers[::2], map(BytesIO(body).read, lengths), strict=True))


def _first_fault(text: str) -> str:
    faulty = (line for line in text.split("\n") if not _READ.fullmatch(line))
    return f"`{next(faulty, text).strip()[:80]}`"


def _located(path: Steps, fact: str, text: str | bytes, name: str) -> CassetteError:
    """Return the error with the line of ``path``, or of the innermost value around it."""
    lines = parse_located(text)[1]
    way_out = "" if path in lines or not path else _CUT_SHORT
    while path and path not in lines:
        path = path[:-1]
    return CassetteError(f"{name}:{lines.get(path, 1)}: {fact}{way_out}")
