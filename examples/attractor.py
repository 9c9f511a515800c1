"""Runs or checks a pipeline of prompts from a DOT file, with the unified-llm client of the harness.

A node is ``start``, ``exit`` or ``codergen``. A codergen node has a model (``provider:model``), a
prompt and a limit of turns. A prompt may contain ``{{.seed}}`` and ``{{.NODE_output}}``. The model
has one tool, ``search_file``, which searches the files of a folder for a text. A node with
``history=shared`` continues the conversation of the shared nodes before it, whatever their
providers were; the conversation of any other node is its own.

    python examples/attractor.py lint examples/gemini.dot
    python examples/attractor.py run examples/gemini.dot --seed "Write a function."

``run`` needs the key of each provider that the models name: GEMINI_API_KEY, ANTHROPIC_API_KEY,
OPENAI_API_KEY. GEMINI_BASE_URL, ANTHROPIC_BASE_URL and OPENAI_BASE_URL can set another server, such
as ``harness serve``.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from harness import TranslationError
from harness.systems.unified_llm import Client, SDKError

TYPES: Final = ("start", "codergen", "exit")
ATTRIBUTES: Final = {
    "start": ("type",),
    "exit": ("type",),
    "codergen": ("type", "model", "prompt", "max_turns", "history"),
}
HISTORIES: Final = ("own", "shared")
OPTIONS: Final = {
    "anthropic": {"thinking": {"type": "adaptive", "display": "summarized"}},
    "openai": {"store": False, "include": ["reasoning.encrypted_content"]},
}
"""Anthropic sends the thoughts; OpenAI keeps no answers, so its encrypted reasoning goes back with
the history.
"""
MAX_TURNS: Final = 50
MAX_LINES: Final = 100

_TOKEN: Final = re.compile(
    r'//[^\n]*|/\*.*?\*/|\s+|(?P<string>"(?:[^"\\]|\\.)*")|(?P<word>[\w.]+)|(?P<mark>->|[\[\]{}=,;])|(?P<odd>.)',
    re.DOTALL,
)
_MODEL: Final = re.compile(r"[^:]+:.+")
_PLACE: Final = re.compile(r"{{\s*\.(\w+)\s*}}")


class PipelineError(ValueError):
    """A fault of a pipeline, with its file and line."""


@dataclass
class Node:
    """One step; ``line`` is its line in the file."""

    name: str
    line: int
    attributes: dict[str, str]

    @property
    def type(self) -> str:
        return self.attributes.get("type", "")


@dataclass
class Pipeline:
    """Nodes by name; ``edges`` maps a node to the next one."""

    path: Path
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)

    def fail(self, line: int, reason: str) -> PipelineError:
        return PipelineError(f"{self.path}:{line}: {reason}")

    def steps(self) -> list[Node]:
        """The nodes from start to exit; raises `PipelineError` unless the path has every node."""
        starts = [node for node in self.nodes.values() if node.type == "start"]
        if len(starts) != 1:
            raise self.fail(
                1, f"the pipeline has {len(starts)} nodes of the type start; it needs one"
            )
        steps = starts
        while steps[-1].type != "exit":
            last = steps[-1]
            following = self.nodes.get(self.edges.get(last.name, ""))
            if following is None or following in steps:
                raise self.fail(
                    last.line,
                    f"no path leads from {last.name} to an exit; add an edge to another node",
                )
            steps = [*steps, following]
        for node in self.nodes.values():
            if node not in steps:
                raise self.fail(
                    node.line,
                    f"no path leads from start to {node.name}; add an edge to it, or remove it",
                )
        return steps


# -------------------------------------------------------------------- reading


def tokens(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, kind and text of each token."""
    text = path.read_text(encoding="utf-8")
    for match in _TOKEN.finditer(text):
        if match.lastgroup:
            yield text.count("\n", 0, match.start()) + 1, match.lastgroup, match[0]
    for _ in range(4):  # a statement reads up to four tokens ahead
        yield text.count("\n") + 1, "end", "the end of the file"


def read(path: Path) -> Pipeline:
    """The pipeline in a file; raises `PipelineError` for a fault in the file, or `OSError`."""
    pipeline = Pipeline(path)
    rest = [*tokens(path)]
    if rest[0][2] != "digraph":
        raise pipeline.fail(rest[0][0], f"expected digraph NAME {{ … }}, got {rest[0][2]}")
    at = 3 if rest[2][2] == "{" else 2
    while rest[at][2] != "}":
        at = _statement(pipeline, rest, at)
    for node in pipeline.nodes.values():
        _check(pipeline, node)
    known = ["seed"]
    for node in pipeline.steps():
        for place in _PLACE.findall(node.attributes.get("prompt", "")):
            if place not in known:
                raise pipeline.fail(
                    node.line,
                    f"the prompt of {node.name} has {place}, which has no value yet; known ones are"
                    f" {', '.join(known)}",
                )
        known.append(f"{node.name}_output")
    return pipeline


