"""A user's own adapters: configuration lines, targets of commands, and cells in a project."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.adapters import ADAPTERS, AdapterError
from harness.adapters.named import adapter_of_target, make_adapter, read_line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mine = pkg.module:run", ("mine", "mine", "pkg.module:run")),
        (" shim: anthropic = run: node shim.js ", ("shim", "anthropic", "run: node shim.js")),
        ("client : mind = serve: python c.py", ("client", "mind", "serve: python c.py")),
        ("a: facts = serve: shims:litellm", ("a", "facts", "serve: shims:litellm")),
        ("a: openai-chat = shop:chunks", ("a", "openai-chat", "shop:chunks")),
        ("a: anthropic = shop:chunks", ("a", "anthropic", "shop:chunks")),
        (
            "g: facts = gateway gemini: http://x:1/p?model=m",
            ("g", "facts", "gateway gemini: http://x:1/p?model=m"),
        ),
    ],
)
def test_a_line_names_adapter_event_model_and_target(
    line: str, expected: tuple[str, str, str]
) -> None:
    named = read_line(line)
    assert (named.name, named.dialect, named.target) == expected


@pytest.mark.parametrize(
    "line",
    [
        "mine",
        "= a:b",
        "Mine = a:b",
        "mine = a",
        "mine = run:",
        "mine = run: 'x",
        "mine = fetch: x",
        "a:b:c = d:e",
        "a = gateway gemini: localhost",
        "a = serve:",
    ],
)
def test_an_invalid_line_names_the_expected_form(line: str) -> None:
    with pytest.raises(AdapterError, match=r"expected NAME = TARGET|can't be read as a command"):
        read_line(line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("facts = a:b", "adapter facts: the name is reserved; write `NAME: facts = …`"),
        ("a = gateway smoke: http://x", "unknown wire smoke; expected gemini, anthropic"),
        ("gemini: facts = a:b", "adapter gemini: the name is the word of a wire; write `NAME: ge"),
        ("openai-chat = a:b", "the name is the word of a wire; write `NAME: openai-chat = …`"),
        (
            "a: openai-chat = gateway openai-chat: http://x",
            "the target of a gateway names the wire; write `a: facts = gateway openai-chat: http",
        ),
    ],
)
def test_a_line_with_an_unknown_wire_or_a_reserved_name_is_refused(line: str, words: str) -> None:
    with pytest.raises(AdapterError, match=words):
        read_line(line)


def test_a_command_takes_dialects_configured_names_and_targets(tmp_path: Path) -> None:
    (tmp_path / "target_shims.py").write_text(
        "def replay(e): ...\ndef other(e): ...", encoding="utf-8"
    )
    configured = {"shop": read_line("shop: facts = target_shims:replay")}
    names = {
        "art": "art",
        "shop": "shop",
        "serve: target_shims:other": "other",
        "serve: target_shims:replay": "target-shims",
        "serve: node --x my/Shim.mjs": "shim",
        "run: ./adapter": "adapter",
        "gateway anthropic: http://127.0.0.1:4000": "anthropic-gateway",
    }
    adapters = [adapter_of_target(target, tmp_path, configured) for target in names]
    assert [adapter.name for adapter in adapters] == list(names.values())
    assert [adapter.model for adapter in adapters] == ["art", *["facts"] * 6]
    assert adapters[0] is ADAPTERS["art"]
    with pytest.raises(
        AdapterError,
        match=r"'nothing' names no adapter; expected one of .*art.*shop, or a target: mod",
    ):
        adapter_of_target("nothing", tmp_path, configured)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no_such_module_x:f", "No module"),
        ("json:nothing", "no attribute"),
        ("json:__doc__", "is not a function"),
    ],
)
def test_a_missing_function_is_reported_before_anything_runs(
    target: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(AdapterError, match=words):
        make_adapter(read_line(f"mine = {target}"), tmp_path)


# ---------------------------------------------------------------- in a user's project

SPEC = """\
harness: 1
cases:
- case: hello
  requirement: The text arrives.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: hello
  provider: gemini-api
  expect:
    mine: [Hel, lo]
    mind: {$contains: [{type: result}]}
