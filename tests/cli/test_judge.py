"""``harness judge``: its output, files, exit status, and the recordings that it skips."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from harness import __version__
from harness.adapters import Adapter
from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from harness.cli.main import main
from harness.cli.named_adapter import open_adapter
from harness.judging.judge_results import decode_results
from harness.judging.rules_version import RULES
from harness.project.suite import Members, frozen_name, members, read_suite_lock, suite_name
from tests.cli.project import write

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
TEXT = b'data: {"candidates": [{"content": {"parts": [{"text": "Oslo"}]}, "finishReason": "MAX_TOKENS"}]}\n\n'
SPELT = (
    b'data:{"candidates": [{"content": {"parts": [{"text": "Oslo"}]}, "finishReason": "STOP"}]}\n\n'
)
SHIM = """
import json
from harness.facts import Finish, Text

def replay(exchange):
    for line in exchange.body.decode().splitlines():
        if line.startswith("data:"):
            candidate = json.loads(line[5:])["candidates"][0]
            text = candidate["content"]["parts"][0]["text"]
            yield {{"n": 1}}, [Text(text), Finish({finish})]
"""
ITS_OWN = 'candidate["finishReason"]'
"""The finish reason of the answer."""
NUMBERS = count()


def shim(finish: str, name: str = "") -> str:
    """The target of an adapter that states this finish reason."""
    name = name or f"judged_{next(NUMBERS)}"
    write(f"{name}.py", SHIM.format(finish=finish))
    return f"{name}:replay"


@pytest.fixture
def answers(here: Path) -> Path:
    """One answer of the documented wire, and one variant."""
    request = Request("POST", URL, {}, b"{}")
    exchanges = (
        Exchange(request, 200, {}, ((1.0, TEXT),), "complete"),
        Exchange(request, 200, {}, ((1.0, SPELT),), "complete"),
    )
    write("answers.yaml", dumps(Cassette(exchanges, Origin("written"))))
    return here / "answers.yaml"


def judged(path: str) -> Any:
    return json.loads(Path(path).read_bytes())["adapters"]


def test_a_loss_is_a_sentence_with_wire_native_event_and_command(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = shim('"STOP"', "says_stop")
    assert main(["judge", target, "--cassettes", "answers.yaml"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"says-stop, version unknown (says_stop:replay), rules {RULES}",
        "",
        "Documented wire: 0 of 1 cell passed, 1 failed",
        "            kept    lost",
        "  text         1       .",
        "  finish       .       1",
        "",
        "Variants: 1 of 1 cell passed",
        "            kept",
        "  text         1",
        "  finish       1",
        "",
        "Documented wire: answers as the provider documents them. Variants: other forms; a failure"
        " there is never red. Not asked: the adapter could not give the fact, or the answer failed"
        " before it.",
        "",
        "1 finding, documented wire:",
        "",
        "- finish lost: the wire ends with MAX_TOKENS; the adapter reports STOP",
        "  cassette answers.yaml, exchange 1",
        '  wire    data: {"candidates": [{"content": {"parts": [{"text": "Oslo"}]},'
        r' "finishReason": "MAX_TOKENS"}]}\n\n',
        '  native  {"n": 1}',
        "  run: harness judge says_stop:replay --cassettes answers.yaml:1",
        "",
    ]


def test_a_variant_that_the_adapter_does_not_read_is_green(answers: Path) -> None:
    target = shim('"MAX_TOKENS"')
    module = Path(f"{target.partition(':')[0]}.py")
    module.write_text(module.read_text().replace('startswith("data:")', 'startswith("data: ")'))
    assert main(["judge", target, "--cassettes", "answers.yaml", "--json", "out.json"]) == 0
    (adapter,) = judged("out.json")
    assert adapter["cells"][1]["block"] == "variant"
    assert adapter["cells"][1]["aspects"]["text"] == "lost"


def test_a_variant_that_the_adapter_has_read_is_judged(answers: Path) -> None:
    arguments = ["judge", shim('"MAX_TOKENS"'), "--cassettes", "answers.yaml", "--json", "out.json"]
    assert main(arguments) == 1
    (adapter,) = judged("out.json")
    assert adapter["cells"][1]["block"] == "documented"
    assert adapter["cells"][1]["aspects"] == {"text": "kept", "finish": "wrong"}


OF_READS = """
import json
from harness.facts import Finish, Text

