"""Functions as adapters: their allowed forms and results, their exceptions, and how they are
stopped.
"""

from __future__ import annotations

import asyncio
import gc
import os
import re
import ssl
import sys
import threading
import time
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from harness.adapters import AdapterError, AdapterMissing, RunOptions
from harness.adapters.environment import CERTIFICATE
from harness.facts import Call, Finish, Text
from harness.providers import with_provider
from harness.stream.exchange import Request
from tests.adapters.shims import (
    ASKS,
    EXCHANGE,
    URL,
    facts_of,
    function_adapter,
    program_adapter,
    transcript,
)

UNARY = EXCHANGE.reads[1][1].removeprefix(b"data: ")
STREAMED = {
    "a stream": EXCHANGE,
    "a stream without a request": with_provider(replace(EXCHANGE, request=None)),
    "a unary answer": with_provider(
        replace(
            EXCHANGE,
            request=Request("POST", URL.replace("streamGenerate", "generate")),
            reads=((None, UNARY),),
        )
    ),
    "a unary answer without a request": replace(
        EXCHANGE, request=None, streamed=None, reads=((None, UNARY),)
    ),
    "an error": with_provider(
        replace(EXCHANGE, request=None, status=429, reads=((None, b'{"error": {"code": 429}}'),))
    ),
}
"""Recordings for adapters that read only streams. An error without a request answers both modes."""

IMPORTS = "from harness.facts import *\n"
SHAPES = {
    "a generator": "def replay(e):\n    yield {'a': 1}, [Text('Hi')]\n    yield {'b': 2}, [Finish('STOP')]",
    "a list": "def replay(e):\n    return [({'a': 1}, [Text('Hi')]), ({'b': 2}, (Finish('STOP'),))]",
    "an iterator": "def replay(e):\n    return iter([({'a': 1}, [Text('Hi')]), [{'b': 2}, [Finish('STOP')]]])",
    "a coroutine": "async def replay(e):\n    return [({'a': 1}, [Text('Hi')]), ({'b': 2}, [Finish('STOP')])]",
    "an async generator": (
        "import asyncio\nasync def replay(e):\n    async with asyncio.timeout(5):\n"
        "        yield {'a': 1}, [Text('Hi')]\n        await asyncio.sleep(0)\n        yield {'b': 2}, [Finish('STOP')]"
    ),
    "a generator of a coroutine": (
        "async def items():\n    yield {'a': 1}, [Text('Hi')]\n    yield {'b': 2}, [Finish('STOP')]\n"
        "async def replay(e):\n    return items()"
    ),
    "a method": (
        "class Shim:\n    def __call__(self, e):\n        return [({'a': 1}, [Text('Hi')]), ({'b': 2}, [Finish('STOP')])]\n"
        "replay = Shim()"
    ),
    "no facts": "def replay(e):\n    yield {'a': 1}, [Text('Hi')]\n    yield {'b': 2}, None\n    yield {}, [Finish('STOP')]",
}


