"""Writes the pages of the reference from the code: commands, pytest options, spec keys, features,
reasons.

`pages` has no knowledge of the site's generator, so that the tests read the same text.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from pkgutil import resolve_name
from string import Formatter
from typing import Any, Final

from _pytest.fixtures import FixtureFunctionDefinition
from pydantic import BaseModel

import harness
import harness.facts
from harness.cli.main import COMMANDS
from harness.facts import REASONS
from harness.project.project import shipped_features
from harness.pytest_plugin import fixtures
from harness.pytest_plugin.options import pytest_addoption
from harness.specs.matching import compare, sides
from harness.specs.matching.operators import OPERATORS
from harness.specs.models import Case, Feature, KnownFailing, Outcome, SpecFile, Turn
from harness.specs.reader import read_features

SCHEMA: Final = Path(__file__).parents[1] / "results.schema.json"

FAILURES: Final[Mapping[str, tuple[Any, Any]]] = {
    "$any": ({"$any": "integer"}, "4"),
    "$re": ({"$re": "get_[a-z]+"}, "getWeather"),
    "$same": ([{"id": {"$same": "call"}}, {"for": {"$same": "call"}}], [{"id": "a"}, {"for": "b"}]),
    "$json": ({"$json": {"city": "Oslo"}}, '{"city": "Bergen"}'),
    "$contains": ({"$contains": [{"type": "text"}, {"type": "end"}]}, [{"type": "text"}]),
    "$unordered": ({"$unordered": [1, 2]}, [2, 3]),
    "$absent": ({"error": {"$absent": True}}, {"error": "quota"}),
    "$literal": ({"$literal": {"$any": "string"}}, "Oslo"),
}
"""For each operator, an expectation with it and a value that it refuses."""


def pages() -> dict[str, str]:
    """Return the pages by their names below ``reference/``, as Markdown."""
    return {
        "command-line.md": _command_line(),
        "pytest.md": _pytest_options(),
        "python.md": _python(),
        "spec-keys.md": _spec_keys(),
        "features.md": _features(),
        "findings.md": _findings(),
        "results.md": _results(),
    }


def _command_line() -> str:
    lines = [
        "# Options of commands",
        "",
        "The same texts are in `harness COMMAND --help`. [Commands](../commands.md) has what all"
        " of them share.",
        "",
        "| command | |",
        "|---|---|",
        *(
            f"| [`harness {name}`](#harness-{name}) | {_cell(command.help)} |"
            for name, command in COMMANDS.items()
        ),
        "",
    ]
    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser(prog=f"harness {name}", add_help=False)
        resolve_name(f"harness.cli.{command.add_arguments}")(parser)
        lines += [f"## harness {name}", "", f"{_sentence(command.help)}", ""]
        lines += ["```text", parser.format_usage().removeprefix("usage: ").rstrip(), "```", ""]
        lines += [*_arguments(parser), ""]
        lines += [command.epilog, ""]
    return "\n".join(lines)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield from ("| argument | meaning |", "|---|---|")
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        value = formatter._format_args(action, action.dest.upper()) if action.nargs != 0 else ""
        names = " ".join(filter(None, [", ".join(action.option_strings), value]))
        text = formatter._expand_help(action) if action.help else ""
        yield f"| `{_code(names)}` | {_cell(text)} |"


class _Options:
    """Collects what the plugin adds to pytest's parser."""

    def __init__(self) -> None:
        self.options: list[tuple[str, dict[str, Any]]] = []
        self.settings: list[tuple[str, str]] = []

    def getgroup(self, *_: str) -> _Options:
        return self

    def addoption(self, name: str, **attributes: Any) -> None:
        self.options.append((name, attributes))

    def addini(self, name: str, help: str, **_: Any) -> None:
        self.settings.append((name, help))


def _pytest_options() -> str:
    collected = _Options()
    pytest_addoption(collected)  # type: ignore[arg-type]  # it has the methods that are used
    lines = ["# pytest", "", "## Options", "", "| option | meaning |", "|---|---|"]
    for name, attributes in collected.options:
        choices = attributes.get("choices")
        value = (
            ""
            if attributes.get("action") in ("store_true", "store_const")
            else (f" {attributes.get('metavar') or '{' + ','.join(choices or ['VALUE']) + '}'}")
        )
        lines.append(f"| `{_code(name + value)}` | {_cell(attributes['help'])} |")
    lines += [
        "",
        "## Settings",
        "",
        "In `pytest.ini` or below `[tool.pytest.ini_options]`; the commands read them too.",
        "",
        "| setting | meaning |",
        "|---|---|",
    ]
    lines += [f"| `{name}` | {_cell(text)} |" for name, text in collected.settings]
    lines += ["", "## Fixtures", "", "| fixture | meaning |", "|---|---|"]
    for name, value in vars(fixtures).items():
        if isinstance(value, FixtureFunctionDefinition) and not name.startswith("_"):
            text = (value._get_wrapped_function().__doc__ or "").split("\n\n")[0]
            lines.append(f"| `{name}` | {_cell(text)} |")
    return "\n".join([*lines, ""])


