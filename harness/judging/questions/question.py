"""Questions to adapters: what an application asks for, in neutral words, and its reader.

A question is a `Prompt` with the rules for comparing it. The request that an adapter sends is read,
and each value of the prompt must be at its place, once. The questions of the package are in
``questions.yaml``; the page docs/what-is-asked.md describes their words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, get_args

import yaml

from harness.stream.prompt import (
    SETTINGS,
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
WIRES: Final = (
    *("gemini-api", "vertex-ai", "code-assist", "interactions", "openai-compat"),
    *("messages", "responses", "chat"),
)
"""The words of ``only`` and ``not``: a provider of Gemini, or an API of another vendor."""
_ROLES: Final[Mapping[str, Role]] = {"user": "user", "model": "assistant", "results": "user"}
_MEDIA: Final = ("image", "audio", "video", "file")
_KEYS: Final = frozenset({
    "question", "group", "asks", "features", "threads", "ask", "only", "not", "filler", "either",
    "conflict", "turns", "recordings", "stored", "reason", "model",
})  # fmt: skip


class QuestionError(ValueError):
    """A question is not written as docs/what-is-asked.md describes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question."""

    name: str
    group: Group
    asks: str
    """Its subject, as one sentence."""
    prompt: Prompt
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

    def is_for(self, wire: str) -> bool:
        """Return whether a wire of `WIRES` has a place for the question."""
        return wire not in self.not_for and (not self.only or wire in self.only)


@cache
def own_questions() -> tuple[Question, ...]:
    """Return the questions of the package, in their order."""
    text = files(__package__).joinpath("questions.yaml").read_text(encoding="utf-8")
    return read_questions(yaml.load(text, Loader=yaml.CSafeLoader), "questions.yaml")


def read_questions(document: Any, place: str) -> tuple[Question, ...]:
    """Return the questions of a parsed document. Raises `QuestionError` with the place."""
    if not isinstance(document, Mapping) or not isinstance(document.get("questions"), list):
        raise QuestionError(f"{place}: expected the key questions, with a list")
    questions = tuple(
        _question(item, f"{place}: question {number}")
        for number, item in enumerate(document["questions"], 1)
    )
    names = [question.name for question in questions]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise QuestionError(f"{place}: {min(repeated)} is the name of two questions")
    return questions


def _question(item: Any, place: str) -> Question:
    if not isinstance(item, Mapping) or not isinstance(item.get("question"), str):
        raise QuestionError(f"{place}: expected a mapping with the key question, its name")
    place = f"{place} ({item['question']})"
    if unknown := sorted(set(item) - _KEYS):
        raise QuestionError(
            f"{place}: unknown key {unknown[0]!r}; known keys are {', '.join(sorted(_KEYS))}"
        )
    if item.get("group") not in get_args(Group):
        raise QuestionError(f"{place}: group is one of {', '.join(get_args(Group))}")
    model = str(item.get("model") or MODEL)
    wires = {name: _texts(item, name, place) for name in ("only", "not")}
    for name, wire in ((name, wire) for name, given in wires.items() for wire in given):
        if wire not in WIRES:
            raise QuestionError(f"{place}: {name} has {wire!r}; known wires are {', '.join(WIRES)}")
    turns = item.get("turns", 1)
    if turns not in (1, 2):
        raise QuestionError(f"{place}: turns is 1 or 2")
    return Question(
        name=item["question"],
        group=item["group"],
        asks=str(item.get("asks") or ""),
        prompt=_Reader(place).prompt(item.get("ask", {}), model),
        model=model,
        features=_texts(item, "features", place),
        threads=_texts(item, "threads", place),
        only=wires["only"],
        not_for=wires["not"],
        filler=bool(item.get("filler")),
        either=_texts(item, "either", place),
        conflict=str(item.get("conflict") or ""),
        turns=turns,
        recordings=_texts(item, "recordings", place),
        stored=bool(item.get("stored")),
        reason=str(item.get("reason") or ""),
    )


def _texts(item: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = item.get(key, [])
    if not isinstance(value, list):
        raise QuestionError(f"{place}: {key} is not a list")
    return tuple(map(str, value))


class _Reader:
    """Reads the neutral prompt of one question."""

    def __init__(self, place: str) -> None:
        self._place = place

    def _fail(self, at: str, fact: str) -> QuestionError:
        return QuestionError(f"{self._place}: ask.{at}: {fact}")

    def prompt(self, ask: Any, model: str) -> Prompt:
        known = ("system", "messages", "tools", "choice", "output", "settings", "thinking")
        if not isinstance(ask, Mapping):
            raise self._fail("", "expected a mapping")
        if unknown := sorted(set(ask) - {*known, "google"}):
            raise self._fail(
                unknown[0], f"is unknown; known keys are {', '.join((*known, 'google'))}"
            )
        settings = self._mapping(ask, "settings")
        if wrong := sorted(set(settings) - {*SETTINGS}):
            raise self._fail(f"settings.{wrong[0]}", f"expected one of {', '.join(SETTINGS)}")
        return Prompt(
            messages=self._messages(ask.get("messages", [])),
            instructions=tuple(
                Instruction((Text(str(text), place=f"system[{at}]"),), place=f"system[{at}]")
                for at, text in enumerate(ask.get("system", []))
            ),
            model=model,
            tools=tuple(
                self._tool(tool, f"tools[{at}]") for at, tool in enumerate(ask.get("tools", []))
            ),
            choice=self._choice(ask.get("choice")),
            format=self._format(ask.get("output")),
            settings=settings,
            reasoning=self._reasoning(ask),
            google=self._mapping(ask, "google"),
        )

    def _mapping(self, ask: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        value = ask.get(key, {})
        if not isinstance(value, Mapping):
            raise self._fail(key, "expected a mapping")
        return value

    def _reasoning(self, ask: Mapping[str, Any]) -> Reasoning | None:
        given = self._mapping(ask, "thinking")
        if wrong := sorted(set(given) - {"effort", "budget", "mode", "shown"}):
            raise self._fail(f"thinking.{wrong[0]}", "expected effort, budget, mode or shown")
        return Reasoning(**given) if given else None

    def _choice(self, given: Any) -> Choice | None:
        match given:
            case None:
                return None
            case "auto" | "none" | "required":
                return Choice(given)
            case {"name": str(name)}:
                return Choice("named", name)
        raise self._fail("choice", "expected auto, none, required or {name: NAME}")

    def _format(self, given: Any) -> AnswerFormat | None:
        match given:
            case None:
                return None
            case "json":
                return AnswerFormat()
            case {"name": str(name), "schema": dict(schema)}:
                return AnswerFormat(Schema(schema, "output.schema"), name)
        raise self._fail("output", "expected json, or a name and a schema")

    def _tool(self, tool: Any, place: str) -> Function | ServerTool:
        match tool:
            case {"provider": str(kind)}:
                words = f"the tool {kind} of the provider"
                return ServerTool({}, "", place, words, kind)
            case {"name": str(name)}:
                schema = tool.get("schema")
                return Function(
                    name,
                    tool.get("description"),
                    None if schema is None else Schema(schema, f"{place}.schema"),
                    tool.get("strict"),
                    place,
                )
        raise self._fail(place, "expected a name, or {provider: KIND}")

    def _messages(self, given: Any) -> tuple[Message, ...]:
        if not isinstance(given, list):
            raise self._fail("messages", "expected a list")
        messages: list[Message] = []
        for at, item in enumerate(given):
            place = f"messages[{at}]"
            match item:
                case {"system": str(text)}:
                    messages.append(Message("system", (Text(text, place=place),), place=place))
                case {"user": list(parts)} | {"model": list(parts)} | {"results": list(parts)}:
                    [(role, _)] = item.items()
                    read = tuple(
                        self._result(part, f"{place}[{number}]")
                        if role == "results"
                        else self._part(part, f"{place}[{number}]")
                        for number, part in enumerate(parts)
                    )
                    messages.append(Message(_ROLES[role], read, place=place))
                case _:
                    raise self._fail(place, "expected user, model, results or system")
        return tuple(messages)

    def _part(self, part: Any, place: str) -> AnyPart:
        match part:
            case str():
                return Text(part, place=place)
            case {"call": {"id": str(call_id), "name": str(name), "arguments": dict(arguments)}}:
                signature = part["call"].get("signature")
                return Call(
                    call_id,
                    name,
                    arguments,
                    call_id,
                    signature=Opaque(signature) if signature else None,
                    place=place,
                )
            case {"thought": str(text)}:
                signature, maker = part.get("signature"), part.get("maker")
                origin = Maker(maker) if maker else None
                opaque = Opaque(signature, origin) if signature else None
                return Thinking(text, signature=opaque, place=place)
            case dict() if len(part) == 1 and next(iter(part)) in _MEDIA:
                [(kind, medium)] = part.items()
                return self._medium(kind, medium, place)
        raise self._fail(place, "expected a text, a call, a thought or a medium")

    def _medium(self, kind: str, given: Mapping[str, Any], place: str) -> Media:
        media_type, name = given.get("type"), given.get("data")
        url = given.get("url")
        data = None
        if name is not None:
            data = named_medium(str(name))
        elif not str(url).startswith((WEB, FILE, "gs://")):
            raise self._fail(place, f"a url begins with {WEB}, {FILE} or gs://")
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

    def _result(self, result: Any, place: str) -> Result:
        match result:
            case {"call": str(call_id), "name": str(name)}:
                parts = result.get("parts")
                return Result(
                    call_id,
                    name,
                    result.get("value"),
                    None if parts is None else self._result_parts(parts, place),
                    call_id,
                    bool(result.get("failed")),
                    place=place,
                )
        raise self._fail(place, "expected the call and the name of a result")

    def _result_parts(self, parts: Sequence[Any], place: str) -> tuple[Text | Media, ...]:
        read = [self._part(part, f"{place}.parts[{at}]") for at, part in enumerate(parts)]
        if wrong := [part for part in read if not isinstance(part, Text | Media)]:
            raise self._fail(wrong[0].place, "expected a text or a medium")
        return tuple(part for part in read if isinstance(part, Text | Media))
