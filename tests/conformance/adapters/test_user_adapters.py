"""Adapters of a user's own: a function, a program over pipes, a client at a base URL; and every way
of misbehaving.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.conformance.adapters import AdapterError, RunOptions
from harness.conformance.adapters.named import make_adapter, read_line
from harness.providers import with_provider
from harness.stream.exchange import Exchange, Request

pytest_plugins = ["pytester"]

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
READS = (
    (3.0, b'data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}\r\n\r\n'),
    (
        9.5,
        b'data: {"candidates":[{"content":{"parts":[{"text":"lo"}]},"finishReason":"STOP"}]}\r\n\r\n',
    ),
)
EXCHANGE = with_provider(
    Exchange(
        Request("POST", URL, {}, b'{"contents": []}'),
        200,
        {"content-type": ["text/event-stream"]},
        READS,
        "complete",
    )
)
OPTIONS = RunOptions(case="c", cassette="x")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mine = pkg.module:run", ("mine", "mine", "pkg.module:run")),
        (" shim: anthropic = run: node shim.js ", ("shim", "anthropic", "run: node shim.js")),
        ("client : mind = serve: python c.py", ("client", "mind", "serve: python c.py")),
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
    ],
)
def test_a_line_that_names_nothing_says_what_it_should_be(line: str) -> None:
    with pytest.raises(AdapterError, match=r"expected NAME = TARGET|can't be read as a command"):
        read_line(line)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no_such_module_x:f", "No module"),
        ("json:nothing", "no attribute"),
        ("json:__doc__", "no function"),
    ],
)
def test_a_function_that_is_not_there_is_told_before_anything_runs(
    target: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(AdapterError, match=words):
        make_adapter(read_line(f"mine = {target}"), tmp_path)


def given(program: str, tmp_path: Path, kind: str = "run", timeout: float = 20.0) -> list[Any]:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    return (
        make_adapter(
            read_line(f"mine = {kind}: {sys.executable} program.py"), tmp_path, timeout=timeout
        )
        .with_options(OPTIONS)
        .items(EXCHANGE)
    )


PIPES = """
import base64, json, sys
told = json.load(sys.stdin)
body = b"".join(base64.b64decode(data) for _, data in told["reads"])
print(json.dumps({"provider": told["provider"], "times": [at for at, _ in told["reads"]], "end": told["end"]}))
for line in body.decode().splitlines():
    if line.startswith("data: "):
        print(line[6:])
"""


def test_a_program_gets_the_exchange_and_prints_payloads(tmp_path: Path) -> None:
    first, *messages = given(PIPES, tmp_path)
    assert first == {"provider": "gemini-api", "times": [3.0, 9.5], "end": "complete"}
    assert [message["candidates"][0]["content"]["parts"][0]["text"] for message in messages] == [
        "Hel",
        "lo",
    ]


CLIENT = """
import base64, json, os, sys, urllib.request
request = json.load(sys.stdin)["request"]
url = os.environ["HARNESS_BASE_URL"] + "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
body = base64.b64decode(request["body"])
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
with opener.open(urllib.request.Request(url, body, {"content-type": "application/json"})) as answer:
    for line in answer:
        if line.startswith(b"data: "):
            print(line[6:].decode())
