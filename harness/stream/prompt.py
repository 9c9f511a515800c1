"""A prompt for a model, between an application's event model and a provider's wire.

A dialect makes a `Prompt` from its own request, and a question of `harness judge` is one. The
writer of a provider makes the body of its wire from it, and the reader of a provider makes it from
a body. A prompt has no wire's JSON. Its places are paths in the application's request or in the
body (``messages[2].content[0]``), for errors, warnings and findings.

The messages of an application are well formed: `Result` parts are in the first user message after
their calls, before its other parts, in the order of the calls. Those of a body are as they were
sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

Role = Literal["user", "assistant", "system"]
"""``system``: an instruction between the messages."""
MediaKind = Literal["image", "audio", "video", "document"]

SETTINGS: Final = (
    *("temperature", "top_p", "top_k", "max_tokens", "stop", "seed"),
    *("presence_penalty", "frequency_penalty"),
)
"""The names of sampling settings. ``stop`` is a list of strings; the others are numbers."""


@dataclass(frozen=True, slots=True)
class Maker:
    """The maker of an opaque value: the ``vendor`` of the provider (`Provider.vendor`), and the
    model, None if the answer named none.
    """

    vendor: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value that only its maker can read: a signature, or encrypted thinking. ``origin`` is None
    if it is not known, as for a value of a prompt that no answer of the session had.
    """

    value: str
    origin: Maker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a message."""

    place: str = ""
    """The path of the part."""
    signature: Opaque | None = None
    cache: Mapping[str, Any] | None = None
    """A mark that the prompt up to this part is to be cached, in the words of the Messages API
    (``{"type": "ephemeral", "ttl": "1h"}``).
    """
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the application's request that only the wire of `Prompt.home` has, under their own
    names.
    """


@dataclass(frozen=True, slots=True)
class Text(Part):
    """A text; empty if it only carries a signature. ``refusal``: the model declines to answer."""

    text: str
    refusal: bool = False


@dataclass(frozen=True, slots=True)
class Thinking(Part):
    """A thought, perhaps empty. ``id``: its id on the wire, if it had one."""

    text: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Redacted(Part):
    """An encrypted thought. ``id``: its id on the wire, if it had one."""

    data: Opaque
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Call(Part):
    """A call of a tool."""

    id: str
    """Never empty and different for each call, except for a body that has no ids or equal ones."""
    name: str
    arguments: Mapping[str, Any] | str
    """A JSON object, or the text of arguments that are not one."""
    wire_id: str | None = None
    """The id that the wire of the answer gave; None if it gave none."""
    key: str = "arguments"
    """The name of the field of the arguments in the application's request."""

    @property
    def any_id(self) -> str:
        """The id for a wire that requires ids."""
        return self.wire_id or self.id


@dataclass(frozen=True, slots=True)
class Media(Part):
    """An image, sound, video or document: either data or URL."""

    kind: MediaKind
    media_type: str | None = None
    data: str | None = None
    """Base64."""
    url: str | None = None
    name: str | None = None
    """The name of the file."""
    detail: str | None = None
    """The resolution, ``low`` or ``high``; in a body also another word of its wire."""
    start_s: float | None = None
    """The first second of the video that counts."""
    end_s: float | None = None
    """The last second of the video that counts."""
    fps: float | None = None
    """The number of frames of the video for each second."""


def media_kind(kind: str, media_type: str | None) -> MediaKind:
    """Return the kind of a medium: its media type decides, else the word of the application."""
    for known in (str(media_type or "").partition("/")[0], kind):
        match known:
            case "image" | "audio" | "video":
                return known
    return "document"


@dataclass(frozen=True, slots=True)
class Result(Part):
    """The result of a call. It may have both a value and parts."""

    id: str
    """The id of the call."""
    name: str
    """The name of the call."""
    value: Any = None
    """Any JSON value."""
    parts: tuple[Text | Media, ...] | None = None
    """Texts and media; None if the result is only a value."""
    wire_id: str | None = None
    """The id that the wire of the answer gave the call; None if it gave none."""
    failed: bool = False
    """Whether the tool failed; the content then describes the failure."""
    key: str = ""
    """In a wire where a result is an object, the content is under this key. "": an object is the
    result itself, and any other value is under ``result``.
    """

    @property
    def any_id(self) -> str:
        """The id for a wire that requires ids."""
        return self.wire_id or self.id


