"""mind's prompts as requests: the two turns of the system prompt, the history of records, and ids
and signatures from the session.
"""

from __future__ import annotations

from typing import Any

import pytest

from harness import Session, ToolOutcome, TranslationError, request
from harness.dialects.mind import DIALECT as MIND
from harness.dialects.mind.request import DEFAULT_MODEL, RECORDS, say, tool_result
from harness.dialects.mind.tools import DECLARATIONS, READERS

Json = dict[str, Any]


def content_of(role: str, *parts: Json | str) -> Json:
    return {
        "role": role,
        "parts": [{"text": part} if isinstance(part, str) else part for part in parts],
    }


def text(words: str) -> Json:
    return {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": words}]},
        "timestamp": "1970-01-01T00:00:00.000Z",
    }


def code(name: str, **args: Any) -> Json:
    return {"type": "tool_code", "name": name, "args": args}


def answered(call: Json, result: Any) -> Json:
    return {**call, "type": "tool_result", "result": result}


def called(name: str, args: Json, id: str | None = None, signature: str | None = None) -> Json:
    part: Json = {"functionCall": ({"id": id} if id else {}) | {"name": name, "args": args}}
    return part | ({"thoughtSignature": signature} if signature else {})


def gave(name: str, response: Json, id: str | None = None) -> Json:
    return {"functionResponse": ({"id": id} if id else {}) | {"name": name, "response": response}}


A, B = code("read_file", path="a"), code("read_file", path="b")

HISTORIES: dict[str, tuple[list[Json], list[Json]]] = {
    "no answer yet": ([], []),
    "text that came in pieces": (
        [text("Hel"), text("lo"), {"type": "result", "result": "Hello"}, say("and?")],
        [content_of("model", "Hello"), content_of("user", "and?")],
    ),
    "parallel calls, results together": (
        [text("I read."), A, B, answered(A, {"content": "1"}), answered(B, {"error": "no"})],
        [
            content_of(
                "model",
                "I read.",
                called("read_file", {"path": "a"}),
                called("read_file", {"path": "b"}),
            ),
            content_of(
                "user", gave("read_file", {"content": "1"}), gave("read_file", {"error": "no"})
            ),
        ],
    ),
    "one call after the other": (
        [A, answered(A, {}), text("Now b."), B, answered(B, {}), text("Done.")],
        [
            content_of("model", called("read_file", {"path": "a"})),
            content_of("user", gave("read_file", {})),
            content_of("model", "Now b.", called("read_file", {"path": "b"})),
            content_of("user", gave("read_file", {})),
            content_of("model", "Done."),
        ],
    ),
    "text after a call": (
        [A, text("x"), answered(A, {})],
        [
            content_of("model", called("read_file", {"path": "a"}), "x"),
            content_of("user", gave("read_file", {})),
        ],
    ),
    "a result that is no object": (
        [A, answered(A, [1])],
        [
            content_of("model", called("read_file", {"path": "a"})),
            content_of("user", gave("read_file", {"result": [1]})),
        ],
    ),
    "an error is no turn": (
        [text("x"), {"type": "error", "code": "AGENT_ERROR", "message": "m"}],
        [content_of("model", "x")],
    ),
}


@pytest.mark.parametrize(("history", "contents"), HISTORIES.values(), ids=HISTORIES)
def test_the_history(history: list[Json], contents: list[Json]) -> None:
    sent = request({"prompt": "p", "history": history}, dialect="mind")
    assert sent == {"contents": [content_of("user", "p"), *contents]}


def test_every_record_has_a_row_above() -> None:
    assert {record["type"] for history, _ in HISTORIES.values() for record in history} == set(
        RECORDS
    )


def test_the_system_prompt_is_a_pair_of_turns() -> None:
    pair = [content_of("user", "s"), content_of("model", "ok")]
    assert request({"prompt": "p", "system_prompt": "s"}, dialect="mind") == {
        "contents": [*pair, content_of("user", "p")]
    }
    assert request({"prompt": "p", "system_prompt": ""}, dialect="mind") == {
        "contents": [content_of("user", "p")]
    }


def test_ids_and_signatures_come_from_the_session() -> None:
    session = Session()
    session.remember("old", "glob", "S0", "old")  # of an earlier, dropped part of the history
    session.remember("c1", "read_file", "S1", "c1")
    session.remember("call_1", "read_file", None)
    history = [A, B, answered(A, {}), answered(B, {})]
    assert request({"prompt": "p", "history": history}, dialect="mind", session=session)[
        "contents"
    ][1:] == [
        content_of(
            "model",
            called("read_file", {"path": "a"}, "c1", "S1"),
            called("read_file", {"path": "b"}),
        ),
        content_of("user", gave("read_file", {}, "c1"), gave("read_file", {})),
    ]


def test_a_call_with_another_name_is_another_call() -> None:
    session = Session()
    session.remember("c1", "glob", "S1", "c1")
    assert request({"prompt": "p", "history": [A]}, dialect="mind", session=session)["contents"][
        1:
    ] == [content_of("model", called("read_file", {"path": "a"}))]


