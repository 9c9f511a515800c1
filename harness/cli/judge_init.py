"""``harness judge --init KIND -o FILE``: writes a shim to fill in."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Final, NamedTuple

from harness.report import ReportError

from .output import note

_HEAD: Final = '''\
"""A shim for `harness judge`: it runs the adapter, and reports the facts of its events.

Fill in the marked place. The facts say what a program acts on: Text, Thought, Call, Finish, Usage,
Error. Signatures, media and other opaque values need no fact: they are found in the events.
"""

'''

_FACTS: Final = """\
        # if event.kind == "text":
        #     facts.append(Text(event.text))
        # if event.kind == "thought":
        #     facts.append(Thought(event.text))
        # if event.kind == "call":
        #     facts.append(Call(event.id, event.name, event.arguments))
        # if event.kind == "usage":
        #     tokens = {"input": event.input, "output": event.output, "total": event.total}
        #     facts.append(Usage(**tokens, thoughts=event.thoughts))
        # if event.kind == "error":
        #     facts.append(Error(event.code, event.message))
        # if event.kind == "end":
        #     facts.append(Finish(event.reason))
"""

_FUNCTION: Final = (
    _HEAD
    + '''from collections.abc import Iterator

from harness import Exchange
from harness.facts import Call, Error, Fact, Finish, Text, Thought, Usage, skip  # noqa: F401

PROVIDERS = ("gemini-api",)  # the wires that your adapter reads; without it all are judged
# VERSION_OF = "my-package"  # the distribution whose version is reported


def replay(exchange: Exchange) -> Iterator[tuple[object, list[Fact]]]:
    """Yield each event of the adapter for the recorded bytes, with the facts in it."""
    # if not exchange.streamed: skip("only streams")
    # if exchange.status >= 400: skip("the client raises")  # what does yours do with an HTTP error?
    for event in events_of(network(exchange)):
        facts: list[Fact] = []
@FACTS@        yield event, facts


def network(exchange: Exchange) -> Iterator[bytes]:
    """Yield each network read; an event may begin in one and end in the next. A cut raises."""
    for _, data in exchange.reads:
        yield data
    if exchange.end in ("cut", "reset", "aborted"):
        raise ConnectionError(f"the answer ended with: {exchange.end}")


def events_of(reads: Iterator[bytes]) -> Iterator[object]:
    """Fill in: give the reads of the answer to the adapter, and yield its events."""
    raise RuntimeError("@NAME@ is not filled in: call your adapter in events_of")
'''
)

_CLIENT: Final = (
    _HEAD
    + '''from collections.abc import Iterator

from harness import At
from harness.facts import (  # noqa: F401  # a name that you do not need may go
    Call,
    Error,
    Fact,
    Finish,
    Text,
    Thought,
    Usage,
)

PROVIDERS = ("gemini-api",)  # the wires that your client asks for; without it all are judged
# VERSION_OF = "my-package"  # the distribution whose version is reported


def replay(at: At) -> Iterator[tuple[object, list[Fact]]]:
    """Send one request to `at.base_url`; yield each event of the client, with the facts in it."""
    if not at.stream:
        at.skip("this shim asks for streams only")
    for event in events_of(at.base_url, at.model, at.prompt):
        facts: list[Fact] = []
@FACTS@        yield event, facts


def events_of(base_url: str, model: str, prompt: str) -> Iterator[object]:
    """Fill in: configure the client with the base URL and any key, and yield its events."""
    raise RuntimeError("@NAME@ is not filled in: ask your client in events_of")
'''
)

_LIVE: Final = (
    _HEAD
    + '''import asyncio
from collections.abc import AsyncIterator

from harness import At
from harness.adapters.script import Step
from harness.facts import (  # noqa: F401  # a name that you do not need may go
    Call,
    Cancelled,
    Error,
    Fact,
    Finish,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Text,
    Thought,
    Usage,
)

PROVIDERS = ("live",)  # the Live API; a shim that does not name it is not asked
# VERSION_OF = "my-package"  # the distribution whose version is reported


class Adapter:
    """Fill in: your adapter, which holds one session."""

    def __init__(self, at: At) -> None:
        """Connect to `at.base_url` with the model, the tools and the settings of `at`. The
        environment has the certificate: SSL_CERT_FILE.
        """
        raise RuntimeError("@NAME@ is not filled in: connect your adapter in Adapter")

    async def events(self) -> AsyncIterator[object]:
        """Yield each event of the session, until it ends."""
        yield None

    async def say(self, step: Step) -> None:
        """Send what the user does: `step.text`, or `step.data` of the type `step.mime_type`."""

    async def send_result(self, call: Call, text: str) -> None:
        """Send the result of a call."""

    async def close(self) -> None:
        """End the session."""


async def replay(at: At) -> AsyncIterator[tuple[object, list[Fact]]]:
    """Hold one session; yield each event of the adapter, with the facts in it."""
    adapter = Adapter(at)
    tools: dict[str | None, asyncio.Task[None]] = {}

    async def run_tool(call: Call) -> None:
        text = await asyncio.to_thread(at.result, call)  # waits until the tool has ended
        await adapter.send_result(call, text)

    async def talk() -> None:
        assert at.script is not None
        async for step in at.script:  # waits until the user takes the next step
            await adapter.say(step)
        await adapter.close()

    user = asyncio.create_task(talk())
    try:
        async for event in adapter.events():
            facts: list[Fact] = []
@FACTS@            # A turn ends with a Finish. A session that the server ends is an Error.
            # if event.kind == "call":
            #     tools[event.id] = asyncio.create_task(run_tool(facts[-1]))
            # if event.kind == "cancelled":
            #     tools[event.id].cancel()
            #     facts.append(Cancelled(event.id))
            # if event.kind == "interrupted":
            #     facts.append(Interrupted())
            # if event.kind == "heard":
            #     facts.append(InputTranscript(event.text))
            # if event.kind == "spoken":
            #     facts.append(OutputTranscript(event.text))
            yield event, facts
    finally:
        user.cancel()
        for tool in tools.values():
            tool.cancel()
'''
)

_PROGRAM: Final = '''\
"""A program for `harness judge`, to fill in; one in any other language works the same way.

