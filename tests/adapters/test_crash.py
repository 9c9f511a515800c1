"""A crash is no report: only an error that an adapter raises on purpose can stand for an end."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.adapters import Adapter, AdapterError
from harness.adapters.crash import is_crash_by_name
from harness.facts import Aspect, AspectVerdict
from harness.judging.aspects import ExchangeJudgement, judge_exchange
from harness.judging.reading import Reading
from harness.stream.exchange import Exchange
from tests.adapters.shims import EXCHANGE, function_adapter, program_adapter, transcript
from tests.adapters.test_programs import LOOP
from tests.security.samples import exchange

READS = """
import enum, json, pydantic
from harness.facts import *

KNOWN = {"STOP": "stop", "MAX_TOKENS": "length"}
class Reason(enum.Enum):
    STOP = "STOP"
class Event(pydantic.BaseModel):
    reason: Reason
class Names:
    STOP = 1
class Blocked(KeyError):
    pass
def later(reason):
    raise Blocked("blocked: " + reason)
    yield

def convert(reason):
    STATEMENT

def replay(e):
    for line in e.body.splitlines():
        if line.startswith(b"data: "):
            event = json.loads(line[6:])
            candidate = event["candidates"][0]
            for part in candidate["content"]["parts"]:
                yield event, [Text(part["text"])] if "text" in part else [Call(None, "f", {})]
            convert(candidate["finishReason"])
            usage = event["usageMetadata"]
            yield event, [Finish(candidate["finishReason"]), Usage(input=usage["promptTokenCount"])]