def replay(exchange):
    for _, data in exchange.reads:
        for line in data.decode().splitlines():
            if line.startswith("data: ") and line.endswith("}"):
                candidate = json.loads(line[6:])["candidates"][0]
                text = candidate["content"]["parts"][0]["text"]
                yield {"n": 1}, [Text(text), Finish("MAX_TOKENS")]
"""


def test_a_wire_that_the_adapter_does_not_read_is_named(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = shim('{"MAX_TOKENS": "length"}.get(candidate["finishReason"], "stop")')
    module = Path(f"{target.partition(':')[0]}.py")
    given = ["judge", target, "--cassettes", str(answers), "gemini-cli/runs"]
    assert main(given) == 1
    output = capsys.readouterr().err
    assert "no answer of gemini-cli (" in output
    assert "gemini-api (" not in output
    module.write_text('PROVIDERS = ("gemini-api",)\n' + module.read_text())
    sys.modules.pop(module.stem, None)
    assert main(given) == 0
    assert "no text" not in capsys.readouterr().err


LOGGING = """
import logging, sys
log = logging.getLogger(__name__)
log.addHandler(logging.StreamHandler())

def replay(exchange):
    log.warning("no usage in %d bytes", len(exchange.body))
    print("second line \\x1b[2J", file=sys.stderr)
    return []
