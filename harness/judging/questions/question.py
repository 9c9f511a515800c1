"""Questions to adapters: what an application asks for, in neutral words, and its reader.

A question is a `Prompt` with the rules for comparing it. The request that an adapter sends is read,
and each value of the prompt must be at its place, once. The questions of the package are in
``questions.yaml``, those of a project in files of its specs; the page docs/what-is-asked.md
describes their words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml
from msgspec import Meta, Struct

from harness.cassettes.validation import Fault, msgspec_fault, show
from harness.stream.json_path import Steps, readable_steps
from harness.stream.prompt import (
    AnswerFormat,
    AnyPart,
    Call,
    Choice,
    Function,
    Instruction,
    Maker,
    Media,
    Message,
    Opaque,
    Prompt,
    Reasoning,
    Result,
    Role,
    Schema,
    ServerTool,
    Text,
    Thinking,
    media_kind,
)
from harness.stream.sample_media import FILE, WEB, named_medium

MODEL: Final = "gemini-3.5-flash"
Group = Literal[
    "schemas",
    "output",
    "choice",
    "settings",
    "thinking",
    "google",
    "messages",
    "history",
    "media",
    "conversations",
]
Wire = Literal[
    "gemini-api",
    "vertex-ai",
    "code-assist",
    "interactions",
    "openai-compat",
    "messages",
    "responses",
    "chat",
]
"""The words of ``only`` and ``not``: a provider of Gemini, or an API of another vendor."""
_ROLES: Final[Mapping[str, Role]] = {"user": "user", "model": "assistant", "results": "user"}
_MEDIA: Final = ("image", "audio", "video", "file")
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

_Text = Annotated[str, Meta(min_length=1)]
_Object = dict[str, Any]


class _Call(Struct, forbid_unknown_fields=True):
    id: _Text
    name: _Text
    arguments: _Object
    signature: str = ""


class _Medium(Struct, forbid_unknown_fields=True):
    type: str = ""
    data: str = ""
    url: str = ""
    name: str = ""
    detail: Literal["", "low", "medium", "high"] = ""
    start: float = 0
    end: float = 0
    fps: float = 0


class _Part(Struct, forbid_unknown_fields=True):
    call: _Call | None = None
    thought: str | None = None
    signature: str = ""
    maker: str = ""
    image: _Medium | None = None
    audio: _Medium | None = None
    video: _Medium | None = None
    file: _Medium | None = None


class _Result(Struct, forbid_unknown_fields=True):
    call: _Text
    name: _Text
    value: Any = None
    parts: list[str | _Part] | None = None
    failed: bool = False


class _Message(Struct, forbid_unknown_fields=True):
    system: str = ""
    user: list[str | _Part] | None = None
    model: list[str | _Part] | None = None
    results: list[_Result] | None = None


class _Tool(Struct, forbid_unknown_fields=True):
    name: str = ""
    description: str = ""
    schema: _Object | None = None
    strict: bool = False
    provider: Literal["", "search", "code", "urls"] = ""


class _Named(Struct, forbid_unknown_fields=True):
    name: _Text


class _Output(Struct, forbid_unknown_fields=True):
    name: str
    schema: _Object


class _Settings(Struct, forbid_unknown_fields=True):
    temperature: float = 0
    top_p: float = 0
    top_k: int = 0
    max_tokens: int = 0
    stop: list[str] = []
    seed: int = 0
    presence_penalty: float = 0
    frequency_penalty: float = 0


class _Thinking(Struct, forbid_unknown_fields=True):
    effort: str = ""
    budget: int = 0
    mode: str = ""
    shown: bool = False


class _Google(Struct, forbid_unknown_fields=True):
    safety: dict[str, str] = {}
    labels: dict[str, str] = {}
    cached: str = ""
    tier: str = ""
    thinking_level: str = ""


class _Ask(Struct, forbid_unknown_fields=True):
    system: list[str] = []
    messages: list[_Message] = []
    tools: list[_Tool] = []
    choice: Literal["auto", "none", "required"] | _Named | None = None
    output: Literal["json"] | _Output | None = None
    settings: _Settings | None = None
    thinking: _Thinking | None = None
    google: _Google | None = None


class _Item(Struct, forbid_unknown_fields=True, rename={"excluded": "not"}):
    """The shape of a question in a file."""

    question: str
    asks: _Text
    group: Group | None = None
    features: list[str] = []
    threads: list[str] = []
    ask: _Ask | None = None
    only: list[Wire] = []
    excluded: list[Wire] = []
    filler: bool = False
    either: list[str] = []
    conflict: str = ""
    turns: Literal[1, 2] = 1
    recordings: list[str] = []
    stored: bool = False
    reason: str = ""
    model: str = MODEL


class QuestionError(ValueError):
    """A question is not written as docs/what-is-asked.md describes. ``path``: the place in it."""

    def __init__(self, path: Steps, fact: str) -> None:
        super().__init__(fact)
        self.path = path


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question."""

    name: str
    asks: str
    """Its subject, as one sentence."""
    prompt: Prompt
    group: Group | None = None
    """Its place among the questions of the package; None for one of a project."""
    model: str = MODEL
    features: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    """The public bugs that it guards, as ``owner/repo#12`` or ``owner/repo@commit``."""
    only: tuple[str, ...] = ()
    """The wires that it is for; empty for all."""
    not_for: tuple[str, ...] = ()
    """The wires that have no place for it."""
    filler: bool = False
    """Whether the adapter may add texts of its own between the messages."""
    either: tuple[str, ...] = ()
    """The values that may be sent or left out. An error raised on purpose is then kept too."""
    conflict: str = ""
    """The rule of the API that the question itself breaks."""
    turns: Literal[1, 2] = 1
    recordings: tuple[str, ...] = ()
    """With two turns: the cassettes whose answers come between them."""
    stored: bool = False
    """Whether the history is saved and loaded before the second request."""
    reason: str = ""
    line: int = 1
    """Its line in the file of a project, from 1."""

    def is_for(self, wire: str) -> bool:
        """Return whether a wire of `Wire` has a place for the question."""
        return wire not in self.not_for and (not self.only or wire in self.only)


