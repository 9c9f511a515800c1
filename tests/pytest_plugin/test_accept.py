"""--harness-accept fills empty expectations."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.pytest_plugin.project import CASE, SHOP, run, write


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["alone", "with a worker"])
def test_the_filled_cases_are_listed_at_the_end(
    project: pytest.Pytester, options: list[str]
) -> None:
    project.makeini(SHOP)
    write(project, "shop.py", "def replay(exchange):\n    return [{'say': 'Hel'}]\n")
    write(project, "specs/hello.yaml", CASE + "    turn:\n")
    result = project.runpytest_inprocess(
        "specs", "-p", "no:cacheprovider", "-q", "--harness-accept", *options
    )
    assert [line for line in result.outlines if line.startswith("filled in")] == [
        "filled in: specs/hello.yaml::hello[turn], `reviewed: no`"
    ]
    assert "  reviewed: no\n" in (project.path / "specs" / "hello.yaml").read_text(encoding="utf-8")
    again = project.runpytest_inprocess("specs", "-p", "no:cacheprovider", "-q", "--harness-accept")
    again.stdout.no_fnmatch_line("filled in: *")


MANY = "harness: 1\ncases:\n" + "".join(
    CASE.partition("cases:\n")[2]
    .replace("case: hello", f"case: c{number}  # of mine")
    .partition("    unified-llm")[0]
    + "    events:\n    unified-llm:\n"
    for number in range(12)
)


@pytest.mark.slow
@pytest.mark.parametrize("dist", ["no", "load", "loadfile", "worksteal", "each"])
def test_many_cells_of_one_file_are_filled_by_any_distribution(
    project: pytest.Pytester, dist: str
) -> None:
    path = write(project, "specs/hello.yaml", MANY)
    path.chmod(0o640)
    workers = [] if dist == "no" else ["-n", "2", "--dist", dist]
    result = project.runpytest_inprocess(
        "specs", "-p", "no:cacheprovider", "-q", "--harness-accept", *workers
    )
    assert result.ret == 0
    text = path.read_text(encoding="utf-8")
    cases = yaml.safe_load(text)["cases"]
    assert [case["case"] for case in cases] == [f"c{number}" for number in range(12)]
    assert [len(case["expect"]["events"]) > 0 for case in cases] == [True] * 12
    assert [len(case["expect"]["unified-llm"]) > 0 for case in cases] == [True] * 12
    kept = [line for line in text.splitlines() if not line.lstrip().startswith(("- {", "reviewed"))]
    assert kept == MANY.splitlines()
    assert path.stat().st_mode & 0o777 == 0o640
    names = [
        f"specs/hello.yaml::c{n}[{key}]" for n in range(12) for key in ("events", "unified-llm")
    ]
    assert "24 expectations filled in, not yet reviewed: harness review" in result.outlines
    assert [line for line in result.outlines if line.startswith("filled in")] == [
        f"filled in: {name}, `reviewed: no`" for name in names
    ]


@pytest.mark.slow
def test_a_value_that_is_not_in_the_file_is_not_filled_in(project: pytest.Pytester) -> None:
    """The author changes the file while the run judges."""
    path = write(project, "specs/hello.yaml", MANY)
    project.makeconftest(
        "import pathlib\n\n\ndef pytest_runtestloop(session):\n"
        f"    file = pathlib.Path({str(path)!r})\n"
        "    file.write_text(file.read_text().replace('case: c3 ', 'case: renamed '))\n"
    )
    result = project.runpytest_inprocess(
        "specs", "-p", "no:cacheprovider", "-q", "--harness-accept", "--harness-report", "out"
    )
    assert result.ret == 1
    assert result.outlines.count("filled in: specs/hello.yaml::c2[events], `reviewed: no`") == 1
    result.stdout.fnmatch_lines(
        ["not filled in: specs/hello.yaml::c3[[]events]: *there is no case 'c3' in this file"]
    )
    assert "filled in: specs/hello.yaml::c3[events], `reviewed: no`" not in result.outlines
    cells = json.loads((project.path / "out" / "results.json").read_text(encoding="utf-8"))
    assert "nothing could be filled in" in json.dumps(cells)
    renamed = yaml.safe_load(path.read_text(encoding="utf-8"))["cases"][3]
    assert renamed["expect"] == {"events": None, "unified-llm": None}


@pytest.mark.slow
def test_an_adapter_fills_the_event_model_that_it_names(project: pytest.Pytester) -> None:
    project.makeini(
        "[pytest]\nharness_adapters =\n    said: facts = shop:replay\n"
        "    one: shop-events = shop:payloads\n    two: shop-events = shop:payloads\n"
    )
    write(
        project,
        "shop.py",
        "from harness.facts import Finish, Text\n\n\n"
        "def replay(exchange):\n    yield {}, [Text('Hello'), Finish('STOP')]\n\n\n"
        "def payloads(exchange):\n    return [{'say': 'Hel'}]\n",
    )
    path = write(project, "specs/hello.yaml", CASE + "    shop-events:\n")
    run(project, "--harness-accept").assert_outcomes(passed=3, skipped=2)
    assert '{"say": "Hel"}' in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_accept_fills_empty_expectations_and_marks_them_unreviewed(
    project: pytest.Pytester,
) -> None:
    path = write(
        project,
        "specs/hello.yaml",
        CASE[: CASE.index("    unified-llm")] + "    unified-llm:\n    anthropic:  # later\n",
    )
    run(project).assert_outcomes(skipped=2)
    run(project, "--harness-accept", "-rs").stdout.fnmatch_lines(
        ["*unreviewed: empty; its value is written to hello.yaml at the end of the run"]
    )
    text = path.read_text(encoding="utf-8")
    assert '"delta": "Hel"' in text
    assert "reviewed: no" in text
    assert "# later" in text
    run(project).assert_outcomes(skipped=2)
    path.write_text(text.replace("  reviewed: no\n", ""), encoding="utf-8")
    run(project).assert_outcomes(passed=2)


@pytest.mark.parametrize("option", ["--harness-accept", "--harness-update"])
def test_no_event_of_an_answer_with_content_is_not_expected(
    project: pytest.Pytester, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    write(project, "silent.py", "def run(exchange):\n    return []\n")
    project.makeini("[pytest]\nharness_adapters = mine = silent:run\n")
    value = "" if option == "--harness-accept" else " [{type: text}]"
    spec = CASE[: CASE.index("    unified-llm")] + f"    mine:{value}\n"
    path = write(project, "specs/hello.yaml", spec)
    result = run(project, option)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*mine gives nothing of an answer with content; mend the adapter*"]
    )
    assert path.read_text(encoding="utf-8") == spec


@pytest.mark.slow
def test_accept_fills_in_nothing_if_the_adapter_raises(
    project: pytest.Pytester,
) -> None:
    write(project, "broken_adapter.py", "def run(exchange):\n    raise KeyError('parts')\n")
    project.makeini("[pytest]\nharness_adapters = mine = broken_adapter:run\n")
    path = write(project, "specs/hello.yaml", CASE[: CASE.index("    unified-llm")] + "    mine:\n")
    result = run(project, "--harness-accept")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*nothing could be filled in: the adapter raised KeyError at broken_adapter.py:2: 'parts'*"
        ]
    )
    assert "    mine:\n" in path.read_text(encoding="utf-8")


def test_an_empty_expectation_is_named_with_its_remedy(project: pytest.Pytester) -> None:
    project.makeini(SHOP)
    write(project, "shop.py", "def replay(exchange):\n    return [{'say': 'Hel'}]\n")
    write(project, "specs/hello.yaml", CASE + "    turn:\n")
    remedy = "1 expectation is empty: --harness-accept fills it"
    assert remedy in run(project, "specs").outlines
    assert remedy not in run(project, "specs", "--harness-accept").outlines


def test_accept_is_refused_in_ci(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = run(project, "--harness-accept")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
