"""No regular expression reads the sentences of the harness: findings are data until they are shown.

Every place that uses regular expressions is listed with the text that it reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import harness

PACKAGE = Path(harness.__file__).parent
FOLDERS = ("adapters", "facts", "judging", "proving", "report", "sweep")
FILES = ("cli/judge.py", "cli/report.py", "cli/sweep.py")
ALLOWED = {
    "adapters/declarations.py _KNOWN": "a line of the configuration",
    "adapters/declarations.py _LINK": "a line of the configuration",
    "adapters/declarations.py _LOSSES": "a line of the configuration",
    "adapters/declarations.py _UNTIL": "a line of the configuration",
    "adapters/environment.py _KEY": "the names of environment variables",
    "adapters/named.py _FUNCTION": "a target of the user",
    "adapters/named.py _GATEWAY": "a target of the user",
    "adapters/named.py _LINE": "a target of the user",
    "adapters/named.py _PATH": "the path of a module, in an argument",
    "adapters/named.py _name_of": "a target of the user",
    "facts/aspects.py _BLOCKED": "the adapter's statements about errors",
    "facts/aspects.py _recognized": "the errors of the wire",
    "facts/finish.py _HUMP": "the word of a finish reason",
    "facts/finish.py _JOINTS": "the word of a finish reason",
    "facts/finish.py _pattern_of": "errors of an adapter",
    "facts/losses.py _LOSS": "a declared loss of the user",
    "facts/native.py _RAW_KEY": "the keys of native events",
    "facts/native.py NativeSearch": "texts of native events",
    "facts/native.py _BASE64": "base64 in native events",
    "facts/native.py _SPACE": "base64 in native events",
    "facts/native.py _SPACE_AND_PADDING": "base64 in native events",
    "facts/native.py word_pattern": "native events and errors of the adapter",
    "facts/aspects.py _DEFAULT_TIER": "a service tier of the wire",
    "judging/accepted.py _CONTENT": "the message with which the API refuses a request",
    "judging/accepted.py _QUOTED": "the message with which the API refuses a request",
    "judging/aspects.py _FILE": "the stack frames of an adapter",
    "judging/explain.py _FUNCTION": "a target of the user",
    "judging/laws/corruption.py overlapped": "the bytes of an answer",
    "judging/laws/cut_short.py prefixes": "the bytes of an answer",
    "judging/laws/law.py Law": "the title of a law, for the names of items",
    "judging/laws/shrink.py _body_of": "the bytes of an answer",
    "judging/laws/spelling.py _only_events": "the bytes of an answer",
    "judging/metamorphic/bytes.py after_first_event": "the bytes of an answer",
    "judging/metamorphic/bytes.py inside_line_ends": "the bytes of an answer",
    "judging/metamorphic/bytes.py inside_tags": "the bytes of an answer",
    "judging/metamorphic/chat.py _OPEN_TAG": "the text of an answer",
    "judging/metamorphic/content.py stream_arguments": "the names of arguments",
    "judging/metamorphic/spelling.py _CAPITAL": "the keys of the wire",
    "judging/metamorphic/spelling.py _INSIDE_TAGS": "the text of an answer",
    "judging/metamorphic/spelling.py compact": "the bytes of an answer",
    "judging/metamorphic/spelling.py with_line_ends": "the bytes of an answer",
    "judging/questions/comparison.py TOKEN": "the texts of questions and requests",
    "judging/questions/comparison.py _STEP": "the path of a value in a request",
    "judging/questions/question.py _NAME": "the name of a question",
    "judging/questions/service_faults.py _BORDER": "the bytes of an answer",
    "proving/second_reader.py _words": "the pieces of a body that are not JSON",
    "report/layout.py _NAME": "the name of a provider, for the name of a page",
    "report/ci.py _SPECIAL": "any text, to escape Markdown",
    "report/ci.py _text": "any text, to join its lines",
    "report/text.py _CODE": "code spans, which become tags",
    "report/text.py _WEB_LINK": "URLs",
    "report/text.py slug": "any text, for an anchor",
    "sweep/contract.py _MODEL": "the bytes of an answer",
    "sweep/parts.py _IS_ROW": "the bytes of an input file",
    "sweep/parts.py _PLACE": "a path of the user",
    "sweep/parts.py _name": "a path of the user",
}
"""The places, each with the text that its expression reads."""


def uses(source: str) -> Iterator[str]:
    """The top-level names of a module whose code uses ``re``, or imports a name from it."""
    for statement in ast.parse(source).body:
        for node in ast.walk(statement):
            match node:
                case ast.ImportFrom(module="re" | "re2" | "regex"):
                    yield "import"
                case ast.Import(names=names) if any(
                    name.name in ("re2", "regex") or (name.name == "re" and name.asname)
                    for name in names
                ):
                    yield "import"
                case ast.Attribute(value=ast.Name(id="re")) if not _is_constant(node):
                    yield _name_of(statement)


def _is_constant(node: ast.Attribute) -> bool:
    return node.attr.isupper() or node.attr in ("Match", "Pattern")


def _name_of(statement: ast.stmt) -> str:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return type(statement).__name__


def places() -> set[str]:
    paths = [path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    return {
        f"{path.relative_to(PACKAGE).as_posix()} {name}"
        for path in [*paths, *(PACKAGE / file for file in FILES)]
        for name in uses(path.read_text(encoding="utf-8"))
    }


def test_regular_expressions_are_only_used_at_the_named_places() -> None:
    assert places() == {*ALLOWED}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('import re\n_A: Final = re.compile("a")\n', {"_A"}),
        ('import re\ndef f(x):\n    return re.sub("a", "", x)\n', {"f"}),
        ('import re\nclass C:\n    def f(self):\n        return re.match("a", "")\n', {"C"}),
        ("from re import compile\n", {"import"}),
        ("import re as r\n", {"import"}),
        ("import re2\n", {"import"}),
        ("import re\ndef f(x: re.Match[str]) -> int:\n    return re.DOTALL\n", set()),
        ("def f(x):\n    return x.sub('a')\n", set()),
    ],
)
def test_a_use_is_found(source: str, names: set[str]) -> None:
    assert {*uses(source)} == names
