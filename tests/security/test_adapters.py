"""Adapters that swallow exceptions, fork, hang, flood or leave processes behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from harness.adapters import AdapterError
from harness.adapters.named import make_adapter, read_line
from tests.security.samples import TEXT, exchange

SWALLOWS = """
def run(exchange):
    while True:
        try:
            while True: pass
        except Exception: pass
"""


@pytest.mark.slow
def test_a_function_that_swallows_exceptions_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "swallowing_adapter.py").write_text(SWALLOWS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(AdapterError, match=r"did not return within 0\.2 s"):
        make_adapter(
            read_line("mine = swallowing_adapter:run"), tmp_path, timeout=0.2, guest=True
        ).output(exchange(TEXT))


CLOSES = """
import os, sys
from harness.facts import Text
def replay(exchange):
    {close}
    yield {{"text": "Hi"}}, [Text("Hi")]
"""

SHOWN = '{"native":{"text":"Hi"},"facts":[{"text":"Hi"}]}'


@pytest.mark.slow
@pytest.mark.parametrize("close", ["os.close(1)", "sys.stdout.close()", "os.closerange(1, 3)"])
def test_closing_the_output_does_not_silence_the_command(
    pytester: pytest.Pytester, close: str
) -> None:
    Path("a.txt").write_bytes(TEXT)
    pytester.makepyfile(closing_adapter=CLOSES.format(close=close))
    command = Path(sys.executable).with_name("harness")
    asked = ("a.txt", "--provider", "gemini-api", "--adapter", "closing_adapter:replay")
    run = pytester.run(str(command), "replay", *asked)
    assert (run.ret, run.outlines, run.errlines) == (0, [SHOWN], [])


@pytest.mark.slow
def test_a_command_without_an_output_ends_well() -> None:
    command = Path(sys.executable).with_name("harness")
    run = subprocess.run(["sh", "-c", f"'{command}' report --schema >&- 2>&-"], check=False)
    assert run.returncode == 0


HELLO = "import os, sys, time\nout = int(os.environ['HARNESS_OUT'])\nos.write(out, b'{\"hello\": 1}\\n')\nsys.stdin.readline()\n"
PROGRAMS = {
    "does not listen to signals": "import signal\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)",
    "floods its errors slowly": "for _ in range(900): sys.stderr.write('x' * 999); time.sleep(0.01)",
    "closes its output and stays": "os.close(1); os.close(2); time.sleep(60)",
}
ENDS = "\nopen(os.path.join(os.path.dirname(__file__), 'ended'), 'w').close()\n"


LEAVES = """
import os, time

out = int(os.environ['HARNESS_OUT'])
if os.fork() == 0:
 for n in {0, 1, 2, out}: os.close(n)
 time.sleep(60)
time.sleep(0.5)
os.write(out, b'{"hello": 1}\\n{"id": 1, "native": [{}]}\\n')
"""


linux = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="processes in a folder are found by /proc"
)


def left_in(folder: Path) -> list[str]:
    """The processes in a folder."""
    processes = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # it has ended, or belongs to another user
            processes += [link.parent.name] if link.readlink() == folder.resolve() else []
    return [process for process in processes if int(process) != os.getpid()]


def nothing_is_left_in(folder: Path) -> bool:
    """Whether all processes in a folder have ended; ends them otherwise."""
    until = time.monotonic() + 30
    while left_in(folder) and time.monotonic() < until:  # the kernel removes them with a delay
        time.sleep(0.05)
    left = left_in(folder)
    for process in left:
        os.kill(int(process), signal.SIGKILL)
    return not left


@linux
def test_processes_left_by_a_program_end_with_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(LEAVES, encoding="utf-8")
    adapter = make_adapter(read_line(f"mine = run: {sys.executable} program.py"), tmp_path)
    assert adapter.output(exchange(TEXT)).items == [{}]
    assert left_in(tmp_path), "the child is there"
    adapter.close()
    assert nothing_is_left_in(tmp_path)


STARTS = {
    "a fork": "if os.fork() == 0: time.sleep(30); os._exit(0)",
    "one of multiprocessing": "multiprocessing.Process(target=time.sleep, args=(120,)).start()",
    "a program whose parent has ended": "subprocess.run(['sh', '-c', 'sleep 30 &'])",
}
STARTING = """
import multiprocessing, os, subprocess, time
multiprocessing.set_start_method("fork")
from harness.facts import Text
def replay(exchange):
    {start}
    yield {{"text": "Hi"}}, [Text("Hi")]
"""


@pytest.mark.slow
@linux
@pytest.mark.parametrize("start", STARTS.values(), ids=list(STARTS))
def test_processes_of_a_function_end_with_the_command(start: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    (tmp_path / "starting.py").write_text(STARTING.format(start=start), encoding="utf-8")
    command = Path(sys.executable).with_name("harness")
    run = subprocess.run(
        [command, "replay", "a.txt", "--provider", "gemini-api", "--adapter", "starting:replay"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        check=False,
        timeout=60,  # multiprocessing waits for its children
    )
    assert nothing_is_left_in(tmp_path)
    assert run.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=list(PROGRAMS))
def test_a_program_gets_its_verdict_before_it_ends(program: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HELLO + program + ENDS, encoding="utf-8")
    with pytest.raises(AdapterError, match=r"wrote no answer .* within 1 s"):
        make_adapter(
            read_line(f"mine = run: {sys.executable} program.py"), tmp_path, timeout=1.0
        ).output(exchange(TEXT))
    assert not (tmp_path / "ended").exists()
