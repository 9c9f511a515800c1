"""Real clients stream from `harness serve`: Google's libraries for Python and Node, and the Gemini
CLI.

``make test-clients`` installs the Node clients. A test whose client is not installed skips with the
reason, and fails if HARNESS_REQUIRE names ``clients``.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from google import genai
from google.genai import types

from harness.cassettes import Cassette, Exchange, Origin, Request
from harness.server import Server, serve
from tests.support.need import need

HERE: Final = Path(__file__).parent
MODEL: Final = "gemini-3-flash-preview"
PATH: Final = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
WAIT_S: Final = 60
READ_MS: Final = 60.0
"""The pause between two reads. @google/genai recognizes an error inside a stream only in a read of
its own, and Node joins reads that come close together.
"""

PLAN = b'data: {"candidates": [{"content": {"parts": [{"text": "**Plan**","thought": true}],"role": "model"}}],"responseId": "r"}\r\n\r\n'
TEXT = b'data: {"candidates": [{"content": {"parts": [{"text": "Gr\xc3\xbc\xc3\x9fe, "}],"role": "model"}}],"responseId": "r"}\r\n\r\n'
LAST = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Welt"}],"role": "model"},"finishReason": "STOP"}],'
    b'"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 4,"totalTokenCount": 11},"responseId": "r"}\r\n\r\n'
)
CALL = (
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"id": "c1","name": "read_file","args": {"file_path": "a.txt"}},'
    b'"thoughtSignature": "U0lH"}],"role": "model"},"finishReason": "STOP"}],"usageMetadata": {"totalTokenCount": 9}}\r\n\r\n'
)
OVERLOADED = b'{\n  "error": {\n    "code": 503,\n    "message": "The model is overloaded.",\n    "status": "UNAVAILABLE"\n  }\n}\n'
NO_KEY = b'{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT"}}'


def asks(prompt: str) -> bytes:
    return json.dumps({"contents": [{"parts": [{"text": prompt}], "role": "user"}]}).encode()


def answered(prompt: str, *reads: bytes, status: int = 200, end: Any = "complete") -> Exchange:
    request = Request("POST", f"https://generativelanguage.googleapis.com{PATH}", {}, asks(prompt))
    headers = {
        "Content-Type": [
            "text/event-stream" if status == 200 else "application/json; charset=UTF-8"
        ]
    }
    return Exchange(
        request,
        status,
        headers,
        tuple((READ_MS * number, data) for number, data in enumerate(reads, 1)),
        end,
    )


def tape(*exchanges: Exchange) -> Cassette:
    return Cassette(exchanges, Origin("written"))


PROMPTS: Final = {
    "text": answered("text", PLAN, TEXT[:130], TEXT[130:], LAST),
    "call": answered("call", PLAN, CALL),
    "broken": answered("broken", PLAN, TEXT, OVERLOADED),
    "cut": answered("cut", PLAN, TEXT, end="cut"),
    "no key": answered("no key", NO_KEY, status=400),
}

Seen = tuple[list[dict[str, Any]], int | str | None]
"""The received parts, and the end: None, the code of an error, or ``cut``."""


def run_sync(base_url: str, prompt: str) -> Seen:
    parts: list[dict[str, Any]] = []
    with python_client(base_url) as client:
        try:
            for response in client.models.generate_content_stream(model=MODEL, contents=prompt):
                parts += parts_of(response)
        except (genai.errors.APIError, httpx2.RemoteProtocolError) as error:
            return parts, how(error)
    return parts, None


def run_async(base_url: str, prompt: str) -> Seen:
    async def run() -> Seen:
        parts: list[dict[str, Any]] = []
        with python_client(base_url) as client:
            async with client.aio as talking:
                try:
                    async for response in await talking.models.generate_content_stream(
                        model=MODEL, contents=prompt
                    ):
                        parts += parts_of(response)
                except (genai.errors.APIError, httpx2.RemoteProtocolError) as error:
                    return parts, how(error)
        return parts, None

    return asyncio.run(run())


def python_client(base_url: str) -> genai.Client:
    async_args = {"transport": httpx2.AsyncHTTPTransport()}  # else aiohttp, if it is installed
    return genai.Client(
        api_key="none",
        http_options=types.HttpOptions(
            base_url=base_url, api_version="v1beta", async_client_args=async_args
        ),
    )


def parts_of(response: types.GenerateContentResponse) -> list[dict[str, Any]]:
    content = response.candidates[0].content if response.candidates else None
    return [
        part.model_dump(mode="json", by_alias=True, exclude_none=True)
        for part in (content and content.parts) or ()
    ]


def how(error: genai.errors.APIError | httpx2.RemoteProtocolError) -> int | str | None:
    return error.code if isinstance(error, genai.errors.APIError) else "cut"


def run_node(base_url: str, prompt: str) -> Seen:
    program = need_node("@google/genai")
    command = [program, str(HERE / "genai.mjs"), base_url, MODEL, prompt]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    parts = [line["part"] for line in lines if "part" in line]
    match lines[-1]:
        case {"end": "complete"}:
            return parts, None
        case {
            "error": "TypeError",
            "message": "terminated",
        }:  # Node's fetch() has this message for a connection that was closed too early
            return parts, "cut"
        case {"status": status}:
            return parts, status
    raise AssertionError(done.stdout)


def need_node(package: str) -> str:
    program = shutil.which("node")
    need("clients", program, "node is not installed")
    need(
        "clients",
        (HERE / "node_modules" / package).is_dir(),
        f"{package} is not installed; run `make test-clients`",
    )
    assert program is not None
    return program


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(tape(*PROMPTS.values())) as server:
        yield server


SIGNATURE: Final = {"thoughtSignature": "U0lH"}
THOUGHT: Final = {"text": "**Plan**", "thought": True}
READ_FILE: Final = {
    "functionCall": {"id": "c1", "name": "read_file", "args": {"file_path": "a.txt"}},
    **SIGNATURE,
}


@pytest.mark.slow
@pytest.mark.parametrize("run", [run_sync, run_async, run_node])
@pytest.mark.parametrize(
    ("prompt", "parts", "end"),
    [
        ("text", [THOUGHT, {"text": "Grüße, "}, {"text": "Welt"}], None),
        ("call", [THOUGHT, READ_FILE], None),
        ("broken", [THOUGHT, {"text": "Grüße, "}], 503),
        ("cut", [THOUGHT, {"text": "Grüße, "}], "cut"),
        ("no key", [], 400),
        ("what nobody recorded", [], 404),
    ],
)
def test_a_library_streams_what_was_recorded(
    run: Callable[[str, str], Seen],
    prompt: str,
    parts: list[dict[str, Any]],
    end: int | str | None,
    server: Server,
) -> None:
    assert run(server.base_url, prompt) == (parts, end)


class Cli:
    """The Gemini CLI with its own home and working folder, without statistics, and with a server as
    its API.
    """

    def __init__(self, folder: Path, server: Server, auth: str = "gemini-api-key") -> None:
        self.program = need_node("@google/gemini-cli")
        self.work = folder / "work"
        self.work.mkdir()
        settings = {
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "security": {"auth": {"selectedType": auth}},
        }
        (folder / "home" / ".gemini").mkdir(parents=True)
        (folder / "home" / ".gemini" / "settings.json").write_text(
            json.dumps(settings), encoding="utf-8"
        )
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GOOGLE_GEMINI_BASE_URL": server.base_url,
            "NO_COLOR": "1",
            "TMPDIR": str(folder),  # it writes a report of every error there
        }

    def run(self, prompt: str, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        """Exit status, the JSON lines of stdout, stderr."""
        start = HERE / "node_modules" / "@google" / "gemini-cli" / "bundle" / "gemini.js"
        command = [
            self.program,
            str(start),
            "--prompt",
            prompt,
            "--model",
            MODEL,
            "--output-format",
            "stream-json",
            *arguments,
        ]
        done = subprocess.run(
            command,
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=WAIT_S,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return done.returncode, lines, done.stderr


@pytest.fixture
def cli_server() -> Iterator[Server]:
    """A server that matches by path: the CLI sends the date and the folder, so none of its requests
    equals the recorded one.
    """
    with serve([], match="path") as server:
        yield server


def contents_of(lines: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The compared content of the CLI's lines: the kind, and the fields of each kind."""
    readers: dict[str, Callable[[dict[str, Any]], tuple[Any, ...]]] = {
        "message": lambda line: (line["role"], line["content"]),
        "tool_use": lambda line: (line["tool_name"], line["parameters"]),
        "tool_result": lambda line: (line["status"],),
        "result": lambda line: (line["status"],),
    }
    return [
        (line["type"], *readers[line["type"]](line)) for line in lines if line["type"] in readers
    ]


