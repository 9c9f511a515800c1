"""Configured adapters that state their facts: cells, laws, declared losses, known failures."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

from harness.report.files import read_run
from tests.pytest_plugin.project import CASE, run, write

SHIM = """
import json, os, urllib.request
from harness.facts import Finish, Text, Usage

def replay(at, drop=()):
    url = f"{at.base_url}/v1beta/models/{at.model}:streamGenerateContent?alt=sse"
    body = json.dumps({"contents": [{"role": "user", "parts": [{"text": at.prompt}]}]}).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        for line in answer:
            if line.startswith(b"data:"):
                message = json.loads(line[5:])
                candidate = message["candidates"][0]
                facts = [Text(part["text"]) for part in candidate.get("content", {}).get("parts", [])]
                if "finishReason" in candidate and "finish" not in drop:
                    facts.append(Finish(candidate["finishReason"]))
                if "usageMetadata" in message and "usage" not in drop:
                    counts = message["usageMetadata"]
                    facts.append(
                        Usage(
                            input=counts.get("promptTokenCount"),
                            output=counts.get("candidatesTokenCount"),
                            total=counts.get("totalTokenCount"),
                        )
                    )
                yield {}, [fact for fact in facts if not (isinstance(fact, Text) and "text" in drop)]

def without_text(at):
    yield from replay(at, ["text"])
