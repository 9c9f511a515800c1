"""Programs as adapters: one process for all exchanges, and every kind of misbehavior."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapters import Adapter, AdapterError
from harness.facts import Call, Finish, Raised, Text
from tests.adapters.shims import EXCHANGE, facts_of, function_adapter, program_adapter, transcript

LOOP = """
import base64, json, os, sys, time
def out(**line):
    os.write(int(os.environ["HARNESS_OUT"]), json.dumps(line).encode() + b"\\n")
out(hello=1, name="tiny", version="1.2")
for number, line in enumerate(sys.stdin, 1):
    given = json.loads(line)
    id = given["id"]
"""
ANSWERS = "    out(id=id, native=[os.getpid()], facts=[{'text': str(number)}], raised=None)\n"


def test_one_process_answers_all_exchanges(tmp_path: Path) -> None:
    adapter = program_adapter(LOOP + ANSWERS, tmp_path)
    assert adapter.version() == "1.2"
    entries = [transcript(adapter).entries[0] for _ in range(3)]
    adapter.close()
    assert [entry.facts for entry in entries] == [(Text("1"),), (Text("2"),), (Text("3"),)]
    assert len({entry.native for entry in entries}) == 1
    assert not is_running(entries[0].native)


def test_stdout_is_free_for_noise(tmp_path: Path) -> None:
    noise = "    print('x' * 200_000); print('y', file=sys.stderr)\n"
    assert facts_of(program_adapter(LOOP + noise + ANSWERS, tmp_path)) == [Text("1")]


def test_a_program_gets_the_recorded_exchange(tmp_path: Path) -> None:
    code = LOOP + (
        "    exchange = given['exchange']\n"
        "    body = b''.join(base64.b64decode(data) for _, data in exchange['reads'])\n"
        "    out(id=id, native=[given['provider'], [at for at, _ in exchange['reads']], exchange['end'], body.decode()])\n"
    )
    entries = transcript(program_adapter(code, tmp_path)).entries
    assert [entry.native for entry in entries] == [
        "gemini-api",
        [3.0, 9.5],
        "complete",
        EXCHANGE.body.decode(),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("facts=[[{'text': 'a'}], [{'finish': 'STOP'}]]", [("1", "a"), ("2", "STOP")]),
        ("facts=[{'text': 'a'}, {'finish': 'STOP'}]", [("1", ""), ("2", "aSTOP")]),
        ("facts=[]", [("1", ""), ("2", "")]),
    ],
)
def test_facts_belong_to_their_events_or_to_the_last(
    line: str, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    code = LOOP + f"    out(id=id, native=['1', '2'], {line})\n"
    entries = transcript(program_adapter(code, tmp_path)).entries
    words = {Text("a"): "a", Finish("STOP"): "STOP"}
    assert [
        (entry.native, "".join(words[fact] for fact in entry.facts)) for entry in entries
    ] == expected


def test_a_program_that_sends_no_request_learns_where_the_address_is(tmp_path: Path) -> None:
    adapter = program_adapter(LOOP + "    out(id=id, native=[], facts=[])\n", tmp_path, "serve")
    with pytest.raises(AdapterError, match="expected one to base_url of the line on stdin"):
        transcript(adapter)


def test_a_program_that_reads_bytes_learns_if_they_are_a_stream(tmp_path: Path) -> None:
    code = LOOP + "    out(id=id, skipped='' if given['stream'] else 'only streams')\n"
    adapter = program_adapter(code, tmp_path, "run")
    unary = replace(EXCHANGE, streamed=False)
    given = [transcript(adapter, exchange).skipped for exchange in (EXCHANGE, unary)]
    adapter.close()
    assert given == ["", "only streams"]


def test_a_program_can_report_an_exception_or_a_skip(tmp_path: Path) -> None:
    code = LOOP + (
        "    if number == 1: out(id=id, native=[], facts=[], raised={'type': 'E', 'message': 'm', 'code': 429})\n"
        "    if number == 2: out(id=id, skipped='only streams')\n"
        "    if number == 3: out(id=id, raised='oops')\n"
        "    if number == 4: out(id=id, facts=[{'call': {'id': None, 'name': 'f', 'arguments': {}}}])\n"
    )
    adapter = program_adapter(code, tmp_path)
    assert transcript(adapter).raised == Raised("E", "m", 429)
    assert transcript(adapter).skipped == "only streams"
    with pytest.raises(AdapterError, match='raised is "oops"; expected null or'):
        adapter.output(EXCHANGE)
    assert facts_of(adapter) == [Call(None, "f", {})]
    adapter.close()


def test_the_stderr_of_an_answer_is_its_log(tmp_path: Path) -> None:
    code = LOOP + "    print('before', number, file=sys.stderr, flush=True)\n" + ANSWERS
    adapter = program_adapter(code, tmp_path)
    assert [transcript(adapter).log for _ in range(2)] == ["before 1", "before 2"]
    adapter.close()


def test_a_program_names_the_wires_that_it_reads(tmp_path: Path) -> None:
    hello = LOOP.replace('version="1.2"', 'version="1.2", providers=["interactions"]')
    adapter = program_adapter(hello + ANSWERS, tmp_path)
    assert transcript(adapter).skipped == "another wire; it reads interactions"
    adapter.close()
    broken = program_adapter(hello.replace('["int', '["Int') + ANSWERS, tmp_path)
    with pytest.raises(
        AdapterError, match=r'hello line of .* is \["Interactions"\]; expected a list'
    ):
        broken.output(EXCHANGE)


MISBEHAVIOUR = {
    "hangs": ("time.sleep(60)", r"wrote no answer to the descriptor of HARNESS_OUT within 2 s"),
    "floods": ("while True: os.write(int(os.environ['HARNESS_OUT']), b'1' * 60_000)", r"more than 1,000,000 bytes"),
    "floods its lines": ("while True: out(id=id, native=['x' * 9_000] * 100, more=True)", r"more than 1,000,000 bytes"),
    "floods stdout": ("while True: print('x' * 60_000)", "more than 1,000,000 bytes"),
    "crashes": ("print('one\\n  two', file=sys.stderr, flush=True); os.abort()", "ended with status -6 before it answered:\none\n  two$"),
    "fails": ("raise SystemExit('no such model')", "ended with status 1 before it answered: no such model$"),
    "ends after its answer": ("out(id=id); raise SystemExit", "ended with status 0 before it answered$"),
    "answers another line": ("out(id=id + 7)", 'answered 8; expected a line with "id": 1, one for each'),
    "writes no JSON": ("os.write(int(os.environ['HARNESS_OUT']), b'oops \\x1b[2J\\n')", r"a line that .* wrote is not JSON .*: oops"),
    "writes no object": ("os.write(int(os.environ['HARNESS_OUT']), b'[1]\\n')", r"wrote is \[1\]; expected an object"),
    "gives no fact": ("out(id=id, facts=[{'text': 'a'}, {'txt': 'a'}])", r'event 1: fact 2: \{"txt": "a"\} is not a fact; expected an object with one of'),
    "gives too many lists": ("out(id=id, native=[1], facts=[[], []])", "facts has 2 items for 1 event in native; expected a list for each event, or one"),
    "gives no list": ("out(id=id, facts={'text': 'a'})", r'facts is \{"text": "a"\}; expected a list'),
    "closes its output": ("os.close(int(os.environ['HARNESS_OUT'])); time.sleep(60)", "closed the descriptor of HARNESS_OUT"),
    "forks and ends": ("os.fork() or time.sleep(60); raise SystemExit(4)", "ended with status 4 before it answered$"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", MISBEHAVIOUR)
def test_bad_behaviour_is_an_error_of_one_exchange(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.adapters.process.MAX_OUTPUT", 1_000_000)
    body, words = MISBEHAVIOUR[case]
    steps = [
        "if not os.path.exists('seen'):",
        "    open('seen', 'w')",
        f"    {body}",
        "    continue",
    ]
    first = "".join(f"    {step}\n" for step in steps)
    adapter = program_adapter(LOOP + first + ANSWERS, tmp_path, timeout=2.0)
    if "after" in case:
        adapter.output(EXCHANGE)
    with pytest.raises(AdapterError, match=rf"(?s)^adapter mine: .*(?:{words})"):
        adapter.output(EXCHANGE)
    entry = transcript(adapter).entries[0]
    assert entry.facts in ((Text("1"),), (Text("2"),))
    adapter.close()


BAD_STARTS = {
    "no such program": ("", "nowhere-at-all can't be run: No such file"),
    "no hello": ("out(id=0)", r'the first line that .* wrote is \{"id": 0\}; expected \{"hello": 1'),
    "no JSON": ("print('x', file=sys.stderr)\nos.write(int(os.environ['HARNESS_OUT']), b'hello\\n')", "is not JSON"),
    "an end": ("raise ImportError('no module x')", "(?s)ended with status 1 before it wrote its hello line:\nTraceback.*ImportError: no module x$"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_STARTS)
def test_a_program_that_can_not_be_started_is_started_once(case: str, tmp_path: Path) -> None:
    body, words = BAD_STARTS[case]
    code = (
        LOOP.partition("out(hello")[0] + f"open('starts', 'a').write('x')\n{body}\nsys.stdin.read()"
    )
    adapter = program_adapter(code, tmp_path)
    if not body:
        from harness.adapters.named import make_adapter, read_line

        adapter = make_adapter(read_line("mine: facts = serve: nowhere-at-all"), tmp_path)
    for _ in range(2):
        with pytest.raises(AdapterError, match=words):
            adapter.output(EXCHANGE)
    assert adapter.version() == "unknown"
    if body:
        assert (tmp_path / "starts").read_text(encoding="utf-8") == "x"


@pytest.mark.parametrize("guest", [False, True])
def test_the_start_of_a_program_may_take_as_long_as_an_exchange(
    guest: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.adapters.program.START_S", 0.2)
    slow = "import time\ntime.sleep(1)\n"
    if guest:
        code = f"{slow}from harness.facts import Text\ndef replay(e): return [(1, [Text('1')])]\n"

        def start(timeout: float) -> Adapter:
            return function_adapter(code, tmp_path, timeout=timeout, guest=True)
    else:

        def start(timeout: float) -> Adapter:
            return program_adapter(slow + LOOP + ANSWERS, tmp_path, timeout=timeout)

    missing = "was not imported" if guest else "wrote no hello line to the descriptor .*"
    with pytest.raises(AdapterError, match=f"{missing} within 0.5 s; --timeout S above 0.5 gives"):
        start(0.5).output(EXCHANGE)
    adapter = start(20.0)
    assert facts_of(adapter) == [Text("1")]
    adapter.close()


@pytest.mark.slow
def test_everything_that_a_program_started_ends_with_it(tmp_path: Path) -> None:
    code = LOOP + (
        "    if os.fork() == 0:\n        os.setsid(); time.sleep(60)\n"
        "    child = os.fork() or time.sleep(60)\n    out(id=id, native=[os.getpid(), child])\n"
    )
    adapter = program_adapter(code, tmp_path)
    processes = [entry.native for entry in transcript(adapter).entries]
    assert all(is_running(process) for process in processes)
    adapter.close()
    assert not Path(f"/proc/{processes[0]}").exists()  # not even as a zombie
    until = time.monotonic() + 30
    while any(is_running(process) for process in processes) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(is_running(process) for process in processes)


def test_a_program_ends_with_the_last_reference_to_its_adapter(tmp_path: Path) -> None:
    adapter = program_adapter(LOOP + ANSWERS, tmp_path)
    process = transcript(adapter).entries[0].native
    del adapter
    assert not Path(f"/proc/{process}").exists()


def test_payloads_of_a_program_are_its_native_events(tmp_path: Path) -> None:
    code = LOOP + "    out(id=id, native=[{'type': 'x'}], facts=['of no interest'])\n"
    output = program_adapter(code, tmp_path, level="shop").output(EXCHANGE)
    assert (output.items, output.transcript) == ([{"type": "x"}], None)


def is_running(process: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
