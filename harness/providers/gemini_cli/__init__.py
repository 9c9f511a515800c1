"""The Gemini CLI without a terminal: its output as ``stream-json``, one event a line, or as
``json``, one document.

Source: https://geminicli.com/docs/cli/headless and, for the fields, ``stream-json-formatter.ts`` of
https://github.com/google-gemini/gemini-cli. The tools run inside the CLI, so calls and their
results are both part of the answer. A field that is not read becomes an `Unknown`. The timestamps
of lines, except the first, are the clock of the run, not facts of the answer. Older spellings
(``name``, ``id``, ``input``, ``tool_use_id``) are read as well.
"""

from __future__ import annotations

import re
from typing import Any, Final

from harness.stream.framing.json_lines import JsonLinesFramer

from ..provider import SHAPE, FirstMessages, Identity, Provider
from ..run_reader import detect_run
from .facts import CliFacts
from .normalizer import READERS, CliNormalizer

_EVENT: Final = re.compile(
    rb'\{\s*"type"\s*:\s*"(?:%b)"\s*,\s*"timestamp"\s*:\s*"' % "|".join(READERS).encode()
)


def _detect(first: FirstMessages) -> Identity | None:
    return detect_run("gemini-cli", first, _is_event, _is_document, _EVENT)


_FIELDS: Final = {
    "init": {"session_id"},
    "message": {"role", "content"},
    "tool_use": {"tool_name", "tool_id"},
    "tool_result": {"tool_id", "status"},
    "error": {"severity", "message"},
    "result": {"status", "stats"},
}
"""The fields by which an event without its timestamp is recognized."""


def _is_event(message: dict[str, Any]) -> bool:
    kind = message.get("type")
    if type(kind) is not str or kind not in READERS:
        return False
    plain = kind != "message" or type(message.get("content")) is str
    return "timestamp" in message or (plain and message.keys() >= _FIELDS[kind])


def _is_document(message: dict[str, Any]) -> bool:
    """Return whether a message is the output of ``gemini --output-format json``."""
    return (
        "type" not in message
        and "conversation_id" not in message  # a document of another program
        and (type(message.get("response")) is str or type(message.get("session_id")) is str)
        and (type(message.get("stats")) is dict or type(message.get("error")) is dict)
    )


PROVIDER: Final = Provider(
    name="gemini-cli",
    title="Gemini CLI",
    vendor="gemini",
    normalizer=CliNormalizer,
    facts_reader=CliFacts,
    shape=SHAPE | {"timestamp", "delta"},
    detect=_detect,
    framer=JsonLinesFramer,
    program=True,
    driver="harness.recording.drivers.gemini_cli:ProgramDriver",
)