"""


@pytest.mark.parametrize("options", [[], ["-v"]])
def test_the_log_of_an_adapter_is_shown_with_its_findings_and_with_v_when_it_comes(
    answers: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    name = f"logs_{len(options)}"
    write(f"{name}.py", LOGGING)
    target = [f"{name}:replay", "--cassettes", "answers.yaml:1", "--report", "page"]
    assert main(["judge", *target, *options]) == 1
    out, err = capsys.readouterr()
    log = f"  log     no usage in {len(TEXT)} bytes\n  log     second line \\u001b[2J\n  wire    data: "
    assert out.count(log) == 1
    assert ("no usage in" in err) == bool(options)
    assert "second line \\u001b[2J" in Path("page/index.html").read_text(encoding="utf-8")


def test_a_shim_with_the_name_of_the_package_that_it_imports_is_refused(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "def replay(exchange):\n    from colorsys_x import client\n    return []\n"
    write("colorsys_x.py", source)
    assert main(["judge", "colorsys_x:replay", "--cassettes", "answers.yaml"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "harness: adapter colorsys-x: colorsys_x:replay: colorsys_x.py:2 imports colorsys_x, but"
        " colorsys_x.py has that name, so it imports itself; rename the file"
    )


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_losses_of_other_cuts_are_shown(answers: Path, jobs: str) -> None:
    write("of_reads.py", OF_READS)
    command = ["judge", "of_reads:replay", "--cassettes", "answers.yaml:1", "--json", "cells.json"]
    assert main([*command, "--jobs", jobs]) == 1, "its one read is cut into pieces"
    assert main([*command, "--jobs", jobs, "--cuts", "recorded", "whole"]) == 0
    assert main([*command, "--jobs", jobs, "--cuts", "whole", "pieces"]) == 1
    [cell] = judged("cells.json")[0]["cells"]
    assert cell["aspects"]["text"] == "lost"
    (lost,) = [finding for finding in cell["findings"] if finding["subject"] == "text"]
    assert (lost["verdict"], lost["reason"], lost["place"]["cuts"]) == (
        "lost",
        "text-from-start",
        "pieces",
    )
    frames, native, facts = cell["evidence"]["excerpts"]["text"]
    assert [view["layer"] for view in (frames, native, facts)] == ["frames", "native", "facts"]
    assert frames["lines"]
    assert "folder" not in judged("cells.json")[0], "without a repository"


def test_a_page_names_no_path_of_the_machine(answers: Path) -> None:
    Path("elsewhere").mkdir()
    write("elsewhere/b.yaml", answers.read_text(encoding="utf-8"))
    for command in ([str(answers)], [str(Path("elsewhere").absolute())]):
        target = shim('"STOP"')
        main(["judge", target, "--cassettes", *command, "--report", "page", "--json", "o.json"])
        assert str(Path.cwd()) not in Path("page/index.html").read_text(encoding="utf-8")
        assert str(Path.cwd()) not in Path("o.json").read_text(encoding="utf-8")


def test_one_exchange_can_be_judged_alone(answers: Path) -> None:
    arguments = ["--cassettes", "answers.yaml:2", "--json", "out.json"]
    assert main(["judge", shim('"STOP"'), *arguments]) == 0
    (adapter,) = judged("out.json")
    assert [(cell["exchange"], cell["block"]) for cell in adapter["cells"]] == [(2, "variant")]


def test_a_cassette_of_the_suite_is_found_by_its_name(here: Path) -> None:
    arguments = ["--cassettes", "gemini-api/text:1", "--json", "out.json"]
    assert main(["judge", "unified-llm", *arguments]) == 0
    (adapter,) = judged("out.json")
    assert adapter["cells"][0]["cassette"] == "gemini-api/text"


@pytest.mark.parametrize(
    ("losses", "status"),
    [("finish", 0), ("says-less: finish[length]", 0), ("finish[stop]", 1), ("finish, text", 1)],
)
def test_a_declared_loss_is_green_and_an_unobserved_one_is_red(
    answers: Path, losses: str, status: int
) -> None:
    target = f"says-less = {shim('None')}"
    arguments = ["--cassettes", "answers.yaml:1", "--losses", losses]
    assert main(["judge", target, *arguments]) == status


def test_an_unobserved_loss_is_named(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--cassettes", "answers.yaml:1", "--losses", "text"]
    assert main(["judge", shim('"MAX_TOKENS"'), *arguments]) == 1
    assert "declared loss text: no cell shows it; delete the declaration" in capsys.readouterr().out


def test_files_without_an_answer_are_skipped_with_the_reason(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder").mkdir()
    write("folder/broken.yaml", "version: 1\ninteractions: [")
    Path("empty").mkdir()
    paths = ["none.yaml", "folder", "empty", "answers.yaml"]
    assert main(["judge", shim(ITS_OWN), "--cassettes", *paths, "--json", "o.json"]) == 0
    reasons = [
        line.removeprefix("harness: skipped: ") for line in capsys.readouterr().err.splitlines()
    ]
    assert reasons[0] == "none.yaml: no exchange has an answer of a model"
    assert reasons[1].startswith("folder/broken.yaml: ")
    assert reasons[2] == "empty: a folder without a file"
    skipped = json.loads(Path("o.json").read_bytes())["skipped"]
    assert [entry["path"] for entry in skipped] == ["none.yaml", "folder/broken.yaml", "empty"]


def test_a_folder_has_recordings_of_every_known_format(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is no recording is only counted."""
    Path("folder/.git").mkdir(parents=True)
    write("folder/answer.txt", TEXT.decode())
    body = {"status": 200, "content": {"mimeType": "text/event-stream", "text": TEXT.decode()}}
    request = {"method": "POST", "url": URL, "headers": [], "postData": {"text": "{}"}}
    entry = {"request": request, "response": {**body, "headers": []}}
    write("folder/browser.har", json.dumps({"log": {"entries": [entry]}}))
    for name in ("README.md", "notes.yaml", "package.json", ".git/config"):
        write(f"folder/{name}", '{"name": "shop"}')
    assert main(["judge", shim('"MAX_TOKENS"'), "--cassettes", "folder", "--json", "o.json"]) == 0
    (adapter,) = judged("o.json")
    assert [cell["cassette"] for cell in adapter["cells"]] == [
        "folder/answer.txt",
        "folder/browser.har",
    ]
    assert (
        "skipped: folder: 3 of 5 files: no recording of a known format" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("broken.yaml", "broken.yaml: "),
        ("gone.yaml", "gone.yaml: No such file or directory; name a file"),
        ("gemini-api/txt", "gemini-api/txt: No such file or directory; did you mean gemini-api/te"),
        ("answers.yaml:9", "answers.yaml: there is no exchange 9; the recording has 2"),
    ],
)
def test_a_named_recording_that_cannot_be_read_is_an_error_before_any_work(
    answers: Path, capsys: pytest.CaptureFixture[str], path: str, message: str
) -> None:
    write("broken.yaml", "a: [")
    arguments = ["--cassettes", "answers.yaml", path, "--json", "o.json"]
    assert main(["judge", shim('"MAX_TOKENS"'), *arguments]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"harness: {message}")
    assert output.out == ""
    assert not Path("o.json").exists()


