"""The command: a prompt in, Gemini's answers and the results of its tools out, one JSON record a
line.

The request is what `harness.request` gives, the records of an answer are what `harness.replay`
would give, and what goes back after the tools have run is the dialect's own `follow_up`: the
program adds arguments, a key, the loop and the clock. Stdout is protocol and nothing else; whatever
a person might want to know goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

from harness.stream.generation import GenerateRequest, ToolOutcome
from harness.stream.session import Session

from ...dialect import Payload
from ...genai_sdk import SdkReader, arguments, failures, load_sdk
from .. import DIALECT
from ..request import DEFAULT_MODEL, follow_up, tool_result, translate, waiting_calls
from ..response import timestamp
from ..tools import DECLARATIONS, READERS
from .files import Arguments, Files, ToolError
from .shell_and_web import SEARCH_URL, ShellAndWebTools

NO_KEY: Final = (
    "GEMINI_API_KEY not found. Please set it in a .env file, as an environment variable, or pass it"
    " with --api-key."
)
MAX_ROUNDS: Final = 50
"""Answers in a row that ask for tools; a model that goes on is stopped."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code: 0, or 1 after an error. Wrong arguments exit with
    2.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    chosen = parse_arguments(argv)
    settings = read_settings(Path(".env"))
    say = Printer(chosen.output_format)

    def setting(name: str) -> str:
        return settings.get(name) or os.environ.get(name) or ""

    key = chosen.api_key or setting("GEMINI_API_KEY")
    if not key:
        print(json.dumps({"error": NO_KEY}))
        return 1
    try:
        sdk = load_sdk()
    except ImportError as error:
        return say.fail(str(error))
    options = {
        "model_name": chosen.model_name or setting("GEMINI_MODEL") or DEFAULT_MODEL,
        "allowed_tools": chosen.allowed_tools,
    }
    tools = Toolbox(
        Path(chosen.project_dir),
        chosen.allowed_tools,
        setting("MIND_GOOGLE_SEARCH_URL") or SEARCH_URL,
    )
    try:
        with sdk.Client(api_key=key, vertexai=False) as client:
            list_models(client)
            prompt = {"prompt": chosen.prompt, "system_prompt": chosen.system_prompt}
            return converse(
                prompt,
                options,
                Gemini(client, streamed=chosen.output_format == "stream-json"),
                tools,
                say,
            )
    except BrokenPipeError:  # whoever read has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def parse_arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(
        prog="harness-mind",
        description="Ask Gemini, and run the tools that it asks for.",
        allow_abbrev=False,
    )
    parser.add_argument("-p", "--prompt", required=True, help="what to ask")
    parser.add_argument("--system-prompt", default="", help="what the model is told before")
    parser.add_argument("--output-format", choices=("stream-json", "text"), default="stream-json")
    parser.add_argument(
        "--allowed-tools",
        default="",
        metavar="NAMES",
        help="tools beside those that read files, separated by commas: " + ", ".join(DECLARATIONS),
    )
    parser.add_argument(
        "--api-key", default="", help="default: GEMINI_API_KEY of .env, then of the environment"
    )
    parser.add_argument(
        "--model-name",
        default="",
        help=f"default: GEMINI_MODEL of .env, then of the environment, then {DEFAULT_MODEL}",
    )
    parser.add_argument(
        "--project-dir",
        default=".",
        help="the folder that the tools work in (default: the present one)",
    )
    chosen = parser.parse_args(argv)
    named = chosen.allowed_tools.replace(",", " ").split()
    for name in named:
        if name not in DECLARATIONS:
            parser.error(
                f"--allowed-tools: there is no tool {name!r}; known ones are"
                f" {', '.join(DECLARATIONS)}"
            )
    if not Path(chosen.project_dir).is_dir():
        parser.error(f"--project-dir: {chosen.project_dir!r} is no folder")
    chosen.allowed_tools = [name for name in DECLARATIONS if name in READERS or name in named]
    return chosen


