"""Writes the rows of `harness/server/refusals/models.tsv` that come from recordings, anew.

    python -m tests.corpus.model_rows DIR…

Each folder has a MANIFEST.jsonl, as for `tests.corpus.walk`. A row of the kind ``recording`` has the
models of an API that answered a request with its field, most requests first, or that refused it
with status 400. The first such recording is its source.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import harness
from harness.providers import detect_provider
from harness.providers.gemini.spelling import in_one_spelling
from harness.server.refusals import RULES, given_by, read_request
from harness.server.refusals.models import TABLE, Row, has_field, read_rows
from harness.server.refusals.rule import GENERATE, Asked
from harness.server.refusals.tools import schema_nodes
from harness.stream.json_codec import decode_object
from harness.stream.prompt import Call, Result, Text, Thinking

from .walk import read_manifest

MOST_MODELS: Final = 6
Feature = Callable[[Asked], bool]


def as_dict(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}


def as_list(value: Any) -> list[Any]:
    return value if type(value) is list else []


_RULES: Final = {rule.name: rule for rule in RULES}


def body_of(request: Asked) -> dict[str, Any]:
    """The body in one spelling, without the envelope of Code Assist."""
    body = in_one_spelling(request.sent)
    return as_dict(body.get("request")) or body


def _in(form: str) -> tuple[str, Feature]:
    return form, lambda request: has_field(request, form)


def _breaks(rule: str) -> Feature:
    return lambda request: any(_RULES[rule].check(request))


def _has(kind: type[Call | Result], name: str) -> Feature:
    """Whether a part of a class has a value."""
    return lambda request: any(
        isinstance(part, kind) and getattr(part, name) for _, part in request.parts
    )


def _schema(form: str, holds: Callable[[dict[str, Any]], bool]) -> Feature:
    """Whether a Schema of functions, or of ``responseJsonSchema``, has something."""

    def has(request: Asked) -> bool:
        body = body_of(request)
        settings = as_dict(body.get("generationConfig"))
        declarations = [
            as_dict(declaration)
            for tool in as_list(body.get("tools"))
            for declaration in as_list(as_dict(tool).get("functionDeclarations"))
        ]
        schemas = [settings, *declarations]
        return any(holds(node) for item in schemas for node in schema_nodes(item.get(form)))

    return has


def _is_object_without_properties(node: dict[str, Any]) -> bool:
    return str(node.get("type")).upper() == "OBJECT" and not node.get("properties")


def _ends_with_model(request: Asked) -> bool:
    return bool(request.contents) and request.contents[-1].role == "model"


def _has_empty_text(request: Asked) -> bool:
    texts = (part for _, part in request.parts if isinstance(part, Text | Thinking))
    return any(not part.text for part in texts)


def _with_flag(request: Asked) -> bool:
    config = as_dict(body_of(request).get("toolConfig"))
    flag = config.get("includeServerSideToolInvocations") is True
    inner = as_dict(request.sent.get("request")) or request.sent
    bare = {name: inner[name] for name in inner if name not in ("toolConfig", "tool_config")}
    sent = {"request": bare} if "request" in request.sent else bare
    return flag and _breaks("built-in-with-functions")(replace(request, sent=sent))


def _has_word_in_lower_case(request: Asked) -> bool:
    config, generation = (
        as_dict(request.sent.get(name, request.sent.get(snake)))
        for name, snake in (
            ("toolConfig", "tool_config"),
            ("generationConfig", "generation_config"),
        )
    )
    words = [
        as_dict(config.get("functionCallingConfig", config.get("function_calling_config"))).get(
            "mode"
        ),
        as_dict(generation.get("thinkingConfig", generation.get("thinking_config"))).get(
            "thinkingLevel"
        ),
    ]
    return any(type(word) is str and word.islower() for word in words)


_PARAMETERS: Final = "tools.functionDeclarations.parameters.**."
_JSON: Final = "tools.functionDeclarations.parametersJsonSchema.**."

ACCEPTED: Final[dict[str, Feature]] = dict(
    [
        _in("thinkingConfig.thinkingBudget=0"),
        _in("thinkingConfig.thinkingBudget>0"),
        _in("presencePenalty, frequencyPenalty"),
        _in("labels"),
        _in("seed=*"),
        _in("temperature=0"),
        ("parameters: required=[]", _schema("parameters", lambda node: node.get("required") == [])),
        (
            "parameters: object without properties",
            _schema("parameters", _is_object_without_properties),
        ),
        (
            "parametersJsonSchema: object without properties",
            _schema("parametersJsonSchema", _is_object_without_properties),
        ),
        (
            "parametersJsonSchema: array without items",
            _schema(
                "parametersJsonSchema",
                lambda node: node.get("type") == "array" and "items" not in node,
            ),
        ),
        _in(f"{_JSON}additionalProperties=*"),
        _in(f"{_JSON}pattern"),
        _in(f"{_JSON}uniqueItems=*, {_JSON}prefixItems"),
        (
            "parametersJsonSchema: list of types",
            _schema("parametersJsonSchema", lambda node: type(node.get("type")) is list),
        ),
        (
            "responseJsonSchema: enum of integers",
            _schema(
                "responseJsonSchema",
                lambda node: any(type(word) is int for word in as_list(node.get("enum"))),
            ),
        ),
        _in("responseJsonSchema.**.oneOf"),
        _in(f"{_PARAMETERS}title"),
        _in(f"{_PARAMETERS}default=*"),
        _in(f"{_PARAMETERS}nullable"),
        ("part with an empty text", _has_empty_text),
        ("history that ends with the model", _ends_with_model),
        _in("toolConfig.functionCallingConfig.mode=VALIDATED"),
        _in("tools.functionDeclarations & responseMimeType=application/json"),
        ("functions beside a tool of the provider, with the flag", _with_flag),
        (
            "functions beside a tool of the provider, without the flag",
            _breaks("built-in-with-functions"),
        ),
        ("contents.parts.functionCall.id", _has(Call, "wire_id")),
        ("contents.parts.functionResponse.parts", _has(Result, "parts")),
        _in("contents.parts.fileData.fileUri=gs:*"),
        _in("contents.parts.fileData.fileUri=https:*!https://generativelanguage.*|*youtu*"),
        _in("responseLogprobs, logprobs"),
        (
            "tools as one object in place of a list",
            lambda request: type(request.sent.get("tools")) is dict,
        ),
        ("words of enums in lower case", _has_word_in_lower_case),
    ]
)


def _answers_as_text(request: Asked) -> bool:
    modalities = as_dict(body_of(request).get("generationConfig")).get("responseModalities")
    return not modalities or modalities == ["TEXT"]


REFUSED: Final[dict[str, tuple[Feature, str]]] = {
    "temperature>2": (_in("temperature>2")[1], "temperature"),
    "responseLogprobs in a stream": (_breaks("logprobs-in-stream"), "streaming mode"),
    "responseLogprobs, logprobs": (_in("responseLogprobs, logprobs")[1], "Logprobs is not enabled"),
    "responseMimeType=application/json": (
        _in("responseMimeType=application/json")[1],
        "JSON mode is not enabled",
    ),
    "responseModalities=TEXT": (_answers_as_text, "response modalities (TEXT) is not supported"),
    "speechConfig, responseModalities=AUDIO": (
        _in("speechConfig, responseModalities=AUDIO")[1],
        "only supports text output",
    ),
}
"""The fields that an API refused with status 400, and words of its message about the field."""


@dataclass
class Found:
    """The requests with a field: their number by model, the first recording, the API's words."""

    models: Counter[str] = field(default_factory=Counter)
    source: str = ""
    note: str = ""