@cache
def own_questions() -> tuple[Question, ...]:
    """Return the questions of the package, in their order."""
    text = files(__package__).joinpath("questions.yaml").read_text(encoding="utf-8")
    document = yaml.load(text, Loader=yaml.CSafeLoader)
    return tuple(read_question(item) for item in document["questions"])


def faults_of(items: Sequence[Any]) -> list[Fault]:
    """Return the first fault of each question of a file, and of each name that is taken."""
    taken = {question.name: "the package" for question in own_questions()}
    faults: list[Fault] = []
    for index, item in enumerate(items):
        try:
            question = read_question(item)
        except QuestionError as error:
            faults.append(((index, *error.path), str(error)))
            continue
        if owner := taken.get(question.name):
            fact = f"{question.name} is the name of a question of {owner}; use another name"
            faults.append(((index, "question"), fact))
        if question.group:
            faults.append(((index, "group"), "group is only for the questions of the package"))
        taken[question.name] = "this file"
    return faults


def read_question(item: Any) -> Question:
    """Return the question of an item of a file. Raises `QuestionError`."""
    try:
        shape = msgspec.convert(item, _Item)
    except msgspec.ValidationError as error:
        raise QuestionError(*msgspec_fault(error, _Item, "the question")) from None
    if not _NAME.fullmatch(shape.question):
        words = f"lower-case words joined by '-', not {show(shape.question)}"
        raise QuestionError(("question",), f"question must be {words}")
    if (shape.turns == 2) != bool(shape.recordings):
        fact = "a question with turns: 2, and no other, has recordings"
        raise QuestionError(("turns" if shape.turns == 2 else "recordings",), fact)
    return Question(
        name=shape.question,
        asks=shape.asks,
        prompt=_prompt(item.get("ask") or {}, shape.model),
        group=shape.group,
        model=shape.model,
        features=tuple(shape.features),
        threads=tuple(shape.threads),
        only=tuple(shape.only),
        not_for=tuple(shape.excluded),
        filler=shape.filler,
        either=tuple(shape.either),
        conflict=shape.conflict,
        turns=shape.turns,
        recordings=tuple(shape.recordings),
        stored=shape.stored,
        reason=shape.reason,
    )


# The functions below read data of the shape of `_Ask`.


def _fail(at: str, fact: str) -> QuestionError:
    return QuestionError(tuple(readable_steps(f"ask.{at}")), f"ask.{at} {fact}")


