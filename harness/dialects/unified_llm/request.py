"""Translates a unified-llm Request into the body of a Gemini request, and makes the Request that
follows an answer.

`harness.dialects.unified_llm.messages` reads the messages; here each other field has a function. A
field without a counterpart in Gemini's API is left out with a warning. A wrong field is a
`TranslationError` with its place. The older form of a request (``system``, ``input_schema``) is
read too.

Sources: https://github.com/strongdm/attractor/blob/main/unified-llm-spec.md (Request, Tool,
ToolChoice, ResponseFormat), https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from harness.stream.generation import (
    GenerateRequest,
    ToolOutcome,
    TranslationError,
    outcomes_of,
)
from harness.stream.json_codec import decode_json
from harness.stream.session import Session

from ..dialect import Payload, RequestTranslator
from ..fields import Fields, shown
from ..gemini_schema import to_gemini_schema
from .messages import Conversation

PROVIDER: Final = "gemini"
"""The name of Gemini in the unified specification: in ``provider``, before a model's name, and in
``provider_options``.
"""

STORING: Final = "interactions"
"""The name in ``provider_options`` of the wire that can store answers."""

MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY", "named": "ANY"}
"""Tool choice → mode of function calling."""
EFFORTS: Final = {"low": 1024, "medium": 4096, "high": 16384}
"""Reasoning effort → tokens, for models before Gemini 3; later models accept the word as their
level.
"""
SETTINGS: Final[dict[str, tuple[str, tuple[type, ...]]]] = {
    "temperature": ("temperature", (float,)),
    "top_p": ("topP", (float,)),
    "max_tokens": ("maxOutputTokens", (int,)),
    "stop_sequences": ("stopSequences", (list,)),
}
"""Field of a Request → field of ``generationConfig``."""
FORMATS: Final = ("text", "json", "json_schema")
GENERATION_FIELDS: Final = frozenset({
    "temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty",
    "responseLogprobs", "logprobs", "candidateCount", "maxOutputTokens", "stopSequences",
    "thinkingConfig", "enableEnhancedCivicAnswers", "responseMimeType", "responseSchema",
    "responseJsonSchema", "responseFormat", "responseModalities", "mediaResolution",
    "speechConfig", "imageConfig", "audioTranscriptionConfig", "translationConfig",
})  # fmt: skip
"""Options that go into ``generationConfig``, also if ``provider_options`` has them outside it."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")
_GENERATION: Final = re.compile(r"gemini-([0-9]+)")
_SNAKE: Final = re.compile(r"_([a-z])")


def translate(
    prompt: Any, options: Mapping[str, Any], session: Session, as_given: bool = False
) -> GenerateRequest:
    """The request that a unified-llm Request asks for; see
    `harness.dialects.dialect.RequestTranslator`.
    """
    if options:
        raise TranslationError("options", "unified-llm has none; put them into the Request")
    request = Fields(prompt, "")
    model = read_model(request)
    conversation = Conversation(session, as_given)
    system = request.get("system", str)
    if system is not None:
        conversation.instruction.append({"text": system})
    conversation.read(request.need("messages", list))
    if not conversation.contents:
        request.fail("messages", "none of them has content that can be sent to Gemini")
    warnings = conversation.warnings
    body: dict[str, Any] = {"contents": conversation.contents}
    if conversation.instruction:
        body["systemInstruction"] = {"parts": conversation.instruction}
    declarations = _declarations(request, warnings, as_given)
    if declarations:
        body["tools"] = [{"functionDeclarations": declarations}]
    if config := _tool_config(request, [declaration["name"] for declaration in declarations]):
        body["toolConfig"] = config
    if generation := {
        **_settings(request),
        **_thinking(request, None if as_given else model),
        **_format(request, warnings, as_given),
    }:
        body["generationConfig"] = generation
    if request.get("metadata", dict):
        warnings.append("metadata: is left out; Gemini has no place for it")
    others = _merge_options(request, body)
    request.refuse_rest()
    return GenerateRequest(body, model, tuple(warnings), options=others)


