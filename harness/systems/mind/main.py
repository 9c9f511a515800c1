"""The command: takes a prompt, and prints Gemini's answers and the results of its tools, one JSON
record per line.

Requests, records and the next prompt are those of the dialect, so they equal ``harness.request``
and ``harness.replay``. The program only adds arguments, a key, the loop and the clock. Stdout has
only records or text; messages for people go to stderr.
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

from harness.dialects import Payload
from harness.dialects.mind import DIALECT
from harness.dialects.mind.request import (
    DEFAULT_MODEL,
    follow_up,
    tool_result,
    translate,
    waiting_calls,
)
from harness.dialects.mind.response import timestamp
from harness.dialects.mind.tools import DECLARATIONS, READERS
from harness.providers import PROVIDERS
from harness.stream.generation import GenerateRequest, ToolOutcome
from harness.stream.session import Session

from ..genai_sdk import SdkReader, arguments, failures, load_sdk
from .files import Arguments, Files, ToolError
from .shell_and_web import SEARCH_URL, ShellAndWebTools

NO_KEY: Final = (
    "GEMINI_API_KEY not found. Please set it in a .env file, as an environment variable, or pass it"
    " with --api-key."
)
MAX_ROUNDS: Final = 50
"""The maximum number of consecutive answers with calls; after that the program stops
with an error.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code: 0, or 1 after an error. Wrong usage exits with 2."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    chosen = parse_arguments(argv)
    settings = read_settings(Path(".env"))
    printer = Printer(chosen.output_format)

    def setting(name: str) -> str:
        return settings.get(name) or os.environ.get(name) or ""

    key = chosen.api_key or setting("GEMINI_API_KEY")
    if not key:
        print(json.dumps({"error": NO_KEY}))
        return 1
    try:
        sdk = load_sdk()
    except ImportError as error:
        return printer.fail(str(error))
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
                GeminiClient(client, streamed=chosen.output_format == "stream-json"),
                tools,
                printer,
            )
    except BrokenPipeError:  # the reader has closed stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def parse_arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(
        prog="harness-mind",
        description="Ask Gemini, and run the tools that it calls.",
        allow_abbrev=False,
    )
    parser.add_argument("-p", "--prompt", required=True, help="the question for the model")
    parser.add_argument(
        "--system-prompt", default="", help="instructions that are sent before the prompt"
    )
    parser.add_argument("--output-format", choices=("stream-json", "text"), default="stream-json")
    parser.add_argument(
        "--allowed-tools",
        default="",
        metavar="NAMES",
        help="tools to allow besides those that read files, separated by commas: "
        + ", ".join(DECLARATIONS),
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
        help="the folder that the tools work in (default: the current folder)",
    )
    chosen = parser.parse_args(argv)
    named = chosen.allowed_tools.replace(",", " ").split()
    for name in named:
        if name not in DECLARATIONS:
            parser.error(
                f"--allowed-tools: unknown tool {name!r}; known tools are {', '.join(DECLARATIONS)}"
            )
    if not Path(chosen.project_dir).is_dir():
        parser.error(f"--project-dir: {chosen.project_dir!r} is not a folder")
    chosen.allowed_tools = [name for name in DECLARATIONS if name in READERS or name in named]
    return chosen


def read_settings(path: Path) -> dict[str, str]:
    """Return the ``NAME=value`` lines of a ``.env`` file; no settings without the file.

    A value may be quoted, and ``export`` may precede a name.
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
    """Print the first page of the models on stderr, or the reason why it can't be read."""
    try:
        names = [model.name for model in client.models.list().page]
    except failures() as error:
        print(f"the models could not be listed: {error}", file=sys.stderr)
    else:
        print("models: " + ", ".join(map(str, names)), file=sys.stderr)