def _statement(pipeline: Pipeline, rest: Sequence[tuple[int, str, str]], at: int) -> int:
    """Reads ``name [key=value, …]`` or ``name -> name -> …``; returns the index after it."""
    line, kind, name = rest[at]
    if kind != "word":
        raise pipeline.fail(line, f"expected the name of a node, got {name}")
    at += 1
    attributes: dict[str, str] = {}
    if rest[at][2] == "[":
        while rest[at][2] != "]":
            (_, _, key), (_, _, equals), (_, kind, value) = rest[at + 1 : at + 4]
            if equals != "=" or kind not in ("word", "string"):
                raise pipeline.fail(
                    rest[at][0],
                    f"the attributes of {name} need the form [key=value, key=value]",
                )
            attributes[key] = _unquote(value) if kind == "string" else value
            at += 4
            if rest[at][2] not in (",", "]"):
                raise pipeline.fail(rest[at][0], f"expected , or ], got {rest[at][2]}")
        at += 1
    if attributes:
        pipeline.nodes[name] = Node(name, line, attributes)
    while rest[at][2] == "->":
        before, name = name, rest[at + 1][2]
        if pipeline.edges.setdefault(before, name) != name:
            raise pipeline.fail(line, f"{before} has two outgoing edges; a node may have one")
        at += 2
    return at + (rest[at][2] == ";")


def _unquote(text: str) -> str:
    return re.sub(
        r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text[1:-1]
    )


def _check(pipeline: Pipeline, node: Node) -> None:
    if node.type not in TYPES:
        raise pipeline.fail(
            node.line,
            f"{node.name} has the unknown type {node.type!r}; known ones are {', '.join(TYPES)}",
        )
    for key in node.attributes:
        if key not in ATTRIBUTES[node.type]:
            raise pipeline.fail(
                node.line,
                f"{node.name} has an unknown attribute {key!r}; known ones are"
                f" {', '.join(ATTRIBUTES[node.type])}",
            )
    if node.type != "codergen":
        return
    for key in ("model", "prompt"):
        if key not in node.attributes:
            raise pipeline.fail(node.line, f"{node.name} has no {key}")
    if not _MODEL.fullmatch(node.attributes["model"]):
        raise pipeline.fail(
            node.line,
            f"{node.attributes['model']!r} is not a model; write provider:model, such as"
            " gemini:gemini-2.0-flash",
        )
    if not re.fullmatch(r"[1-9][0-9]{0,2}", node.attributes.get("max_turns", "1")):
        raise pipeline.fail(
            node.line,
            f"max_turns is {node.attributes['max_turns']!r}; it must be a number from 1 to 999",
        )
    if (history := node.attributes.get("history", "own")) not in HISTORIES:
        raise pipeline.fail(
            node.line, f"history is {history!r}; it must be one of {', '.join(HISTORIES)}"
        )


# -------------------------------------------------------------------- running


def search_file(project: Path, text: str) -> str:
    """The lines that contain a text, as ``path:line: …``; raises ValueError for an empty text."""
    if not text:
        raise ValueError("there is nothing to look for")
    lines = [
        f"{path.relative_to(project).as_posix()}:{number}: {line.strip()}"
        for path in sorted(project.rglob("*"))
        if path.is_file() and not path.is_symlink()
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if text in line
    ]
    return "\n".join(lines[:MAX_LINES]) or "not found"


def run(pipeline: Pipeline, seed: str, project: Path) -> Iterator[tuple[str, str]]:
    """The name and the answer of each step, as it ends."""
    known = {"seed": seed}
    tool = {
        "name": "search_file",
        "description": "Finds the lines of the project's files that hold a text",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        },
        "execute": lambda arguments: search_file(project, arguments["text"]),
    }
    shared: list[Any] = []
    with Client(provider=None) as client:
        for node in pipeline.steps():
            if node.type != "codergen":
                continue
            prompt = _PLACE.sub(lambda match: known[match[1]], node.attributes["prompt"])
            turns = int(node.attributes.get("max_turns", MAX_TURNS))
            is_shared = node.attributes.get("history") == "shared"
            question = {"role": "user", "content": prompt}
            request: dict[str, Any] = {
                "model": node.attributes["model"],
                "messages": [*shared, question] if is_shared else [question],
                "provider_options": OPTIONS,
            }
            if turns > 1:
                request["tools"] = [tool]
            response = client.generate(request, max_tool_rounds=turns - 1)
            if is_shared:
                shared = response.messages
            known[f"{node.name}_output"] = response.text
            yield node.name, response.text


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, or 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(
        prog="attractor", description="Runs or checks a pipeline of prompts from a DOT file."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("run", "send the prompts to the models, one node after the other"),
        ("lint", "check the file without a request to a model"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("file", type=Path)
        if name == "run":
            command.add_argument("--seed", default="", help="the text for {{.seed}}")
            command.add_argument(
                "--project",
                type=Path,
                default=Path(),
                help="the folder that search_file searches",
            )
    chosen = parser.parse_args(arguments)
    try:
        pipeline = read(chosen.file)
        if chosen.command == "run":
            for name, answer in run(pipeline, chosen.seed, chosen.project):
                print(f"{name}: {answer}", flush=True)
        else:
            print(f"{chosen.file}: {len(pipeline.nodes)} nodes, no faults")
    except (PipelineError, TranslationError, SDKError, OSError) as error:
        print(f"attractor: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
