"""The command line: data on stdout, one line on stderr, exit status 0, 1 or 2."""

from __future__ import annotations

import json
import os
import re
import socket
from importlib.metadata import version
from pathlib import Path

import pytest

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main

URL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key=AIzaSyA-0123456789-0123456789-0123456"
BODY = 'data: {"candidates": [{"content": {"parts": [{"text": "é\\u001b[2J"}]},"finishReason": "STOP"}]}\r\n\r\n'.encode()
HEADERS = {"content-type": ["application/json"], "x-goog-api-key": ["hush"]}
COUNT = Exchange(
    Request("POST", URL.replace("streamGenerate", "count")),
    200,
    {},
    ((None, b'{"totalTokens": 3}'),),
)
EXCHANGE = Exchange(
    Request("POST", URL, HEADERS, b"{}"), 200, {"set-cookie": ["hush"]}, ((None, BODY),), "complete"
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with two recordings: ``two.yaml`` (one exchange generates) and ``none.yaml``
    (none does).
    """
    monkeypatch.chdir(tmp_path)
    write("two.yaml", dumps(Cassette((COUNT, EXCHANGE), Origin("imported", date="2026-01-02"))))
    write("none.yaml", dumps(Cassette((COUNT,), Origin("imported"))))
    return tmp_path


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_replay_prints_compact_json_lines_of_what_generates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["replay", "two.yaml"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == '{"type":"STREAM_START"}'
    assert json.loads(lines[2]) == {"type": "TEXT_DELTA", "delta": "é\x1b[2J", "text_id": "text_1"}
    assert "é" in lines[2]
    assert "\x1b" not in out
    assert err == ""


def test_replay_takes_dialect_layer_cuts_provider_and_exchange(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(
            [
                "replay",
                "two.yaml",
                "--exchange",
                "2",
                "--dialect",
                "anthropic",
                "--cuts",
                "bytes",
                "--provider",
                "vertex-ai",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.splitlines()[-1] == '{"type":"message_stop"}'
    assert main(["replay", "two.yaml", "--layer", "frames"]) == 0
    assert json.loads(capsys.readouterr().out)["offset"] == 0


FAILURES = [
    (
        ["replay", "none.yaml"],
        1,
        "harness: none.yaml: nothing to replay: no exchange generates; `harness show --list` lists the exchanges",
    ),
    (
        ["show", "none.yaml"],
        1,
        "harness: none.yaml: no exchange generates; --list lists the exchanges",
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
        ["export", "bare.txt"],
        2,
        "harness: bare.txt: exchange 1 has no request, and vcrpy finds a response by its request; add one by hand",
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
    assert main(arguments) == status
    err = capsys.readouterr().err
    assert err.startswith(message)
    assert err.count("\n") == 1
    assert "\x1b" not in err


USAGE = [
    (
        ["replay"],
        "harness replay: the following arguments are required: file; see harness replay --help\n",
    ),
    (
        ["replay", "a", "--dialect", "\x1b[2J"],
        "harness replay: argument --dialect: invalid choice: '\\x1b[2J' (choose from ",
    ),
    (["replai"], "harness: argument COMMAND: invalid choice: 'replai' (choose from "),
    (
        ["serve", "x", "--port", "y"],
        "harness serve: argument --port: y is no port; ports are 0 to 65535; see harness serve --help\n",
    ),
    (
        ["serve", "x", "--port", "65536"],
        "harness serve: argument --port: 65536 is no port; ports are 0 to 65535; see harness serve --help\n",
    ),
    (
        ["record", "--requests", "y"],
        "harness record: argument --requests: y is no limit; it is a number, 1 or more; see harness record --help\n",
    ),
    (
        ["drift", "--attempts", "0"],
        "harness drift: argument --attempts: 0 is no limit; it is a number, 1 or more; see harness drift --help\n",
    ),
    (["check", "--nosuch"], "harness: unrecognized arguments: --nosuch; see harness --help\n"),
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


def test_a_provider_that_nothing_tells_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.txt").write_bytes(BODY)
    assert main(["replay", "bare.txt"]) == 0
    assert (
        capsys.readouterr().err
        == "harness: exchange 1: neither URL nor body shows the provider; replayed as gemini-api; --provider names another\n"
    )


def test_what_moves_a_cursor_or_turns_text_is_escaped_and_still_the_same_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    odd = "\x7f\x9b\u202e\u2066"
    Path("odd.txt").write_bytes(
        b'data: {"candidates": [{"content": {"parts": [{"text": "' + odd.encode() + b'"}]}}]}\n\n'
    )
    assert main(["replay", "odd.txt", "--provider", "gemini-api"]) == 0
    line = capsys.readouterr().out.splitlines()[2]
    assert line.isascii()
    assert json.loads(line)["delta"] == odd


def test_a_pipe_or_device_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("pipe", "/dev/zero"):
        assert main(["replay", path]) == 2
        assert capsys.readouterr().err == f"harness: {path}: not a regular file\n"


def test_import_does_not_write_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    assert main(["import", "two.yaml", "-o", "link.yaml"]) == 2
    assert not (tmp_path / "outside.yaml").exists()


def test_show_gives_one_line_a_frame_and_list_one_an_exchange(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["show", "two.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "exchange 2: gemini-api, status 200, end complete",
        "       0         -  text  start gemini-x  finish STOP",
    ]
    assert main(["show", "two.yaml", "--list"]) == 0
    origin, first, second = capsys.readouterr().out.splitlines()
    assert origin == "imported 2026-01-02"
    assert "does not generate" in first
    assert f"gemini-api  200  1 reads, {len(BODY)} bytes  complete  POST https" in second


def test_import_keeps_no_secret_and_says_where_it_is_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(
            [
                "import",
                "two.yaml",
                "-o",
                "new/dir/kept.yaml",
                "--source",
                "s",
                "--commit",
                "c",
                "--licence",
                "l",
            ]
        )
        == 0
    )
    text = Path("new/dir/kept.yaml").read_text(encoding="utf-8")
    assert "hush" not in text
    assert "AIza" not in text
    cassette = load("new/dir/kept.yaml")
    assert (cassette.origin.source, cassette.origin.commit, cassette.origin.licence) == (
        "s",
        "c",
        "l",
    )
    assert cassette.exchanges[1].body == BODY
    assert cassette.exchanges[1].request is not None
    assert cassette.exchanges[1].request.url.endswith("?alt=sse&key=REDACTED")


SECRETS = [
    "AIzaSyA-0123456789-0123456789-0123456",
    "ya29.a0AfH6SMBx-0123456789abcdef",
    "AQ.Ab8RN6Jx0123456789abcdefghij",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("command", ["import", "export"])
def test_a_secret_in_a_body_refuses_the_file(
    command: str, secret: str, capsys: pytest.CaptureFixture[str]
) -> None:
    leaky = Exchange(EXCHANGE.request, 200, {}, ((None, BODY + f': "{secret}"\n'.encode()),))
    write("leaky.yaml", dumps(Cassette((leaky,), Origin("imported"))))
    assert main([command, "leaky.yaml", "-o", "out.yaml"]) == 2
    err = capsys.readouterr().err
    assert re.match(
        r"harness: leaky\.yaml: line \d+ shows an? .*; a file must not contain secrets", err
    )
    assert secret not in err
    assert not Path("out.yaml").exists()


SPEC = """\
harness: 1
cases:
- case: a
  requirement: r
  features: [text.streaming]
  source: https://ai.google.dev
  cassette: gemini-api/a
  exchange: 2
  expect: {unified-llm: []}
"""


def test_check_judges_specs_features_and_cassettes_without_running_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("specs/a.yaml", SPEC)
    write("specs/other.yaml", "x: 1\n")
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "1 spec, 1 cassette, 1 other file in order, 0 problems\n"


CONFIGURED = [
    (
        "pytest.ini",
        "[pytest]\nharness_adapters =\n    # ours\n    shop = nowhere:replay\n    shop-program: shop = run: nothing --x=1\n",
    ),
    ("pyproject.toml", "[tool.pytest.ini_options]\nharness_adapters = ['shop = nowhere:replay']\n"),
    (
        "pyproject.toml",
        '[tool.pytest.ini_options]\nharness_adapters = """\nshop = nowhere:replay\n"""\n',
    ),
    ("pyproject.toml", "[tool.pytest]\nharness_adapters = ['shop = nowhere:replay']\n"),
    ("tox.ini", "[tox]\nenvlist = py\n[pytest]\nharness_adapters = shop = nowhere:replay\n"),
    ("setup.cfg", "[tool:pytest]\nharness_adapters = shop = nowhere:replay\n"),
]


@pytest.mark.parametrize(("name", "text"), CONFIGURED)
def test_commands_know_the_adapters_of_pytests_configuration(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("specs/a.yaml", SPEC.replace("unified-llm: []", "shop: []"))
    assert main(["check"]) == 1
    assert "unknown layer or dialect 'shop'" in capsys.readouterr().out
    write(name, text)
    assert main(["check"]) == 0
    assert main(["prove"]) == 1
    assert "no spec expects payloads or requests of an event model" in capsys.readouterr().err


FOLDERS = [
    ("pytest.ini", "[pytest]\nharness_specs = golden 'more of it'\nharness_cassettes = tapes\n"),
    (
        "setup.cfg",
        "[tool:pytest]\nharness_specs =\n    golden\n    'more of it'\nharness_cassettes = tapes\n",
    ),
    (
        "pyproject.toml",
        "[tool.pytest.ini_options]\nharness_specs = ['golden', 'more of it']\nharness_cassettes = 'tapes'\n",
    ),
    (
        "pyproject.toml",
        "[tool.pytest]\nharness_specs = ['golden', 'more of it']\nharness_cassettes = 'tapes'\n",
    ),
]


@pytest.fixture
def tapes() -> None:
    """A project whose specs and cassettes are in folders of other names than the usual ones."""
    write(
        "tapes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("golden/features.yaml", FEATURES)
    write("golden/a.yaml", SPEC.replace("text.streaming", "own.one"))
    write("more of it/b.yaml", SPEC.replace("text.streaming", "own.one"))


@pytest.mark.usefixtures("tapes")
@pytest.mark.parametrize(("name", "text"), FOLDERS)
def test_commands_read_the_folders_that_pytests_configuration_names(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(name, text)
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "2 specs, 1 features file, 1 cassette in order, 0 problems\n"
    assert main(["prove"]) == 1
    assert "! b.yaml: a[unified-llm]: differs without any damage" in capsys.readouterr().out
    assert main(["schema"]) == 0
    assert '"own.one"' in capsys.readouterr().out
    Path("tapes/gemini-api/a.yaml").unlink()
    assert main(["record", "--missing"]) == 0
    assert capsys.readouterr().err.startswith("harness: gemini-api/a: not recordable: ")


@pytest.mark.usefixtures("tapes")
def test_a_folder_on_the_command_line_goes_before_pytests_configuration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("pytest.ini", "[pytest]\nharness_specs = nosuch\nharness_cassettes = nosuch\n")
    assert main(["check"]) == 1
    assert capsys.readouterr().out.startswith("nosuch: no such file or folder\n")
    assert main(["check", "--specs", "golden", "--cassettes", "tapes"]) == 0


BROKEN = [
    (
        "pytest.ini",
        "[pytest]\nharness_adapters = shop shop:replay\n",
        "harness_adapters: 'shop shop:replay' names no adapter; expected NAME = TARGET",
    ),
    (
        "pyproject.toml",
        "[tool.pytest.ini_options]\nharness_adapters = 5\n",
        "harness_adapters: '5' names no adapter",
    ),
    ("pytest.ini", "[pytest]\nharness_specs = 'golden\n", "harness_specs: No closing quotation"),
    (
        "pytest.ini",
        "harness_adapters = shop\n",
        "no configuration of pytest: File contains no section headers",
    ),
    ("pyproject.toml", "[tool\n", "no configuration of pytest: Expected ']'"),
]


@pytest.mark.parametrize(("name", "text", "fault"), BROKEN)
def test_a_configuration_that_cannot_be_read_is_bad_usage(
    name: str, text: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("specs/a.yaml", SPEC)
    write(name, text)
    assert main(["check"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"harness: {name}: {fault}")
    assert err.count("\n") == 1


def test_a_configuration_of_something_else_is_passed_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("specs/a.yaml", SPEC)
    write("pyproject.toml", "[project]\nname = 'x'\n")
    write("tox.ini", "[tox]\n")
    assert main(["check"]) == 0
    assert capsys.readouterr().out.endswith("0 problems\n")


@pytest.mark.parametrize("option", ["--specs", "--cassettes"])
def test_check_of_a_named_folder_that_is_not_there_is_a_problem(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", option, "nosuch"]) == 1
    assert "nosuch: no such file or folder" in capsys.readouterr().out


PROBLEMS = [
    (
        ("specs/a.yaml", SPEC.replace("cassette:", "casette:")),
        "specs/a.yaml:7: unknown key 'casette'",
    ),
    (
        ("specs/a.yaml", SPEC.replace("gemini-api/a", "gemini-api/b")),
        "specs/a.yaml:7: no cassette gemini-api/b: cassettes/gemini-api/b.yaml does not exist; record or import one there, or name another",
    ),
    (
        ("specs/a.yaml", SPEC.replace("exchange: 2", "exchange: 3")),
        "specs/a.yaml:8: cassette gemini-api/a has 2 exchanges; the case names number 3",
    ),
    (
        ("specs/a.yaml", SPEC.replace("gemini-api/a", "gemini_api/a")),
        "specs/a.yaml:7: no cassette gemini_api/a: cassettes/gemini_api/a.yaml does not exist; did you mean gemini-api/a?",
    ),
    (
        ("specs/a.yaml", SPEC.replace("  exchange: 2\n", "")),
        "specs/a.yaml:7: exchange 1 of cassette gemini-api/a does not generate; there is nothing to replay",
    ),
    (("specs/a.yaml", SPEC.replace("text.streaming", "text.steaming")), "specs/a.yaml:5: "),
    (
        (
            "specs/a.yaml",
            SPEC
            + "  known_failing: {unified-llm: {reason: r, link: 'https://x.example', expires: 2001-01-01}}\n",
        ),
        "specs/a.yaml:10: ",
    ),
    (
        ("specs/a.yaml", SPEC.replace("gemini-api/a", "gemini-api/a.yaml")),
        "specs/a.yaml:7: cassette 'gemini-api/a.yaml' ends in .yaml, which is left out here",
    ),
    (
        ("specs/b.yaml", SPEC.replace("harness: 1", "harnes: 1")),
        "specs/b.yaml:1: has `cases:` but does not begin with `harness: 1`",
    ),
    (
        ("cassettes/c.yaml", dumps(Cassette((EXCHANGE,), Origin("imported")))),
        "cassettes/c.yaml: line 8 shows a Google API key",
    ),
    (
        ("specs/features.yaml", "harness: 1\nfeatures: 7\n"),
        "specs/features.yaml:2: features must be a list, not the number 7",
    ),
    (
        ("cassettes/b.yaml", "version: 1\nmetadata:\n  harness: 1\n  origin: x\n"),
        "cassettes/b.yaml:4: metadata.origin must be 'recorded', ",
    ),
]


@pytest.mark.parametrize(("file", "problem"), PROBLEMS)
def test_check_lists_problems_with_file_and_line(
    file: tuple[str, str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("specs/a.yaml", SPEC)
    write(*file)
    assert main(["check"]) == 1
    assert any(line.startswith(problem) for line in capsys.readouterr().out.splitlines())


def test_check_reports_a_damaged_cassette_once_however_many_specs_name_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("cassettes/gemini-api/a.yaml", "version: 1\nmetadata:\n  harness: 1\n  origin: x\n")
    write("specs/a.yaml", SPEC)
    write("specs/b.yaml", SPEC)
    assert main(["check", "specs"]) == 1
    assert [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()[:-1]] == [
        "specs/a.yaml:7",
        "specs/b.yaml:7",
    ]
    assert main(["check"]) == 1
    known = "'recorded', 'loopback', 'imported' or 'written'"
    problem = f"cassettes/gemini-api/a.yaml:4: metadata.origin must be {known}, not 'x'"
    assert capsys.readouterr().out.splitlines() == [problem, "nothing in order, 1 problem"]


def test_check_reports_broken_features_once_however_many_specs_rest_on_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("specs/a.yaml", SPEC)
    write("specs/b.yaml", SPEC)
    write("specs/features.yaml", "harness: 1\nfeatures: 7\n")
    assert main(["check"]) == 1
    problem = "specs/features.yaml:2: features must be a list, not the number 7"
    assert capsys.readouterr().out.splitlines() == [problem, "nothing in order, 1 problem"]


COMMANDS = [
    "replay",
    "request",
    "show",
    "check",
    "import",
    "export",
    "schema",
    "report",
    "serve",
    "record",
    "drift",
    "prove",
    "mutate",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_of_every_option_with_a_value_what_it_is_by_default(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    options = re.split(r"\n(?=  -)", capsys.readouterr().out.partition("options:\n")[2])
    valued = [option for option in options if re.match(r" *(-\w \S+, )?--[\w-]+ [A-Z{]", option)]
    assert valued
    assert [
        option for option in valued if "default: " not in option and "(required)" not in option
    ] == []


def test_version_is_the_installed_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (
        0,
        f"gemini-conformance {version('gemini-conformance')}\n",
    )


def test_serving_on_a_port_that_is_taken_says_which_and_what_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "two.yaml", "--port", str(port)]) == 2
    assert (
        capsys.readouterr().err
        == f"harness: port {port} is in use; choose another with --port, or 0 for any\n"
    )


@pytest.mark.parametrize("host", ["no host", "192.0.2.1"])  # the second is of nobody's: RFC 5737
def test_serving_on_an_address_of_another_machine_says_which_and_what_to_do(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "two.yaml", "--host", host]) == 2
    assert (
        capsys.readouterr().err
        == f"harness: --host {host} is no address of this machine; 127.0.0.1 is one, 0.0.0.0 all\n"
    )


def test_check_of_nothing_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 1
    assert capsys.readouterr().out.startswith(
        "nothing to check: neither specs nor cassettes has a YAML file"
    )


def test_check_of_a_path_that_is_not_there_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "nowhere"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "nowhere: no such file or folder"


def test_schema_is_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    names = schema["$defs"]["Case"]["properties"]
    assert "tool-calls.parallel" in names["features"]["items"]["enum"]
    assert names["provider"]["enum"] == ["gemini-api", "vertex-ai", "code-assist", "gemini-cli"]
    assert {"frames", "events", "anthropic", "mind-program"} <= names["expect"]["properties"].keys()


def test_schema_offers_the_names_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    write("rules/features.yaml", FEATURES)
    write("pytest.ini", "[pytest]\nharness_adapters = shop = nowhere:replay\n")
    assert main(["schema", "--specs", "rules"]) == 0
    names = json.loads(capsys.readouterr().out)["$defs"]["Case"]["properties"]
    assert names["features"]["items"]["enum"] == ["own.one"]
    assert names["expect"]["properties"]["shop"] == {"$ref": "#/$defs/Expectation"}
    assert names["expect"]["additionalProperties"] is False


FEATURES = """\
harness: 1
features:
- id: own.one
  title: One
  meaning: What it is.
  link: https://example.com/
"""