def test_the_gemini_cli_streams_text_and_leaves_out_thoughts(
    tmp_path: Path, cli_server: Server
) -> None:
    cli_server.add(tape(PROMPTS["text"]))
    status, lines, errors = Cli(tmp_path, cli_server).run("Say hello.")
    assert (status, contents_of(lines)) == (
        0,
        [
            ("message", "user", "Say hello."),
            ("message", "assistant", "Grüße, "),
            ("message", "assistant", "Welt"),
            ("result", "success"),
        ],
    ), errors
    assert lines[-1]["stats"]["total_tokens"] == 11
    assert cli_server.misses == []


@pytest.mark.parametrize(("content", "result"), [("hello", "success"), (None, "error")])
def test_the_gemini_cli_sends_tool_results_with_the_signature(
    content: str | None, result: str, tmp_path: Path, cli_server: Server
) -> None:
    """The server would have refused the second request without the signature."""
    cli_server.add(tape(PROMPTS["call"], PROMPTS["text"]))
    cli = Cli(tmp_path, cli_server)
    if content is not None:
        (cli.work / "a.txt").write_text(content, encoding="utf-8")
    status, lines, errors = cli.run("What is in a.txt?")
    assert (status, contents_of(lines)[1:]) == (
        0,
        [
            ("tool_use", "read_file", {"file_path": "a.txt"}),
            ("tool_result", result),
            ("message", "assistant", "Grüße, "),
            ("message", "assistant", "Welt"),
            ("result", "success"),
        ],
    ), errors
    assert (cli_server.misses, cli_server.unused) == ([], [])