@dataclass(frozen=True, slots=True)
class Native(Part):
    """A part of an answer for which no other class exists, as the wire had it. It is sent back
    unchanged to its maker.
    """

    raw: Mapping[str, Any]
    origin: Maker | None = None


AnyPart = Text | Thinking | Redacted | Call | Result | Media | Native


@dataclass(frozen=True, slots=True)
class Message:
    """The parts of one turn."""

    role: Role
    parts: tuple[AnyPart, ...]
    name: str | None = None
    """The name of the speaker."""
    place: str = ""
    """The path of the message."""
    ordered: bool = True
    """Whether the order of its texts and calls is known. A message of Chat Completions has none."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of the system."""

    pieces: tuple[Text, ...]
    """The pieces that the application gave."""
    name: str | None = None
    """The name of the speaker."""
    place: str = ""
    """The path of the instruction."""

    @property
    def text(self) -> str:
        """The pieces, joined, for a wire that takes a text."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema."""

    value: Mapping[str, Any]
    place: str = ""
    """The path of the schema."""
    worded: Mapping[str, Any] | None = None
    """The same schema with restrictions as words in the descriptions, for a wire whose schemas are
    poorer; None: the application does not want this.
    """
    exact: bool = False
    """Whether a wire with two forms of schemas gets the JSON Schema."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the application runs."""

    name: str
    description: str | None = None
    schema: Schema | None = None
    strict: bool | None = None
    """Whether the arguments must fit the schema; None: not said."""
    place: str = ""
    cache: Mapping[str, Any] | None = None
    """As in `Part`."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """As in `Part`."""


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool that the provider runs."""

    raw: Mapping[str, Any]
    """The tool, in the form of the wire of ``vendor``."""
    vendor: str
    place: str
    """The path of the tool."""
    words: str
    """The error on another wire."""
    kind: str = ""
    """The neutral name of the tool (``search``, ``code``, ``urls``); "" if it has none."""

    @property
    def label(self) -> str:
        """The neutral name, or the names of its fields on the wire."""
        return self.kind or ", ".join(self.raw)