def follow_up(
    prompt: Any, payloads: Sequence[Payload], then: Sequence[ToolOutcome] | str
) -> dict[str, Any]:
    """The Request after an answer: the answer's message, then a ``tool`` message for each outcome,
    or the user's next text.

    An answer that ended in an error has no message. If the user writes a text instead of giving
    results, each call has the outcome `NOT_RUN`. If the prompt asks to store its interactions, the
    next request continues from the id of the answer. Raises `TranslationError` unless there is one
    outcome for each call.
    """
    responses = [payload["response"] for payload in payloads if payload.get("type") == "FINISH"]
    answers = [response["message"] for response in responses]
    messages = [*prompt["messages"], *answers]
    if responses:
        prompt = _continue(prompt, responses[-1])
    calls = [
        part["tool_call"]["id"]
        for answer in answers
        for part in answer["content"]
        if part["kind"] == "tool_call"
    ]
    results = [
        tool_result(call_id, outcome.result, outcome.failed)
        for call_id, outcome in zip(calls, outcomes_of(len(calls), then), strict=True)
    ]
    message = {"role": "user", "content": [{"kind": "text", "text": then}]}
    user_turn = [message] if isinstance(then, str) else []
    return {**prompt, "messages": [*messages, *results, *user_turn]}


def _continue(prompt: Mapping[str, Any], response: Payload) -> Mapping[str, Any]:
    """The prompt with the id of the answer that it continues, if answers are stored."""
    options = prompt.get("provider_options") or {}
    storing = options.get(STORING)
    if not isinstance(storing, Mapping) or storing.get("store") is not True:
        return prompt
    storing = {**storing, "previous_interaction_id": response["id"]}
    return {**prompt, "provider_options": {**options, STORING: storing}}


def tool_result(call_id: str, content: Any, is_error: bool = False) -> dict[str, Any]:
    """The ``tool`` message for one outcome."""
    result = {
        "tool_call_id": call_id,
        "content": content,
        **({"is_error": True} if is_error else {}),
    }
    return {
        "role": "tool",
        "content": [{"kind": "tool_result", "tool_result": result}],
        "tool_call_id": call_id,
    }


def read_model(request: Fields) -> str | None:
    """The model to ask, without ``gemini:`` before it; None if none is named."""
    provider, model = request.get("provider", str), request.get("model", str)
    if model is not None and ":" in model:
        prefix, _, model = model.partition(":")
        if not prefix or not model:
            request.fail(
                "model",
                f"{prefix + ':' + model!r} has an empty {'name' if prefix else 'provider'}; write"
                f" {PROVIDER}:NAME",
            )
        if prefix != PROVIDER:
            request.fail(
                "model", f"{prefix}:{model} is a model of another provider; this is {PROVIDER}"
            )
    if provider not in (None, PROVIDER):
        request.fail("provider", f"{shown(provider)} is another provider; this is {PROVIDER}")
    return model or None


# -------------------------------------------------------------------- tools


def _declarations(request: Fields, warnings: list[str], as_given: bool) -> list[dict[str, Any]]:
    tools = request.items("tools")
    declarations = [_declaration(tool, warnings, as_given) for tool in tools]
    names = [declaration["name"] for declaration in declarations]
    for tool, name in zip(tools, names, strict=True):
        if names.count(name) > 1:
            tool.fail("name", f"{name!r} is the name of two tools")
    return declarations


def _declaration(tool: Fields, warnings: list[str], as_given: bool) -> dict[str, Any]:
    name, description = tool.need("name", str), tool.get("description", str)
    if not _NAME.fullmatch(name):
        tool.fail(
            "name",
            f"{shown(name)} is not a valid name of a function: expected a letter or _, then up to"
            " 127 of A-Z a-z 0-9 _ . : -",
        )
    tool.get("execute")  # the application's own function
    key = tool.either("parameters", "input_schema")
    schema = tool.get(key, dict, str, bytes)
    if isinstance(schema, str | bytes):
        schema = _decode(tool, key, schema)
    tool.refuse_rest()
    declaration = {
        "name": name,
        **({"description": description} if description is not None else {}),
    }
    if schema is not None and as_given:
        declaration["parametersJsonSchema"] = schema
    elif schema is not None:
        declaration["parameters"], unsaid = to_gemini_schema(schema, place=tool.at(key))
        warnings += unsaid
    return declaration


def _decode(tool: Fields, key: str, text: str | bytes) -> dict[str, Any]:
    """A schema that is given as JSON text."""
    try:
        schema = decode_json(
            text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        )
    except ValueError as error:
        tool.fail(key, f"is not JSON: {error}")
    if not isinstance(schema, dict):
        tool.fail(key, f"must be an object, not {shown(schema)}")
    return schema


