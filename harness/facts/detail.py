"""The facts beside those of `fact`, which only the harness's own readers state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from harness.stream.json_codec import Json

from .finding import Aspect


class Detail(Struct, frozen=True, gc=False):
    """The base of all kinds."""


class Signature(Detail, frozen=True):
    """A signature of a part of the answer."""

    kind: str
    """``text``, ``thought``, ``call`` or ``other``; ``part`` in an event model that shows only
    whether the part is a call.
    """
    value: str
    """Base64 as on the wire."""
    placed: bool = False
    """Whether its place in the text matters, as on wires that keep the order of thoughts and text.
    """
    covers: bool = False
    """Whether it covers the text of its part of the thoughts."""


class RepeatedSignature(Detail, frozen=True):
    """Another value for a signature, which may be sent back instead: a response of OpenAI repeats
    its reasoning, encrypted anew.
    """

    value: str
    first: str


def signatures_of(kind: str, signature: Json) -> Iterator[Signature]:
    """Yield one signature, several, or none, of a part of this kind."""
    signatures = signature if isinstance(signature, list) else [signature]
    return (Signature(kind, item) for item in signatures if isinstance(item, str))


class Content(Detail, frozen=True):
    """A part with a medium, with code or its result, or about a tool of the server."""

    kind: Literal["media", "code", "server_tools"]


class PartBegins(Detail, frozen=True):
    """The next thought begins a part, such as a block or a part of a summary."""


class CallBegins(Detail, frozen=True):
    """The beginning of a call on the wire, which is its place among the content. The call itself
    comes when it ends.
    """

    id: str | None
    name: str
    signature: str | None
    after_signatures: bool = False
    """Whether the signatures before it must be sent back before it."""
    arguments: dict[str, Json] = {}
    """Those of a call of which nothing else is known."""


class CallPiece(Detail, frozen=True):
    """A value of streamed arguments as it arrived, "" for a value that is not a string."""

    value: str


class OpenCall(Detail, frozen=True):
    """A call that did not end, with the arguments so far."""

    name: str
    arguments: Json


class InvalidCall(Detail, frozen=True):
    """A whole call whose arguments are not a JSON object."""

    name: str
    text: str


class StreamedCall(Detail, frozen=True):
    """A statement about a call that is none by itself: an earlier state of a call, a piece of one
    that is still streaming, or a tool that the client runs for the service.
    """


class TwiceCalled(Detail, frozen=True):
    """A call that is stated twice."""

    name: str
    arguments: Json


class SharedId(Detail, frozen=True):
    """The id of two calls of the wire, in the statement of an adapter."""

    id: str | None


class UnclosedCalls(Detail, frozen=True):
    """The number of last calls that are whole, but could go on: the answer broke off, and this wire
    ends a call only by what follows it.
    """

    number: int


class WrittenCall(Detail, frozen=True):
    """A call that the text has as ``<tool_code>`` block, or in another form."""

    raw: str
    name: str | None
    arguments: dict[str, Json]
    block: bool


class ClientTools(Detail, frozen=True):
    """The ids of tools of the server that the client runs, such as a shell. An adapter may give
    them as calls.
    """

    ids: frozenset[str]


class Result(Detail, frozen=True):
    """The result of a tool that the provider ran."""

    failed: bool
    text: str | None

    @classmethod
    def of(cls, failed: bool, response: Json) -> Result:
        """Return the result with its text, or the text under a usual name in an object."""
        named = (
            [response.get(name) for name in ("text", "output", "result")]
            if isinstance(response, dict)
            else [response]
        )
        return cls(failed, next((text for text in named if isinstance(text, str)), None))


class Counts(Detail, frozen=True):
    """Counts by their camelCase names on the wire; the latest value of each is used."""

    counts: dict[str, int]


class RawCounts(Detail, frozen=True):
    """The wire's own object of counts, which payloads pass on unchanged."""

    counts: dict[str, Json]
    own: frozenset[str]
    """The counts for which the payloads have their own fields."""


def usage_of(counts: Mapping[str, Json], names: Mapping[str, str], raw: Json) -> Iterator[Detail]:
    """Yield the counts of payloads, whose fields ``names`` maps to the names of the wire, and the
    wire's own object.
    """
    given = {wire: counts[name] for name, wire in names.items() if counts.get(name) is not None}
    yield Counts(given)
    yield RawCounts(raw if isinstance(raw, dict) else {}, frozenset(names.values()))


class FinishMessage(Detail, frozen=True):
    """The text beside the finish reason."""

    text: Json


class GoodEnd(Detail, frozen=True):
    """The answer reports its end, and reports no failure, no continuation and no malformed call."""


class Unfinished(Detail, frozen=True):
    """The answer reports that it is not finished."""


class Blocked(Detail, frozen=True):
    """The prompt was refused."""

    reason: str


class Notice(Detail, frozen=True):
    """A warning, which does not end the answer."""

    text: str


class ErrorWords(Detail, frozen=True):
    """Code, status and message of an error, as far as they are words."""

    words: tuple[str, ...]


class Opaque(Detail, frozen=True):
    """Values of the wire that event models only pass on."""

    aspect: str
    """``media`` (data or URI), ``thoughts`` (the same of drafts), ``code`` (code and output),
    ``server_tools`` (ids, and strings of arguments and results), ``grounding``, ``citations``,
    ``urls`` (URIs) or ``logprobs``.
    """
    values: tuple[str, ...]


class Billing(Detail, frozen=True):
    """How the answer is billed: a service tier or a traffic type."""

    name: str
    word: str


class Mended(Detail, frozen=True):
    """The undamaged text, if the wire also has it beside pieces with damaged characters."""

    text: str


class Tagged(Detail, frozen=True):
    """The text with its thoughts between tags, as the wire has it."""

    text: str


class Refusal(Detail, frozen=True):
    """A part of the text is in the field for a refusal."""


class EndsInThought(Detail, frozen=True):
    """No text and no call follows the last thought, on a wire that refuses such a thought in a
    history.
    """


class Fields(Detail, frozen=True):
    """The names of fields that no other fact covers."""

    names: frozenset[str]


class UnreadablePiece(Detail, frozen=True):
    """A piece that is not JSON."""

    text: str


class StatedTwice(Detail, frozen=True):
    """An aspect that payloads state twice, with two values."""

    aspect: Aspect
    first: Json
    second: Json
