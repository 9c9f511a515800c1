"""Writes the published fields of requests, with the types of their values and the words of their
enumerations: `harness/providers/gemini/fields.json`.

    python -m tests.wires.request_fields DIR

``DIR`` has the packages google-api-python-client and google-ai-generativelanguage; ``make
request-fields`` installs them. The third source is the installed google-genai; it renames fields,
so it adds only types. The file keeps the fields that no source has, such as those of Code Assist.
If several sources have a field, its type is that of the first, and its words are those of all.
"""

from __future__ import annotations

import ast
import enum
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin

from google.genai import types
from pydantic import BaseModel

FILE: Final = Path(__file__).parents[2] / "harness" / "providers" / "gemini" / "fields.json"
ROOT: Final = "GenerateContentRequest"

_SCALARS: Final[dict[Any, str]] = {
    **dict.fromkeys(("FLOAT", "DOUBLE", "float", "double", "number", float), "number"),
    **dict.fromkeys(("INT32", "int32"), "int32"),
    **dict.fromkeys(("INT64", "int64", int), "int64"),
    **dict.fromkeys(("BOOL", "boolean", bool), "bool"),
    **dict.fromkeys(("BYTES", "byte", bytes), "bytes"),
    **dict.fromkeys(("STRING", "string", str, "Timestamp", "google-datetime"), "string"),
    **dict.fromkeys(("any", "Value", "ListValue"), "any"),
    **dict.fromkeys(("google-duration", "Duration"), "duration"),
    "Struct": "any{}",
}
_WORDS: Final = {
    # https://github.com/googleapis/python-genai/issues/2847: Vertex AI answers such a word
    "ServiceTier": [f"SERVICE_TIER_{word}" for word in ("FLEX", "PRIORITY", "STANDARD")]
}
"""Words that an API answers and that no source has."""
_OWN: Final = ("HarmCategory",)
"""The enumerations of which each API has the words of its own list. The lists of others are not
complete: an API takes words that only the other one publishes.
"""
_OF_BOTH: Final = ("HARM_CATEGORY_JAILBREAK",)
"""Words of `_OWN` that both APIs have: google-genai notes at each other word of Vertex AI that it
is not supported in the Gemini API.
"""


class Kind(NamedTuple):
    """The type of a field. ``name``: a scalar type, a message or an enumeration, which may have no
    name. ``form``: "[]" for a list, "{}" for a map. ``words``: those of an enumeration.
    """

    name: str
    form: str = ""
    words: list[str] | None = None


Source = Callable[[str], dict[str, Kind]]
"""The name of a message in the source → its fields; {} for another name."""


def discovery(path: Path) -> Source:
    """The messages of a discovery document."""
    schemas = json.loads(path.read_text(encoding="utf-8"))["schemas"]
    prefix = next(name for name in schemas if name.endswith(ROOT)).removesuffix(ROOT)

    def kind(value: dict[str, Any]) -> Kind:
        match value:
            case {"$ref": str(name)}:
                return Kind(name.removeprefix(prefix))
            case {"items": items}:
                return kind(items)._replace(form="[]")
            case {"additionalProperties": inner}:
                return kind(inner)._replace(form="{}")
            case {"enum": words}:
                return Kind("", words=words)
        return Kind(_SCALARS[value.get("format") or value["type"]])

    def fields(name: str) -> dict[str, Kind]:
        schema = schemas.get(prefix + name) or schemas.get(name) or {}
        return {field: kind(value) for field, value in schema.get("properties", {}).items()}

    return fields


def proto_plus(folder: Path) -> Source:
    """The messages of a package of proto-plus. An inner message is named as in JSON: its outer
    message and its name.
    """
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.py"))]
    classes = {name: node for tree in trees for name, node in _classes(tree, "")}
    enums = {
        name: [str(ast.unparse(item.targets[0])) for item in node.body if type(item) is ast.Assign]
        for name, node in classes.items()
        if ast.unparse(node.bases[0]) == "proto.Enum"
    }

    def kind(call: ast.Call, outer: str) -> Kind:
        form = {"proto.RepeatedField": "[]", "proto.MapField": "{}"}
        named = [item.value for item in call.keywords if item.arg in ("message", "enum")]
        text = ast.unparse((named or call.args)[-1]).strip("'").rpartition(".")[2]
        name = outer + text if outer + text in classes else text
        return Kind(_SCALARS.get(name, name), form.get(ast.unparse(call.func), ""), enums.get(name))

    def fields(name: str) -> dict[str, Kind]:
        return {
            _camel(ast.unparse(item.target)): kind(item.value, name)
            for item in (classes[name].body if name in classes else ())
            if isinstance(item, ast.AnnAssign) and isinstance(item.value, ast.Call)
        }

    return fields


