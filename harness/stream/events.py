"""Canonical events: the facts of a Gemini stream, independent of provider and spelling.

Normalizers (`harness.providers`) make them, translators (`harness.dialects`) read them. An event is
one fact of the wire, in wire order. Nothing is merged and nothing is left out: facts that fit no
other kind become an `Unknown`. Within one frame the order is start, metadata, usage, parts,
annotations, finish, so that a reader of content already knows the model and the counts so far.

Events are msgspec structs, because frame → event → payload is the hot path. ``msgspec.to_builtins``
gives the ``{"kind": …}`` form of ``harness.replay(layer="events")``, which leaves out fields that
hold their default.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct, to_builtins

from .json_codec import Json

FinishClass = Literal[
    "stop", "length", "content_filter", "malformed", "continuation", "other", "failed"
]
"""The classes of finish reasons; each dialect maps every class. ``failed``: the wire reports that
the answer failed and gives no reason.
"""

End = Literal["complete", "cut", "reset", "aborted", "unknown"]
"""The ends of an exchange. ``cut``: closed before its declared end; ``reset``: the connection was
reset; ``aborted``: the client left; ``unknown``: not recorded.
"""

INTERRUPTED: Final = frozenset({"cut", "reset", "aborted"})
"""The ends after which the answer is incomplete."""


class Event(Struct, tag_field="kind", omit_defaults=True, gc=False):
    """The base of all kinds. ``candidate``, if a kind has it, is the index of the candidate; 0 is
    the answer.
    """


class Start(Event, tag="start"):
    """The stream begins."""

    model: str | None = None
    """The model that the wire names, else the requested model."""
    id: str | None = None
    """The id of the answer on the wire; None if it has none."""
    implied: bool = False
    """Whether the wire normally begins with a start message, but that message is missing."""


class Metadata(Event, tag="metadata"):
    """A fact about the whole reply, sent when it first appears and when it changes."""

    name: str
    """``model``, ``id``, ``created``, ``model_status``, ``trace_id``, ``credits``, ``envelope``,
    ``session``, ``status``, ``echo`` (the prompt, sent back) or ``snapshot`` (a final repetition of
    the answer that differs from the pieces; an equal one gives no event). Of a session:
    ``input_transcript``, ``interim_transcript``, ``output_transcript``, ``interrupted``,
    ``cancelled`` (calls whose results nobody wants), ``resumption``, ``voice_activity``, ``close``.
    """
    raw: dict[str, Json]
    """The wire's object with only that field (``{"createTime": "…"}``)."""


class Text(Event, tag="text"):
    """A piece of the answer's text."""

    text: str
    """Untrimmed, perhaps empty."""
    signature: str | None = None
    """Base64 as on the wire."""
    candidate: int = 0
    role: str | None = None
    """None for the assistant, ``""`` for the model under another name or without a name, else the
    wire's word. Text of any other role (``system``) is not part of the answer.
    """
    refusal: bool = False
    """Whether the model declines to answer, in a separate field of the wire."""


class Reasoning(Event, tag="reasoning"):
    """A piece of a thought summary."""

    text: str
    signature: str | None = None
    candidate: int = 0
    id: str | None = None
    """The wire's id of an item that the next request must repeat."""
    redacted: bool = False
    """Whether ``signature`` holds a thought that only the provider can read."""
    begins: bool = False
    """Whether it begins another part of the same item, such as a part of a summary."""


class CallStart(Event, tag="call_start"):
    """A tool call begins."""

    call: int
    """The number of the call in the stream, from 1."""
    name: str
    id: str | None = None
    """None if the wire gave none."""
    signature: str | None = None
    candidate: int = 0


class CallPiece(Event, tag="call_piece"):
    """A piece of the arguments of a call, if the wire streams them."""

    call: int
    """The number of the call in the stream, from 1."""
    path: str
    """An RFC 9535 JSON path; ``""`` for a piece without a value, with which the wire opens a new
    array element.
    """
    value: Json = None
    """A string piece, number, boolean or None."""
    more: bool = False
    """Whether the value continues in a later piece."""