def test_calls_that_look_alike_are_answered_in_their_order() -> None:
    session = Session()
    session.remember("c1", "read_file", None, "c1")
    session.remember("c2", "read_file", None, "c2")
    contents = request(
        {"prompt": "p", "history": [A, A, answered(A, {"n": 1}), answered(A, {"n": 2})]},
        dialect="mind",
        session=session,
    )["contents"]
    assert contents[2] == content_of(
        "user", gave("read_file", {"n": 1}, "c1"), gave("read_file", {"n": 2}, "c2")
    )


def test_tools_are_declared_where_options_allow_them() -> None:
    assert "tools" not in request({"prompt": "p"}, dialect="mind")
    tools = request(
        {"prompt": "p"}, dialect="mind", options={"allowed_tools": ["write_file", "glob"]}
    )["tools"]
    assert tools == [
        {
            "functionDeclarations": [
                {"name": name, **DECLARATIONS[name]} for name in ("glob", "write_file")
            ]
        }
    ]


def test_the_readers_are_the_tools_that_only_read() -> None:
    assert set(DECLARATIONS) - set(READERS) == {
        "run_shell_command",
        "write_file",
        "replace",
        "google_web_search",
        "web_fetch",
    }


FAULTS: dict[str, tuple[Any, Json, str]] = {
    "no object": ("p", {}, "must be an object"),
    "no prompt": ({"system_prompt": "s"}, {}, "prompt: is missing"),
    "a prompt that is no text": ({"prompt": 1}, {}, "prompt: must be a string, not 1"),
    "a system prompt that is no text": (
        {"prompt": "p", "system_prompt": ["s"]},
        {},
        "system_prompt: must be a string",
    ),
    "an unknown key": (
        {"prompt": "p", "system": "s"},
        {},
        "system: unknown key; expected one of prompt, system_prompt, history",
    ),
    "a history that is none": ({"prompt": "p", "history": "h"}, {}, "history: must be a list"),
    "an unknown record": (
        {"prompt": "p", "history": [{"type": "token"}]},
        {},
        "history[0].type: unknown type 'token'",
    ),
    "a record that is none": (
        {"prompt": "p", "history": ["x"]},
        {},
        "history[0]: must be an object",
    ),
    "text of another form": (
        {"prompt": "p", "history": [{"type": "assistant", "message": "x"}]},
        {},
        "history[0].message: ",
    ),
    "a call without arguments": (
        {"prompt": "p", "history": [{"type": "tool_code", "name": "f"}]},
        {},
        "history[0].args: ",
    ),
    "a call without a name": (
        {"prompt": "p", "history": [{"type": "tool_code", "args": {}}]},
        {},
        "history[0].name: ",
    ),
    "a result without a call": (
        {"prompt": "p", "history": [answered(A, {})]},
        {},
        "history[0]: no call of read_file",
    ),
    "a result of another call": (
        {"prompt": "p", "history": [A, answered(B, {})]},
        {},
        "history[1]: no call of read_file",
    ),
    "an unknown tool": (
        {"prompt": "p"},
        {"allowed_tools": ["rm"]},
        "options.allowed_tools: there is no tool 'rm'; expected one of read_file",
    ),
    "tools that are no list": (
        {"prompt": "p"},
        {"allowed_tools": "glob"},
        "options.allowed_tools: must be a list",
    ),
    "a model that is none": (
        {"prompt": "p"},
        {"model_name": 3},
        "options.model_name: must be a string",
    ),
}


@pytest.mark.parametrize(("prompt", "options", "message"), FAULTS.values(), ids=FAULTS)
def test_a_prompt_that_cannot_be_translated_names_the_place(
    prompt: Any, options: Json, message: str
) -> None:
    with pytest.raises(TranslationError) as raised:
        request(prompt, dialect="mind", options=options)
    assert str(raised.value).startswith(message)


def test_the_model() -> None:
    assert (
        request({"prompt": "p"}, dialect="mind", provider="code-assist")["model"] == DEFAULT_MODEL
    )
    assert (
        request(
            {"prompt": "p"}, dialect="mind", provider="code-assist", options={"model_name": "m"}
        )["model"]
        == "m"
    )


def test_the_prompt_after_an_answer() -> None:
    assert MIND.request
    prompt = {"prompt": "p", "history": [text("x")]}
    follow_up = MIND.request.follow_up
    outcomes = [ToolOutcome({"content": "1"}), ToolOutcome("no such file", failed=True)]
    assert follow_up(prompt, [A, B], outcomes) == {
        "prompt": "p",
        "history": [
            text("x"),
            A,
            B,
            answered(A, {"content": "1"}),
            answered(B, {"error": "no such file"}),
        ],
    }
    assert follow_up({"prompt": "p"}, [text("y")], "and?") == {
        "prompt": "p",
        "history": [text("y"), say("and?")],
    }
    assert prompt == {"prompt": "p", "history": [text("x")]}
    assert tool_result(A, ToolOutcome("plain"))["result"] == {"result": "plain"}
    with pytest.raises(
        TranslationError, match="results: the answer has 2 calls, and 1 outcomes are given"
    ):
        follow_up(prompt, [A, B], outcomes[:1])


def test_a_call_that_already_has_a_result_gets_no_second_one() -> None:
    assert MIND.request
    records = [A, B, answered(A, {})]
    assert MIND.request.follow_up({"prompt": "p"}, records, [ToolOutcome(1)])["history"] == [
        *records,
        answered(B, {"result": 1}),
    ]
