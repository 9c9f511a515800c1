"""A prompt for a model, between an application's event model and a provider's wire.

A dialect makes a `Prompt` from its own request; the writer of a provider makes the body of its wire
from it. A prompt has no wire's JSON. Its places are paths in the application's request
(``messages[2].content[0]``), for errors and warnings.

The messages are well formed: `Result` parts are in the first user message after their calls, before
its other parts, in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

Role = Literal["user", "assistant"]
Kind = Literal["image", "audio", "video", "document"]

SETTINGS: Final = (
    *("temperature", "top_p", "top_k", "max_tokens", "stop", "seed"),
    *("presence_penalty", "frequency_penalty"),
)
"""The names of sampling settings. ``stop`` is a list of strings; the others are numbers."""


@dataclass(frozen=True, slots=True)
class Origin:
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
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a message. ``place``: its path. ``signature``: the signature of this part.
    ``cache``: a mark that the prompt up to this part is to be cached, in the words of the Messages
    API (``{"type": "ephemeral", "ttl": "1h"}``). ``more``: fields of the application's request
    that only the wire of `Prompt.home` has, under their own names.
    """

    place: str = ""
    signature: Opaque | None = None
    cache: Mapping[str, Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


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
    """A call of a tool. ``id``: never empty, different for each call. ``wire_id``: the id that the
    wire of the answer gave; None if it gave none. ``arguments``: a JSON object, or the text of
    arguments that are not one; ``key`` is the name of this field in the application's request.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | str
    wire_id: str | None = None
    key: str = "arguments"

    @property
    def any_id(self) -> str:
        """The id for a wire that requires ids."""
        return self.wire_id or self.id


@dataclass(frozen=True, slots=True)
class Media(Part):
    """An image, sound, video or document: either ``data`` (base64) or ``url``. ``detail``: the
    resolution, ``low`` or ``high``. ``name``: of the file.
    """

    kind: Kind
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    name: str | None = None
    detail: str | None = None


def media_kind(kind: str, media_type: str | None) -> Kind:
    """Return the kind of a medium: its media type decides, else the word of the application."""
    for known in (str(media_type or "").partition("/")[0], kind):
        match known:
            case "image" | "audio" | "video":
                return known
    return "document"


@dataclass(frozen=True, slots=True)
class Result(Part):
    """The result of a call; ``id``, ``wire_id`` and ``name`` are those of the call.

    ``value``: any JSON value. ``parts``: texts and media; None if the result is only a value. A
    result may have both. ``failed``: the tool failed, and the content describes the failure.
    ``key``: in a wire where a result is an object, the content is under this key; "": an object
    is the result itself, and any other value is under ``result``.
    """

    id: str
    name: str
    value: Any = None
    parts: tuple[Text | Media, ...] | None = None
    wire_id: str | None = None
    failed: bool = False
    key: str = ""

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
    origin: Origin | None = None


AnyPart = Text | Thinking | Redacted | Call | Result | Media | Native


@dataclass(frozen=True, slots=True)
class Message:
    """The parts of one turn. ``name``: the name of the speaker; ``place``: the path."""

    role: Role
    parts: tuple[AnyPart, ...]
    name: str | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of the system, as the pieces that the application gave. For a wire that takes
    a text, it is the joined ``text``. ``name`` and ``place``: as in `Message`.
    """

    pieces: tuple[Text, ...]
    name: str | None = None
    place: str = ""

    @property
    def text(self) -> str:
        """The pieces, joined."""
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON Schema. ``place``: its path. ``worded``: the same schema with restrictions as words in
    the descriptions, for a wire whose schemas are poorer; None: the application does not want this.
    ``exact``: a wire with two forms of schemas gets the JSON Schema.
    """

    value: Mapping[str, Any]
    place: str = ""
    worded: Mapping[str, Any] | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function that the application runs. ``strict``: the arguments must fit the schema.
    ``cache`` and ``more``: as in `Part`.
    """

    name: str
    description: str | None = None
    schema: Schema | None = None
    strict: bool | None = None
    place: str = ""
    cache: Mapping[str, Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool that the provider runs, in the form of the wire of ``vendor``. ``words``: the error on
    another wire, at ``place``.
    """

    raw: Mapping[str, Any]
    vendor: str
    place: str
    words: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Which functions the model may call: as it likes (``auto``), ``none``, at least one
    (``required``), or the one that ``name`` names (``named``). ``parallel``: whether it may call
    several at once; None: not said, and ``place`` is the path of that field.
    """

    mode: Literal["auto", "none", "required", "named"]
    name: str | None = None
    parallel: bool | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """A structured answer: any JSON, or what ``schema`` allows."""

    schema: Schema | None = None
    name: str | None = None
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How much the model thinks. ``mode``: on, off or as the model decides (``adaptive``).
    ``effort``: a word (low, medium, high …). ``budget``: a number of tokens. ``shown``: whether the
    answer has the thoughts. None: not said.
    """

    mode: Literal["on", "off", "adaptive"] | None = None
    effort: str | None = None
    budget: int | None = None
    shown: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt.

    ``model``: without a vendor before it; None if none is named. ``addressed``: each vendor that
    the application names, after the place and the words of an error about it. ``settings``: the
    sampling settings, by the names of `SETTINGS`. ``options``: fields for the body of a single
    wire, by the name of its provider or vendor; other wires ignore them. ``metadata``: free values
    for the provider's statistics. ``home``: the vendor whose wire has the application's own event
    model, "" if there is none; ``more`` are the fields of the request that only its wire has, by
    their paths. ``unread``: the places of fields that are not carried at all. ``streamed``: the
    application asks for a stream. ``warnings``: what the dialect left out.
    """

    messages: tuple[Message, ...]
    instructions: tuple[Instruction, ...] = ()
    model: str | None = None
    addressed: tuple[tuple[str, str, str], ...] = ()
    tools: tuple[Function | ServerTool, ...] = ()
    choice: Choice | None = None
    format: Format | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    reasoning: Reasoning | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    home: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    streamed: bool = False
    warnings: tuple[str, ...] = ()


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


def without_foreign(prompt: Prompt, vendor: str) -> tuple[Prompt, list[str]]:
    """Return the prompt without the opaque values of other vendors, and a warning for each: a
    signature, an encrypted thought or a native part is sent only to its maker. A value of unknown
    origin stays. A text or message that is empty without its opaque values is left out.
    """
    warnings: list[str] = []

    def is_foreign(origin: Origin | None, place: str, name: str) -> bool:
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
    part: AnyPart, is_foreign: Callable[[Origin | None, str, str], bool]
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