def test_nothing_to_judge_says_that_no_file_could_be_read(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("folder").mkdir()
    write("folder/broken.yaml", "a: [")
    assert main(["judge", "unified-llm", "--cassettes", "folder"]) == 2
    assert "no recording could be read (see above)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere:replay", "--cassettes", "answers.yaml"], "nowhere"),
        (["unified-llm", "--cassettes", "none.yaml"], "there is nothing to judge"),
        (["art", "art", "--cassettes", "answers.yaml"], "2 adapters have the name art; use one"),
        (["no-such", "--cassettes", "answers.yaml"], "'no-such' names no adapter; expected"),
        (["./a/shim.py"], "'./a/shim.py' names no adapter (did you mean a.shim:replay?)"),
        (["./shim.py:chunks"], "'./shim.py:chunks' names no adapter (did you mean shim:chunks?)"),
        (["shim.replay"], "'shim.replay' names no adapter (did you mean shim:replay?)"),
        (["x = shim.py"], "'shim.py' is not a target (did you mean shim:replay?)"),
        (["json:lods"], "module 'json' has no attribute 'lods'; did you mean loads?"),
        (["art", "--losses", "finsh"], "'finsh' is not a declared loss (did you mean finish?)"),
        (["art", "--losses", "finish[lenght]"], "declared loss (did you mean finish[length]?)"),
        (["art", "--losses", "finish[zzz]"], "'finish[zzz]' is not a declared loss; expected"),
        (["art", "--cassettes", "answrs"], "answrs: No such file or directory; name a file, or"),
        (["unified-llm", "--losses", "colour"], "--losses: 'colour' is not a declared loss"),
        (["unified-llm", "--baseline", "gone.json"], "--baseline: gone.json: No such file"),
        (["unified-llm", "--baseline", "answers.yaml"], "--baseline: answers.yaml: "),
    ],
)
def test_bad_usage_is_one_line_and_exit_status_2(
    answers: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["judge", *arguments]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("harness: ")
    assert message in last


def test_an_adapter_that_raises_is_judged_on_the_other_exchanges(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = shim('1 / 0 if "MAX" in line else "STOP"')
    assert main(["judge", target, "--cassettes", "answers.yaml", "--json", "out.json"]) == 1
    first, second = judged("out.json")[0]["cells"]
    assert first["aspects"]["finish"] == "raised"
    out = capsys.readouterr().out
    assert out.count("- ") == 1, "one exception is one finding"
    assert "- the shim crashed: ZeroDivisionError at " in out
    assert second["aspects"] == {"text": "kept", "finish": "kept"}
    lines = [line.removeprefix("  log     ") for line in out.splitlines() if "  log  " in line]
    assert lines[0] == "Traceback (most recent call last):"
    assert re.fullmatch(r'  File "[^"/]+/judged_\d+\.py", line \d+, in replay', lines[1])
    assert lines[-1].startswith("ZeroDivisionError: ")
    assert "log" not in second


def test_a_key_of_the_environment_is_in_no_file_and_no_line(
    answers: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "hush-hush-0123")
    target = shim('"hush-hush-0123"')
    arguments = ["--cassettes", "answers.yaml", "--json", "out.json", "--report", "page"]
    assert main(["judge", target, *arguments]) == 1
    shown = [*capfd.readouterr(), *(path.read_text() for path in Path("page").iterdir())]
    shown.append(Path("out.json").read_text())
    assert "MAX_TOKENS → " in shown[0]
    assert not [text for text in shown if "hush-hush" in text]


@pytest.mark.slow
def test_several_jobs_give_the_same_results(answers: Path) -> None:
    target = shim('"STOP"')
    for jobs in ("1", "2"):
        arguments = ["--cassettes", "answers.yaml", "--json", f"{jobs}.json", "--jobs", jobs]
        assert main(["judge", target, *arguments]) == 1
    assert judged("1.json") == judged("2.json")


def test_only_as_many_jobs_are_started_as_there_are_exchanges(
    answers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[str] = []

    def opened(text: str, *arguments: Any, **options: Any) -> Adapter:
        started.append(text)
        return open_adapter(text, *arguments, **options)

    monkeypatch.setattr("harness.cli.judge.open_adapter", opened)
    assert main(["judge", "art", "--cassettes", "gemini-api/text:1", "--jobs", "9"]) == 0
    assert started == ["art"]
    assert main(["judge", "art", "--cassettes", "gemini-api/text:1", "--jobs", "1000"]) == 2
    assert "--jobs 1000: at most 64 processes are started" in capsys.readouterr().err


def test_a_baseline_makes_only_worse_red(answers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = shim(ITS_OWN), shim('"STOP"')
    common = ["--cassettes", "answers.yaml"]
    assert main(["judge", f"mine = {bad}", *common, "--json", "bad.json"]) == 1
    assert main(["judge", f"mine = {good}", *common, "--json", "good.json"]) == 0
    capsys.readouterr()
    assert main(["judge", f"mine = {bad}", *common, "--baseline", "bad.json"]) == 0
    assert "0 broken, 0 fixed" in capsys.readouterr().out
    assert main(["judge", f"mine = {good}", *common, "--baseline", "bad.json"]) == 0
    out = capsys.readouterr().out
    assert "fixed: answers.yaml:1[mine] (failed → passed)\n  finish: lost → kept\n" in out
    assert main(["judge", f"mine = {bad}", *common, "--baseline", "good.json"]) == 1
    out = capsys.readouterr().out
    assert (
        "mine: version unknown → unknown\nbroken: answers.yaml:1[mine] (passed → failed)\n" in out
    )
    assert (
        "  finish: kept → lost: the wire ends with MAX_TOKENS; the adapter reports STOP\n"
        f"  run: harness judge 'mine = {bad}' --cassettes answers.yaml:1\n"
        "1 broken, 0 fixed"
    ) in out


def test_reports_of_several_runs_are_merged_into_one_page(answers: Path) -> None:
    for name, finish in (("one", '"STOP"'), ("two", ITS_OWN)):
        arguments = ["--cassettes", "answers.yaml", "--json", f"{name}.json"]
        main(["judge", f"{name} = {shim(finish)}", *arguments])
    assert main(["judge", "two.json", "one.json", "--report", "page"]) == 1
    assert main(["judge", "two.json", "--report", "green"]) == 0
    assert [adapter["name"] for adapter in judged("page/judge.json")] == ["one", "two"]
    assert "2 adapters. A red number" in Path("page/index.html").read_text("utf-8")
    assert main(["judge", "one.json", "unified-llm", "--report", "page"]) == 2


@pytest.mark.slow
def test_a_run_that_is_killed_keeps_its_cells(answers: Path) -> None:
    Path("slow.py").write_text(
        "import time\n"
        "from harness.facts import Text\n"
        "def replay(exchange):\n"
        "    if b'MAX_TOKENS' not in exchange.body:\n"
        "        time.sleep(60)\n"
        "    yield None, [Text('Oslo')]\n"
    )
    code = "import sys; from harness.cli.main import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["judge", "slow:replay", "--cassettes", "answers.yaml", "--json", "o.json"]
    process = subprocess.Popen([sys.executable, "-c", code, *arguments])
    while not Path("o.json").exists() or b'"finish"' not in Path("o.json").read_bytes():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    results = decode_results(Path("o.json").read_bytes(), "o.json")
    cells = [(cell.exchange, cell.missing) for cell in results.adapters[0].cells]
    assert cells == [(1, False), (2, True)]


def test_an_unknown_event_model_states_no_facts(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.py").write_text("def payloads(exchange):\n    return [{'say': 'Oslo'}]\n")
    line = "mine: shop-events = own:payloads"
    assert main(["judge", line, "--cassettes", "answers.yaml:1"]) == 1
    assert (
        "- error: the facts of mine are unknown: its event model shop-events is not one of ours; a"
        " shim that states facts is declared as `NAME: facts = TARGET`\n"
    ) in capsys.readouterr().out


@pytest.mark.parametrize(("lost", "calls"), [("nothing", "kept"), ("index", "lost")])
def test_an_exact_adapter_is_not_asked_for_what_our_session_keeps(
    lost: str, calls: str, answers: Path
) -> None:
    Path(f"without_{lost}.py").write_text(
        "import harness\n"
        "def replay(exchange):\n"
        "    payloads = harness.replay(exchange, dialect='anthropic')\n"
        f"    return [item for item in payloads if '{lost}' not in item]\n"
    )
    line = f"mine: anthropic = without_{lost}:replay"
    status = main(
        ["judge", line, "--cassettes", "gemini-api/signatures-calls:1", "--json", "o.json"]
    )
    [cell] = decode_results(Path("o.json").read_bytes(), "o.json").adapters[0].cells
    assert (cell.aspects["signatures"], cell.aspects["calls"]) == ("not_asked", calls)
    assert status == (calls != "kept")


@pytest.mark.parametrize("kind", ["serve", "run"])
def test_a_program_that_does_not_exist_is_no_result(
    here: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    assert main(["judge", f"{kind}: nosuchprogram --flag"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines() == [
        f"harness: adapter {kind}: nosuchprogram --flag: the program nosuchprogram does not exist,"
        " or can't be run"
    ]


@pytest.mark.parametrize("fault", ["no gateway", "a port in use"])
def test_a_gateway_that_no_exchange_can_reach_is_no_result(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # nothing listens here
        at_taken, at_free = (f"127.0.0.1:{each.getsockname()[1]}" for each in (taken, free))
        is_reached = fault == "a port in use"
        # 0: the harness serves at any free port
        monkeypatch.setenv("HARNESS_GATEWAY_ADDRESS", at_taken if is_reached else "127.0.0.1:0")
        url = f"http://{at_taken if is_reached else at_free}"
        assert main(["judge", f"gateway gemini: {url}"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    words = (
        f"no exchange can be served at {at_taken}: " if is_reached else f"{url} can't be reached"
    )
    assert line.startswith(f"harness: adapter gateway gemini: {url}: {words}")


def test_results_name_the_suite_if_recordings_of_it_are_judged(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = shim(ITS_OWN)
    assert main(["judge", target, "--cassettes", "answers.yaml", "--json", "own.json"]) == 0
    assert "suite" not in judged("own.json")[0]
    assert judged("own.json")[0]["rules"] == RULES
    main(["judge", "art", "--cassettes", "gemini-api/text:1", "--json", "j.json", "--report", "r"])
    assert judged("j.json")[0]["suite"] == judged("r/judge.json")[0]["suite"] == suite_name()
    title = f"art, version {__version__}, suite {suite_name()}, rules {RULES}\n"
    assert title in capsys.readouterr().out
    assert f"suite {suite_name()}, rules {RULES}</small></h1>" in Path("r/index.html").read_text()


def test_a_frozen_suite_is_judged_by_what_is_still_there(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, (version, *_) = members(), read_suite_lock().frozen
    same = {name: now.cassettes[name] for name in ("gemini-api/text", "openai/text")}
    changed = {"gemini-api/usage": "0" * 12, "gemini-api/gone": "1" * 12}
    frozen = Members({**same, **changed}, {"settings-zero": now.questions["settings-zero"]})
    monkeypatch.setattr("harness.cli.judge.read_frozen", lambda _: frozen)
    main(["judge", "ag-ui", "--suite", version, "--json", "j.json"])
    (adapter,) = judged("j.json")
    assert {cell["cassette"] for cell in adapter["cells"]} == same.keys()
    asked = {cell["cassette"] for cell in adapter["questions"]}
    assert {name.rpartition("/")[2] for name in asked} == {"settings-zero"}
    assert adapter["suite"] == frozen_name(version)
    lost, added = capsys.readouterr().err.splitlines()[:2]
    assert lost.endswith(
        "not judged, because changed or gone: 2 cassettes (gemini-api/gone, gemini-api/usage)"
    )
    assert f"suite {suite_name()} would add to {version}: " in added
    assert f"{len(now.cassettes) - 2} cassettes (" in added
    assert f"{len(now.questions) - 1} questions (" in added


def test_a_frozen_suite_is_named_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "ag-ui", "--suite", "1999.01"]) == 2
    assert "--suite: no suite 1999.01 was frozen" in capsys.readouterr().err
    version = next(iter(read_suite_lock().frozen))
    assert main(["judge", "ag-ui", "--suite", version, "--cassettes", "gemini-api/text"]) == 2
    assert "--suite names all cassettes: omit --cassettes" in capsys.readouterr().err


KNOWN = "finish = it says stop, https://example.org/1"


def test_a_known_failure_is_not_red_and_has_its_link(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shim('"STOP"', "says_stop")
    judge = ["judge", "says_stop:replay", "--cassettes", "answers.yaml:1", "--json", "j.json"]
    assert main(judge) == 1
    assert main([*judge, "--known-failing", f"says-stop: {KNOWN}"]) == 0
    (cell,) = judged("j.json")[0]["cells"]
    assert (cell["verdict"], cell["reason"]) == ("known-failing", "it says stop")
    assert cell["link"] == "https://example.org/1"
    output = capsys.readouterr().out
    assert "known failing in 1 cell: it says stop https://example.org/1" in output
    Path("pytest.ini").write_text(f"[pytest]\nharness_known_failing = says-stop: {KNOWN}\n")
    assert main(judge) == 0
    assert main([*judge, "--known-failing", "says-stop: text = other"]) == 1


@pytest.mark.parametrize("last", ["1999-12-31", "2999-12-31"])
def test_a_known_failure_is_red_after_its_last_day(
    answers: Path, capsys: pytest.CaptureFixture[str], last: str
) -> None:
    shim('"STOP"', "says_stop")
    judge = ["judge", "says_stop:replay", "--cassettes", "answers.yaml:1", "--json", "j.json"]
    status = main([*judge, "--known-failing", f"says-stop: {KNOWN}, until {last}"])
    (cell,) = judged("j.json")[0]["cells"]
    if last == "1999-12-31":
        assert (status, cell["verdict"]) == (1, "failed")
        assert cell["reason"].startswith("the known-failing mark expired on 1999-12-31: it says")
    else:
        assert (status, cell["verdict"]) == (0, "known-failing")


def test_a_known_failure_that_passes_is_red(
    answers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shim(ITS_OWN, "says_all")
    judge = ["judge", "says_all:replay", "--cassettes", "answers.yaml:1", "--report", "r"]
    assert main(judge) == 0
    capsys.readouterr()
    assert main([*judge, "--known-failing", f"says-all: {KNOWN}"]) == 1
    sentence = (
        "says-all has the known failure finish, but none of the 1 cells that it matches fails;"
        " delete the declaration"
    )
    assert sentence in capsys.readouterr().out.splitlines()
    assert judged("r/judge.json")[0]["fixed"] == [sentence]
    assert f"known failure</i> {sentence}." in Path("r/index.html").read_text()


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        ("finish", "'finish' names no known failure; expected ADAPTER: PATTERN = REASON"),
        ("other: finish = x", "other is not judged; expected says-stop"),
        ("says-stop: finsh = x", "finsh matches nothing"),
    ],
)
def test_a_known_failure_that_means_nothing_is_refused(
    answers: Path, capsys: pytest.CaptureFixture[str], failure: str, message: str
) -> None:
    shim('"STOP"', "says_stop")
    judge = ["judge", "says_stop:replay", "--cassettes", "answers.yaml:1"]
    assert main([*judge, "--known-failing", failure]) == 2
    assert f"harness: --known-failing: {message}" in capsys.readouterr().err


def test_an_adapter_of_several_wires_has_a_table_by_wire(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cassettes = ["gemini-api/text:1", "vertex-ai/text:1", "openai/text:1"]
    main(["judge", "unified-llm", "--cassettes", *cassettes, "--questions", "none"])
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("By wire, kept of compared:")
    assert lines[at + 1].split() == ["gemini-api", "vertex-ai", "openai"]
    assert lines[at + 2].split() == ["text", "1/1", "1/1", "1/1"]
    main(["judge", "unified-llm", "--cassettes", cassettes[0], "--questions", "none"])
    assert "By wire" not in capsys.readouterr().out