class CallText(Event, tag="call_text"):
    """A piece of the JSON text of the arguments of call ``call``."""

    call: int
    text: str


class CallEnd(Event, tag="call_end"):
    """A call is whole. An interrupted call never gets this event."""

    call: int
    """The number of the call in the stream, from 1."""
    arguments: dict[str, Json]
    """The assembled object."""


class CallInvalid(Event, tag="call_invalid"):
    """A call is whole, but its arguments are not a JSON object. This event replaces `CallEnd`."""

    call: int
    """The number of the call in the stream, from 1."""
    text: str
    """The wire's text, without the JSON text of arguments that came in pieces."""


class BlockStart(Event, tag="block_start"):
    """A step, block or item of the answer begins, on a wire that has such boundaries. The block of
    a call begins before its `CallStart`.
    """

    type: str
    """The wire's word for the kind of block."""
    raw: dict[str, Json]
    """The wire's message."""
    index: int | None = None
    id: str | None = None


class BlockEnd(Event, tag="block_end"):
    """The block that began last is whole. The block of a call ends after its `CallEnd`."""

    raw: dict[str, Json]
    index: int | None = None


class Mark(Event, tag="mark"):
    """A sign without content of the answer: ``keep_alive``, the ``end`` of the stream, an ``id`` or
    ``signature`` that the wire repeats with another value, a ``tag`` around thoughts in a text,
    ``generation_complete`` (of a turn), or ``sent``, a message of the client in a session. No event
    model has to carry it.
    """

    name: Literal["keep_alive", "end", "id", "signature", "tag", "generation_complete", "sent"]
    raw: Json
    """The wire's message; of an ``id`` or ``signature``, the item and its index; the tag."""
    candidate: int = 0


class NamelessCall(Event, tag="nameless_call"):
    """A ``<tool_code>`` block with an object but without a tool name. The dialect infers a name or
    passes ``raw`` on as text.
    """

    call: int
    payload: dict[str, Json]
    raw: str
    signature: str | None = None
    candidate: int = 0


class ToolResult(Event, tag="tool_result"):
    """The result of a tool that the provider ran."""

    id: str | None = None
    name: str | None = None
    response: Json = None
    """The result as on the wire."""
    error: str | None = None
    """The message of a failed tool."""
    signature: str | None = None
    candidate: int = 0
    status: str | None = None
    """The wire's word for success or failure; ``""`` if it is missing, None on a wire that has no
    such word.
    """
    raw: Json = None
    """Other fields of the result."""


class Media(Event, tag="media"):
    """An image, sound or file of the answer: data or URI."""

    mime_type: str | None
    raw: dict[str, Json]
    data: str | None = None
    """Base64 as on the wire."""
    uri: str | None = None
    thought: bool = False
    signature: str | None = None
    candidate: int = 0
    family: str | None = None
    """``image`` or ``audio``, if the wire says that without a media type."""


class Code(Event, tag="code"):
    """Code that the server runs itself; ``raw`` is the wire's part."""

    code: str
    raw: dict[str, Json]
    signature: str | None = None
    candidate: int = 0


class CodeResult(Event, tag="code_result"):
    """The output of code that the server ran; ``outcome`` as on the wire."""

    outcome: str
    output: str
    raw: dict[str, Json]
    signature: str | None = None
    candidate: int = 0


class ServerCall(Event, tag="server_call"):
    """A call of a built-in tool that the server makes and answers. The last three fields are None
    if the wire lacks them.
    """

    raw: dict[str, Json]
    """The wire's part."""
    signature: str | None = None
    candidate: int = 0
    id: str | None = None
    name: str | None = None
    arguments: Json = None


class ServerResult(Event, tag="server_result"):
    """The answer to a `ServerCall`."""

    raw: dict[str, Json]
    """The wire's part."""
    signature: str | None = None
    candidate: int = 0
    id: str | None = None
    """The id of the call; None if the wire has none."""
    name: str | None = None
    """The name of the call; None if the wire has none."""