@pytest.mark.slow
@pytest.mark.parametrize("guest", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_function_may_have_many_shapes(shape: str, guest: bool, tmp_path: Path) -> None:
    adapter = function_adapter(IMPORTS + SHAPES[shape], tmp_path, guest=guest)
    try:
        entries = transcript(adapter).entries
    finally:
        adapter.close()
    assert [fact for entry in entries for fact in entry.facts] == [Text("Hi"), Finish("STOP")]
    assert [entry.native for entry in entries[:2]] == [{"a": 1}, {"b": 2}]


def test_a_function_gets_the_exchange_and_its_facts_are_merged(tmp_path: Path) -> None:
    code = (
        IMPORTS
        + "def replay(e):\n    for at, data in e.reads:\n        yield data, [Text(str(at))]"
    )
    output = function_adapter(code, tmp_path).output(EXCHANGE)
    assert output.items == [{"text": "3.09.5"}]


def test_a_client_that_is_kept_between_calls_keeps_its_loop(tmp_path: Path) -> None:
    code = (
        IMPORTS + "import asyncio, threading\nseen = []\nasync def replay(e):\n"
        "    seen.append((asyncio.get_running_loop(), threading.get_ident()))\n"
        "    return [(None, [Text(str(len(set(seen))))])]"
    )
    adapter = function_adapter(code, tmp_path)
    assert [facts_of(adapter) for _ in range(3)] == [[Text("1")]] * 3


RAISES = """
from harness.facts import *
class QuotaError(Exception):
    status_code = None
    code = 429
    status = "RESOURCE_EXHAUSTED"
def inner():
    try:
        {}["x"]
    except KeyError as error:
        raise QuotaError("Slow down.") from error
def replay(e):
    yield {}, [Text("Hi")]
    inner()
"""


@pytest.mark.slow
@pytest.mark.parametrize("guest", [False, True])
def test_an_exception_is_a_part_of_the_transcript(guest: bool, tmp_path: Path) -> None:
    adapter = function_adapter(RAISES, tmp_path, guest=guest)
    output = adapter.output(EXCHANGE)
    adapter.close()
    assert output.transcript is not None
    assert list(output.transcript.facts()) == [Text("Hi")]
    raised = output.transcript.raised
    assert raised is not None
    assert (raised.type, raised.message, raised.code) == ("QuotaError", "Slow down.", 429)
    assert re.fullmatch(r"shim_\w+\.py:11", raised.place)
    lines = raised.traceback.splitlines()
    assert "KeyError: 'x'" in lines
    assert lines[-1].endswith("QuotaError: Slow down.")
    own = [line for line in lines if line.startswith('  File "')]
    assert [line.rpartition(" in ")[2] for line in own] == ["inner", "replay", "inner"]
    assert "harness/adapters" not in raised.traceback.replace(str(tmp_path), "")
    if not guest:
        assert type(output.exception).__name__ == "QuotaError"
        assert type(output.exception.__cause__) is KeyError  # type: ignore[union-attr]  # None fails too


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("raise SystemExit(3)", ("SystemExit", "3", 3)),
        ("raise ExceptionGroup('two', [OSError(1, 'a')])", ("ExceptionGroup", "two (1 sub-exception)", None)),
        ("raise type('E', (Exception,), {'code': lambda self: 1, 'status': 'GONE'})()", ("E", "", "GONE")),
        ("raise type('E', (Exception,), {'code': True, '__str__': lambda self: 1 / 0})()",
         ("E", "its text can't be read: ZeroDivisionError", None)),
    ],
)  # fmt: skip
def test_every_kind_of_exception_is_described(
    statement: str, expected: tuple[object, ...], tmp_path: Path
) -> None:
    raised = transcript(function_adapter(f"def replay(e):\n    {statement}", tmp_path)).raised
    assert raised is not None
    assert (raised.type, raised.message, raised.code) == expected


PLACES = {
    "the standard library": ("json.loads('{')", 3),
    "a frozen module": ("os.environ['NO_SUCH_VARIABLE']", 3),
    "the harness": ("harness.load('no-such-file')", 3),
    "a library": ("library.fail()", 3),
    "a callback of a library": ("library.call(lambda:\n        {}['x'])", 4),
}