"""
CASSETTE = """\
version: 1
metadata:
  harness: 1
  origin: written
interactions:
- request: null
  response:
    status: {code: 200}
    body:
      string: |2+
        data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}

        data: {"candidates":[{"content":{"parts":[{"text":"lo"}]},"finishReason":"STOP"}]}

    end: complete
"""
ADAPTER = """
from harness import replay

def run(exchange):
    return [payload["delta"] for payload in replay(exchange, provider="gemini-api") if payload["type"] == "TEXT_DELTA"]

def shout(exchange):
    return [text.upper() for text in run(exchange)]
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    for name, text in (
        ("specs/hello.yaml", SPEC),
        ("cassettes/hello.yaml", CASSETTE),
        ("my_own_adapter.py", ADAPTER),
    ):
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return pytester


def configure(project: pytest.Pytester, *lines: str) -> None:
    project.makeini("[pytest]\nharness_adapters =\n" + "".join(f"    {line}\n" for line in lines))


@pytest.mark.slow
def test_an_own_event_model_has_its_own_expectations(
    project: pytest.Pytester,
) -> None:
    configure(project, "mine = my_own_adapter:run")
    result = project.runpytest_inprocess(
        "specs", "-v", "-p", "no:cacheprovider", "--harness-report", "out"
    )
    result.stdout.fnmatch_lines(["*hello.yaml::hello?mine? PASSED*"])
    result.assert_outcomes(passed=1, failed=1)
    assert "mine" in (project.path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_fault_is_red_under_the_adapters_name(project: pytest.Pytester) -> None:
    configure(project, "mine = my_own_adapter:run", "loud: mine = my_own_adapter:shout")
    result = project.runpytest_inprocess(
        "specs", "-p", "no:cacheprovider", "--harness-dialect", "loud"
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*hello?loud?*", "*expected: *Hel*", "*got: *HEL*"])


@pytest.mark.slow
def test_an_adapter_that_raises_or_exits_is_an_error_cell(project: pytest.Pytester) -> None:
    (project.path / "my_own_adapter.py").write_text(
        "import sys\ndef boom(exchange):\n    return {}['x']\ndef gone(exchange):\n    sys.exit(3)\n",
        encoding="utf-8",
    )
    configure(project, "a: mine = my_own_adapter:boom", "b: mine = my_own_adapter:gone")
    result = project.runpytest_inprocess(
        "specs", "-p", "no:cacheprovider", "--harness-dialect", "a", "--harness-dialect", "b"
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*the adapter raised KeyError at my_own_adapter.py:3: 'x'*",
            "*the adapter raised SystemExit at my_own_adapter.py:5: 3*",
            "*2 errors*",
        ]
    )


@pytest.mark.slow
def test_two_adapters_of_one_name_are_refused(project: pytest.Pytester) -> None:
    configure(project, "mine = my_own_adapter:run", "mine = my_own_adapter:shout")
    result = project.runpytest_inprocess("specs", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*two adapters have the name mine; give each its own*"])


@pytest.mark.slow
def test_without_the_adapter_the_name_is_unknown(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess("specs", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*unknown layer or dialect 'mine'*"])


@pytest.mark.slow
def test_a_bad_line_is_a_usage_error(project: pytest.Pytester) -> None:
    for line, words in (
        ("mine = nowhere_at_all:run", "can't be imported*; expected it in *, or installed"),
        ("mine", "expected NAME = TARGET"),
        ("art = a:b", "the name is reserved"),
    ):
        configure(project, line)
        result = project.runpytest_inprocess("specs", "-p", "no:cacheprovider")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*configuration of adapters: *{words}*"])
