"""Reads the cassettes that stock vcrpy and pytest-recording wrote, so that their suites work before
a cassette is converted.

vcrpy's own serializers read the file. Requests have vcrpy's form, so that its matchers find them as
before. Responses are read in the same way as in an import.
"""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from typing import Any, Final

import yaml
from vcr.request import Request as VcrRequest
from vcr.serializers import jsonserializer, yamlserializer

from harness.cassettes import CassetteError, is_cassette
from harness.cassettes.importers.vcrpy import read_interaction
from harness.cassettes.vcrpy import request_of

from .vcr_values import to_vcr

_INTERACTIONS: Final = re.compile(rb"(?:^|[{,])\s*[\"']?interactions[\"']?\s*:", re.MULTILINE)
_OURS: Final = re.compile(rb"^    end: ", re.MULTILINE)

READ: Final = (
    "{}: this cassette of vcrpy is read without a conversion; it is written in the format of"
    " gemini-conformance when it is recorded again; `harness import --in-place FOLDER` converts"
    " whole folders"
)
WRITTEN: Final = (
    "{}: this cassette, and each that is recorded from now on, is written in the format of"
    " gemini-conformance; `harness import --to vcrpy` converts one for stock vcrpy"
)

_shown: Final[set[str]] = set()


class StockCassetteWarning(UserWarning):
    """A suite reads cassettes of stock vcrpy, or now writes our format."""


def note_once(message: str, name: str) -> None:
    """Show a message with the first ``name``, once in a process."""
    if message in _shown:
        return
    _shown.add(message)
    with suppress(StockCassetteWarning):  # a suite that turns warnings into errors works as before
        warnings.warn(message.format(name), StockCassetteWarning, stacklevel=2)


def is_stock(data: bytes) -> bool:
    """Return whether a file looks like a cassette of stock vcrpy: it has interactions, and it is
    not one of our cassettes, not even a damaged one.
    """
    return bool(_INTERACTIONS.search(data)) and not _OURS.search(data) and not is_cassette(data)


def read_stock(data: bytes, name: str) -> tuple[list[VcrRequest], list[dict[str, Any]]]:
    """Return vcrpy's requests and responses. Raises `CassetteError`; its message begins with
    ``name``.
    """
    requests: list[VcrRequest] = []
    responses: list[dict[str, Any]] = []
    try:
        text = data.decode("utf-8-sig")
        serializer = jsonserializer if text.lstrip().startswith("{") else yamlserializer
        for number, item in enumerate(serializer.deserialize(text)["interactions"] or (), 1):
            sent = item["request"]
            body = sent.get("parsed_body", sent.get("body"))
            requests.append(
                VcrRequest(sent["method"], sent["uri"], body, sent.get("headers") or {})
            )
            request_of(requests[-1])  # raises for a value that is not a request
            bare = {"method": sent["method"], "uri": sent["uri"]}
            exchange = read_interaction(
                {"request": bare, "response": item["response"]}, f"interaction {number}"
            )
            responses.append(to_vcr(exchange)[1])
    except (ValueError, TypeError, LookupError, AttributeError, yaml.YAMLError) as error:
        place, fact = name, str(error)
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
            place, fact = f"{name}:{error.problem_mark.line + 1}", str(error.problem)
        raise CassetteError(
            f"{place}: this cassette of vcrpy can't be read: {fact}; restore it or record it again"
        ) from None
    return requests, responses