def _python() -> str:
    facts = [name for name in harness.facts.__all__ if name[0].isupper() and not name.isupper()]
    return "\n".join(
        [
            "# Python",
            "",
            "## harness",
            "",
            *(f"::: harness.{name}\n" for name in harness.__all__ if not name.startswith("__")),
            "## harness.facts",
            "",
            "A shim reports facts with these types.",
            "",
            *(f"::: harness.facts.{name}\n" for name in facts),
            "## harness.server",
            "",
            "::: harness.server.serve",
            "",
        ]
    )


def _spec_keys() -> str:
    lines = [
        "# Keys and operators of a spec",
        "",
        "[The spec language](../spec-language.md) explains them with examples."
        " `harness check --schema` prints the same as a JSON Schema.",
        "",
    ]
    shapes: dict[str, type[BaseModel]] = {
        "Of a file": SpecFile,
        "Of a case": Case,
        "Of a turn": Turn,
        "Of a result": Outcome,
        "Of known_failing": KnownFailing,
        "Of a feature": Feature,
    }
    for title, model in shapes.items():
        lines += [f"## {title}", "", "| key | meaning |", "|---|---|"]
        for name, field in model.model_fields.items():
            needed = " (required)" if field.is_required() else ""
            lines.append(f"| `{name}`{needed} | {_cell(field.description or '')} |")
        lines.append("")
    lines += [
        "## Operators",
        "",
        "Each operator with an expectation that is not met, and the difference that is printed.",
        "",
    ]
    for name, operator in OPERATORS.items():
        expected, got = FAILURES[name]
        lines += [f"### {name}", "", f"{operator.meaning} It takes {operator.takes}.", ""]
        lines += ["```text", f"expect: {json.dumps(expected)}", f"actual: {json.dumps(got)}"]
        for mismatch in compare(expected, got):
            wanted, given = sides(mismatch)
            line = f"  {mismatch.path} {mismatch.kind}"
            line += f", expected {wanted}" if wanted is not None else ""
            line += f", got {given}" if given is not None else ""
            lines.append(line + (f": {mismatch.note}" if mismatch.note else ""))
        lines += ["```", ""]
    return "\n".join(lines)


def _features() -> str:
    name, text = shipped_features()
    features = {feature.id: feature for feature in read_features(text, name)}
    lines = [
        "# Features",
        "",
        "A case names the features that it shows, in `features`. Each is a row of the report. This"
        " is the list of the package. A features file below `specs/` of your project replaces it.",
    ]
    for line in text.partition("\nfeatures:\n")[2].splitlines():
        if line.startswith("# "):
            lines += ["", f"## {line[2:]}", "", "| feature | meaning |", "|---|---|"]
        elif line.startswith("- id: "):
            feature = features[line.removeprefix("- id: ")]
            lines.append(f"| [`{feature.id}`]({feature.link}) | {_cell(feature.meaning)} |")
    return "\n".join([*lines, ""])


_BRACES: Final = re.compile(r"[\[.:].*")


def _findings() -> str:
    lines = [
        "# Reasons of findings",
        "",
        "Each finding of `harness judge`, of a cell of facts and of a sweep has one of these"
        " reasons. `wire` and `adapter` stand for the values of the two sides.",
        "",
        "| reason | sentence |",
        "|---|---|",
    ]
    for name, reason in REASONS.items():
        if name:
            sentence = "".join(
                text + (f"*{_BRACES.sub('', field)}*" if field else "")
                for text, field, _, _ in Formatter().parse(reason.sentence)
            )
            lines.append(f"| `{name}` | {_cell(sentence)} |")
    return "\n".join([*lines, ""])


def _results() -> str:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    lines = [
        "# results.json",
        "",
        "The types of `results.json`, from its JSON Schema (`docs/results.schema.json` in the"
        " repository). The document is a `Document`.",
        "",
    ]
    for name, shape in schema["$defs"].items():
        lines += [f"## {name}", "", _sentence(shape.get("description", "").replace("\n", " ")), ""]
        if "properties" in shape:
            lines += ["| field | type | | meaning |", "|---|---|---|---|"]
            needed = set(shape.get("required", ()))
            for field, value in shape["properties"].items():
                always = "" if field in needed else "may be missing"
                text = _cell(value.get("description", ""))
                lines.append(f"| `{field}` | {_cell(_type(value))} | {always} | {text} |")
            lines.append("")
    return "\n".join(lines)


def _type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in value:
        return " or ".join(f"`{json.dumps(word)}`" for word in value["enum"])
    if "anyOf" in value:
        return " or ".join(map(_type, value["anyOf"]))
    if value.get("type") == "array":
        items = value.get("items")
        return f"list of {_type(items)}" if isinstance(items, dict) else "list"
    if value.get("type") == "object":
        inner = value.get("additionalProperties")
        return f"object of {_type(inner)}" if isinstance(inner, dict) else "object"
    return str(value.get("type", "any"))


def _sentence(text: str) -> str:
    text = text.strip().replace("``", "`")
    return f"{text[:1].upper()}{text[1:]}{'' if not text or text.endswith('.') else '.'}"


def _cell(text: str) -> str:
    plain = " ".join(text.split()).replace("``", "`")
    return plain.replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return text.replace("|", "\\|")
