"""Writes the body of ``POST /v1/messages`` from a prompt.

Thinking blocks go back as they came, with their signatures; a thought without a signature can't be
sent. Results stand first in the user message after their calls. Turns of the same role become one
message.

Sources: https://platform.claude.com/docs/en/api/messages and
https://platform.claude.com/docs/en/build-with-claude/extended-thinking.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from harness.stream.generation import TranslationError
from harness.stream.prompt import (
    AnswerFormat,
    AnyPart,
    Call,
    Choice,
    Function,
    Instruction,
    Media,
    Message,
    Native,
    Prompt,
    Reasoning,
    Redacted,
    Result,
    ServerTool,
    Text,
    Thinking,
)
from harness.stream.session import Session

from ..body_options import with_options
from .messages import NAME

_WIRE: Final = "the Messages API"
MAX_TOKENS: Final = 4096
"""The limit of an answer for a prompt without one: the wire requires a limit."""
ROLES: Final = {"user": "user", "assistant": "assistant", "system": "user"}
SETTINGS: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_tokens",
    "stop": "stop_sequences",
}
"""Setting of a prompt → field of the body."""
CHOICES: Final = {"auto": "auto", "required": "any", "none": "none", "named": "tool"}
"""Mode of a choice → ``tool_choice.type``."""
IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""The media types of images that the wire takes as data."""
LEAST_BUDGET: Final = 1024
IN_BODY: Final = "anthropic_version"
"""The field with the version of the API, which Anthropic itself has in a header
(https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai).
"""
MOST_MARKS: Final = 4
"""The most cache marks of a request."""

_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ODD_IN_ID: Final = re.compile(r"[^A-Za-z0-9_-]")
_Block = dict[str, Any]


def write_message(prompt: Prompt, session: Session) -> tuple[dict[str, Any], list[str]]:
    """Return the body of a Messages request; see `harness.providers.provider.Provider.write`.
    Raises `TranslationError` for a prompt that the API refuses with the status 400.

    A body with the field `IN_BODY` is one for Claude on Vertex AI: the URL names the model.
    """
    writer = _Writer(prompt)
    body: dict[str, Any] = {}
    if prompt.model:
        body["model"] = prompt.model
    body["max_tokens"] = MAX_TOKENS
    body |= writer.settings()
    if system := _system(prompt.instructions):
        body["system"] = system
    body["messages"] = writer.messages()
    if tools := [_tool(tool) for tool in prompt.tools]:
        body["tools"] = tools
    body |= _choice(prompt.choice)
    body |= writer.thinking(body["max_tokens"])
    if output := writer.output():
        body["output_config"] = output
    body |= writer.metadata()
    if prompt.streamed or session.context.get("stream"):
        body["stream"] = True
    if prompt.home == NAME:
        for path, value in prompt.more.items():
            if "[" in path:
                writer.warnings.append(f"{path}: is left out; it is not carried")
            else:
                _put(body, path.split("."), value)
        writer.warnings += [f"{place}: is left out; it is not carried" for place in prompt.unread]
    body = with_options(body, prompt, NAME)
    if IN_BODY in body:
        body.pop("model", None)
    elif not prompt.model:
        writer.warnings.insert(0, f"model: is missing; {_WIRE} needs one")
    _refuse(body, prompt)
    return body, writer.warnings