@pytest.mark.parametrize("level", ["facts", "shop"])
@pytest.mark.parametrize("case", PLACES)
def test_an_exception_has_the_innermost_place_outside_of_libraries(
    case: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "library.py").write_text(
        "def call(f):\n    return f()\ndef fail():\n    raise OSError\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(library)
    monkeypatch.delitem(sys.modules, "library", raising=False)
    statement, line = PLACES[case]
    code = f"import json, os, harness, library\ndef replay(e):\n    {statement}\n"
    adapter = function_adapter(code, tmp_path, level=level)
    if level == "facts":
        raised = transcript(adapter).raised
        assert raised is not None
        assert re.fullmatch(rf"shim_\w+\.py:{line}", raised.place)
    else:
        with pytest.raises(AdapterError, match=rf" at shim_\w+\.py:{line}: "):
            adapter.output(EXCHANGE)


BAD = {
    "nothing": ("return None", r"\.py:2: shim_\w+:replay returned None; expected a list or generator of pairs"),
    "a text": ("return 'abc'", r"returned a str; expected a list or generator of pairs \(native, \[facts\]\)"),
    "a number": ("return 5", "returned an int; expected"),
    "a mapping": ("return {'a': 1}", "returned a dict; expected"),
    "no pair": ("yield {}, []\n    yield {'a': 1}", r"\.py:4: event 2 of shim_\w+:replay is a dict; expected a pair"),
    "a forgotten list": ("yield {}, Text('Hi')", r"\.py:3: event 1 of shim_\w+:replay: the facts are a Text; expected a list"),
    "no fact": ("yield {}, [Text('Hi'), 'stop']", r"event 1 of .*: fact 2: str 'stop' is not a fact; expected one of Text,"),
    "a bad fact": ("yield {}, [Call(1, 'f')]", r"fact 1: Call.id is int 1; expected a string or None"),
    "a flood": ("while True: yield {}, []", "more than 100,000 events for one exchange"),
    "another signature": ("pass\ndef replay():\n    return []", r"can't be called with an exchange: replay\(\) takes 0"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", BAD)
def test_a_function_without_facts_is_an_error_with_the_place(case: str, tmp_path: Path) -> None:
    body, words = BAD[case]
    adapter = function_adapter(f"{IMPORTS}def replay(e):\n    {body}\n", tmp_path)
    with pytest.raises(AdapterError, match=f"^adapter mine: .*{words}"):
        adapter.output(EXCHANGE)


def test_errors_that_differ_only_in_a_value_have_one_group(tmp_path: Path) -> None:
    code = IMPORTS + "def replay(e):\n    yield {}, [Finish(len(e.body))]\n"
    adapter = function_adapter(code, tmp_path)
    for body in (b"", b"data: {}\n\n"):
        with pytest.raises(AdapterError, match=f"Finish.raw is int {len(body)}; ") as raised:
            adapter.output(replace(EXCHANGE, reads=((None, body),)))
        assert raised.value.group == "Finish.raw; expected a string or None: pass str(…)"


def test_an_error_of_one_exchange_leaves_the_others(tmp_path: Path) -> None:
    code = (
        IMPORTS
        + "n = 0\ndef replay(e):\n    global n\n    n += 1\n    return None if n == 1 else [({}, [Text('Hi')])]"
    )
    adapter = function_adapter(code, tmp_path)
    with pytest.raises(AdapterError):
        adapter.output(EXCHANGE)
    assert facts_of(adapter) == [Text("Hi")]


HANGS = {
    "in Python": "while True: pass",
    "and retries": "while True:\n            try:\n                while True: pass\n            except Exception: pass",
    "in the event loop": "await asyncio.sleep(60)",
    "in a regular expression": "import re; re.match('(a+)+$', 'a' * 40 + '!')",  # holds the GIL
    "outside Python": "import time; time.sleep(4)",
    "and swallows everything": (
        "import time\n        end = time.monotonic() + 4\n        while time.monotonic() < end:\n"
        "            try:\n                time.sleep(1)\n            except BaseException: pass"
    ),
}
SLOW = """
from harness.facts import *
import os
from pathlib import Path
def replay(e):
    seen = Path(__file__).with_suffix('.seen')
    first = not seen.exists()
    seen.write_text('x')
    if first:
        {hang}
    yield os.getpid(), [Text('Hi')]
"""


@pytest.mark.slow
@pytest.mark.parametrize("hang", HANGS)
def test_after_a_guest_that_hangs_a_new_process_continues(hang: str, tmp_path: Path) -> None:
    code = SLOW.replace("{hang}", HANGS[hang])
    if "await" in code:
        code = code.replace("def replay", "import asyncio\nasync def replay")
    adapter = function_adapter(code, tmp_path, timeout=1.0, guest=True)
    with pytest.raises(
        AdapterError,
        match=r"replay did not return within 1 s; --timeout S gives it more, --pdb shows",
    ):
        adapter.output(EXCHANGE)
    adapters = [transcript(adapter).entries[0] for _ in range(2)]
    adapter.close()
    assert adapters[0].facts == (Text("Hi"),)
    assert adapters[0].native == adapters[1].native != os.getpid()


ENDS = {
    "os._exit": ("os._exit(3)", "ended with status 3 before it answered"),
    "a crash in C": ("import ctypes; ctypes.string_at(0)", "ended with status -11"),
    "a signal": ("os.kill(os.getpid(), 9)", "ended with status -9"),
    "an interrupt": ("raise KeyboardInterrupt", "ended with status"),
    "a flood": ("os.write(1, b'x' * (65 << 20))", "wrote more than 67,108,864 bytes"),
}


@pytest.mark.parametrize("end", ENDS)
def test_after_a_guest_that_ends_its_process_a_new_one_continues(end: str, tmp_path: Path) -> None:
    act, words = ENDS[end]
    adapter = function_adapter(SLOW.replace("{hang}", act), tmp_path, guest=True)
    with pytest.raises(AdapterError, match=words):
        adapter.output(EXCHANGE)
    assert facts_of(adapter) == [Text("Hi")]
    adapter.close()


def test_what_a_guest_has_started_ends_with_it(tmp_path: Path) -> None:
    code = IMPORTS + (
        "import subprocess\ndef replay(e):\n"
        "    yield subprocess.Popen(['sleep', '60']).pid, [Text('Hi')]"
    )
    adapter = function_adapter(code, tmp_path, guest=True)
    started = transcript(adapter).entries[0].native
    os.kill(started, 0)
    adapter.close()
    for _ in range(100):
        state = Path(f"/proc/{started}/stat")
        if not state.exists() or " Z " in state.read_text():
            return
        time.sleep(0.05)
    raise AssertionError(f"process {started} is still there")


@pytest.mark.parametrize(
    "act",
    ["sys.stdout.close(); sys.stderr.close()", "sys.stdout = sys.stderr = None", "os.close(1)"],
)
def test_a_guest_may_close_its_streams(act: str, tmp_path: Path) -> None:
    code = IMPORTS + f"import os, sys\ndef replay(e):\n    {act}\n    yield {{}}, [Text('Hi')]\n"
    adapter = function_adapter(code, tmp_path, guest=True)
    assert facts_of(adapter) == [Text("Hi")]
    adapter.close()


HERE = IMPORTS + (
    "import asyncio, os, threading\n"
    "async def replay(e):\n"
    "    await asyncio.sleep(0)\n"
    "    return [((os.getpid(), threading.get_ident()), [])]\n"
)


def test_in_a_test_a_function_runs_in_the_process_and_thread_of_the_test(tmp_path: Path) -> None:
    adapter = function_adapter(HERE, tmp_path)
    here = [os.getpid(), threading.get_ident()]
    assert [transcript(adapter).entries[0].native for _ in range(2)] == [here, here]
    adapter.close()
    assert transcript(adapter).entries[0].native == here

    async def test() -> object:
        return transcript(adapter).entries[0].native

    assert asyncio.run(test()) not in (None, here)
    adapter.close()


def test_an_interrupt_in_a_test_stops_the_run(tmp_path: Path) -> None:
    adapter = function_adapter("def replay(e):\n    raise KeyboardInterrupt", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        adapter.output(EXCHANGE)


def test_a_generator_is_closed_at_once_and_may_raise(tmp_path: Path) -> None:
    code = IMPORTS + (
        "import sys\ndef replay(e):\n    try:\n        yield {}, ['Hi']\n"
        "    finally:\n        sys.closed = True\n        raise ValueError('late')\n"
    )
    with pytest.raises(AdapterError, match="str 'Hi' is not a fact"):
        function_adapter(code, tmp_path).output(EXCHANGE)
    assert vars(sys).pop("closed")


def test_the_forked_child_of_a_guest_ends(tmp_path: Path) -> None:
    code = IMPORTS + (
        "import os, warnings\ndef replay(e):\n    with warnings.catch_warnings():\n        warnings.simplefilter('ignore')\n"
        "        child = os.fork()\n    yield child, [Text('Hi')]"
    )
    adapter = function_adapter(code, tmp_path, guest=True)
    children = [transcript(adapter).entries for _ in range(3)]
    assert [len(entries) for entries in children] == [1, 1, 1]
    assert all(isinstance(entries[0].native, int) and entries[0].native for entries in children)
    adapter.close()


LEFT = {
    "a task": "asyncio.get_running_loop().create_task(asyncio.sleep(60))",
    "a generator": "\n    async for i in numbers():\n        break",
}


@pytest.mark.parametrize("left", LEFT.values(), ids=list(LEFT))
def test_what_an_async_function_leaves_open_is_closed_silently(
    left: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    code = IMPORTS + (
        "import asyncio\nasync def numbers():\n    while True:\n        await asyncio.sleep(0)\n        yield 1\n"
        f"async def replay(e):\n    {left}\n    yield {{}}, [Text('Hi')]"
    )
    adapter = function_adapter(code, tmp_path)
    assert facts_of(adapter) == [Text("Hi")]
    adapter.close()
    gc.collect()
    assert caplog.messages == []


def test_functions_and_programs_get_no_real_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "real")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "real")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/real.json")
    monkeypatch.setenv("PLAIN", "kept")
    names = "GEMINI_API_KEY ANTHROPIC_API_KEY GOOGLE_APPLICATION_CREDENTIALS PLAIN SET_BY_SHIM"
    code = (
        IMPORTS
        + "import os\nat_import = dict(os.environ)\ndef replay(e):\n    os.environ['SET_BY_SHIM'] = 'x'\n"
        f"    return [([[env.get(name) for name in '{names}'.split()] for env in (at_import, os.environ)], [])]"
    )
    entry = transcript(function_adapter(code, tmp_path)).entries[0]
    masked = ["no-key-in-a-replay", "no-key-in-a-replay", None, "kept"]
    assert entry.native == [[*masked, None], [*masked, "x"]]
    assert [os.environ.get(name) for name in names.split()] == [
        *("real", "real", "/real.json", "kept", "x")
    ]
    monkeypatch.delenv("SET_BY_SHIM")
    program = (
        "import json, os, sys\ndef out(**line): os.write(int(os.environ['HARNESS_OUT']), json.dumps(line).encode() + b'\\n')\n"
        "out(hello=1)\nfor line in sys.stdin:\n"
        f"    out(id=json.loads(line)['id'], native=[os.environ.get(name) for name in '{names}'.split()])"
    )
    adapter = program_adapter(program, tmp_path)
    assert [entry.native for entry in transcript(adapter).entries] == [*masked, None]
    adapter.close()


TRUSTED = """
import os

def trusted():
    return {name: os.environ[name] for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if name in os.environ}

AT_IMPORT = trusted()

def replay(at):
    list(ask(at.base_url, []))
    return direct(at)

def direct(exchange):
    return [(AT_IMPORT, []), (trusted(), [])]
"""


@pytest.mark.slow
@pytest.mark.parametrize("own", ["SSL_CERT_FILE", "SSL_CERT_DIR", ""])
def test_served_shims_trust_one_certificate_by_default(
    own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("SSL_CERT_FILE", "SSL_CERT_DIR")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    if own:
        monkeypatch.setenv(own, "mine")
    kept = {own: "mine"} if own else {}
    served = kept or {"SSL_CERT_FILE": str(CERTIFICATE)}
    ssl.create_default_context(cafile=str(CERTIFICATE))
    code = ASKS + TRUSTED
    for guest in (False, True):
        adapter = function_adapter(code, tmp_path, "serve: ", guest=guest)
        assert [entry.native for entry in transcript(adapter).entries] == [served, served]
        adapter.close()
    adapter = function_adapter(code, tmp_path, name="direct")
    assert [entry.native for entry in transcript(adapter).entries] == [kept, kept]
    assert {name: os.environ[name] for name in names if name in os.environ} == kept


def test_the_version_is_that_of_a_distribution(tmp_path: Path) -> None:
    shim = "def replay(e): return []\n"
    known = function_adapter(shim + "VERSION_OF = 'h11'", tmp_path)
    unknown = function_adapter(shim + "VERSION_OF = 'no-such-distribution'", tmp_path)
    assert [known.version(), unknown.version()] == [version("h11"), "unknown"]
    assert function_adapter(shim, tmp_path).version() == "unknown"


def test_payloads_are_native_events_alone(tmp_path: Path) -> None:
    code = "def replay(e):\n    yield {'type': 'x'}\n    yield [1, b'\\x00']"
    adapter = function_adapter(code, tmp_path, level="shop")
    output = adapter.output(EXCHANGE)
    assert (output.items, output.transcript) == ([{"type": "x"}, [1, "AA=="]], None)


def test_an_exception_on_payloads_is_an_error_with_its_cause(tmp_path: Path) -> None:
    adapter = function_adapter(RAISES, tmp_path, level="shop")
    with pytest.raises(
        AdapterError, match=r"the adapter raised QuotaError at shim_\w+\.py:11: Slow down\.$"
    ) as caught:
        adapter.output(EXCHANGE)
    assert type(caught.value.__cause__).__name__ == "QuotaError"


def test_a_session_is_not_asked_of_an_adapter_that_states_facts(tmp_path: Path) -> None:
    session = replace(EXCHANGE, status=101, provider="live")
    adapter = function_adapter("def replay(e): return [({}, [])]\n", tmp_path)
    assert transcript(adapter, session).skipped.startswith("a session of the Live API; it is")
    payloads = function_adapter("def replay(e): return [{}]\n", tmp_path, level="shop")
    assert payloads.output(session).items == [{}]


def test_calls_have_ids_names_and_arguments(tmp_path: Path) -> None:
    code = IMPORTS + "def replay(e):\n    yield {}, [Call('i', 'f', '{\"a\": 1}'), Call(None, 'g')]"
    assert facts_of(function_adapter(code, tmp_path)) == [
        Call("i", "f", '{"a": 1}'),
        Call(None, "g"),
    ]


def test_a_function_names_the_wires_that_it_reads(tmp_path: Path) -> None:
    shim = "def replay(e): return [({}, [])]\n"
    other = function_adapter(shim + "PROVIDERS = ('vertex-ai',)", tmp_path)
    assert transcript(other).skipped == "another wire; it reads vertex-ai"
    own = function_adapter(shim + "PROVIDERS = ('gemini-api', 'vertex-ai')", tmp_path)
    assert (transcript(own).skipped, len(transcript(own).entries)) == ("", 1)
    envelope = replace(EXCHANGE, provider="code-assist")
    as_gemini = own.output(envelope, RunOptions(provider="gemini-api")).transcript
    assert as_gemini
    assert as_gemini.skipped == ("another wire; it reads gemini-api, vertex-ai")
    with pytest.raises(AdapterError, match="names claude; expected gemini-api"):
        function_adapter(shim + "PROVIDERS = ('claude',)", tmp_path)
    with pytest.raises(AdapterError, match=r"is the string 'vertex-ai'; expected a tuple, such as"):
        function_adapter(shim + "PROVIDERS = 'vertex-ai'", tmp_path)


STREAMS = (
    "from harness.facts import Finish, skip\n{}def replay(exchange):\n"
    "    try:\n        if not exchange.streamed: skip('only streams')\n    except Exception: pass\n"
    "    {} [({{}}, [Finish('STOP')])]\n"
)
FORMS = {
    "a list": ("", "return"),
    "a generator": ("", "yield from"),
    "a coroutine": ("async ", "return"),
}


@pytest.mark.parametrize("guest", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_function_that_reads_bytes_may_skip_an_exchange(
    form: str, guest: bool, tmp_path: Path
) -> None:
    streams = function_adapter(STREAMS.format(*FORMS[form]), tmp_path, guest=guest)
    try:
        assert [transcript(streams, exchange).skipped for exchange in STREAMED.values()] == [
            "" if name in ("a stream", "a stream without a request", "an error") else "only streams"
            for name in STREAMED
        ]
    finally:
        streams.close()
    payloads = function_adapter(STREAMS.format(*FORMS[form]), tmp_path, level="shop")
    with pytest.raises(AdapterMissing, match="adapter mine skips this exchange: only streams"):
        payloads.output(STREAMED["a unary answer"])