@dataclass(frozen=True, slots=True)
class Choice:
    """The functions that the model may call."""

    mode: Literal["auto", "none", "required", "named"]
    """``auto``: as the model likes; ``required``: at least one; ``named``: the one that ``name``
    names.
    """
    name: str | None = None
    parallel: bool | None = None
    """Whether the model may call several at once; None: not said."""
    place: str = ""
    """The path of the field for ``parallel``; "" if the request has none."""
    allowed: tuple[str, ...] = ()
    """With ``required``: the functions that may be called, if a body names several."""


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """A structured answer: any JSON, or what ``schema`` allows."""

    schema: Schema | None = None
    name: str | None = None
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How much the model thinks. None in a field: not said."""

    mode: Literal["on", "off", "adaptive"] | None = None
    """On, off, or as the model decides (``adaptive``)."""
    effort: str | None = None
    """A word (low, medium, high …)."""
    budget: int | None = None
    """A number of tokens."""
    shown: bool | None = None
    """Whether the answer has the thoughts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt."""

    messages: tuple[Message, ...]
    instructions: tuple[Instruction, ...] = ()
    model: str | None = None
    """Without a vendor before it; None if none is named."""
    addressed: tuple[tuple[str, str, str], ...] = ()
    """Each vendor that the application names, after the place and the words of an error about it.
    """
    tools: tuple[Function | ServerTool, ...] = ()
    choice: Choice | None = None
    format: AnswerFormat | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The sampling settings, by the names of `SETTINGS`."""
    reasoning: Reasoning | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields for the body of a single wire, by the name of its provider or vendor; other wires
    ignore them.
    """
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Free values for the provider's statistics."""
    google: Mapping[str, Any] = field(default_factory=dict)
    """Values in Google's own words: ``safety`` (category → threshold), ``labels``, ``cached``,
    ``tier``, ``thinking_level``.
    """
    places: Mapping[str, str] = field(default_factory=dict)
    """The paths of a body for the values without a place of their own, by their names:
    ``settings.top_p``, ``choice``, ``format``, ``reasoning.effort``, ``google.labels``.
    """
    home: str = ""
    """The vendor whose wire has the application's own event model, "" if there is none."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """The fields of the request that only the wire of ``home`` has, by their paths; of a body, the
    fields that no other value of the prompt has.
    """
    unread: tuple[str, ...] = ()
    """The places of fields that are not carried at all."""
    streamed: bool = False
    """Whether the application asks for a stream."""
    warnings: tuple[str, ...] = ()
    """The parts that the dialect left out."""
    continues: bool = False
    """Whether the messages follow a history that the service has stored."""
    refers: bool = False
    """Whether a message names a stored part of an answer in its place."""

    @property
    def last_text(self) -> str:
        """The text of the last message of the user that has text; "" if there is none."""
        for message in reversed(self.messages):
            texts = [part.text for part in message.parts if isinstance(part, Text)]
            if message.role == "user" and (text := "".join(texts)):
                return text
        return ""


_EMPTY: Final[tuple[Any, ...]] = (False, "", [], {})


def fields_of_home(prompt: Prompt) -> list[str]:
    """Return the places of all fields that the dialect kept only for the wire of `Prompt.home`:
    cache marks, ``more``, ``unread``, `Function.strict`, `Choice.parallel`. A field that is false
    or empty is not among them. A wire that has none of these fields warns of each.
    """
    places: list[str] = []
    for node in _nodes(prompt):
        fields = {**node.more, "cache_control": node.cache}
        if isinstance(node, Function):
            fields = {"strict": node.strict, **fields}
        places += [f"{node.place}.{key}" for key, value in fields.items() if _says(value)]
    if prompt.choice and prompt.choice.parallel is not None:
        places.append(prompt.choice.place)
    return [*places, *(key for key, value in prompt.more.items() if _says(value)), *prompt.unread]


def _says(value: Any) -> bool:
    return value is not None and value not in _EMPTY


def _nodes(prompt: Prompt) -> Iterator[Part | Function]:
    for instruction in prompt.instructions:
        yield from instruction.pieces
    for message in prompt.messages:
        for part in message.parts:
            if isinstance(part, Result):
                yield from part.parts or ()
            yield part
    yield from (tool for tool in prompt.tools if isinstance(tool, Function))


def with_origins(prompt: Prompt, known: Prompt) -> Prompt:
    """Return the prompt with the origins of the signatures that a known prompt has too."""
    origins = {
        part.signature.value: part.signature.origin
        for message in known.messages
        for part in message.parts
        if part.signature
    }

    def originated(signature: Opaque) -> Opaque:
        return replace(signature, origin=origins.get(signature.value) or signature.origin)

    return with_signatures(prompt, originated)


def with_signatures(prompt: Prompt, change: Callable[[Opaque], Opaque]) -> Prompt:
    """Return the prompt with each signature changed."""

    def changed(part: AnyPart) -> AnyPart:
        signature = part.signature
        return replace(part, signature=change(signature)) if signature else part

    messages = (
        replace(message, parts=tuple(map(changed, message.parts))) for message in prompt.messages
    )
    return replace(prompt, messages=tuple(messages))


def without_foreign(prompt: Prompt, vendor: str) -> tuple[Prompt, list[str]]:
    """Return the prompt without the opaque values of other vendors, and a warning for each: a
    signature, an encrypted thought or a native part is sent only to its maker. A value of unknown
    origin stays. A text or message that is empty without its opaque values is left out.
    """
    warnings: list[str] = []

    def is_foreign(origin: Maker | None, place: str, name: str) -> bool:
        if origin is None or origin.vendor == vendor:
            return False
        model = f" ({origin.model})" if origin.model else ""
        warnings.append(
            f"{place}: {name} is left out; it is from {origin.vendor}{model}, and only its maker"
            " can read it"
        )
        return True

    messages = []
    for message in prompt.messages:
        parts = [part for each in message.parts if (part := _for_vendor(each, is_foreign))]
        if parts == list(message.parts):
            messages.append(message)
        elif parts:
            messages.append(replace(message, parts=tuple(parts)))
    return (replace(prompt, messages=tuple(messages)) if warnings else prompt), warnings


def _for_vendor(
    part: AnyPart, is_foreign: Callable[[Maker | None, str, str], bool]
) -> AnyPart | None:
    """Return the part for a vendor; None if nothing of it may be sent."""
    match part:
        case Redacted(data=data) if is_foreign(data.origin, part.place, "an encrypted thought"):
            return None
        case Native(origin=origin) if is_foreign(origin, part.place, "a part of an answer"):
            return None
    if part.signature and is_foreign(part.signature.origin, part.place, "a signature"):
        if isinstance(part, Text | Thinking) and not part.text:
            return None
        return replace(part, signature=None)
    return part