"""


def test_a_client_is_answered_at_the_base_url(tmp_path: Path) -> None:
    messages = given(CLIENT, tmp_path, "serve")
    assert [message["candidates"][0]["content"]["parts"][0]["text"] for message in messages] == [
        "Hel",
        "lo",
    ]


MISBEHAVIOUR = {
    "hangs": ("import time\ntime.sleep(60)", "did not end within 1 s"),
    "floods": ("while True: print('1' * 1000)", "printed more than|did not end within"),
    "crashes": (
        "import os, sys\nprint('gone', file=sys.stderr, flush=True)\nos.abort()",
        "ended with status -6: gone",
    ),
    "fails": ("raise SystemExit('no such model')", "ended with status 1: no such model"),
    "forks and leaves": (
        "import os, time\nif os.fork() == 0: time.sleep(60)",
        "did not end within 1 s",
    ),
    "says what is no JSON": (
        "print('{}')\nprint('oops \\x1b[2J')",
        "line 2 that .* printed is no JSON",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("program", "words"), MISBEHAVIOUR.values(), ids=list(MISBEHAVIOUR))
def test_a_program_that_misbehaves_is_an_error_that_says_how(
    program: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(AdapterError, match=words):
        given(program, tmp_path, timeout=1.0)


@pytest.mark.slow
def test_what_a_program_forked_is_gone_with_it(tmp_path: Path) -> None:
    with pytest.raises(AdapterError):
        given(
            "import os, time\nif os.fork() == 0:\n  open('child', 'w').write(str(os.getpid()))\n  time.sleep(60)",
            tmp_path,
            timeout=1.0,
        )
    child = int((tmp_path / "child").read_text(encoding="utf-8"))
    for _ in range(50):  # a kill takes a moment
        if not is_running(child):
            return
        time.sleep(0.1)
    raise AssertionError(f"process {child} is still there")


def is_running(process: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_function_that_hangs_or_floods_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hanging_adapter.py").write_text(
        "def run(exchange):\n    while True: pass\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(AdapterError, match=r"adapter mine did not return within 0\.2 s"):
        make_adapter(read_line("mine = hanging_adapter:run"), tmp_path, timeout=0.2).with_options(
            OPTIONS
        ).items(EXCHANGE)


ODD = {
    "nothing": ("return None", "returned None; expected a list or generator of payloads"),
    "a text": ("return 'abc'", "returned a str; expected"),
    "a mapping": ("return {'a': 1}", "returned a dict; expected"),
    "an object": (
        "return [{'a': object()}]",
        "payload 0 of adapter mine holds a object; expected JSON data",
    ),
    "bytes": ("yield {}\n    yield {'a': [b'x']}", "payload 1 of adapter mine holds a bytes"),
    "a key": ("return [{0: 1}]", "holds the key 0, which is a int"),
    "no number": ("return [float('nan')]", "holds the number nan"),
    "a circle": (
        "a = {}\n    a['a'] = a['b'] = a\n    return [a]",
        "nested deeper than 200 levels, or more than",
    ),
}


@pytest.mark.parametrize(("body", "words"), ODD.values(), ids=list(ODD))
def test_a_function_that_gives_no_json_is_told_what_it_gave(
    body: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"odd_adapter_{list(ODD.values()).index((body, words))}"
    (tmp_path / f"{name}.py").write_text(f"def run(exchange):\n    {body}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(AdapterError, match=words):
        make_adapter(read_line(f"mine = {name}:run"), tmp_path).with_options(OPTIONS).items(
            EXCHANGE
        )


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
    result = project.runpytest_subprocess(
        "specs", "-v", "-p", "no:cacheprovider", "--harness-report", "out"
    )
    result.stdout.fnmatch_lines(["*hello.yaml::hello?mine? PASSED*"])
    result.assert_outcomes(passed=1, failed=1)
    assert "mine" in (project.path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_fault_is_red_under_the_adapters_name(project: pytest.Pytester) -> None:
    configure(project, "mine = my_own_adapter:run", "loud: mine = my_own_adapter:shout")
    result = project.runpytest_subprocess(
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
    result = project.runpytest_subprocess(
        "specs", "-p", "no:cacheprovider", "--harness-dialect", "a", "--harness-dialect", "b"
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*raised KeyError at my_own_adapter.py:3: 'x'*",
            "*raised SystemExit at my_own_adapter.py:5: 3*",
            "*2 errors*",
        ]
    )


@pytest.mark.slow
def test_two_adapters_of_one_name_are_refused(project: pytest.Pytester) -> None:
    configure(project, "mine = my_own_adapter:run", "mine = my_own_adapter:shout")
    result = project.runpytest_subprocess("specs", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*2 adapters have 1 names*"])


@pytest.mark.slow
def test_without_the_adapter_the_name_is_unknown(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess("specs", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*unknown layer or dialect 'mine'*"])


@pytest.mark.slow
def test_a_bad_line_is_a_usage_error(project: pytest.Pytester) -> None:
    for line, words in (
        ("mine = nowhere_at_all:run", "can't be imported"),
        ("mine", "expected NAME = TARGET"),
        ("art = a:b", "the name is reserved"),
    ):
        configure(project, line)
        result = project.runpytest_subprocess("specs", "-p", "no:cacheprovider")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*harness_adapters: *{words}*"])