def _put(holder: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for key in path[:-1]:
        holder = holder.setdefault(key, {})
    holder[path[-1]] = value


class _Writer:
    """One request while it is written, with the warnings so far."""

    def __init__(self, prompt: Prompt) -> None:
        self.warnings: list[str] = []
        self._prompt = prompt
        self._ids: dict[str, str] = {}

    # ---------------------------------------------------------------- messages

    def messages(self) -> list[dict[str, Any]]:
        """Return the messages; turns of the same role are joined."""
        written: list[dict[str, Any]] = []
        for message in self._prompt.messages:
            content = [block for part in message.parts for block in self._blocks(part)]
            role = ROLES[message.role]
            if not content:
                self._leave(message.place or "messages", "it has no content")
            elif written and written[-1]["role"] == role:
                written[-1]["content"] += content
            else:
                written.append({"role": role, "content": content})
        for turn in written:
            match turn["content"]:
                case [{"type": "text", "text": text, **others}] if not others:
                    turn["content"] = text
        return written

    def _blocks(self, part: AnyPart) -> Iterator[_Block]:
        """Yield the blocks of one part, with the fields that only this wire has."""
        block = self._block(part)
        if block is not None:
            more = part.more if self._prompt.home == NAME else {}
            mark = {"cache_control": dict(part.cache)} if part.cache else {}
            yield {**block, **mark, **more}
        if part.signature and not isinstance(part, Thinking):
            yield from self._signature(part, part.signature.value)

    def _signature(self, part: AnyPart, signature: str) -> Iterator[_Block]:
        """Yield the signature of a text, which an application of this wire has in an empty thinking
        block after it.
        """
        if self._prompt.home == NAME and isinstance(part, Text):
            yield {"type": "thinking", "thinking": "", "signature": signature}
        else:
            self._leave(part.place, f"{_WIRE} signs only thinking", "a signature")

    def _block(self, part: AnyPart) -> _Block | None:
        match part:
            case Text(text=""):
                return None
            case Text(text=text):
                return {"type": "text", "text": text}
            case Thinking(text=text, signature=None):
                if text:
                    self._leave(part.place, f"{_WIRE} takes only signed thoughts", "a thought")
                return None
            case Thinking(text=text, signature=signature):
                assert signature is not None
                return {"type": "thinking", "thinking": text, "signature": signature.value}
            case Redacted(data=data):
                return {"type": "redacted_thinking", "data": data.value}
            case Call():
                return self._call(part)
            case Result():
                return self._result(part)
            case Media():
                return self._media(part)
            case Native(raw={"type": str()} as raw):  # a block, which is sent back unchanged
                return dict(raw)
            case Native():
                self._leave(part.place, f"{_WIRE} has no such block", "a part of an answer")
        return None

    def _call(self, call: Call) -> _Block:
        arguments = call.arguments
        if not isinstance(arguments, Mapping):
            self._leave(
                f"{call.place}.{call.key}", f"they are not a JSON object, which {_WIRE} needs"
            )
            arguments = {}
        name = call.name
        if not _TOOL_NAME.fullmatch(name):
            raise _bad_name(f"{call.place}.name", name)
        return {
            "type": "tool_use",
            "id": self._id(call.any_id),
            "name": name,
            "input": dict(arguments),
        }

    def _id(self, call_id: str) -> str:
        """Return the id in the characters of this wire; the ids of two calls stay different."""
        if call_id not in self._ids:
            clean, number = _ODD_IN_ID.sub("_", call_id), 2
            fresh = clean
            while fresh in self._ids.values():
                fresh, number = f"{clean}_{number}", number + 1
            self._ids[call_id] = fresh
        return self._ids[call_id]

    def _result(self, result: Result) -> _Block:
        content: Any = None if result.value is None else _written(result.value)
        if result.parts:
            before = [] if content is None else [{"type": "text", "text": content}]
            content = [*before, *(block for part in result.parts for block in self._blocks(part))]
        return {
            "type": "tool_result",
            "tool_use_id": self._id(result.any_id),
            **({} if content in (None, []) else {"content": content}),
            **({"is_error": True} if result.failed else {}),
        }

    def _media(self, media: Media) -> _Block | None:
        kind, media_type = media.kind, media.media_type or ""
        if kind in ("audio", "video"):
            self._leave(media.place, f"{_WIRE} takes no {kind}")
            return None
        title = {"title": media.name} if media.name and kind == "document" else {}
        if media.data is None:
            return {"type": kind, "source": {"type": "url", "url": media.url}, **title}
        if media_type == "text/plain" and (text := _text_of(media.data)) is not None:
            source = {"type": "text", "media_type": media_type, "data": text}
            return {"type": kind, "source": source, **title}
        if media_type not in (IMAGES if kind == "image" else {"application/pdf"}):
            self._leave(media.place, f"{_WIRE} takes no {media_type or 'data without a type'}")
            return None
        source = {"type": "base64", "media_type": media_type, "data": media.data}
        return {"type": kind, "source": source, **title}

    def _leave(self, place: str, why: str, what: str = "") -> None:
        subject = f"{what} is left out" if what else "is left out"
        self.warnings.append(f"{place}: {subject}; {why}")

    # ---------------------------------------------------------------- settings

    def settings(self) -> dict[str, Any]:
        """Return the sampling settings."""
        fields = {}
        for name, value in self._prompt.settings.items():
            if name in SETTINGS:
                fields[SETTINGS[name]] = value
            else:
                self._leave(name, f"{_WIRE} has no field for it")
        for name in self._prompt.google:
            self._leave(f"google.{name}", f"{_WIRE} has no field for it")
        return fields

    def thinking(self, limit: Any) -> dict[str, Any]:
        """Return the field ``thinking``. A number of tokens is checked as the API does."""
        reasoning = self._prompt.reasoning
        if reasoning is None or reasoning.mode == "off":
            return {"thinking": {"type": "disabled"}} if reasoning else {}
        budget = reasoning.budget
        if reasoning.mode is None and budget is None and not reasoning.shown:
            return {}
        shown = {"display": "omitted"} if reasoning.shown is False else {}
        if reasoning.mode == "adaptive" or budget is None:
            return {"thinking": {"type": "adaptive", **shown}}
        return {"thinking": {"type": "enabled", "budget_tokens": budget, **shown}}

    def output(self) -> dict[str, Any]:
        """Return the field ``output_config``: the effort, and the schema of a structured answer."""
        return {**_effort(self._prompt.reasoning), **self._format(self._prompt.format)}

    def _format(self, wanted: AnswerFormat | None) -> dict[str, Any]:
        if wanted is None:
            return {}
        if wanted.schema is None:
            self._leave("response_format", f"{_WIRE} has structured answers only with a schema")
            return {}
        return {"format": {"type": "json_schema", "schema": dict(wanted.schema.value)}}

    def metadata(self) -> dict[str, Any]:
        """Return the field ``metadata``, which has only the id of a user."""
        given = self._prompt.metadata
        for name in given:
            if name != "user_id":
                self._leave(f"metadata.{name}", f"{_WIRE} has only user_id")
        return {"metadata": {"user_id": given["user_id"]}} if "user_id" in given else {}


def _effort(reasoning: Reasoning | None) -> dict[str, Any]:
    return {"effort": reasoning.effort} if reasoning and reasoning.effort else {}


def _system(instructions: Sequence[Instruction]) -> str | list[_Block]:
    """Return a text, or blocks if one of them has a cache mark."""
    pieces = [piece for each in instructions for piece in each.pieces if piece.text]
    if any(piece.cache for piece in pieces):
        return [
            {
                "type": "text",
                "text": piece.text,
                **({"cache_control": dict(piece.cache)} if piece.cache else {}),
            }
            for piece in pieces
        ]
    return "\n\n".join(text for each in instructions if (text := each.text))


def _tool(tool: Function | ServerTool) -> _Block:
    if isinstance(tool, ServerTool):
        if tool.vendor != NAME:
            raise TranslationError(tool.place, tool.words)
        return dict(tool.raw)
    if not _TOOL_NAME.fullmatch(tool.name):
        raise _bad_name(f"{tool.place}.name", tool.name)
    schema = {"type": "object", "properties": {}} if tool.schema is None else tool.schema.value
    if schema.get("type") != "object":
        place = tool.schema.place if tool.schema else tool.place
        raise TranslationError(place, f"{_WIRE} needs a schema of the type object")
    return {
        "name": tool.name,
        **({"description": tool.description} if tool.description else {}),
        "input_schema": dict(schema),
        **({} if tool.strict is None else {"strict": tool.strict}),
        **({"cache_control": dict(tool.cache)} if tool.cache else {}),
        **tool.more,
    }


def _bad_name(place: str, name: str) -> TranslationError:
    return TranslationError(
        place, f"{name!r} is refused by {_WIRE}: expected 1 to 128 of A-Z a-z 0-9 _ -"
    )


def _choice(choice: Choice | None) -> dict[str, Any]:
    if choice is None:
        return {}
    named = {"name": choice.name} if choice.mode == "named" else {}
    alone = {"disable_parallel_tool_use": True} if choice.parallel is False else {}
    return {"tool_choice": {"type": CHOICES[choice.mode], **named, **alone}}


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_of(data: str) -> str | None:
    """Return the text in base64 data; None if it is not UTF-8."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


# -------------------------------------------------------------------- refusals


def _refuse(body: Mapping[str, Any], prompt: Prompt) -> None:
    """Raise `TranslationError` for a body that the API answers with the status 400."""
    if not body["messages"]:
        raise TranslationError("messages", f"there is nothing to send; {_WIRE} needs a message")
    temperature, thinking = body.get("temperature"), body.get("thinking") or {}
    if isinstance(temperature, int | float) and not 0 <= temperature <= 1:
        raise TranslationError("temperature", f"{temperature} is refused: expected 0 to 1")
    budget, limit = thinking.get("budget_tokens"), body["max_tokens"]
    if isinstance(budget, int):
        if budget < LEAST_BUDGET:
            raise TranslationError(
                "thinking.budget_tokens", f"{budget} is refused: expected {LEAST_BUDGET} or more"
            )
        if budget >= limit:
            raise TranslationError(
                "thinking.budget_tokens",
                f"{budget} is refused: expected less than max_tokens, which is {limit}",
            )
        choice = (body.get("tool_choice") or {}).get("type")
        if choice in ("any", "tool"):
            raise TranslationError(
                "tool_choice", f"{choice} is refused with thinking: expected auto or none"
            )
    if (marks := sum(_marks(body))) > MOST_MARKS:
        raise TranslationError(
            "cache_control", f"{marks} cache marks are refused: expected at most {MOST_MARKS}"
        )
    for message, after in _neighbours(prompt.messages):
        results = {part.id for part in after.parts if isinstance(part, Result)} if after else set()
        for part in message.parts:
            if isinstance(part, Call) and part.id not in results:
                raise TranslationError(
                    part.place or message.place,
                    f"the call {part.any_id!r} has no result in the next message, and {_WIRE}"
                    " refuses that",
                )


def _neighbours(messages: Sequence[Message]) -> Iterator[tuple[Message, Message | None]]:
    """Yield each message, with the next one of the user, unless an answer comes first."""
    for number, message in enumerate(messages):
        after = messages[number + 1] if number + 1 < len(messages) else None
        while after is not None and after.role == message.role:
            number += 1
            after = messages[number + 1] if number + 1 < len(messages) else None
        yield message, after


def _marks(value: Any) -> Iterator[int]:
    """Yield a 1 for each cache mark in tools, system and messages."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "cache_control" and inner:
                yield 1
            elif key not in ("input", "input_schema"):
                yield from _marks(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _marks(inner)
