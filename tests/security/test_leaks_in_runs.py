"""No secret leaves a test run: on the terminal, in pytest's JUnit file, in our report."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes import Cassette, Origin, dumps
from harness.cassettes.redaction.mask import Mask
from tests.security.leak_places import ENVIRONMENT, KINDS, VARIABLE, shown
from tests.security.samples import SPEC, exchange
from tests.security.samples import TEXT as HELLO

PLACES = (
    "failure",
    "cause",
    "assertion",
    "local",
    "stdout",
    "stderr",
    "log",
    "property",
    "skip",
    "expected failure",
    "setup",
    "teardown",
    "id",
    "warning",
)
TESTS = """
import logging, sys, warnings
import pytest
from places import TEXT

pytestmark = pytest.mark.usefixtures("harness_replay")

@pytest.fixture
def broken_setup():
    raise ValueError("setup: " + TEXT)

@pytest.fixture
def broken_teardown():
    yield
    raise ValueError("teardown: " + TEXT)

def test_failure(record_property):
    local = "local: " + TEXT
    print("stdout: " + TEXT)
    print("stderr: " + TEXT, file=sys.stderr)
    logging.error("log: " + TEXT)
    record_property("told", "property: " + TEXT)
    try:
        raise KeyError("cause: " + TEXT)
    except KeyError as error:
        raise RuntimeError("failure: " + TEXT) from error

def test_assertion():
    assert "assertion: " + TEXT == ""

def test_skip():
    pytest.skip("skip: " + TEXT)

def test_expected_failure():
    pytest.xfail("expected failure: " + TEXT)

@pytest.mark.parametrize("n", [1], ids=["id: " + TEXT])
def test_id(n):
    warnings.warn("warning: " + TEXT)
    raise ValueError

def test_setup(broken_setup): pass
def test_teardown(broken_teardown): pass
"""


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, ENVIRONMENT)
    pytester.makepyfile(test_leaks=TESTS, places=f"TEXT = {' and '.join(KINDS.values())!r}\n")


def output(pytester: pytest.Pytester) -> str:
    """The terminal and the JUnit file of a run."""
    options = ("-v", "-rA", "-l", "-p", "no:cacheprovider", "-W", "default", "--junitxml=junit.xml")
    run = pytester.runpytest_inprocess(
        *options, "-o", "junit_logging=all", "-o", "junit_family=xunit1"
    )
    return run.stdout.str() + run.stderr.str() + Path("junit.xml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_test_run_shows_no_secret(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    masked = output(pytester)
    assert not shown(masked)
    assert [place for place in PLACES if f"{place}: it is" not in masked] == []
    monkeypatch.setattr(Mask, "texts", lambda self, texts: list(texts))
    monkeypatch.setattr(Mask, "is_clean", lambda self, texts: True)
    monkeypatch.setattr("harness.pytest_plugin.mask.masked", str)
    plain = output(pytester)
    assert len(shown(plain)) >= len(KINDS)
    for place in PLACES:
        assert shown(plain[plain.index(f"{place}: it is") :][:400])


PRINTS = """
import logging, sys
import pytest
from places import TEXT

pytestmark = pytest.mark.usefixtures("harness_replay")

@pytest.fixture
def around():
    print("setup: " + TEXT)
    yield
    print("teardown: " + TEXT)

def test_prints(around):
    print("stdout: " + TEXT)
    print("stderr: " + TEXT, file=sys.stderr)
    print("no line: " + TEXT, end="")

def test_fails():
    print("failed: " + TEXT)
    raise ValueError

def test_after():
    print("after: " + TEXT)
"""


@pytest.mark.slow
@pytest.mark.parametrize("capture", ["no", "tee-sys"])
def test_uncaptured_output_shows_no_secret(pytester: pytest.Pytester, capture: str) -> None:
    pytester.makepyfile(test_leaks=PRINTS)
    run = pytester.runpytest_subprocess(f"--capture={capture}")
    run.assert_outcomes(passed=2, failed=1)
    printed = run.stdout.str() + run.stderr.str()
    assert not shown(printed)
    for place in "setup", "stdout", "stderr", "no line", "failed", "teardown", "after":
        assert f"{place}: it is REDACTED" in printed


@pytest.mark.slow
@pytest.mark.parametrize("capture", ["no", "tee-sys"])
def test_an_adapter_that_is_not_captured_shows_no_secret(
    pytester: pytest.Pytester, capture: str
) -> None:
    pytester.makepyfile(
        shop="from places import TEXT\nprint('import: ' + TEXT)\n"
        "def replay(exchange):\n    print('run: ' + TEXT)\n    yield {}, []\n"
    )
    pytester.makeini("[pytest]\nharness_adapters =\n    shop: facts = shop:replay\n")
    Path("cassettes/gemini-api").mkdir(parents=True)
    Path("specs").mkdir()
    text = dumps(Cassette((exchange(HELLO),), Origin("written", date="2026-11-21")))
    Path("cassettes/gemini-api/hello.yaml").write_text(text, encoding="utf-8")
    Path("specs/hello.yaml").write_text(SPEC, encoding="utf-8")
    run = pytester.runpytest_subprocess(f"--capture={capture}", "specs")
    printed = run.stdout.str() + run.stderr.str()
    assert not shown(printed)
    assert "import: it is REDACTED" in printed
    assert "run: it is REDACTED" in printed


KEY = "AIzaSyLEAK-456789-0123456789_0123456789"
CASE = """\
harness: 1
cases:
- case: a
  requirement: Text is said.
  features: [text.streaming]
  source: https://ai.google.dev/api/generate-content
  cassette: none
  expect: {events: []}
"""


@pytest.mark.parametrize("text", [CASE, "harness: 1\ncases: 7\n"], ids=["read", "not read"])
def test_the_name_of_a_spec_shows_no_secret(pytester: pytest.Pytester, text: str) -> None:
    specs = pytester.mkdir("specs")
    (specs / f"a-{KEY}.yaml").write_text(text, encoding="utf-8")
    masked = output(pytester)
    assert "specs/a-REDACTED" in masked
    assert not shown(masked)
    listed = pytester.runpytest_inprocess("--collect-only", "specs").stdout.str()
    assert "RowFile a-REDACTED" in listed or text != CASE
    assert not shown(listed)


@pytest.mark.parametrize("options", [(), ("-v",), ("-q",), ("-qq",)], ids=" ".join)
def test_a_list_of_tests_shows_no_secret(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    Path("test_leaks.py").rename(f"test_{KEY}.py")
    listed = pytester.runpytest_inprocess("--collect-only", *options).stdout.str()
    assert not shown(listed)
    assert "test_REDACTED" in listed
    assert options == ("-qq",) or "test_id[id: it is REDACTED there" in listed


@pytest.mark.slow
def test_a_masked_id_is_still_selected(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_ids=f"""
        import pytest

        @pytest.mark.parametrize("key", ["{KEY}", "other"])
        def test_key(key, harness_replay):
            assert key == "other"
        """
    )
    run = pytester.runpytest_inprocess(f"test_ids.py::test_key[{KEY}]", "test_ids.py")
    run.assert_outcomes(failed=1, passed=1)
    run = pytester.runpytest_inprocess("--lf", "test_ids.py")
    run.assert_outcomes(failed=1)
    assert not shown(run.stdout.str())
