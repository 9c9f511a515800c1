"""Reads the parts of an answer in the prompt that follows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from harness.facts import NamedArguments
from harness.stream.json_codec import Json
from harness.stream.prompt import (
    AnyPart,
    Call,
    Media,
    Message,
    Native,
    Redacted,
    Result,
    Role,
    Text,
    Thinking,
)

from .wire_values import strings


@dataclass(frozen=True, slots=True)
class ReturnedResult:
    """The result of a call."""

    name: str
    call_id: str | None
    output: str
    """Its texts."""
    failed: bool = False


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
    results: list[ReturnedResult] = field(default_factory=list)
    result_contents: list[int] = field(default_factory=list)
    """The indices of the contents that have results."""
    other_signatures: list[str] = field(default_factory=list)
    """The signatures of all other parts."""
    signed_before: list[int] = field(default_factory=list)
    """The number of ``other_signatures`` before each call."""
    signed_places: list[int] = field(default_factory=list)
    """The number of characters of text before each of ``other_signatures``."""
    signed_thoughts: list[str] = field(default_factory=list)
    """The text of the thought of each of ``other_signatures``; "" for that of another part."""
    server_tools: list[str] = field(default_factory=list)
    in_order: bool = True
    """Whether every content with a call is before those with results."""
    ordered: bool = True
    """Whether the order of texts and calls is known."""
    contents: list[int] = field(default_factory=list)
    """The index of the content of each call."""
    body: Json = None
    """The whole body of the request."""

    def in_order_of_calls(self) -> Returned:
        """Return the results in the order of the calls, if each call has one with its id. Tools
        that run at the same time may end in any order.
        """
        rest, ordered = list(self.results), []
        for call_id in self.ids:
            result = next((item for item in rest if item.call_id == call_id), None)
            if result is None:
                return self
            rest.remove(result)
            ordered.append(result)
        return replace(self, results=[*ordered, *rest])


def gather_messages_sent(messages: Sequence[Message], *, whole: bool) -> Returned:
    """Return the calls and results of the messages from the first one of the model on; of all
    messages if ``whole``.
    """
    returned = Returned()
    begun = whole
    for message in messages:
        begun = begun or message.role == "assistant"
        if not begun:
            continue
        before, results_before = len(returned.calls), len(returned.results)
        for part in message.parts:
            _read_part(returned, part, message.role)
        index = _index(message)
        returned.contents += [index] * (len(returned.calls) - before)
        returned.ordered = returned.ordered and message.ordered
        if len(returned.results) > results_before:
            returned.result_contents.append(index)
        if returned.results and len(returned.calls) > before:
            returned.in_order = False
    return returned


def _index(message: Message) -> int:
    """Return the index of a message in its list, from a place such as ``messages[2]``."""
    return int(message.place.rpartition("[")[2].removesuffix("]"))


def _content(part: Text | Media) -> str:
    return part.text if isinstance(part, Text) else part.data or part.url or ""


def _read_part(returned: Returned, part: AnyPart, role: Role) -> None:
    thought = ""
    match part:
        case Call():
            returned.calls.append((part.name, part.arguments))
            returned.ids.append(part.wire_id)
            returned.signatures.append(part.signature.value if part.signature else None)
            returned.places.append(len(returned.text))
            returned.signed_before.append(len(returned.other_signatures))
            return
        case Result():
            output = "\n".join([*strings(part.value), *map(_content, part.parts or ())])
            returned.results.append(
                ReturnedResult(part.name, part.wire_id, output, failed=part.failed)
            )
        case Text() if role == "assistant":
            returned.text += part.text
        case Thinking():
            thought = part.text
        case Native():
            returned.server_tools += strings(part.raw)
    signature = part.data if isinstance(part, Redacted) else part.signature
    if signature is not None:
        returned.other_signatures.append(signature.value)
        returned.signed_places.append(len(returned.text))
        returned.signed_thoughts.append(thought)