"""


@pytest.fixture
def configured(project: pytest.Pytester) -> pytest.Pytester:
    write(project, "shim.py", SHIM)
    return project


def configure(project: pytest.Pytester, function: str, *lines: str) -> None:
    adapter = f"harness_adapters = mine: facts = serve: shim:{function}"
    project.makeini("\n".join(["[pytest]", adapter, *lines]))


def test_a_case_has_a_cell_with_nothing_in_the_spec(configured: pytest.Pytester) -> None:
    configure(configured, "replay")
    result = run(configured, "--harness-dialect", "mine", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*hello.yaml::hello[[]mine[]]*PASSED*"])


def test_a_lost_aspect_of_the_feature_fails_with_its_sentence(configured: pytest.Pytester) -> None:
    configure(configured, "without_text")
    result = run(configured, "--harness-dialect", "mine")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*intended?*")  # no expectation to rewrite
    result.stdout.fnmatch_lines(
        [
            "*text: lost (at character 0 the wire has *Hel*",
            r"  wire    data: {*Hel*}\r\n\r\n",
            "  native  {}",
            "  run: harness judge mine --cassettes gemini-api/hello:1 --questions none",
        ]
    )


def test_a_case_that_is_there_for_facts_needs_no_expectation(
    configured: pytest.Pytester,
) -> None:
    configure(configured, "replay")
    case = CASE[: CASE.index("  expect:")]
    write(configured, "specs/hello.yaml", case)
    run(configured).assert_outcomes(passed=1)
    configured.makeini("[pytest]\n")
    result = run(configured)
    result.stdout.fnmatch_lines(
        ["*hello.yaml:*: expect is missing; only a project with an adapter*"]
    )


def test_an_empty_entry_for_facts_is_no_second_cell_and_is_not_filled(
    configured: pytest.Pytester,
) -> None:
    configure(configured, "replay")
    case = CASE[: CASE.index("    unified-llm")] + "    facts:\n"
    path = write(configured, "specs/hello.yaml", case)
    result = run(configured, "--harness-accept", "-v")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*Traceback*")
    assert path.read_text(encoding="utf-8") == case
    write(configured, "specs/hello.yaml", case.replace("facts:", "facts: [{text: Hello}]"))
    run(configured).stdout.fnmatch_lines(["*: expect.facts has a value; facts are read from*"])


@pytest.mark.slow
def test_laws_are_asked_of_a_configured_adapter(configured: pytest.Pytester) -> None:
    configure(configured, "without_text")
    result = run(configured, "--harness-laws", "cassettes", "--harness-dialect", "mine")
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 2  # the cell and law 3
    assert outcomes["passed"] >= 4
    result.stdout.fnmatch_lines(["*text lost: at character 0 the wire has*"])


@pytest.mark.slow
def test_a_known_failure_by_pattern_is_an_expected_one(configured: pytest.Pytester) -> None:
    configure(
        configured,
        "without_text",
        "harness_known_failing = mine: text = text is missing, https://example.org/issues/1",
    )
    result = run(configured, "--harness-laws", "cassettes", "--harness-dialect", "mine", "-rx")
    assert result.parseoutcomes()["xfailed"] == 2  # the cell and law 3
    assert "failed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines(["*text is missing (https://example.org/issues/1)*"])


@pytest.mark.slow
def test_a_known_failure_needs_no_link(configured: pytest.Pytester) -> None:
    configure(configured, "without_text", "harness_known_failing = mine: text = it is missing")
    result = run(configured, "--harness-laws", "cassettes", "--harness-dialect", "mine", "-rx")
    result.stdout.fnmatch_lines(["*known failing: it is missing", "*known failing: it is missing"])


def test_a_declared_loss_is_no_failure(configured: pytest.Pytester) -> None:
    configure(configured, "without_text", "harness_losses = mine: text")
    result = run(configured, "--harness-dialect", "mine", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*not carried: text, as declared*"])


def test_a_declared_loss_that_no_cell_shows_fails_the_run(configured: pytest.Pytester) -> None:
    configure(configured, "replay", "harness_losses = mine: text")
    result = run(configured, "--harness-dialect", "mine")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["mine declares the loss of text, but none of the 1 cells*"])


def test_a_known_failure_that_no_cell_shows_fails_the_run(configured: pytest.Pytester) -> None:
    configure(configured, "replay", "harness_known_failing = mine: text = text is missing")
    result = run(configured, "--harness-dialect", "mine")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["mine has the known failure text, but none of the 1 cells*"])


@pytest.mark.slow
def test_laws_report_a_known_failure_that_is_fixed(configured: pytest.Pytester) -> None:
    configure(configured, "replay", "harness_known_failing = mine: text = text is missing")
    result = configured.runpytest_inprocess(
        "cassettes", "-p", "no:cacheprovider", "--harness-laws", "--harness-dialect", "mine"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["mine has the known failure text, but none of the 1 cells*"])


@pytest.mark.parametrize("declared", ["losses = mine: text", "known_failing = mine: text = why"])
def test_a_partial_run_reports_no_unobserved_declaration(
    configured: pytest.Pytester, declared: str
) -> None:
    configure(configured, "replay", f"harness_{declared}")
    assert run(configured, "--harness-dialect", "mine", "-k", "hello").ret == pytest.ExitCode.OK
    single = configured.runpytest_inprocess(
        "specs/hello.yaml::hello[mine]", "-p", "no:cacheprovider"
    )
    assert single.ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("pattern", "way_out"),
    [
        ("finsh", "(did you mean finish?)*"),
        ("law-33", "(did you mean law-3?)*"),
        ("gemini-api/hallo", "(did you mean gemini-api/hello?)*"),
        ("zzz", "the nearest of * aspects, laws, cassettes and questions are *"),
    ],
)
def test_a_pattern_that_can_match_nothing_is_bad_usage(
    configured: pytest.Pytester, pattern: str, way_out: str
) -> None:
    configure(configured, "replay", f"harness_known_failing = mine: {pattern} = a reason")
    result = run(configured)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*harness_known_failing: unknown pattern *{pattern}*{way_out}"])


@pytest.mark.parametrize("pattern", ["law-3", "*", "gemini-api/*", "gemini-api/hello text"])
def test_a_pattern_is_of_laws_cassettes_or_both(configured: pytest.Pytester, pattern: str) -> None:
    configure(configured, "without_text", f"harness_known_failing = mine: {pattern} = a reason")
    result = run(configured, "--harness-laws", "--harness-dialect", "mine", "-k", "law-3")
    result.assert_outcomes(xfailed=1)


FIRST_CALL = """
import json
from harness.facts import Call, Finish, Text

def replay(exchange):
    for line in exchange.body.splitlines():
        if line.startswith(b"data:"):
            candidate = json.loads(line[5:])["candidates"][0]
            parts = candidate["content"]["parts"]
            calls = [part["functionCall"] for part in parts if "functionCall" in part][:1]
            yield {}, [Text(part["text"]) for part in parts if "text" in part]
            yield parts[:2], [Call(call.get("id"), call["name"], call["args"]) for call in calls]
            yield {}, [Finish(candidate["finishReason"])] if "finishReason" in candidate else []
"""
TWO_CALLS = """version: 1
metadata: {harness: 1, origin: written}
interactions:
- request: null
  response:
    status: {code: 200}
    body:
      string: |2+
        data: {"candidates": [{"content": {"parts": [{"text": "Now"}, {"thoughtSignature": "QUJD", "functionCall": {"name": "f", "args": {"city": "Oslo"}}}, {"functionCall": {"name": "f", "args": {"city": "Turku"}}}]}, "finishReason": "STOP"}]}

    end: complete