class Printer:
    """Prints the output of the program in one of the two formats."""

    def __init__(self, output_format: str) -> None:
        self._records = output_format == "stream-json"
        self._text = ""

    def print(self, record: Payload) -> None:
        """Print a record as a line, or in text mode only its text."""
        if record["type"] == "assistant":
            self._text += record["message"]["content"][0]["text"]
        if self._records:
            print(json.dumps(record), flush=True)
        elif record["type"] == "assistant":
            print(record["message"]["content"][0]["text"], end="", flush=True)

    def finish(self, last: Payload) -> int:
        """Print the text of all answers; returns the exit code 0. ``last``: the result of the last
        answer. If that is incomplete, or has an odd reason, the record reports it, or in text mode
        a line on stderr.
        """
        marks: Payload = {name: last[name] for name in ("incomplete", "reason") if name in last}
        if self._records:
            self.print(now({"type": "result", "result": self._text, **marks}))
            return 0
        if self._text:
            print(flush=True)
        if "incomplete" in marks:
            print("Warning: the answer is incomplete", file=sys.stderr)
        if "reason" in marks:
            print(f"Warning: the answer ended with the reason {marks['reason']}", file=sys.stderr)
        return 0

    def fail(self, message: str, code: str = "AGENT_ERROR") -> int:
        """Print an error, in text mode on stderr; returns the exit code 1."""
        if self._records:
            self.print(now({"type": "error", "code": code, "message": message}))
        else:
            print(f"Error: {message}", file=sys.stderr)
        return 1


def now(record: Payload) -> Payload:
    """Return the record with the present time."""
    return {**record, "timestamp": timestamp(time.time() * 1000)}


class GeminiClient:
    """Asks the model, and returns the records of its answers, streamed or all at once."""

    def __init__(self, client: Any, *, streamed: bool) -> None:
        self._client = client
        self._streamed = streamed

    def answer(self, request: GenerateRequest, session: Session) -> Iterator[Payload]:
        """Yield the records of one answer as they arrive; a failure is the last record."""
        reader = SdkReader(DIALECT.translator((), session), request.model)
        session.streamed = self._streamed
        try:
            for response in self._responses(request):
                session.at_ms = time.time() * 1000
                yield from reader.feed(response)
        except failures() as error:
            session.at_ms = time.time() * 1000
            yield from reader.fail(error)
        else:
            yield from reader.close()

    def _responses(self, request: GenerateRequest) -> Iterator[Any]:
        models, called_with = self._client.models, arguments(request)
        if self._streamed:
            yield from models.generate_content_stream(**called_with)
        else:
            yield models.generate_content(**called_with)


class Toolbox:
    """The tools that may run, by name; checks calls against the declarations."""

    def __init__(self, project: Path, allowed: Sequence[str], search_url: str = SEARCH_URL) -> None:
        tools: dict[str, Callable[[Arguments], dict[str, Any]]] = {
            **Files(project).tools,
            **ShellAndWebTools(project, search_url).tools,
        }
        self._tools = {name: tools[name] for name in allowed}

    def run(self, name: str, args: Mapping[str, Any]) -> ToolOutcome:
        """Return the outcome of a call; a failing tool gives a failed outcome."""
        try:
            return ToolOutcome(self._find(name)(_check(name, args)))
        except OSError as error:
            # without the path, which is private to the user
            return ToolOutcome(error.strerror or str(error), failed=True)
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
            raise ToolError(f"the argument {argument} of {name} is not a string")
    for argument in parameters.get("required", ()):
        if argument not in args:
            raise ToolError(f"{name} needs the argument {argument}")
    return args


def converse(
    prompt: Mapping[str, Any],
    options: Mapping[str, Any],
    gemini: GeminiClient,
    tools: Toolbox,
    printer: Printer,
) -> int:
    """Ask, run the calls of the answer and send all results together. Repeat this until an answer
    has no calls.

    Returns the exit code.
    """
    session = Session()
    for _ in range(MAX_ROUNDS):
        records = []
        request = PROVIDERS["gemini-api"].request(translate(prompt, options, session), session)
        for record in gemini.answer(request, session):
            records.append(record)
            if record["type"] == "error":
                return printer.fail(record["message"], record["code"])
            if record["type"] != "result":
                printer.print(record)
        calls = waiting_calls(records)
        if not calls:
            return printer.finish(records[-1])
        outcomes = []
        for call in calls:
            outcomes.append(tools.run(call["name"], call["args"]))
            printer.print(now(tool_result(call, outcomes[-1])))
        prompt = follow_up(prompt, records, outcomes)
    return printer.fail(f"the model called tools in {MAX_ROUNDS} answers in a row")