def _prompt(ask: Mapping[str, Any], model: str) -> Prompt:
    thinking = ask.get("thinking")
    return Prompt(
        messages=tuple(
            _message(item, f"messages[{at}]") for at, item in enumerate(ask.get("messages", []))
        ),
        instructions=tuple(
            Instruction((Text(text, place=f"system[{at}]"),), place=f"system[{at}]")
            for at, text in enumerate(ask.get("system", []))
        ),
        model=model,
        tools=tuple(_tool(tool, f"tools[{at}]") for at, tool in enumerate(ask.get("tools", []))),
        choice=_choice(ask.get("choice")),
        format=_format(ask.get("output")),
        settings=ask.get("settings") or {},
        reasoning=Reasoning(**thinking) if thinking else None,
        google=ask.get("google") or {},
    )


def _choice(given: Any) -> Choice | None:
    if isinstance(given, Mapping):
        return Choice("named", given["name"])
    return Choice(given) if given else None


def _format(given: Any) -> AnswerFormat | None:
    if isinstance(given, Mapping):
        return AnswerFormat(Schema(given["schema"], "output.schema"), given["name"])
    return AnswerFormat() if given else None


def _tool(tool: Mapping[str, Any], place: str) -> Function | ServerTool:
    if len({"name", "provider"} & {*tool}) != 1:
        raise _fail(place, "must have a name, or be {provider: KIND}")
    if kind := tool.get("provider"):
        return ServerTool({}, "", place, f"the tool {kind} of the provider", kind)
    schema = tool.get("schema")
    return Function(
        tool["name"],
        tool.get("description"),
        None if schema is None else Schema(schema, f"{place}.schema"),
        tool.get("strict"),
        place,
    )


def _message(item: Mapping[str, Any], place: str) -> Message:
    if len(item) != 1:
        raise _fail(place, "must have one of user, model, results and system")
    [(role, given)] = item.items()
    if role == "system":
        return Message("system", (Text(given, place=place),), place=place)
    read = _result if role == "results" else _part
    parts = tuple(read(part, f"{place}.{role}[{at}]") for at, part in enumerate(given))
    return Message(_ROLES[role], parts, place=place)


def _part(part: Any, place: str) -> AnyPart:
    match part:
        case str():
            return Text(part, place=place)
        case {"call": call} if len(part) == 1:
            signature = call.get("signature")
            opaque = Opaque(signature) if signature else None
            return Call(
                call["id"],
                call["name"],
                call["arguments"],
                call["id"],
                signature=opaque,
                place=place,
            )
        case {"thought": text} if {*part} <= {"thought", "signature", "maker"}:
            signature, maker = part.get("signature"), part.get("maker")
            origin = Maker(maker) if maker else None
            return Thinking(
                text, signature=Opaque(signature, origin) if signature else None, place=place
            )
        case dict() if len(part) == 1 and next(iter(part)) in _MEDIA:
            [(kind, medium)] = part.items()
            return _medium(kind, medium, place)
    raise _fail(place, "must be a text, a call, a thought or a medium")


def _medium(kind: str, given: Mapping[str, Any], place: str) -> Media:
    data, url = None, given.get("url")
    if "data" in given:
        try:
            data = named_medium(given["data"])
        except ValueError as error:
            raise _fail(f"{place}.{kind}.data", f"is unknown: {error}") from None
    elif not str(url).startswith((WEB, FILE, "gs://")):
        raise _fail(f"{place}.{kind}", f"must have data, or a url with {WEB}, {FILE} or gs://")
    media_type = given.get("type")
    return Media(
        media_kind(kind, media_type),
        media_type,
        data,
        url,
        given.get("name"),
        given.get("detail"),
        given.get("start"),
        given.get("end"),
        given.get("fps"),
        place=place,
    )


def _result(result: Mapping[str, Any], place: str) -> Result:
    given = result.get("parts")
    read = [_part(part, f"{place}.parts[{at}]") for at, part in enumerate(given or ())]
    parts = tuple(part for part in read if isinstance(part, Text | Media))
    if len(parts) < len(read):
        raise _fail(f"{place}.parts", "must be texts and media")
    return Result(
        result["call"],
        result["name"],
        result.get("value"),
        None if given is None else parts,
        result["call"],
        result.get("failed", False),
        place=place,
    )
