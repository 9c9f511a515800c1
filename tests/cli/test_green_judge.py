"""When is a run of ``harness judge`` green? The table is in
docs/github-actions.md.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.cassettes import Cassette, Exchange, Origin, Request, dumps
from tests.cli.project import write
from tests.support.commands import harness

pytestmark = pytest.mark.slow  # each run starts the adapter's own process

URL = (
    "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
)
TEXT = b'data: {"candidates": [{"content": {"parts": [{"text": "Oslo"}]}, "finishReason": "STOP"}]}\n\n'
HARNESS = [sys.executable, "-c", "from harness.cli.main import main; raise SystemExit(main())"]
CELLS = 9
SHIM = """
import json, time
from pathlib import Path
from harness.facts import Finish, Raw, Text, skip

def replay(exchange):
    message = json.loads(exchange.body[6:])
    {lines}
"""
KEPT = 'yield {"n": 1}, [Text("Oslo"), Finish("STOP")]'


def shim(*lines: str) -> str:
    """The target of an adapter with these lines."""
    write("shim.py", SHIM.format(lines="\n    ".join(lines)))
    return "shop = shim:replay"


def run(*arguments: str) -> tuple[int, str]:
    """The status and the output of a command."""
    ended = harness(*arguments)
    return ended.status, ended.output


@pytest.fixture(autouse=True)
def answers(here: Path) -> Path:
    """Nine equal answers."""
    exchange = Exchange(Request("POST", URL, {}, b"{}"), 200, {}, ((1.0, TEXT),), "complete")
    write("answers.yaml", dumps(Cassette((exchange,) * CELLS, Origin("written"))))
    return here


def judge(*arguments: str) -> tuple[int, str]:
    return run("judge", "shop = shim:replay", "--cassettes", "answers.yaml", *arguments)


def document(path: str = "cells.json") -> Any:
    content = Path(path).read_text(encoding="utf-8")
    assert content.startswith('{"plan":')
    return json.loads(content)


def test_a_whole_run_is_green() -> None:
    shim(KEPT)
    assert judge("--json", "cells.json")[0] == 0
    [planned] = document()["plan"]["adapters"]
    assert planned["name"] == "shop"
    assert planned["cells"] == [f"answers.yaml:{number}" for number in range(1, CELLS + 1)]
    [adapter] = document()["adapters"]
    first = adapter["cells"][0]
    assert (first["cassette"], first["exchange"], first["block"]) == (
        "answers.yaml",
        1,
        "documented",
    )
    assert first["aspects"] == {"text": "kept", "finish": "kept"}
    assert run("judge", "cells.json", "--report", "page")[0] == 0


@pytest.mark.usefixtures("ctrl_c_reaches_programs")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_a_run_that_was_stopped_says_how_many_cells_were_judged(how: signal.Signals) -> None:
    shim(
        "number = len([*Path('runs').iterdir()])",
        "Path(f'runs/{number}').touch()",
        "time.sleep(60 if number == 4 else 0)",
        KEPT,
    )
    Path("runs").mkdir()
    command = [*HARNESS, "judge", "shop = shim:replay", "other = shim:replay"]
    with subprocess.Popen(
        [*command, "--cassettes", "answers.yaml", "--json", "cells.json"], stderr=subprocess.PIPE
    ) as running:
        for _ in range(1200):
            if Path("cells.json").exists():
                document()  # it is valid at every moment
            if len([*Path("runs").iterdir()]) == 5:
                break
            time.sleep(0.05)
        running.send_signal(how)
        _, errors = running.communicate(timeout=60)
    if how == signal.SIGINT:
        assert running.returncode == 130
        assert b"interrupted: 4 of 18 cells were judged; cells.json has them" in errors
    assert [len(adapter.get("cells", ())) for adapter in document()["adapters"]] == [4]
    status, output = run("judge", "cells.json", "--report", "page")
    assert status == 1
    assert "4 of 18 cells were judged" in output
    page = Path("page/index.html").read_text(encoding="utf-8")
    assert "4 of 18 cells were judged." in page
    assert "the run ended before this cell was judged" in page
    merged = document("page/judge.json")
    assert [len(adapter["cells"]) for adapter in merged["adapters"]] == [CELLS, CELLS]
    status, output = run("judge", "page/judge.json", "--report", "again")
    assert (status, "4 of 18 cells were judged" in output) == (1, True)


def test_a_part_that_was_killed_is_completed_by_another_run() -> None:
    shim(KEPT)
    judge("--json", "whole.json")
    whole = document("whole.json")
    for name, cells in (("one.json", slice(0, 4)), ("two.json", slice(0, 9))):
        part = json.loads(json.dumps(whole))
        part["adapters"][0]["cells"] = part["adapters"][0]["cells"][cells]
        write(name, json.dumps(part))
    assert run("judge", "one.json", "--report", "page")[0] == 1
    for order in (("one.json", "two.json"), ("two.json", "one.json")):
        assert run("judge", *order, "--report", "page")[0] == 0


def test_shards_of_one_adapter_have_the_union_of_their_plans() -> None:
    shim(KEPT)
    for number in ("1", "2"):
        run(
            "judge",
            "shop = shim:replay",
            "--cassettes",
            f"answers.yaml:{number}",
            "--json",
            f"{number}.json",
        )
    assert run("judge", "1.json", "2.json", "--report", "page")[0] == 0
    [planned] = document("page/judge.json")["plan"]["adapters"]
    assert planned["cells"] == ["answers.yaml:1", "answers.yaml:2"]


def test_an_adapter_that_skips_everything_is_like_no_input() -> None:
    shim("skip('no room')", "yield")
    status, output = judge("--json", "cells.json", "--report", "page")
    assert status == 2
    assert "nothing was compared" in output
    assert "Nothing was compared." in Path("page/index.html").read_text(encoding="utf-8")
    assert run("judge", "cells.json", "--report", "again")[0] == 2


def test_a_wrong_fact_before_a_skip_is_wrong() -> None:
    shim('yield {"n": 1}, [Text("Rome")]', "skip('no room')")
    status, output = judge("--json", "cells.json")
    assert status == 1
    aspects = document()["adapters"][0]["cells"][0]["aspects"]
    assert aspects == {"text": "wrong", "finish": "not_asked"}
    assert 'text wrong in 9 cells: at character 0 the wire has "Oslo"' in output


def test_a_right_fact_before_a_skip_is_kept() -> None:
    shim('yield {"n": 1}, [Text("Oslo")]', "skip('no room')")
    assert judge("--json", "cells.json")[0] == 0
    aspects = document()["adapters"][0]["cells"][0]["aspects"]
    assert aspects == {"text": "kept", "finish": "not_asked"}


def test_a_part_of_a_text_before_a_skip_is_not_asked() -> None:
    shim('yield {"n": 1}, [Text("Os")]', "skip('no room')")
    judge("--json", "cells.json")
    aspects = document()["adapters"][0]["cells"][0]["aspects"]
    assert aspects == {"text": "not_asked", "finish": "not_asked"}


@pytest.mark.parametrize(
    "lines", [("skip('no room')", "yield"), ('yield {"n": 1}, [Text("Oslo")]', "skip('no room')")]
)
def test_what_was_kept_and_is_not_asked_now_is_worse(lines: tuple[str, ...]) -> None:
    shim(KEPT)
    judge("--json", "before.json")
    shim(*lines)
    status, output = judge("--baseline", "before.json")
    assert status == 1
    assert "9 broken, 0 fixed" in output
    assert "finish: kept → not asked: no room" in output


def test_what_was_kept_and_is_declared_now_is_worse() -> None:
    shim(KEPT)
    judge("--json", "before.json")
    shim('yield {"n": 1}, [Text("Oslo")]')
    status, output = judge("--baseline", "before.json", "--losses", "finish")
    assert (status, "9 broken, 0 fixed" in output) == (1, True)
    assert "finish: kept → not carried" in output


def test_a_cell_that_is_gone_is_red() -> None:
    shim(KEPT)
    judge("--json", "before.json")
    status, output = run(
        *("judge", "shop = shim:replay", "--cassettes", "answers.yaml:1"),
        *("--baseline", "before.json"),
    )
    assert (status, "0 broken, 0 fixed, 0 new, 8 gone" in output) == (1, True)
    assert "gone: answers.yaml:2[shop]" in output


def test_what_was_wrong_and_is_not_asked_now_is_not_better() -> None:
    shim('yield {"n": 1}, [Text("Oslo"), Finish("MAX_TOKENS")]')
    judge("--json", "before.json")
    shim('yield {"n": 1}, [Text("Oslo")]', "skip('no room')")
    status, output = judge("--baseline", "before.json")
    assert (status, "0 broken, 0 fixed" in output) == (0, True)


def test_the_harness_says_that_it_read_the_wire() -> None:
    shim("yield message, [Raw(message)]")
    status, output = judge("--json", "cells.json", "--report", "page")
    assert status == 0
    assert "shop: the harness read the wire for it in 9 cells." in output
    page = Path("page/index.html").read_text(encoding="utf-8")
    assert "shop: the harness read the wire for it in 9 cells." in page


ASKS = """
import json, urllib.request
from harness.facts import Finish, Text

