"""The mind program as a process: what it prints, what it sends, what it runs and what it
refuses.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from pkgutil import resolve_name
from threading import Thread
from time import sleep
from typing import Any, NamedTuple

import pytest

from harness import request
from harness.dialects.mind.program.files import Files, ToolError
from harness.dialects.mind.program.main import NO_KEY, Toolbox, main, read_settings
from harness.dialects.mind.program.shell_and_web import ShellAndWebTools
from harness.dialects.mind.request import DEFAULT_MODEL
from harness.dialects.mind.tools import DECLARATIONS, READERS
from harness.providers.gemini.canonical_request import canonical_request
from harness.server import serve

Json = dict[str, Any]
CASSETTES = Path(__file__).parents[3] / "cassettes"


class Reply(NamedTuple):
    """``missing``: so many bytes more are promised than come."""

    body: str
    status: int = 200
    missing: int = 0


class Gemini:
    """Answers generate requests one after the other, and keeps what was asked; other requests are
    refused, as by a gateway.
    """

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, Json]] = []
        self.keys: set[str] = set()
        self.listed: list[str] = []
        self.models = Reply("no such thing", 404)
        self.base_url = ""


@contextmanager
def gemini(*replies: Reply | Json | list[Json]) -> Iterator[Gemini]:
    """A loopback endpoint with these replies: frames of a stream, a unary answer, or a reply as it
    is.
    """
    known = Gemini([reply if isinstance(reply, Reply) else Reply(said(reply)) for reply in replies])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known.listed.append(self.path)
            self.answer(known.models)

        def do_POST(self) -> None:
            known.keys.add(self.headers["x-goog-api-key"])
            known.asked.append(
                (self.path, json.loads(self.rfile.read(int(self.headers["content-length"]))))
            )
            self.answer(known.replies.pop(0))

        def answer(self, reply: Reply) -> None:
            data = reply.body.encode()
            self.send_response(reply.status)
            self.send_header(
                "Content-Type",
                "text/event-stream" if data.startswith(b"data:") else "application/json",
            )
            self.send_header("Content-Length", str(len(data) + reply.missing))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    known.base_url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield known
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def said(reply: Json | list[Json]) -> str:
    return (
        json.dumps(reply)
        if isinstance(reply, dict)
        else "".join(f"data: {json.dumps(frame)}\r\n\r\n" for frame in reply)
    )


def frame(*parts: Json | str, finish: str | None = "STOP") -> Json:
    contents = [{"text": part} if isinstance(part, str) else part for part in parts]
    return {
        "candidates": [
            {"content": {"parts": contents, "role": "model"}, "index": 0}
            | ({"finishReason": finish} if finish else {})
        ]
    }


def called(name: str, **args: Any) -> Json:
    return {"functionCall": {"name": name, "args": args}}


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[Json]:
        """The lines of stdout, each a JSON object with a type and a time of today, without that
        time.
        """
        records = [json.loads(line) for line in self.out.splitlines()]
        for record in records:
            assert datetime.fromisoformat(record.pop("timestamp")).year >= 2025
        return records


def run(base_url: str, folder: Path, *arguments: str, **environment: str) -> Ran:
    """The program as a process in ``folder``, with a key unless ``GEMINI_API_KEY`` is given."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GEMINI", "GOOGLE"))
    }
    known = (
        clean
        | {"GEMINI_API_KEY": "from-the-environment", "GOOGLE_GEMINI_BASE_URL": base_url}
        | environment
    )
    command = [sys.executable, "-m", "harness.dialects.mind.program", *arguments]
    ran = subprocess.run(
        command,
        cwd=folder,
        env=known,
        text=True,
        encoding="utf-8",
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def text(said: str) -> Json:
    return {"type": "assistant", "message": {"content": [{"type": "text", "text": said}]}}


def code(name: str, **args: Any) -> Json:
    return {"type": "tool_code", "name": name, "args": args}


def gave(call: Json, result: Json) -> Json:
    return {**call, "type": "tool_result", "result": result}


def whole(text: str) -> Json:
    return {"type": "result", "result": text}


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An empty working folder and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith(("GEMINI", "GOOGLE")):
            monkeypatch.delenv(name)
    return monkeypatch


# Against a recorded conversation: the program's requests are the recorded ones, or the server
# refuses them


def test_it_holds_the_recorded_conversation(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two\n")
    asked = (
        "--prompt",
        "Which file is longer, a.txt or b.txt?",
        "--system-prompt",
        "Follow the protocol.",
    )
    with serve([CASSETTES / "gemini-api" / "mind-tools.yaml"], pace="instant") as server:
        ran = run(server.base_url, tmp_path, *asked)
        misses, unused = [miss for miss in server.misses if "POST" in miss], server.unused
    a, b, c = (
        code("read_file", path="a.txt"),
        code("read_file", path="b.txt"),
        code("glob", pattern="*.txt"),
    )
    assert (ran.code, misses, unused) == (0, [], []), ran
    assert ran.records == [
        text("I read "),
        text("both. "),
        a,
        b,
        gave(a, {"content": "one two\n"}),
        gave(b, {"error": "No such file or directory"}),
        c,
        gave(c, {"matches": ["a.txt"], "count": 1}),
        text("Only a.txt "),
        text("is there."),
        whole("I read both. Only a.txt is there."),
    ]


# The documented behaviours, by their names


@pytest.mark.parametrize("output_format", ["stream-json", "text"])
def test_b1_without_a_key_nothing_is_asked(tmp_path: Path, output_format: str) -> None:
    with gemini() as server:
        ran = run(
            server.base_url,
            tmp_path,
            "--prompt",
            "hi",
            "--output-format",
            output_format,
            GEMINI_API_KEY="",
        )
    assert (ran.code, json.loads(ran.out)) == (1, {"error": NO_KEY})
    assert (server.asked, server.listed) == ([], [])


def test_b2_a_record_for_each_piece_then_the_whole(tmp_path: Path) -> None:
    with gemini(
        [
            frame("Hel", finish=None),
            frame({"text": "hm", "thought": True}, "", finish=None),
            frame("lo"),
        ]
    ) as server:
        ran = run(server.base_url, tmp_path, "-p", "hi")
    assert (ran.code, ran.records) == (
        0,
        [text("Hel"), text("lo"), whole("Hello")],
    )  # E1, A3: no empty record; thoughts never
    ((path, body),) = server.asked
    options = {"allowed_tools": list(READERS)}
    assert path.endswith(f"/models/{DEFAULT_MODEL}:streamGenerateContent?alt=sse")
    assert canonical_request(body) == canonical_request(
        request({"prompt": "hi"}, dialect="mind", options=options)
    )


def test_b3_text_is_text_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with gemini(
        frame({"text": "hm", "thought": True}, "I read. ", called("read_file", path="a.txt")),
        frame("Grüße\n世界"),
    ) as server:
        ran = run(server.base_url, tmp_path, "-p", "hi", "--output-format", "text")
    assert (ran.code, ran.out) == (0, "I read. Grüße\n世界\n")  # A1, A2
    assert [path.rpartition(":")[2] for path, _ in server.asked] == [
        "generateContent",
        "generateContent",
    ]
    assert server.asked[1][1]["contents"][-1]["parts"] == [
        {"functionResponse": {"name": "read_file", "response": {"content": "x"}}}
    ]


@pytest.mark.parametrize(
    ("models", "told"),
    [
        (Reply('{"models": [{"name": "models/gemini-x"}]}'), "models: models/gemini-x"),
        (Reply("gone", 500), "the list of models is not to be had: 500"),  # E2
    ],
)
def test_b4_models_are_listed_on_stderr(tmp_path: Path, models: Reply, told: str) -> None:
    with gemini([frame("Hi")]) as server:
        server.models = models
        ran = run(server.base_url, tmp_path, "-p", "hi")
    assert (ran.code, ran.records) == (0, [text("Hi"), whole("Hi")])
    assert told in ran.err
    assert len(server.listed) == 1


def test_b5_every_call_has_its_result_and_all_go_back_together(tmp_path: Path) -> None:
    calls = [
        called("read_file", path="missing"),
        called("fly"),
        called("read_file", file="a"),
        called("run_shell_command", command="touch ran"),
    ]
    with gemini([frame("I try. ", *calls, " Wait.")], [frame("Sorry.")]) as server:
        ran = run(server.base_url, tmp_path, "-p", "hi")
    errors = [  # E3
        "No such file or directory",
        f"there is no tool fly; there are {', '.join(READERS)}",
        "read_file has no argument 'file'; it has path",
        "the tool run_shell_command is not allowed here; --allowed-tools names those that are",
    ]
    told = [code(call["functionCall"]["name"], **call["functionCall"]["args"]) for call in calls]
    results = [gave(call, {"error": error}) for call, error in zip(told, errors, strict=True)]
    ends = [text("Sorry."), whole("I try.  Wait.Sorry.")]
    assert (ran.code, ran.records) == (0, [text("I try. "), *told, text(" Wait."), *results, *ends])
    model, user = server.asked[1][1]["contents"][-2:]
    assert [part.get("text") or part["functionCall"]["name"] for part in model["parts"]] == [
        "I try. ",
        *(call["name"] for call in told),
        " Wait.",
    ]
    assert [part["functionResponse"]["response"] for part in user["parts"]] == [
        {"error": error} for error in errors
    ]
    assert not (tmp_path / "ran").exists()


def test_what_is_named_may_run(tmp_path: Path) -> None:
    calls = [
        called("write_file", path="new/a.txt", content="ä"),
        called("run_shell_command", command="cat new/a.txt; exit 3"),
    ]
    with gemini([frame(*calls)], [frame("Done.")]) as server:
        named = ("--allowed-tools", "write_file, run_shell_command", "--project-dir", "project")
        (tmp_path / "project").mkdir()
        ran = run(server.base_url, tmp_path, "-p", "hi", *named)
    results = [record["result"] for record in ran.records if record["type"] == "tool_result"]
    assert results == [
        {"path": "new/a.txt", "bytes": 2},
        {"stdout": "ä", "stderr": "", "exit_code": 3},
    ]
    assert (tmp_path / "project" / "new" / "a.txt").read_text(encoding="utf-8") == "ä"
    declared = [tool["name"] for tool in server.asked[0][1]["tools"][0]["functionDeclarations"]]
    assert declared == [
        name
        for name in DECLARATIONS
        if name in READERS or name in ("write_file", "run_shell_command")
    ]


def test_all_ten_tools_run_where_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "read.me").write_text("Moss grows.")
    with gemini() as server:
        server.models = Reply('<a href="https://moss.example/">Moss</a>')
        calls = [
            called("read_file", path="read.me"),
            called("list_directory"),
            called("search_file_content", pattern="Moss"),
            called("glob", pattern="*.me"),
            called("codebase_investigator", query="read"),
            called("replace", path="read.me", old_string="Moss", new_string="Fern"),
            called("write_file", path="b.txt", content="x"),
            called("run_shell_command", command="cat read.me b.txt"),
            called("google_web_search", query="moss"),
            called("web_fetch", url=f"{server.base_url}/page"),
        ]
        server.replies = [Reply(said([frame(*calls)])), Reply(said([frame("Done.")]))]
        named = ("--allowed-tools", ",".join(name for name in DECLARATIONS if name not in READERS))
        ran = run(
            server.base_url,
            tmp_path,
            "-p",
            "hi",
            *named,
            MIND_GOOGLE_SEARCH_URL=f"{server.base_url}/search",
        )
    told = [code(call["functionCall"]["name"], **call["functionCall"]["args"]) for call in calls]
    given: list[Json] = [
        {"content": "Moss grows."},
        {"entries": [{"name": "read.me", "type": "file"}], "count": 1},
        {"matches": [{"path": "read.me", "line": 1, "text": "Moss grows."}], "count": 1},
        {"matches": ["read.me"], "count": 1},
        {"relevant_files": ["read.me"]},
        {"path": "read.me", "success": True},
        {"path": "b.txt", "bytes": 1},
        {"stdout": "Fern grows.x", "stderr": "", "exit_code": 0},
        {"results": [{"url": "https://moss.example/"}]},
        {"url": f"{server.base_url}/page", "content": server.models.body},
    ]
    results = [gave(call, result) for call, result in zip(told, given, strict=True)]
    assert {call["name"] for call in told} == set(DECLARATIONS)
    assert (ran.code, ran.records) == (0, [*told, *results, text("Done."), whole("Done.")])
    assert [
        part["functionResponse"]["response"] for part in server.asked[1][1]["contents"][-1]["parts"]
    ] == given


def failed(code: int, status: str, message: str) -> Reply:
    return Reply(json.dumps({"error": {"code": code, "message": message, "status": status}}), code)


FAILURES: dict[str, tuple[list[Any], list[Json]]] = {
    "the limit": (
        [failed(429, "RESOURCE_EXHAUSTED", "Slow down.")],
        [{"type": "error", "code": "RATE_LIMIT_EXCEEDED", "message": "Slow down."}],
    ),
    "words that sound like it": (
        [failed(400, "INVALID_ARGUMENT", "quota 429 Rate limit")],
        [{"type": "error", "code": "AGENT_ERROR", "message": "quota 429 Rate limit"}],
    ),
    "in the stream": (
        [Reply(said([frame("Hi", finish=None)]) + failed(503, "UNAVAILABLE", "Overloaded.").body)],
        [text("Hi"), {"type": "error", "code": "AGENT_ERROR", "message": "Overloaded."}],
    ),
    "a cut": (
        [Reply(said([frame("Hi", finish=None)]), missing=99)],
        [
            text("Hi"),
            {
                "type": "error",
                "code": "AGENT_ERROR",
                "message": "the stream ended before it was complete (cut)",
            },
        ],
    ),
    "a blocked prompt": (
        [[{"promptFeedback": {"blockReason": "SAFETY"}}]],
        [{"type": "error", "code": "AGENT_ERROR", "message": "the prompt was blocked: SAFETY"}],
    ),
}


@pytest.mark.parametrize(("replies", "records"), FAILURES.values(), ids=FAILURES)
def test_an_error_is_the_last_record_and_exit_code_1(
    replies: list[Any],
    records: list[Json],
    inside: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with gemini(*replies) as server:
        inside.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url)
        code = main(["-p", "hi", "--api-key", "k"])
    assert (code, Ran(code, *capsys.readouterr()).records) == (1, records)


def test_an_error_in_text_mode_is_not_on_stdout(tmp_path: Path) -> None:
    with gemini(failed(429, "RESOURCE_EXHAUSTED", "Slow down.")) as server:
        ran = run(server.base_url, tmp_path, "-p", "hi", "--output-format", "text")
    assert (ran.code, ran.out) == (1, "")
    assert "Error: Slow down." in ran.err


def test_the_console_script_is_the_program() -> None:
    project = tomllib.loads((CASSETTES.parent / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert resolve_name(project["scripts"]["harness-mind"]) is main


# Keys, models, arguments


DOTENV = 'GEMINI_API_KEY="from-dotenv"\nGEMINI_MODEL=gemini-dotenv  # mine\n'


@pytest.mark.parametrize(
    ("arguments", "dotenv", "key", "model"),
    [
        ((), "", "from-the-environment", "gemini-environment"),
        ((), DOTENV, "from-dotenv", "gemini-dotenv"),
        (("--api-key", "mine", "--model-name", "gemini-mine"), DOTENV, "mine", "gemini-mine"),
    ],
)
def test_key_and_model(
    tmp_path: Path, arguments: tuple[str, ...], dotenv: str, key: str, model: str
) -> None:
    (tmp_path / ".env").write_text(dotenv)
    with gemini([frame("Hi")]) as server:
        ran = run(
            server.base_url, tmp_path, "-p", "hi", *arguments, GEMINI_MODEL="gemini-environment"
        )
    assert (ran.code, ran.records, server.keys) == (0, [text("Hi"), whole("Hi")], {key})
    assert f"/models/{model}:" in server.asked[0][0]


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("A=b", {"A": "b"}),
        ("export A = 'b # c' # d", {"A": "b # c"}),
        ("A=b # c", {"A": "b"}),
        ("# A=b", {}),
        ("A", {}),
        ("A=", {"A": ""}),
        ("A='b", {"A": "'b"}),
    ],
)
def test_settings(tmp_path: Path, line: str, settings: dict[str, str]) -> None:
    (tmp_path / ".env").write_text(f"\n{line}\n")
    assert read_settings(tmp_path / ".env") == settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--prompt"),
        (["-p", "x", "--output-format", "json"], "invalid choice: 'json'"),
        (["-p", "x", "--allowed-tools", "rm"], "there is no tool 'rm'; known ones are read_file"),
        (["-p", "x", "--project-dir", "/no/such/folder"], "'/no/such/folder' is no folder"),
    ],
)
def test_wrong_arguments_exit_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    out, err = capsys.readouterr()
    assert (exited.value.code, out) == (2, "")
    assert message in err