"""


@pytest.mark.parametrize(
    ("law", "feature", "sentence"),
    [("3", "tool-calls.single", "calls lost: 1 of 2 calls lost: f("), ("4", "stream-end.cut", "")],
)
def test_the_printed_case_of_a_law_is_red_for_the_same_aspect(
    project: pytest.Pytester, law: str, feature: str, sentence: str
) -> None:
    write(project, "shim.py", FIRST_CALL)
    write(project, "cassettes/gemini-api/two.yaml", TWO_CALLS)
    project.makeini("[pytest]\nharness_adapters = mine: facts = shim:replay")
    two = "cassettes/gemini-api/two.yaml"
    chosen = ("--harness-dialect", "mine", "-k", f"law-{law}")
    result = run(project, two, "--harness-laws", *chosen)
    result.assert_outcomes(failed=1)
    printed = result.stdout.str()
    text = re.search(
        r"# specs/shrunk.yaml\n(.+?\n)\n# cassettes/(\S+)\n(.+?\n)\n=", printed, re.DOTALL
    )
    assert text
    assert f"features: [{feature}]" in text[1]
    assert "expect:" not in text[1]
    write(project, "specs/shrunk.yaml", text[1])
    write(project, f"cassettes/{text[2]}", text[3])
    saved = run(project, "specs/shrunk.yaml", "--harness-dialect", "mine")
    saved.assert_outcomes(failed=1, passed=1)  # the other spec of the project passes
    first = sentence or printed.split("unfinished lost: ")[1].splitlines()[0]
    assert first in printed
    assert first in saved.stdout.str()


def test_a_declaration_for_an_unknown_adapter_is_bad_usage(configured: pytest.Pytester) -> None:
    configure(configured, "replay", "harness_losses = other: text")
    result = run(configured)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*other is not a configured adapter (configured: mine)*"])


def test_two_adapters_with_one_name_are_bad_usage(configured: pytest.Pytester) -> None:
    configure(configured, "replay", "    mine: facts = serve: shim:without_text")
    result = run(configured)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*two adapters have the name mine; give each its own"])


def test_a_test_can_replay_a_configured_adapter(configured: pytest.Pytester) -> None:
    configure(configured, "replay")
    configured.makepyfile(
        test_own="""
        import pytest

        def test_facts(harness_replay):
            items = harness_replay("gemini-api/hello", adapter="mine")
            assert items[0] == {"text": "Hello"}

        def test_target(harness_replay):
            for _ in range(2):
                items = harness_replay("gemini-api/hello", adapter="serve: shim:without_text")
                assert items[0] == {"finish": "STOP"}

        def test_own(harness_replay):
            items = harness_replay("gemini-api/hello", adapter="anthropic")
            assert items == harness_replay("gemini-api/hello", dialect="anthropic")

        def test_unknown(harness_replay):
            with pytest.raises(Exception, match="'theirs' names no adapter; expected one of .*mine"):
                harness_replay("gemini-api/hello", adapter="theirs")
        """
    )
    result = configured.runpytest_inprocess("test_own.py", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=4)


def test_a_report_has_the_versions_of_the_adapters(configured: pytest.Pytester) -> None:
    write(configured, "shim.py", f'VERSION_OF = "msgspec"\n{SHIM}')
    configure(configured, "replay", "    other: facts = serve: shim:without_text")
    run(configured, "--harness-report", "out", "--harness-date", "2026-11-28")
    page = (configured.path / "out/index.html").read_text(encoding="utf-8")
    _, _, table = page.partition('<h2 id="adapters">Adapters</h2>')
    rows = re.findall(r'<th scope="row">(.+?)</th><td>(.+?)</td>', table.partition("</table>")[0])
    assert rows == [("mine", version("msgspec")), ("other", version("msgspec"))]
    header = read_run(configured.path / "out/results.json").header
    assert [(own.name, own.version, own.target, own.day) for own in header.judged] == [
        ("mine", version("msgspec"), "serve: shim:replay", "2026-11-28"),
        ("other", version("msgspec"), "serve: shim:without_text", "2026-11-28"),
    ]


def test_a_report_has_no_adapter_that_did_not_run(configured: pytest.Pytester) -> None:
    configure(configured, "replay")
    run(configured, "--harness-report", "out", "--harness-dialect", "anthropic")
    assert read_run(configured.path / "out/results.json").header.judged == ()
    page = (configured.path / "out/index.html").read_text(encoding="utf-8")
    assert '<h2 id="adapters">' not in page