def _tool_config(request: Fields, names: list[str]) -> dict[str, Any]:
    choice = request.get("tool_choice", str, dict)
    if choice is None:
        return {}
    form = Fields({"mode": choice} if isinstance(choice, str) else choice, "tool_choice")
    mode, name = form.choose("mode", MODES), form.get("tool_name", str)
    form.refuse_rest()
    if (mode == "named") != (name is not None):
        form.fail(
            "tool_name",
            "is missing"
            if name is None
            else f"is not allowed with the mode {mode}, only with the mode named",
        )
    if name is not None and name not in names:
        form.fail(
            "tool_name", f"{name!r} is not one of the tools: {', '.join(names) or 'there are none'}"
        )
    if not names and mode == "required":
        request.fail("tool_choice", "requires a call, but there are no tools")
    if not names:
        return {}
    return {
        "functionCallingConfig": {
            "mode": MODES[mode],
            **({"allowedFunctionNames": [name]} if name else {}),
        }
    }


# -------------------------------------------------------------------- generation


def _settings(request: Fields) -> dict[str, Any]:
    taken = {wire: request.get(key, *types) for key, (wire, types) in SETTINGS.items()}
    stops, limit = taken["stopSequences"], taken["maxOutputTokens"]
    if stops is not None and not all(isinstance(stop, str) for stop in stops):
        request.fail("stop_sequences", "is not a list of strings")
    if limit is not None and limit < 1:
        request.fail("max_tokens", f"{limit} leaves no room for an answer")
    return {wire: value for wire, value in taken.items() if value is not None}


def _thinking(request: Fields, model: str | None) -> dict[str, Any]:
    effort = request.may_choose("reasoning_effort", EFFORTS)
    if effort is None:
        return {}
    generation = _GENERATION.search(model or "")
    if generation and int(generation[1]) < 3:
        return {"thinkingConfig": {"thinkingBudget": EFFORTS[effort]}}
    return {"thinkingConfig": {"thinkingLevel": effort.upper()}}


def _format(request: Fields, warnings: list[str], as_given: bool) -> dict[str, Any]:
    wanted = request.get("response_format", dict)
    if wanted is None:
        return {}
    form = Fields(wanted, "response_format")
    kind, schema = form.choose("type", FORMATS), form.get("json_schema", dict)
    form.get("strict", bool)  # Gemini always keeps to a schema
    form.refuse_rest()
    if (kind == "json_schema") != (schema is not None):
        form.fail(
            "json_schema",
            (
                "is missing"
                if schema is None
                else f"is not allowed with the type {kind}, only with json_schema"
            ),
        )
    if kind == "text":
        return {}
    if schema is None:
        return {"responseMimeType": "application/json"}
    if as_given:
        return {"responseMimeType": "application/json", "responseJsonSchema": schema}
    written, unsaid = to_gemini_schema(schema, place=form.at("json_schema"))
    warnings += unsaid
    return {"responseMimeType": "application/json", "responseSchema": written}


# -------------------------------------------------------------------- provider options


def _merge_options(request: Fields, body: dict[str, Any]) -> dict[str, Any]:
    """Merge ``provider_options.gemini`` into the body: objects are merged, tools are added, any
    other value replaces ours. Field names may be camelCase or snake_case.

    Returns the options of other names. Some are for the body of one of Gemini's other wires; the
    rest is ignored.
    """
    options = request.get("provider_options", dict)
    if options is None:
        return {}
    own = Fields(
        _camel(Fields(options, "provider_options").get(PROVIDER, dict) or {}),
        f"provider_options.{PROVIDER}",
    )
    tools, generation = own.get("tools", list), own.get("generationConfig", dict)
    if tools is not None:
        if not all(isinstance(tool, dict) for tool in tools):
            own.fail("tools", "is not a list of objects")
        body["tools"] = [*body.get("tools", []), *tools]
    rest = own.rest()
    fields = {
        **_camel(generation or {}),
        **{key: rest.pop(key) for key in GENERATION_FIELDS & rest.keys()},
    }
    _join(body, {**rest, **({"generationConfig": fields} if fields else {})})
    return {name: value for name, value in options.items() if name != PROVIDER}


def _camel(value: Any) -> Any:
    """An object with its top keys in camelCase; any other value unchanged."""
    if not isinstance(value, Mapping):
        return value
    return {
        _SNAKE.sub(lambda match: match[1].upper(), str(key)): inner for key, inner in value.items()
    }


def _join(body: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(body.get(key), dict) and isinstance(value, Mapping):
            body[key] = dict(body[key])
            _join(body[key], _camel(value))
        else:
            body[key] = value


REQUEST: Final = RequestTranslator(
    translate,
    follow_up,
    opening_prompt={
        "model": "gemini-x",
        "messages": [{"role": "user", "content": [{"kind": "text", "text": "Hello"}]}],
    },
    sent_back=frozenset({"call", "text", "thought", "other"}),
    as_given=partial(translate, as_given=True),
)
