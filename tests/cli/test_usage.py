"""Usage, help and errors of all commands."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from harness.cli.main import COMMANDS as TABLE
from harness.cli.main import main, parser_of
from tests.cli.project import BODY, SPEC, write

FAILURES = [
    (
        ["replay", "none.yaml"],
        1,
        "harness: none.yaml: nothing to replay: no exchange has an answer of a model; `harness show --list` lists the exchanges",
    ),
    (
        ["show", "none.yaml"],
        1,
        "harness: none.yaml: no exchange has an answer of a model; `harness show --list` lists the exchanges",
    ),
    (
        ["show", "odd.txt"],
        1,
        "harness: odd.txt: its body shows no known wire; name the provider with --provider",
    ),
    (
        ["replay", "odd.json"],
        2,
        "harness: odd.json: a JSON or YAML object of an unknown kind, with 'choices'; `harness import",
    ),
    (
        ["replay", "two.yaml", "--exchange", "1"],
        2,
        "harness: this exchange does not generate: POST https://generativelanguage",
    ),
    (
        ["replay", "two.yaml", "--exchange", "3"],
        2,
        "harness: two.yaml: there is no exchange 3; it has 2; `harness show --list` lists them",
    ),
    (
        ["import", "--to", "vcrpy", "bare.txt"],
        2,
        "harness: bare.txt: exchange 1 has no request, and vcrpy finds a response by its request; add one by hand",
    ),
    (
        ["import", "--to", "vcrpy", "two.yaml", "--source", "here"],
        2,
        "harness: --source is only for cassettes; omit it with --to vcrpy",
    ),
    (["replay", "missing.yaml"], 2, "harness: missing.yaml: No such file or directory"),
    (["replay", "bad.txt"], 2, "harness: bad.txt"),
    (
        ["import", "two.yaml", "-o", "none.yaml"],
        2,
        "harness: none.yaml already exists; name another file, or delete it first",
    ),
]


@pytest.mark.parametrize(("arguments", "status", "message"), FAILURES)
def test_failures_are_one_line_and_a_status(
    arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("bad.txt", "hello\x1b[2J\n")
    Path("bare.txt").write_bytes(BODY)
    Path("odd.txt").write_bytes(b'data: {"foo": 1}\n\n')
    Path("odd.json").write_bytes(b'{"choices": [{"message": {"content": "Hi"}}]}')
    assert main(arguments) == status
    err = capsys.readouterr().err
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert "\x1b" not in err


USAGE = [
    (
        ["replay"],
        "harness replay: the following arguments are required: file;"
        " for example: harness replay gemini-api/text:1; see harness replay --help\n",
    ),
    (
        ["corpus"],
        "harness corpus: the following arguments are required: COMMAND;"
        " for example: harness corpus list; see harness corpus --help\n",
    ),
    (
        [],
        "harness: the following arguments are required: COMMAND; begin with `harness demo`, or write"
        " a shim with `harness judge --init function -o shim.py`; see harness --help\n",
    ),
    (
        ["replay", "a", "--dialect", "\x1b[2J"],
        "harness replay: argument --dialect: invalid choice: '\\x1b[2J' (choose from ",
    ),
    (["replai"], "harness: unknown command 'replai' (did you mean replay?); commands are "),
    (
        ["serve", "x", "--port", "y"],
        "harness serve: argument --port: y is not a port; ports are 0 to 65535; see harness serve --help\n",
    ),
    (
        ["serve", "x", "--port", "65536"],
        "harness serve: argument --port: 65536 is not a port; ports are 0 to 65535; see harness serve --help\n",
    ),
    (
        ["record", "--requests", "y"],
        "harness record: argument --requests: y is not a limit; use a number, 1 or more; see harness record --help\n",
    ),
    (
        ["drift", "--attempts", "0"],
        "harness drift: argument --attempts: 0 is not a limit; use a number, 1 or more; see harness drift --help\n",
    ),
    (
        ["check", "--zzz"],
        "harness check: unrecognized arguments: --zzz; see harness check --help\n",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_bad_usage_is_status_2_and_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    err = capsys.readouterr().err
    assert stop.value.code == 2
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_a_pipe_or_device_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("pipe", "/dev/zero"):
        assert main(["replay", path]) == 2
        assert capsys.readouterr().err == f"harness: {path}: not a regular file\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["replay", "two.yaml"], 141),
        (["judge", "unified-llm", "--cassettes", "two.yaml"], 141),
        (["judge", "deaf:replay", "--cassettes", "two.yaml"], 1),
        (["check", "--specs", "specs", "--cassettes", "."], 1),
        (["--help"], 141),
        (["judge", "--help"], 141),
    ],
)
def test_a_closed_output_pipe_gives_a_failure_status(arguments: list[str], status: int) -> None:
    write("deaf.py", "def replay(exchange):\n    return []\n")
    write("specs/s.yaml", SPEC.replace("feature", "fature"))
    code = "import sys; from harness.cli.main import main; sys.exit(main(sys.argv[1:]))"
    read_end, write_end = os.pipe()
    os.close(read_end)
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert process.returncode == status
    assert b"Traceback" not in process.stderr


COMMANDS = [
    "replay",
    "request",
    "show",
    "check",
    "import",
    "report",
    "serve",
    "record",
    "drift",
    "judge",
    "demo",
    "review",
    "sweep",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_the_default_of_every_option(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    options = re.split(r"\n(?=  -)", capsys.readouterr().out.partition("options:\n")[2])
    valued = [option for option in options if re.match(r" *(-\w( \S+)?, )?--[\w-]+ [A-Z{]", option)]
    assert valued
    assert [
        option for option in valued if "default: " not in option and "(required)" not in option
    ] == []


@pytest.mark.parametrize("command", TABLE)
def test_the_example_of_a_command_is_a_line_that_it_reads(command: str) -> None:
    program, *arguments = shlex.split(TABLE[command].example)
    assert (program, arguments[0]) == ("harness", command)
    assert parser_of(arguments).parse_args(arguments).run


@pytest.mark.parametrize(
    "command", ["scan", "show", "replay", "serve", "import", "sweep", "compare"]
)
def test_missing_arguments_are_an_error_with_the_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([command])
    example = f"; for example: {TABLE[command].example}; see harness {command} --help\n"
    assert capsys.readouterr().err.endswith(example)


def test_version_is_the_installed_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (
        0,
        f"gemini-conformance {version('gemini-conformance')}\n",
    )


def test_serving_on_a_used_port_names_the_port(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "two.yaml", "--port", str(port)]) == 2
    assert (
        capsys.readouterr().err
        == f"harness: port {port} is in use; choose another with --port, or 0 for any\n"
    )


@pytest.mark.parametrize("host", ["no host", "192.0.2.1"])  # the second is reserved: RFC 5737
def test_serving_on_a_foreign_address_names_the_address(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "two.yaml", "--host", host]) == 2
    assert (
        capsys.readouterr().err
        == f"harness: --host {host} is not an address of this machine; use 127.0.0.1, or 0.0.0.0 for all addresses\n"
    )


INTERRUPTED = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

_, module, *sys.argv[1:] = sys.argv
sys.meta_path.insert(0, Interrupt())
from harness.cli import run
sys.exit(run())
"""


@pytest.mark.parametrize(
    "module",
    ["harness.cli.main", "harness.cli.judge", "harness.pipeline.replay", "harness.report.causes"],
)
def test_ctrl_c_is_one_line_at_any_time(module: str) -> None:
    """Also while a command imports its modules and before it has judged anything."""
    command = [sys.executable, "-c", INTERRUPTED, module, "judge", "art", "--cassettes"]
    done = subprocess.run([*command, "gemini-api/text:1"], capture_output=True, text=True)
    assert done.returncode == 130
    assert re.fullmatch("harness: interrupted.*\n", done.stderr)


def test_the_installed_command_is_the_one_that_can_be_interrupted() -> None:
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    assert project["project"]["scripts"]["harness"] == "harness.cli:run"
