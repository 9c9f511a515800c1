"""Faults of mind programs that only a running program shows.

The agent from which the records come had them. Each is our program with a replaced piece, run in a
folder and an environment of its own. The cases under ``specs/mind`` with an expectation for
``mind-program`` judge its output, its requests and its exit code.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.adapters import Adapter
from harness.adapters.clients import CLIENTS, make_client_adapter
from harness.adapters.environment import CERTIFICATE
from harness.dialects import Payload
from harness.dialects.mind.request import follow_up, tool_result, waiting_calls
from harness.dialects.mind.tools import DECLARATIONS
from harness.stream.generation import GenerateRequest, ToolOutcome
from harness.stream.session import Session
from harness.systems.mind import main
from harness.systems.mind.adapter import RunProgram
from harness.systems.mind.adapter import adapt as adapt_program
from harness.systems.mind.files import Arguments

from .faults import CASSETTE, Fault, file_fault

Pieces = dict[str, Any]
RATE_LIMIT_WORDS = ("429", "ResourceExhausted", "Rate limit", "quota", "Quota")
ROUNDS_OF_THE_SDK = 10


@dataclass(frozen=True, slots=True)
class ProgramFault(Fault):
    """The mind program with one fault. ``pieces`` gives the names in the program's module to
    replace, and their new values. It is called for every run.
    """

    pieces: Callable[[], Pieces] = dict
    column: ClassVar = "mind-program"
    """The column of its cells."""

    @property
    def adapter(self) -> Adapter:
        """The fault as an adapter under test."""
        adapt = partial(adapt_program, run=self.run)
        return make_client_adapter(CLIENTS[self.column], CASSETTE, adapt)

    @property
    def run(self) -> RunProgram:
        def run(
            arguments: Sequence[str], environment: Mapping[str, str], folder: str
        ) -> tuple[bytes, int]:
            printed = io.BytesIO()
            out, errors = io.TextIOWrapper(printed), io.StringIO()
            with (
                pytest.MonkeyPatch.context() as patch,
                redirect_stdout(out),
                redirect_stderr(errors),
            ):
                patch.chdir(folder)
                for name in os.environ.keys() - environment.keys():
                    patch.delenv(name)
                # as for a program that the harness starts: the server has no TLS
                for name, value in {**environment, "SSL_CERT_FILE": str(CERTIFICATE)}.items():
                    patch.setenv(name, value)
                for name, piece in self.pieces().items():
                    patch.setattr(main, name, piece)
                try:
                    code = main.main(arguments)
                except SystemExit as error:
                    code = int(error.code or 0)
                out.flush()
            return printed.getvalue(), code

        return run


PROGRAM_FAULTS: dict[str, ProgramFault] = {}


def faulty(pieces: Callable[[], Pieces]) -> Callable[[], Pieces]:
    file_fault(PROGRAM_FAULTS, "mind", pieces, partial(ProgramFault, pieces=pieces))
    return pieces


# Calls


def only_answering(calls: Callable[[Sequence[Payload]], list[Payload]]) -> Pieces:
    """The program runs only these calls of an answer, prints their results, and sends only them."""

    def follow(prompt: Any, records: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
        dropped = [
            call
            for call in waiting_calls(records)
            if not any(call is answered for answered in calls(records))
        ]
        return follow_up(
            prompt,
            [record for record in records if not any(record is call for call in dropped)],
            then,
        )

    return {"waiting_calls": calls, "follow_up": follow}


@faulty
def unknown_tools_are_passed_over() -> Pieces:
    """A call of an unknown tool has no result, and the program ends as if the answer had no call
    (the last state).
    """
    return only_answering(
        lambda records: [call for call in waiting_calls(records) if call["name"] in DECLARATIONS]
    )


@faulty
def only_the_first_call_runs() -> Pieces:
    """Of parallel calls the first one is run, and the others are dropped (the last state)."""
    return only_answering(lambda records: waiting_calls(records)[:1])


class Ended(Exception):
    """A tool ended the main function."""


def ending(find: Callable[[str, Mapping[str, Any]], str | None]) -> Pieces:
    """A call for which ``find`` returns a message ends the program with it."""

    class Toolbox(main.Toolbox):
        def run(self, name: str, args: Mapping[str, Any]) -> ToolOutcome:
            if message := find(name, args):
                raise Ended(message)
            return super().run(name, args)

    def converse(prompt: Any, options: Any, gemini: Any, tools: Any, say: main.Printer) -> int:
        try:
            return program_converse(prompt, options, gemini, tools, say)
        except Ended as error:
            return say.fail(str(error))

    program_converse = main.converse
    return {"Toolbox": Toolbox, "converse": converse}


@faulty
def unknown_tools_end_the_program() -> Pieces:
    """A call of an unknown tool is an error of the program (the last state, where the SDK runs the
    tools).
    """
    return ending(lambda name, args: None if name in DECLARATIONS else repr(name))


@faulty
def wrong_arguments_end_the_program() -> Pieces:
    """A call with an unknown argument is an error of the program (the last state)."""

    def find(name: str, args: Mapping[str, Any]) -> str | None:
        known = DECLARATIONS[name]["parameters"]["properties"] if name in DECLARATIONS else args
        odd = next((argument for argument in args if argument not in known), None)
        return odd and f"main.<locals>.{name}() got an unexpected keyword argument {odd!r}"

    return ending(find)


@faulty
def every_tool_may_run() -> Pieces:
    """A tool that was not allowed runs if the model asks for it: the option is not read (all
    states).
    """

    class Toolbox(main.Toolbox):
        def __init__(self, project: Path, allowed: Sequence[str], search_url: str = "") -> None:
            super().__init__(project, list(DECLARATIONS), search_url)

    return {"Toolbox": Toolbox}


@faulty
def text_after_a_call_is_lost() -> Pieces:
    """The parts after a call are neither reported nor sent back (the last state)."""

    class Gemini(main.GeminiClient):
        def answer(self, asked: GenerateRequest, session: Session) -> Any:
            called = False
            for record in super().answer(asked, session):
                called = called or record["type"] == "tool_code"
                if not (called and record["type"] == "assistant"):
                    yield record

    return {"GeminiClient": Gemini}


@faulty
def calls_of_the_tenth_round_run_again() -> Pieces:
    """After ten rounds the SDK stops; the calls of its last answer have run, and run again (the
    last state).
    """
    rounds = iter(range(1, 1000))

    def follow(prompt: Any, records: Sequence[Payload], then: Sequence[ToolOutcome] | str) -> Any:
        once = follow_up(prompt, records, then)
        return (
            follow_up(once, waiting_calls(records), then)
            if next(rounds) == ROUNDS_OF_THE_SDK
            else once
        )

    return {"follow_up": follow}


@faulty
def ten_rounds_are_all() -> Pieces:
    """After ten answers with tool calls no further request is sent (the limit of the SDK)."""
    return {"MAX_ROUNDS": ROUNDS_OF_THE_SDK}


# Results


@faulty
def results_are_wrapped() -> Pieces:
    """The result of a tool is sent below a second key ``result`` (the last state, where the SDK
    runs the tools).
    """

    class Toolbox(main.Toolbox):
        def run(self, name: str, args: Arguments) -> ToolOutcome:
            outcome = super().run(name, args)
            return outcome if outcome.failed else ToolOutcome({"result": outcome.result})

    return {"Toolbox": Toolbox}


@faulty
def results_are_not_printed() -> Pieces:
    """No ``tool_result`` is printed (the last state, where the SDK runs the tools)."""

    class Printer(main.Printer):
        def print(self, record: Payload) -> None:
            if record["type"] != "tool_result":
                super().print(record)

    return {"Printer": Printer}


@faulty
def results_have_other_names() -> Pieces:
    """``tool_result`` has the name of the function in the program, and ``tool_code`` has the name
    of the tool (the last state).
    """
    functions = {"glob": "glob_files", "replace": "replace_text"}

    def named(call: Payload, outcome: ToolOutcome) -> Payload:
        record = tool_result(call, outcome)
        return record | {"name": functions.get(record["name"], record["name"])}

    return {"tool_result": named}


# Modes and errors


@faulty
def calls_are_json_in_text_mode() -> Pieces:
    """In text mode a call is printed to stdout as JSON (the last state)."""

    class Printer(main.Printer):
        def __init__(self, output_format: str) -> None:
            super().__init__(output_format)
            self.in_text = output_format == "text"

        def print(self, record: Payload) -> None:
            if record["type"] == "tool_code" and self.in_text:
                print(json.dumps(record))
            super().print(record)

    return {"Printer": Printer}


@faulty
def any_format_is_text() -> Pieces:
    """An unknown output format is treated as text (the last state)."""
    parse_arguments = main.parse_arguments
    return {
        "parse_arguments": lambda arguments: parse_arguments(
            ["text" if argument == "json" else argument for argument in arguments]
        )
    }


@faulty
def no_content_ends_the_program() -> Pieces:
    """An answer without content is an error of the program (the last state)."""

    class Gemini(main.GeminiClient):
        def answer(self, asked: GenerateRequest, session: Session) -> Any:
            records = list(super().answer(asked, session))
            empty = [record["type"] for record in records] == ["result"] and not records[0][
                "result"
            ]
            message = "'NoneType' object has no attribute 'parts'"
            yield from (
                [{"type": "error", "code": "AGENT_ERROR", "message": message}] if empty else records
            )

    return {"GeminiClient": Gemini}


@faulty
def incomplete_answers_look_whole() -> Pieces:
    """A result does not show that the last answer is incomplete (all states)."""

    class Printer(main.Printer):
        def finish(self, last: dict[str, Any]) -> int:
            return super().finish({name: last[name] for name in last if name != "incomplete"})

    return {"Printer": Printer}


@faulty
def nothing_understood_is_a_result() -> Pieces:
    """An answer in which nothing was understood is an empty result, and the exit code is 0 (this
    program before law 9).
    """

    class Printer(main.Printer):
        def fail(self, message: str, code: str = "AGENT_ERROR") -> int:
            if message.startswith(("the answer has no content", "nothing in the answer")):
                return self.finish({})
            return super().fail(message, code)

    return {"Printer": Printer}


@faulty
def rate_limits_by_their_words() -> Pieces:
    """A rate limit is recognized by words of the error message (the last state)."""

    class Printer(main.Printer):
        def fail(self, message: str, code: str = "AGENT_ERROR") -> int:
            limited = any(word in message for word in RATE_LIMIT_WORDS)
            return super().fail(message, "RATE_LIMIT_EXCEEDED" if limited else code)

    return {"Printer": Printer}


@faulty
def every_error_is_the_agents() -> Pieces:
    """No error is a rate limit (the third state)."""

    class Printer(main.Printer):
        def fail(self, message: str, code: str = "AGENT_ERROR") -> int:
            return super().fail(message)

    return {"Printer": Printer}