It gets a line of JSON on stdin for each exchange, asks `base_url`, and writes a line of JSON to the
descriptor HARNESS_OUT: the events of the adapter (`native`), and the facts of each event.
"""

import json
import os
import sys
from typing import Any

Fact = dict[str, Any]
# {"text": "Hi"}, {"thought": "Hm"}, {"call": {"id": "i", "name": "f", "arguments": {}}},
# {"usage": {"input": 7, "output": 2, "thoughts": 3, "total": 12}}, {"finish": "STOP"},
# {"error": {"code": 429, "message": ""}}


def answer(base_url: str, model: str, prompt: str, stream: bool) -> list[tuple[Any, list[Fact]]]:
    """Fill in: send one request, and return each event of the adapter with the facts in it."""
    raise RuntimeError("@NAME@ is not filled in: ask your adapter in answer")


def write(**line: Any) -> None:
    data = json.dumps(line).encode() + b"\\n"
    while data:
        data = data[os.write(int(os.environ["HARNESS_OUT"]), data) :]


# providers: the wires that your adapter asks for; without it all are judged
write(
    hello=1, name="@STEM@", version="1.0", turns=1, language="python", providers=["gemini-api"]
)
for text in sys.stdin:
    given = json.loads(text)
    steps: list[tuple[Any, list[Fact]]] = []
    raised: dict[str, Any] | None = None
    try:
        steps = answer(given["base_url"], given["model"], given["prompt"], given["stream"])
    except Exception as error:
        raised = {"type": type(error).__name__, "message": str(error), "code": None}
    native, facts = [event for event, _ in steps], [fact for _, fact in steps]
    write(id=given["id"], native=native, facts=facts, raised=raised)
'''

_JAVASCRIPT: Final = """\
// A program for `harness judge`, to fill in. It gets a line of JSON on stdin for each exchange,
// asks `base_url`, and writes a line of JSON to the descriptor HARNESS_OUT: the events
// of the adapter (`native`), and the facts of each event.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

// {text: "Hi"}, {thought: "Hm"}, {call: {id: "i", name: "f", arguments: {}}}, {finish: "STOP"},
// {usage: {input: 7, output: 2, thoughts: 3, total: 12}}, {error: {code: 429, message: ""}}

/** Fill in: send one request, and call `say(event, facts)` for each event of the adapter. */
async function answer({ base_url, model, prompt, stream }, say) {
  throw new Error("@NAME@ is not filled in: ask your adapter in answer");
}

function write(line) {
  let data = Buffer.from(JSON.stringify(line) + "\\n");
  while (data.length) {
    try {
      data = data.subarray(writeSync(Number(process.env.HARNESS_OUT), data));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error; // the pipe is full
    }
  }
}