def test_the_gemini_cli_streams_from_code_assist_with_a_login(
    tmp_path: Path, cli_server: Server
) -> None:
    turns = [code_assist("call", PLAN, CALL), code_assist("text", TEXT, LAST)]
    cli_server.add(tape(*turns))
    cli = Cli(tmp_path, cli_server, auth="oauth-personal")
    (cli.work / "a.txt").write_text("hello", encoding="utf-8")
    del cli.environment["GEMINI_API_KEY"], cli.environment["GOOGLE_GEMINI_BASE_URL"]
    login = {
        "GOOGLE_GENAI_USE_GCA": "true",
        "GOOGLE_CLOUD_ACCESS_TOKEN": "none",
        "CODE_ASSIST_ENDPOINT": cli_server.base_url,
    }
    cli.environment |= login
    status, lines, errors = cli.run("What is in a.txt?")
    assert (status, contents_of(lines)[1:]) == (
        0,
        [
            ("tool_use", "read_file", {"file_path": "a.txt"}),
            ("tool_result", "success"),
            ("message", "assistant", "Grüße, "),
            ("message", "assistant", "Welt"),
            ("result", "success"),
        ],
    ), errors
    assert (cli_server.misses, cli_server.unused) == ([], [])


def code_assist(prompt: str, *reads: bytes) -> Exchange:
    """The same answer from Code Assist, in its envelope."""
    body = json.dumps(
        {"model": MODEL, "project": "p", "request": json.loads(asks(prompt))}
    ).encode()
    request = Request(
        "POST",
        "https://cloudcode-pa.googleapis.com/v1internal:streamGenerateContent?alt=sse",
        {},
        body,
    )
    wrapped = [
        data.replace(b"data: {", b'data: {"response": {').replace(b"}\r\n\r\n", b"}}\r\n\r\n")
        for data in reads
    ]
    return replace(answered(prompt, *wrapped), request=request)


def test_the_gemini_cli_reports_an_error_of_the_api(tmp_path: Path, cli_server: Server) -> None:
    cli_server.add(tape(PROMPTS["no key"]))
    status, lines, errors = Cli(tmp_path, cli_server).run("Say hello.")
    assert status != 0
    assert "API key not valid" in json.dumps(lines) + errors


def test_the_gemini_cli_retries_a_broken_stream(tmp_path: Path, cli_server: Server) -> None:
    cli_server.add(tape(PROMPTS["broken"], PROMPTS["text"]))
    status, lines, errors = Cli(tmp_path, cli_server).run("Say hello.")
    assert (status, contents_of(lines)[1:]) == (
        0,
        [
            ("message", "assistant", "Grüße, "),
            ("message", "assistant", "Grüße, "),
            ("message", "assistant", "Welt"),
            ("result", "success"),
        ],
    ), errors
    assert cli_server.unused == []


def test_the_lock_of_the_node_clients_holds_everywhere() -> None:
    """Every package has its hash and no address: the machine chooses where to download from."""
    packages = json.loads((HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    fetched = {name: package for name, package in packages.items() if name}
    assert len(fetched) > 40
    assert [
        name
        for name, package in fetched.items()
        if "resolved" in package or not package.get("integrity", "").startswith("sha512-")
    ] == []
    assert "registry=" not in (HERE / ".npmrc").read_text(encoding="utf-8")
