"""Reads the parts of an answer in the request that follows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.facts import NamedArguments
from harness.stream.json_codec import Json

from .gemini import pick
from .sent_contents import GeminiContent
from .values import strings


@dataclass
class Returned:
    """The parts of an answer that a request sends back."""

    text: str = ""
    calls: list[NamedArguments] = field(default_factory=list)
    """(name, arguments) of each call, in order."""
    ids: list[str | None] = field(default_factory=list)
    """The id of each call."""
    signatures: list[str | None] = field(default_factory=list)
    """The signature of each call."""
    places: list[int] = field(default_factory=list)
    """The number of characters of text before each call."""
    results: list[tuple[str, str | None]] = field(default_factory=list)
    """(name, id) of each result, in order."""
    outputs: list[str] = field(default_factory=list)
    """The text of each result."""
    result_contents: list[int] = field(default_factory=list)
    """The indices of the contents that have results."""
    other_signatures: list[str] = field(default_factory=list)
    """The signatures of all other parts."""
    signed_before: list[int] = field(default_factory=list)
    """The number of ``other_signatures`` before each call."""
    server_tools: list[str] = field(default_factory=list)
    in_order: bool = True
    """Whether every content with a call is before those with results."""
    contents: list[int] = field(default_factory=list)
    """The index of the content of each call."""
    by_id: bool = False
    """Whether every call must have an id; a missing id is invented."""
    request: Json = None
    """The whole request."""


def gather_contents(contents: list[GeminiContent], first: int = 0) -> Returned:
    """Return the calls and results of the contents of a request, from the content with the index
    ``first``.
    """
    returned = Returned()
    for index, content in enumerate(contents[first:], first):
        before, results_before = len(returned.calls), len(returned.results)
        for part in content.get("parts") or []:
            if isinstance(part, dict):
                _read_part(returned, part, content.get("role"))
        returned.contents += [index] * (len(returned.calls) - before)
        if len(returned.results) > results_before:
            returned.result_contents.append(index)
        if returned.results and len(returned.calls) > before:
            returned.in_order = False
    return returned


def _read_part(returned: Returned, part: GeminiContent, role: Json) -> None:
    call, result = pick(part, "functionCall"), pick(part, "functionResponse")
    signature = pick(part, "thoughtSignature")
    if isinstance(call, dict):
        returned.calls.append((str(call.get("name") or ""), call.get("args") or {}))
        returned.ids.append(call.get("id") or None)
        returned.signatures.append(signature or None)
        returned.places.append(len(returned.text))
        returned.signed_before.append(len(returned.other_signatures))
    elif signature is not None:
        returned.other_signatures.append(str(signature))
    if isinstance(result, dict) and role != "model":  # the provider's own result is in its content
        returned.results.append((str(result.get("name") or ""), result.get("id") or None))
        content = {key: value for key, value in result.items() if key not in ("name", "id")}
        returned.outputs.append("\n".join(strings(content)))
    if role == "model" and isinstance(part.get("text"), str) and part.get("thought") is not True:
        returned.text += part["text"]
    for name in ("toolCall", "toolResponse"):
        returned.server_tools += strings(pick(part, name))