"""


def shim(statement: str, folder: Path) -> Adapter:
    return function_adapter(READS.replace("STATEMENT", statement.replace("\n", "\n    ")), folder)


def answer(reason: str, *, parts: str = '{"text": "Hi"}') -> Exchange:
    text = (
        f'data: {{"candidates": [{{"content": {{"parts": [{parts}]}}, "finishReason": "{reason}"}}],'
        f' "usageMetadata": {{"promptTokenCount": 3}}}}\n\n'
    )
    return exchange(text.encode())


CRASHING = {
    "a mapping": "KNOWN[reason]",
    "a mapping, passed on": "try: KNOWN[reason]\nexcept KeyError as error: raise error",
    "a mapping, passed on as it is": "try: KNOWN[reason]\nexcept KeyError: raise",
    "a type that is always a crash": "raise KeyError(reason)",
    "an enum": "Reason(reason)",
    "a name of an enum": "Reason[reason]",
    "an attribute": "getattr(Names, reason)",
    "a list": "['STOP'].index(reason)",
    "an assertion": "assert reason in KNOWN, reason",
    "a model of pydantic": "Event(reason=reason)",
    "a codec": "(reason + 'é').encode('ascii')",
    "a number": "int(reason)",
    "another codec": "json.loads(reason)",
    "an argument of an error": "raise RuntimeError(KNOWN[reason])",
    "a generator that is empty": "list(next(iter(())) for _ in [1])",
    "a group": "try: KNOWN[reason]\nexcept KeyError as error: raise ExceptionGroup(reason, [error])",
    "the end of the process": "import os\nos._exit(reason)",
}
PURPOSEFUL = {
    "an error": "raise RuntimeError('terminated early: ' + reason)",
    "a value error": "raise ValueError('blocked: ' + reason)",
    "instead of a crash": "try: KNOWN[reason]\nexcept KeyError: raise ValueError(reason) from None",
    "a class of its own": "raise Blocked(reason)",
    "in a generator": "list(later(reason))",
    "a group": "raise ExceptionGroup(reason, [RuntimeError(reason)])",
}

GROUP = (
    "import asyncio\nasync def fail(): raise {}\nasync def run():\n"
    "  async with asyncio.TaskGroup() as tasks: tasks.create_task(fail())\nasyncio.run(run())"
)


def aspects(judged: ExchangeJudgement) -> dict[Aspect, AspectVerdict]:
    return {aspect: finding.verdict for aspect, finding in judged.aspects.items()}


@pytest.mark.parametrize("statement", CRASHING.values(), ids=[*CRASHING])
def test_a_crash_is_no_error_that_names_the_reason(statement: str, tmp_path: Path) -> None:
    judged = judge_exchange(Reading(answer("SPII")), shim(statement, tmp_path))
    assert aspects(judged) == {
        "text": "kept",
        "finish": "raised",
        "usage": "raised",
        "needless_error": "raised",
    }
    assert judged.aspects["finish"].is_crash
    assert len({finding.group[2:] for finding in judged.aspects.values() if finding.red}) == 1


@pytest.mark.parametrize("statement", PURPOSEFUL.values(), ids=[*PURPOSEFUL])
def test_an_error_that_is_raised_on_purpose_and_names_the_reason_is_kept(
    statement: str, tmp_path: Path
) -> None:
    judged = judge_exchange(Reading(answer("SPII")), shim(statement, tmp_path))
    assert {"text": "kept", "finish": "kept"}.items() <= aspects(judged).items()
    assert "needless_error" not in judged.aspects


def test_an_error_that_is_raised_on_purpose_and_does_not_name_the_reason_is_needless(
    tmp_path: Path,
) -> None:
    judged = judge_exchange(Reading(answer("SPII")), shim("raise RuntimeError('oops')", tmp_path))
    assert {*judged.red} == {"usage", "needless_error"}, "the native event has the reason"
    assert judged.sentence("usage") == (
        "usage raised: the adapter reports an error: RuntimeError: oops"
    )


def test_a_crash_does_not_excuse_a_wrong_fact_before_it(tmp_path: Path) -> None:
    call = '{"functionCall": {"name": "g", "args": {}}}'
    judged = judge_exchange(Reading(answer("SPII", parts=call)), shim("KNOWN[reason]", tmp_path))
    assert aspects(judged)["calls"] == "wrong", "the adapter gives a call of f"


def test_a_crash_is_no_report_of_a_refused_prompt(tmp_path: Path) -> None:
    refused = exchange(b'data: {"promptFeedback": {"blockReason": "SAFETY"}}\n\n')
    code = "import json\ndef replay(e):\n    raise {}\n    yield"
    crash = "KeyError('SAFETY')"
    judged = judge_exchange(Reading(refused), function_adapter(code.format(crash), tmp_path))
    assert judged.aspects["blocked"].verdict == "raised"
    report = "ValueError('blocked: SAFETY')"
    judged = judge_exchange(Reading(refused), function_adapter(code.format(report), tmp_path))
    assert aspects(judged) == {"blocked": "kept"}


@pytest.mark.parametrize(
    "changes",
    [{"end": "cut"}, {"end": "reset"}, {"status": 503}],
    ids=["cut", "reset", "an HTTP error"],
)
def test_every_exception_is_an_answer_to_a_fault_of_the_wire(
    changes: dict[str, object], tmp_path: Path
) -> None:
    faulty = replace(answer("SPII"), **changes)  # type: ignore[arg-type]  # any fields of the dataclass
    judged = judge_exchange(Reading(faulty), shim("KNOWN[reason]", tmp_path))
    assert not {"needless_error", "unfinished"} & {*judged.red}


@pytest.mark.parametrize(
    "body",
    [b"<html>Sign in</html>", b'data: {"candidates": [{"content": {"parts": [{"te\n\n', b""],
    ids=["nothing is understood", "a piece that can't be read", "an empty body"],
)
def test_every_exception_is_an_answer_to_a_body_that_can_not_be_read(
    body: bytes, tmp_path: Path
) -> None:
    code = "import json\ndef replay(e):\n    return [json.loads(e.body)]"
    judged = judge_exchange(Reading(exchange(body)), function_adapter(code, tmp_path))
    assert not judged.red


def test_an_error_of_a_library_is_raised_on_purpose_and_one_of_the_standard_library_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    code = "class Stopped(Exception): pass\ndef fail(reason):\n    raise Stopped(reason)\n"
    (library / "sdk.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(library)
    monkeypatch.delitem(sys.modules, "sdk", raising=False)
    for statement, expected in (
        ("import sdk; sdk.fail(reason)", False),
        ("import configparser; configparser.ConfigParser().get(reason, 'a')", True),
        (GROUP.format("RuntimeError(reason)"), False),
        (GROUP.format("KeyError(reason)"), True),
    ):
        raised = transcript(shim(statement, tmp_path), answer("SPII")).raised
        assert raised is not None
        assert raised.crash is expected, statement


def test_a_crash_in_the_shim_is_no_crash_of_the_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "lib.py").write_text("def find(of, name):\n    return of[name]", encoding="utf-8")
    (tmp_path / "own.py").write_text("def find(of, name):\n    return of[name]", encoding="utf-8")
    for folder in (library, tmp_path):
        monkeypatch.syspath_prepend(folder)
    for name in ("lib", "own"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for statement, expected in (
        ("KNOWN[reason]", True),
        ("json.loads(reason)", True),
        ("import lib; lib.find(KNOWN, reason)", False),
        ("import own; own.find(KNOWN, reason)", False),
    ):
        adapter = shim(statement, tmp_path)
        raised = transcript(adapter, answer("SPII")).raised
        assert raised is not None
        assert raised.in_shim is expected, statement
        finding = judge_exchange(Reading(answer("SPII")), adapter).aspects["finish"]
        assert finding.reason == ("shim-crash" if expected else "crash")


def test_an_exception_of_native_code_is_decided_by_its_type(tmp_path: Path) -> None:
    own = "class Stopped(Exception): pass\nclass Its:\n    __index__ = None\n"
    thrown = "(lambda: (_ for _ in ()).throw({}(reason)))().__next__()"
    for kind, expected in (("Stopped", False), ("OSError", True)):
        statement = f"{own}{thrown.format(kind)}"
        raised = transcript(shim(statement, tmp_path), answer("SPII")).raised
        assert raised is not None
        assert raised.crash is expected


@pytest.mark.slow
def test_a_function_in_its_own_process_crashes_too(tmp_path: Path) -> None:
    code = READS.replace("STATEMENT", "KNOWN[reason]")
    adapter = function_adapter(code, tmp_path, guest=True)
    raised = transcript(adapter, answer("SPII")).raised
    adapter.close()
    assert raised is not None
    assert raised.crash


@pytest.mark.parametrize(
    ("language", "kind", "expected"),
    [
        ("python", "UnboundLocalError", True),
        ("python", "ValidationError", True),
        ("javascript", "TypeError", True),
        ("javascript", "RangeError", True),
        ("javascript", "ReferenceError", True),
        ("javascript", "SyntaxError", True),
        ("java", "java.lang.NullPointerException", True),
        ("csharp", "KeyNotFoundException", True),
        ("javascript", "KeyError", False),
        ("python", "ReferenceError", False),
        ("javascript", "APIError", False),
        ("python", "RuntimeError", False),
        ("", "RangeError", True),
        ("", "builtins.KeyError", True),
        ("", "google.genai.errors.ServerError", False),
    ],
)
def test_a_program_names_the_type_of_its_exception(
    language: str, kind: str, expected: bool
) -> None:
    assert is_crash_by_name(kind, language) is expected


@pytest.mark.parametrize(
    ("hello", "raised", "expected"),
    [
        ("", {"type": "TypeError"}, True),
        ("", {"type": "APIError"}, False),
        ("", {"type": "TypeError", "crash": False}, False),
        ("", {"type": "APIError", "crash": True}, True),
        (", language='javascript'", {"type": "KeyError"}, False),
        (", language='python'", {"type": "KeyError"}, True),
    ],
)
def test_a_program_may_say_whether_it_crashed(
    hello: str, raised: dict[str, object], expected: bool, tmp_path: Path
) -> None:
    code = LOOP.replace('version="1.2"', f'version="1.2"{hello}')
    adapter = program_adapter(code + f"    out(id=id, raised={raised!r})\n", tmp_path)
    given = transcript(adapter).raised
    adapter.close()
    assert given is not None
    assert given.crash is expected


@pytest.mark.parametrize(("language", "expected"), [("javascript", True), ("python", False)])
def test_the_language_of_a_program_tells_whether_its_numbers_are_doubles(
    language: str, expected: bool, tmp_path: Path
) -> None:
    code = LOOP.replace('version="1.2"', f'version="1.2", language={language!r}')
    adapter = program_adapter(code + "    out(id=id)\n", tmp_path)
    doubles = transcript(adapter).doubles
    adapter.close()
    assert doubles is expected


@pytest.mark.parametrize("language", ["rust", 1, ["python"]])
def test_an_unknown_language_is_an_error(language: object, tmp_path: Path) -> None:
    code = LOOP.replace('version="1.2"', f'version="1.2", language={language!r}')
    adapter = program_adapter(code, tmp_path)
    expected = f"names the language {json.dumps(language)}; expected one of python, javascript"
    with pytest.raises(AdapterError) as caught:
        adapter.output(EXCHANGE)
    assert expected in str(caught.value)