def _classes(node: ast.Module | ast.ClassDef, outer: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for item in node.body:
        if isinstance(item, ast.ClassDef) and item.bases:
            yield outer + item.name, item
            yield from _classes(item, outer + item.name)


def google_genai(name: str) -> dict[str, Kind]:
    """The fields of a type of google-genai."""
    model = getattr(types, "GenerateContentConfig" if name == ROOT else name, None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return {}
    return {
        _camel(field): _annotated(info.annotation) for field, info in model.model_fields.items()
    }


def _annotated(annotation: Any) -> Kind:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        options = [item for item in arguments if item is not type(None)]
        return _annotated(options[0]) if len(options) == 1 else Kind("any")
    if origin is list:
        return _annotated(arguments[0])._replace(form="[]")
    if origin is dict:
        return _annotated(arguments[1])._replace(form="{}")
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return Kind(annotation.__name__, words=[str(item.value) for item in annotation])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Kind(annotation.__name__)
    return Kind(_SCALARS.get(annotation, "any"))


def _camel(name: str) -> str:
    return re.sub("_([a-z0-9])", lambda match: match[1].upper(), name.rstrip("_"))


class Published:
    """The messages and enumerations of all sources. ``old``: the messages of the file; a message
    keeps the name that it has there.
    """

    def __init__(self, old: dict[str, dict[str, str]]) -> None:
        self.old = old
        self.messages: dict[str, dict[str, str]] = {}
        self.enums: dict[str, list[str]] = {}
        self.words: dict[tuple[str, str], dict[str, set[str]]] = {}
        """Message and field → API → the words of its list."""

    def read(self, source: Source, api: str = "", ours: str = ROOT, theirs: str = ROOT) -> None:
        """Add a message of a source, and the messages in it. ``api``: that of the source, or ""."""
        todo, seen = [(ours, theirs)], set()
        while todo:
            ours, theirs = pair = todo.pop()
            if pair in seen:
                continue
            seen.add(pair)
            for field, kind in source(theirs).items():
                if source is google_genai and field not in self.old.get(ours, {}):
                    continue
                if kind.words is not None:
                    self._add_words(ours, field, kind, kind.words)
                    if api:
                        of_api = self.words.setdefault((ours, field), {})
                        of_api.setdefault(api, set()).update(kind.words)
                elif kind.name[:1].islower():
                    self.messages.setdefault(ours, {}).setdefault(field, kind.name + kind.form)
                else:
                    before = _bare(self.old.get(ours, {}).get(field, ""))
                    name = before if before in self.old else kind.name
                    known = self.messages.setdefault(ours, {}).setdefault(field, name + kind.form)
                    if _bare(known) == name:
                        todo.append((name, kind.name))

    def _add_words(self, ours: str, field: str, kind: Kind, words: list[str]) -> None:
        """Add the words of an enumeration, whose name is that of the first source that has one."""
        fields, unnamed = self.messages.setdefault(ours, {}), ours + field[0].upper() + field[1:]
        before = _bare(fields.get(field, ""))
        if before and before not in self.enums:
            return  # the type of an earlier source is no enumeration
        name = kind.name or before or unnamed if before in ("", unnamed) else before
        earlier = [*self.enums.get(name, []), *(self.enums.pop(before, []) if before else [])]
        self.enums[name] = [*dict.fromkeys([*earlier, *words, *_WORDS.get(name, [])])]
        fields[field] = name + kind.form

    def own_words(self, api: str) -> dict[str, list[str]]:
        """Return the words of `_OWN` that only one API has."""
        words: dict[str, list[str]] = {}
        for (message, field), of_api in self.words.items():
            name = _bare(self.messages[message][field])
            others = {word for other, own in of_api.items() if other != api for word in own}
            if name in _OWN and (own := of_api.get(api, set()) - others - {*_OF_BOTH}):
                words[name] = [word for word in self.enums[name] if word in own]
        return words


def _bare(kind: str) -> str:
    return kind.rstrip("[]{}")


def main(folder: Path) -> None:
    """Write the file."""
    old = json.loads(FILE.read_text(encoding="utf-8"))
    published = Published(old["messages"])
    documents = folder / "googleapiclient" / "discovery_cache" / "documents"
    for version in ("v1beta1", "v1"):
        published.read(discovery(documents / f"aiplatform.{version}.json"), "vertex-ai")
    for version in ("v1beta", "v1alpha", "v1"):
        package = f"generativelanguage_{version}"
        published.read(proto_plus(folder / "google" / "ai" / package / "types"), "gemini-api")
    for message, fields in old["messages"].items():
        published.messages.setdefault(message, {})
        published.read(google_genai, ours=message, theirs=message)
        for field, kind in fields.items():
            published.messages[message].setdefault(field, kind or "any")
    only = {api: {**own, **published.own_words(api)} for api, own in old["only"].items()}
    tables: dict[str, Any] = {"messages": published.messages, "enums": published.enums}
    FILE.write_text(_text(old["sources"], {**tables, "only": only}), encoding="utf-8")


def _text(sources: list[Any], tables: dict[str, dict[str, Any]]) -> str:
    """Return the file: one message, enumeration or API a line, or wrapped."""
    parts = ['"sources": [\n' + ",\n".join(f"    {json.dumps(row)}" for row in sources) + "\n  ]"]
    for title, table in tables.items():
        rows = [_row(name, table[name]) for name in sorted(table)]
        parts.append(f'"{title}": {{\n' + ",\n".join(rows) + "\n  }")
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


def _row(name: str, value: Any) -> str:
    line = f'    "{name}": {json.dumps(value, sort_keys=True)}'
    if len(line) <= 99:
        return line
    inner = textwrap.indent(
        textwrap.fill(
            json.dumps(value, sort_keys=True, separators=(", ", ":\xa0"))[1:-1],
            92,
            break_long_words=False,
            break_on_hyphens=False,
        ).replace("\xa0", " "),
        " " * 6,
    )
    first, last = json.dumps(value)[0], json.dumps(value)[-1]
    return f'    "{name}": {first}\n{inner}\n    {last}'


if __name__ == "__main__":
    main(Path(sys.argv[1]))