def test_without_the_sdk_it_says_how_to_get_it(
    inside: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside.setitem(sys.modules, "google.genai", None)
    assert main(["-p", "hi", "--api-key", "k"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["type"], record["message"]) == (
        "error",
        "google-genai is not installed; pip install 'gemini-conformance[genai]'",
    )


def test_a_model_that_never_stops_asking_is_stopped(
    inside: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside.setattr("harness.dialects.mind.program.main.MAX_ROUNDS", 2)
    with gemini(
        [frame(called("glob", pattern="*"))], [frame(called("glob", pattern="*"))]
    ) as server:
        inside.setenv("GOOGLE_GEMINI_BASE_URL", server.base_url)
        assert main(["-p", "hi", "--api-key", "k"]) == 1
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["type"], last["message"]) == (
        "error",
        "the model asked for tools 2 times in a row",
    )


# Tools


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a secret beside it, and symlinks that lead to it."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("import os\nprint('Moss')\n")
    (folder / "read.me").write_text("Moss grows.\n")
    (folder / "image.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "secret").write_text("Moss key")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "out").symlink_to(tmp_path)
    return folder


RESULTS: dict[str, tuple[str, Json, Json]] = {
    "a file": ("read_file", {"path": "src/main.py"}, {"content": "import os\nprint('Moss')\n"}),
    "a folder": (
        "list_directory",
        {"path": "src"},
        {"entries": [{"name": "main.py", "type": "file"}], "count": 1},
    ),
    "a search": (
        "search_file_content",
        {"pattern": "M[o]ss"},
        {
            "matches": [
                {"path": "read.me", "line": 1, "text": "Moss grows."},
                {"path": "src/main.py", "line": 2, "text": "print('Moss')"},
            ],
            "count": 2,
        },
    ),
    "a search in one file": (
        "search_file_content",
        {"pattern": "^Moss", "path": "read.me"},
        {"matches": [{"path": "read.me", "line": 1, "text": "Moss grows."}], "count": 1},
    ),
    "names": ("glob", {"pattern": "**/*.py"}, {"matches": ["src/main.py"], "count": 1}),
    "names with links among them": (
        "glob",
        {"pattern": "*"},
        {"matches": ["image.bin", "read.me", "src"], "count": 3},
    ),
    "a question": (
        "codebase_investigator",
        {"query": "where is MAIN"},
        {"relevant_files": ["src/main.py"]},
    ),
    "writing": (
        "write_file",
        {"path": "src/new.py", "content": "x"},
        {"path": "src/new.py", "bytes": 1},
    ),
    "replacing": (
        "replace",
        {"path": "read.me", "old_string": "Moss", "new_string": "Fern"},
        {"path": "read.me", "success": True},
    ),
    "the shell": (
        "run_shell_command",
        {"command": "pwd -P; echo no >&2"},
        {"stdout": "$PROJECT\n", "stderr": "no\n", "exit_code": 0},
    ),
}


@pytest.mark.parametrize(("name", "arguments", "result"), RESULTS.values(), ids=RESULTS)
def test_what_a_tool_gives(project: Path, name: str, arguments: Json, result: Json) -> None:
    expected = json.loads(json.dumps(result).replace("$PROJECT", str(project.resolve())))
    outcome = Toolbox(project, list(DECLARATIONS)).run(name, arguments)
    assert (outcome.failed, outcome.result) == (False, expected)


REFUSED: dict[str, tuple[str, Json, str]] = {
    "above the project": (
        "read_file",
        {"path": "../secret"},
        "'../secret' is outside the project folder",
    ),
    "an absolute path": ("read_file", {"path": "/etc/passwd"}, "'/etc/passwd' is outside"),
    "a link to a file": ("read_file", {"path": "link"}, "'link' is outside"),
    "through a link to a folder": ("read_file", {"path": "out/secret"}, "'out/secret' is outside"),
    "a folder above": ("list_directory", {"path": ".."}, "'..' is outside"),
    "a linked folder": ("list_directory", {"path": "out"}, "'out' is outside"),
    "a search above": ("search_file_content", {"pattern": "x", "path": ".."}, "'..' is outside"),
    "names above": ("glob", {"pattern": "../*"}, "'../*' is no pattern below"),
    "names of the system": ("glob", {"pattern": "/etc/*"}, "'/etc/*' is no pattern below"),
    "writing above": ("write_file", {"path": "../new", "content": "x"}, "'../new' is outside"),
    "writing through a link": ("write_file", {"path": "link", "content": "x"}, "'link' is outside"),
    "replacing above": (
        "replace",
        {"path": "out/secret", "old_string": "M", "new_string": "N"},
        "'out/secret' is outside",
    ),
    "what is not there": (
        "replace",
        {"path": "read.me", "old_string": "Fern", "new_string": "x"},
        "String not found in read.me",
    ),
    "no path": ("read_file", {"path": "a\0b"}, "'a\\x00b' is no path"),
    "no text": ("read_file", {"path": "image.bin"}, "image.bin is no text in UTF-8"),
    "a folder as a file": ("read_file", {"path": "src"}, "Is a directory"),
    "a pattern that is none": (
        "search_file_content",
        {"pattern": "("},
        "'(' is no regular expression: missing )",
    ),
    "a missing argument": ("write_file", {"path": "x"}, "write_file needs the argument content"),
    "an argument of another type": (
        "read_file",
        {"path": 3},
        "the argument path of read_file is no string",
    ),
    "a file of the machine": (
        "web_fetch",
        {"url": "file:///etc/passwd"},
        "'file:///etc/passwd' is no http or https address",
    ),
    "text that is none": (
        "write_file",
        {"path": "x", "content": "\ud800"},
        "surrogates not allowed",
    ),
}


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_a_tool_refuses(project: Path, name: str, arguments: Json, message: str) -> None:
    outcome = Toolbox(project, list(DECLARATIONS)).run(name, arguments)
    assert outcome.failed
    assert message in str(outcome.result)
    assert (project.parent / "secret").read_text() == "Moss key"
    assert not (project.parent / "new").exists()


def test_a_search_sees_nothing_through_links(project: Path) -> None:
    assert "key" not in str(Files(project).tools["search_file_content"]({"pattern": "Moss"}))
    with pytest.raises(ToolError):
        Files(project).inside("out/project/../secret")


def test_a_search_has_a_time_limit_even_inside_one_match(project: Path) -> None:
    (project / "a.txt").write_text("a" * 60 + "b")
    files = Files(project, search_seconds=0.1)
    with pytest.raises(ToolError, match=r"the search took longer than 0\.1 s; use a simpler"):
        files.search_file_content({"pattern": "(a+)+$"})
    assert files.search_file_content({"pattern": "a+b"})["count"] == 1


def test_a_command_has_a_time_limit_and_takes_what_it_started_with_it(project: Path) -> None:
    with pytest.raises(ToolError, match=r"longer than 0\.2 s"):
        ShellAndWebTools(project, shell_seconds=0.2).run_shell_command(
            {"command": "(sleep 0.5; touch late) & sleep 30"}
        )
    sleep(0.6)
    assert not (project / "late").exists()


def test_search_and_fetch(project: Path) -> None:
    links = '<a href="/url?q=https://moss.example/a%20b&amp;x">1</a> <a href="https://fern.example">2</a> <a href="http://127.0.0.1/own">3</a>'
    with gemini() as server:
        server.models = Reply(links)
        web = Toolbox(project, ["google_web_search", "web_fetch"], f"{server.base_url}/search")
        found = web.run("google_web_search", {"query": "moss & fern"}).result
        fetched = web.run("web_fetch", {"url": f"{server.base_url}/page"}).result
        server.models = Reply("gone", 410)
        gone = web.run("web_fetch", {"url": f"{server.base_url}/page"})
    assert found == {
        "results": [{"url": "https://moss.example/a b"}, {"url": "https://fern.example"}]
    }
    assert fetched == {"url": f"{server.base_url}/page", "content": links}
    assert (gone.failed, gone.result) == (True, "HTTP Error 410: Gone")
    assert server.listed == ["/search?q=moss+%26+fern", "/page", "/page"]


def test_every_declared_tool_is_there(project: Path) -> None:
    assert {*Files(project).tools, *ShellAndWebTools(project).tools} == set(DECLARATIONS)