class Annotation(Event, tag="annotation"):
    """A fact beside the content of one candidate, or of the prompt."""

    name: str
    """``citations``, ``grounding``, ``url_context``, ``logprobs``, ``safety_ratings``,
    ``token_count``, ``continuation_token`` or ``part`` (media settings and the like beside a part).
    """
    raw: dict[str, Json]
    """The wire's object with just that field."""
    candidate: int = 0
    """-1 for the prompt."""


class Usage(Event, tag="usage", rename={"wire": "raw"}):
    """Token counts of this frame: running totals, never deltas; None for a count that the frame
    lacks.
    """

    wire: dict[str, Json] | Struct
    """The wire's whole object, or a struct from which ``raw`` makes it on demand. Objects whose
    structs have the same type have the same fields.
    """
    input: int | None = None
    """Includes ``cached`` and ``cache_write``."""
    output: int | None = None
    """Excludes ``reasoning``."""
    reasoning: int | None = None
    cached: int | None = None
    tool_use: int | None = None
    total: int | None = None
    cache_write: int | None = None

    @property
    def raw(self) -> dict[str, Json]:
        """The wire's whole object."""
        raw = self.wire
        if isinstance(raw, Struct):
            self.wire = raw = to_builtins(raw)
        return raw

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Usage) and to_builtins(self) == to_builtins(other)


class Blocked(Event, tag="blocked"):
    """The prompt was refused."""

    reason: str
    """The word as on the wire."""
    message: str | None = None
    """The text as on the wire."""


class Finish(Event, tag="finish"):
    """A candidate gives its finish reason. Of several reasons, the last one is used."""

    reason: FinishClass
    raw: str
    """The wire's word for the reason."""
    message: str | None = None
    candidate: int = 0


class Error(Event, tag="error"):
    """The provider answered with an error, before the stream or inside it."""

    message: str
    code: int | None = None
    """The HTTP status or, inside a stream, the error's own number."""
    status: str | None = None
    """The gRPC name."""
    reasons: list[str] = []
    """The reasons of ErrorInfo."""
    quotas: list[str] = []
    """The ids of quotas."""
    retry_after: float | None = None
    """Seconds."""
    raw: Json = None
    """The body: parsed if it was JSON, else its text."""


class Notice(Event, tag="notice"):
    """A warning of the provider's client, which does not end the stream."""

    severity: str
    """The wire's word."""
    message: str
    raw: dict[str, Json]
    """The whole message."""


class Incomplete(Event, tag="incomplete"):
    """The stream stopped before its end."""

    end: End
    rest: str = ""
    """The text of the incomplete message at the end."""


class Unknown(Event, tag="unknown"):
    """A fact that no kind describes."""

    where: str
    """The name of the fact: ``frame``; ``rest`` (a last frame without an end); ``field
    responseFoo``; ``part kind bar``.
    """
    raw: Json = None
    """The whole fact."""
    candidate: int = 0


KINDS: Final[dict[str, type[Event]]] = {
    str(cls.__struct_config__.tag): cls for cls in Event.__subclasses__()
}

_CONTENT = [
    "text",
    "reasoning",
    "nameless_call",
    "tool_result",
    "media",
    "code",
    "code_result",
    "server_call",
    "server_result",
    "block_start",
    "block_end",
]
_ASIDE = [
    *("metadata", "annotation", "usage", "blocked", "finish", "error", "notice", "unknown"),
    "mark",
]

ORDER: Final[dict[str, dict[str, str]]] = {
    "fresh": {"start": "open", "error": "open", "unknown": "fresh", "incomplete": "over"},
    "open": {
        **dict.fromkeys([*_CONTENT, *_ASIDE], "open"),
        "start": "open",
        "call_start": "calling",
        "incomplete": "over",
    },
    "calling": {
        **dict.fromkeys(_ASIDE, "calling"),
        "call_piece": "calling",
        "call_text": "calling",
        "call_end": "open",
        "call_invalid": "open",
        "incomplete": "over",
    },
    "over": {},
}
"""The legal order: state → kind → next state, from ``fresh``. A stream may end in any state;
``calling``: a call is open.
"""