def replay(at):
    body = {"contents": [{"role": "user", "parts": [{"text": at.prompt}]}]}
    if at.settings.get("seed"):
        body["generationConfig"] = {"seed": at.settings["seed"]}
    method = "streamGenerateContent?alt=sse" if at.stream else "generateContent"
    url = f"{at.base_url}/v1beta/models/{at.model}:{method}"
    with urllib.request.urlopen(url, json.dumps(body).encode()) as answer:
        yield answer.read().decode(), [Text("Oslo"), Finish("STOP")]
"""


def ask(*arguments: str) -> tuple[int, str]:
    write("shim.py", ASKS)
    named = ("--questions", "settings-zero", "settings-values")
    return run("judge", "shop = serve: shim:replay", *named, "--json", "cells.json", *arguments)


def test_questions_that_a_run_did_not_reach_are_errors() -> None:
    ask("--cassettes", "answers.yaml")
    whole = document()
    [planned], [adapter] = whole["plan"]["adapters"], whole["adapters"]
    rows = [
        f"questions/gemini-api/{name}:{number}"
        for name in ("settings-zero", "settings-values")
        for number in (1, 2)
    ]
    assert planned["questions"] == ["settings-zero", "settings-values"]
    assert adapter["asked"] == rows

    adapter["questions"] = adapter["questions"][:1]
    write("part.json", json.dumps(whole))
    del adapter["asked"], adapter["questions"]
    write("before.json", json.dumps(whole))

    for name, judged in (("part.json", "10 of 13"), ("before.json", "9 of 11")):
        status, output = run("judge", name, "--report", "page")
        assert status == 1
        assert f"{judged} cells were judged" in output
    missing = document("page/judge.json")["adapters"][0]["questions"]
    assert [(row["question"], row["turn"]) for row in missing] == [
        ("settings-zero", "question"),
        ("settings-values", "question"),
    ]
    for order in (("before.json", "cells.json"), ("cells.json", "part.json", "before.json")):
        run("judge", *order, "--report", "page")
        questions = document("page/judge.json")["adapters"][0]["questions"]
        assert not any(row.get("missing") for row in questions)


def test_a_report_has_each_cell_in_junit() -> None:
    assert ask("--cassettes", "answers.yaml:1", "--report", "page")[0] == 1
    [suite] = ElementTree.parse("page/junit.xml").getroot()
    assert suite.attrib == {
        "name": "Gemini API", "tests": "5", "failures": "2", "errors": "0", "skipped": "0"
    }  # fmt: skip
    cases = [(case.attrib["classname"], case.attrib["name"]) for case in suite]
    assert cases[0] == ("recordings", "answers.yaml:1[shop]")
    assert ("questions", "gemini-api: settings-zero[shop]") in cases[1:]