// providers: the wires that your adapter asks for; without it all are judged
const providers = ["gemini-api"];
write({ hello: 1, name: "@STEM@", version: "1.0", turns: 1, language: "javascript", providers });
for await (const text of createInterface({ input: process.stdin })) {
  const given = JSON.parse(text);
  const [native, facts] = [[], []];
  let raised = null;
  try {
    await answer(given, (event, stated) => {
      native.push(event);
      facts.push(stated);
    });
  } catch (error) {
    raised = { type: error.name, message: error.message, code: error.status ?? null };
  }
  write({ id: given.id, native, facts, raised });
}
process.exit(0); // also if the client keeps connections open
"""

_GATEWAY: Final = '''\
"""A gateway for `harness judge`, to fill in: an HTTP server between a client and Gemini.

A gateway that you have already needs no file: start it with http://127.0.0.1:8790 as the base URL
of Gemini's API, and name its own URL.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

GEMINI = "http://127.0.0.1:8790"  # the harness answers here in place of Gemini


class Gateway(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = answer_of(asked)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def answer_of(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Fill in: ask GEMINI for `asked`, a request of Chat Completions, and return the answer."""
    message = "@NAME@ is not filled in: ask GEMINI in answer_of"
    return 501, {"error": {"code": 501, "message": message}}


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 4000), Gateway).serve_forever()
'''


FIRST: Final = "--cassettes gemini-api/text:1 gemini-api/framing:2 gemini-api/parallel-calls:1"
"""Exchanges for a first result: a text, another one with other line ends, and three calls."""
FIRST_SESSIONS: Final = "--cassettes live/text:1 live/interruption:1 live/cancelled-call:1"
"""Sessions for a first result: a turn, an interruption, and a call that is cancelled."""


class _Kind(NamedTuple):
    """A kind of adapter file that can be written."""

    text: str
    """The file, in which ``@NAME@`` is its name and ``@STEM@`` its name without the ending."""
    judge: str
    """The line that judges it, with ``{stem}``, ``{file}`` and ``{python}``."""
    start: str = ""
    """The line that starts it, if the harness does not."""
    first: str = FIRST
    """The option with three exchanges for a first result."""
    indent: int = 8
    """The blanks before the lines about facts."""


KINDS: Final = {
    "function": _Kind(_FUNCTION, "harness judge {stem}:replay"),
    "client": _Kind(_CLIENT, 'harness judge "serve: {stem}:replay"'),
    "live": _Kind(_LIVE, 'harness judge "serve: {stem}:replay"', first=FIRST_SESSIONS, indent=12),
    "program": _Kind(_PROGRAM, 'harness judge "serve: {python} {file}"'),
    "gateway": _Kind(
        _GATEWAY,
        'harness judge "gateway openai-chat: http://127.0.0.1:4000"',
        "{python} {file} &",
    ),
}
"""The kinds of shim by their word after ``--init``."""

_OF_NODE: Final = _Kind(_JAVASCRIPT, 'harness judge "serve: node {file}"')
"""A program in a file for Node, ``.mjs``."""


def write_shim(kind: str, file: Path | None) -> None:
    """Write the shim, and print the lines that come next. Raises `ReportError` if the file can't be
    a module, or exists.
    """
    if file is None:
        raise ReportError(f"--init {kind}: name the file to write: -o shim.py")
    module = kind in ("function", "client", "live")
    stem = file.stem
    of_node = kind == "program" and file.suffix == ".mjs"
    made = _OF_NODE if of_node else KINDS[kind]
    if (not of_node and file.suffix != ".py") or (module and not stem.isidentifier()):
        raise ReportError(
            f"--init {kind}: {file} can't be a module of Python; use a name such as shim.py"
        )
    if module and stem in sys.stdlib_module_names:
        raise ReportError(
            f"--init {kind}: Python has a module {stem}; use another name, such as shim.py"
        )
    facts = indent(dedent(_FACTS), made.indent * " ")
    text = made.text.replace("@FACTS@", facts).replace("@NAME@", file.name)
    text = text.replace("@STEM@", stem.replace("_", "-"))
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8", newline="\n") as target:
            target.write(text)
    except FileExistsError:
        raise ReportError(f"{file} already exists; name another file, or delete it first") from None
    note(f"wrote {file}")
    python = "python" if os.name == "nt" else "python3"
    away = file.parent.resolve() != Path.cwd()
    judge, start = (
        line.format(stem=stem, file=file, python=python) for line in (made.judge, made.start)
    )
    print("Next, judge it as it stands on three exchanges; then fill it in, and judge it again:")
    if module and away:
        print(f"  cd {file.parent}")
    if start:
        print(f"  {start}")
    print(f"  {judge} {made.first}")
    print("Then judge it on all exchanges:")
    print(f"  {judge}")