def find(folders: list[Path]) -> dict[tuple[str, str, str], Found]:
    """Return field, API and verdict → what the recordings of some folders have of it."""
    found: dict[tuple[str, str, str], Found] = {}
    for folder in folders:
        for row in read_manifest(folder):
            for exchange in _exchanges(folder / row["path"]):
                for name, request, verdict in _features(exchange):
                    item = found.setdefault((name, request.wire, verdict), Found())
                    item.models[request.model] += 1
                    item.source = item.source or f"{row['repo']} {Path(row['path']).stem}"
                    item.note = item.note or _words(exchange)
    return found


def _exchanges(path: Path) -> Iterator[harness.Exchange]:
    try:
        with warnings.catch_warnings(action="ignore"):
            yield from harness.load(path).exchanges
    except harness.CassetteError:
        return  # the walk of the corpus reports it


def _features(exchange: harness.Exchange) -> Iterator[tuple[str, Asked, str]]:
    recorded = exchange.request
    if recorded is None or exchange.status not in (200, 400) or not exchange.generates:
        return
    identity = detect_provider(recorded.method, recorded.url, recorded.body, b"")
    sent = decode_object(recorded.body)
    request = sent and read_request(sent, identity, lambda: given_by([exchange]))
    if not request or request.wire not in GENERATE or not request.model:
        return
    if exchange.status == 200:
        for name, has in ACCEPTED.items():
            if has(request):
                yield name, request, "accepted"
        return
    for name, (has, words) in REFUSED.items():
        if words in _words(exchange) and has(request):
            yield name, request, "refused"


def _words(exchange: harness.Exchange) -> str:
    """The message of an error; "" for an answer."""
    if exchange.status == 200:
        return ""
    match = re.search(rb'"message": *("(?:[^"\\]|\\.)*")', exchange.body)
    return " ".join(str(json.loads(match[1])).split()) if match else ""


def rows_of(found: dict[tuple[str, str, str], Found], rules: dict[str, str]) -> list[Row]:
    """Return the rows. ``rules``: field → the rule of its refusal."""
    return [
        Row(
            name,
            api,
            ", ".join(model for model, _ in item.models.most_common(MOST_MODELS)),
            verdict,
            f'"{item.note}"' if item.note else _answered(item.models.total()),
            item.source,
            "recording",
            rules.get(name, "") if verdict == "refused" else "",
        )
        for (name, api, verdict), item in sorted(found.items(), key=lambda pair: pair[0])
    ]


def _answered(number: int) -> str:
    return f"{number} answered request{'' if number == 1 else 's'}"


def main(folders: list[Path]) -> None:
    """Write the table."""
    others = [row for row in read_rows() if row.kind != "recording"]
    rules = {row.field: row.rule for row in read_rows() if row.rule}
    names = [item.name for item in fields(Row)]
    lines = [names, *map(astuple, [*others, *rows_of(find(folders), rules)])]
    table = Path(harness.__file__).parent / "server" / "refusals" / TABLE
    table.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
