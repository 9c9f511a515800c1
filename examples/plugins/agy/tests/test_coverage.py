"""Every word of the wire of the Antigravity CLI occurs in an exchange of a case of specs/agy. A
separate scanner reads the words from the bytes. If the only case for a word is removed, the test of
that word is red.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

import harness
from harness.cassettes import Exchange
from harness.cassettes.yaml import parse
from harness.dialects import DIALECTS

ROOT: Final = Path(__file__).parents[1]

WORDS: Final = {
    "event": "init step_update result command_result document",
    "init": "model cwd tools permission_mode json_schema agent expanded_commands",
    "permission mode": "request-review strict proceed-in-sandbox always-proceed default",
    "step": (
        "conversation_id step_index state step_type tool_name text_delta duration_seconds usage"
        " tool_info subagent_info thinking_delta thinking"
    ),
    "state": "ACTIVE DONE ERROR",
    "step type": (
        "user_input agent_response tool finish subagent system_message checkpoint error_message"
        " unknown"
    ),
    "tool": "name parameters output error",
    "tool error": "type message",
    "subagent": "type_name role initial_prompt conversation_id log_uri workspace_uris",
    "result": (
        "conversation_id status response error duration_seconds num_turns structured_output"
        " json_schema usage denied_actions command"
    ),
    "status": "SUCCESS ERROR CANCELED INTERRUPTED INVALID WAITING RUNNING",
    "denied action": "command unsandboxed mcp read_url execute_url read_file write_file",
    "command": "name data",
    "usage": "input_tokens output_tokens thinking_tokens cache_read_tokens total_tokens",
    "exit code": "0 1 2 3",
    "stderr": "error: AGY_ERROR: Error: [agy] jetski: warning: flags",
    "failure": "short_error status error_code code_kind retryable error_id",
}
"""Table → its words in the recordings and the documentation of versions up to 1.3.4."""


def words_of(exchange: Exchange) -> set[tuple[str, str]]:
    """The words of one exchange, each with its table."""
    words: set[tuple[str, str]] = set()

    def note(table: str, *names: Any) -> None:
        words.update((table, name) for name in names if isinstance(name, str))

    note("exit code", exchange.header("x-exit-code"))
    for line in exchange.headers.get("x-stderr", []):
        mark, _, rest = line.partition(" ")
        note("stderr", mark)
        if mark == "AGY_ERROR:":
            note("failure", *json.loads(rest))
    for line in exchange.body.decode().split("\n"):
        try:
            message = json.loads(line[line.index("{") :])
        except ValueError:
            continue
        note("event", message.get("event", "document"))
        start, step = message.get("init") or {}, message.get("step_update") or {}
        note("init", *start)
        note("permission mode", start.get("permission_mode"))
        note("step", *step)
        note("state", step.get("state"))
        note("step type", step.get("step_type"))
        tool = step.get("tool_info") or {}
        note("tool", *tool)
        note("tool error", *(tool.get("error") or {}))
        for agent in (step.get("subagent_info") or {}).get("subagents", []):
            note("subagent", *agent)
        result = message.get("result") or (message if "event" not in message else {})
        note("result", *result)
        note("status", result.get("status"))
        for action in result.get("denied_actions") or []:
            note("denied action", action["action"])
        note("command", *(message.get("command") or result.get("command") or {}))
        note("usage", *(step.get("usage") or result.get("usage") or {}))
    return words


@cache
def cases() -> list[tuple[str, frozenset[str], set[tuple[str, str]]]]:
    """The name of every case of specs/agy, its expected layers, and its words."""
    rows = []
    for path in sorted((ROOT / "specs" / "agy").glob("*.yaml")):
        for case in parse(path.read_bytes())["cases"]:
            cassette = harness.load(ROOT / "cassettes" / f"{case['cassette']}.yaml")
            exchange = cassette.exchanges[case.get("exchange", 1) - 1]
            rows.append((case["case"], frozenset(case["expect"]), words_of(exchange)))
    return rows


@pytest.mark.parametrize(
    ("table", "word"), [(table, word) for table, words in WORDS.items() for word in words.split()]
)
def test_every_word_is_in_a_case(table: str, word: str) -> None:
    if not any((table, word) in words for _, _, words in cases()):
        pytest.fail(f"no case of specs/agy shows the {table} {word}", pytrace=False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_at_least_twenty_streams_are_expected_of_each_dialect(dialect: str) -> None:
    assert sum(dialect in layers for _, layers, _ in cases()) >= 20