def read_settings(path: Path) -> dict[str, str]:
    """The ``NAME=value`` lines of a ``.env`` file, perhaps quoted or after ``export``; none if
    there is no such file.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    settings = {}
    for line in lines:
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.lstrip().startswith("#"):
            value = value.strip()
            quote = value[:1]
            quoted = quote in ("'", '"') and value.find(quote, 1) > 0
            settings[name.strip()] = (
                value[1 : value.index(quote, 1)] if quoted else value.partition(" #")[0].strip()
            )
    return settings


def list_models(client: Any) -> None:
    """The first page of the models on stderr; that it can't be had is worth a line there and no
    more.
    """
    try:
        names = [model.name for model in client.models.list().page]
    except failures() as error:
        print(f"the list of models is not to be had: {error}", file=sys.stderr)
    else:
        print("models: " + ", ".join(map(str, names)), file=sys.stderr)


class Printer:
    """What the program prints, in one of the two formats."""

    def __init__(self, output_format: str) -> None:
        self._records = output_format == "stream-json"
        self._text = ""

    def tell(self, record: Payload) -> None:
        """A record as a line, or only its text."""
        if record["type"] == "assistant":
            self._text += record["message"]["content"][0]["text"]
        if self._records:
            print(json.dumps(record), flush=True)
        elif record["type"] == "assistant":
            print(record["message"]["content"][0]["text"], end="", flush=True)

    def finish(self) -> int:
        """The whole text of all answers; exit code 0."""
        if self._records:
            self.tell(now({"type": "result", "result": self._text}))
        elif self._text:
            print(flush=True)
        return 0

    def fail(self, message: str, code: str = "AGENT_ERROR") -> int:
        """An error, on stderr where stdout is for text; exit code 1."""
        if self._records:
            self.tell(now({"type": "error", "code": code, "message": message}))
        else:
            print(f"Error: {message}", file=sys.stderr)
        return 1


def now(record: Payload) -> Payload:
    return {**record, "timestamp": timestamp(time.time() * 1000)}


class Gemini:
    """The answers, as records: ``streamed`` or each at once."""

    def __init__(self, client: Any, *, streamed: bool) -> None:
        self._client = client
        self._streamed = streamed

    def answer(self, asked: GenerateRequest, session: Session) -> Iterator[Payload]:
        """The records of one answer as they come; what goes wrong is the last of them."""
        reader = SdkReader(DIALECT.translator((), session), asked.model)
        session.streamed = self._streamed
        try:
            for response in self._responses(asked):
                session.at_ms = time.time() * 1000
                yield from reader.feed(response)
        except failures() as error:
            session.at_ms = time.time() * 1000
            yield from reader.fail(error)
        else:
            yield from reader.close()

    def _responses(self, asked: GenerateRequest) -> Iterator[Any]:
        models, called_with = self._client.models, arguments(asked)
        if self._streamed:
            yield from models.generate_content_stream(**called_with)
        else:
            yield models.generate_content(**called_with)


class Toolbox:
    """The tools that may run, by name. What a model asks for is checked against what it was
    told.
    """

    def __init__(self, project: Path, allowed: Sequence[str], search_url: str = SEARCH_URL) -> None:
        tools: dict[str, Callable[[Arguments], dict[str, Any]]] = {
            **Files(project).tools,
            **ShellAndWebTools(project, search_url).tools,
        }
        self._tools = {name: tools[name] for name in allowed}

    def run(self, name: str, args: Mapping[str, Any]) -> ToolOutcome:
        """What a call gives; never raises for what a tool does not manage."""
        try:
            return ToolOutcome(self._find(name)(_check(name, args)))
        except OSError as error:
            return ToolOutcome(
                error.strerror or str(error), failed=True
            )  # without the path, which would be the user's own
        except ValueError as error:
            return ToolOutcome(str(error), failed=True)

    def _find(self, name: str) -> Callable[[Arguments], dict[str, Any]]:
        if name in self._tools:
            return self._tools[name]
        if name in DECLARATIONS:
            raise ToolError(
                f"the tool {name} is not allowed here; --allowed-tools names those that are"
            )
        raise ToolError(f"there is no tool {name}; there are {', '.join(self._tools)}")


def _check(name: str, args: Mapping[str, Any]) -> Arguments:
    parameters = DECLARATIONS[name]["parameters"]
    for argument, value in args.items():
        if argument not in parameters["properties"]:
            raise ToolError(
                f"{name} has no argument {argument!r}; it has {', '.join(parameters['properties'])}"
            )
        if not isinstance(value, str):
            raise ToolError(f"the argument {argument} of {name} is no string")
    for argument in parameters.get("required", ()):
        if argument not in args:
            raise ToolError(f"{name} needs the argument {argument}")
    return args


def converse(
    prompt: Mapping[str, Any],
    options: Mapping[str, Any],
    gemini: Gemini,
    tools: Toolbox,
    say: Printer,
) -> int:
    """Ask, run what the answer asks for, send all results back together, until an answer asks for
    nothing; returns the exit code.
    """
    session = Session()
    for _ in range(MAX_ROUNDS):
        records = []
        for record in gemini.answer(translate(prompt, options, session), session):
            records.append(record)
            if record["type"] == "error":
                return say.fail(record["message"], record["code"])
            if record["type"] != "result":
                say.tell(record)
        calls = waiting_calls(records)
        if not calls:
            return say.finish()
        outcomes = []
        for call in calls:
            outcomes.append(tools.run(call["name"], call["args"]))
            say.tell(now(tool_result(call, outcomes[-1])))
        prompt = follow_up(prompt, records, outcomes)
    return say.fail(f"the model asked for tools {MAX_ROUNDS} times in a row")
