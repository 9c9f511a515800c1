"""The second reader of the Antigravity CLI: reads the raw output of a run slowly and plainly.

A line that is one JSON object is one message. In any other line, each object with an event is a
message, and the text around these objects is unreadable. A message without an event is the document
of ``--output-format json``, if it has the fields of a result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from lines import Object, items_in_lines

from harness.facts import Error
from harness.facts.detail import ErrorWords, Result
from harness.providers.event_facts import error_facts, exit_facts, opaque_values
from harness.providers.gemini.raw_values import count_gemini
from harness.providers.provider import EXIT_CODE, Answer
from harness.providers.wire_values import camel, strings
from harness.stream.events import INTERRUPTED, End
from harness.stream.json_codec import Json

_EVENTS = ("init", "step_update", "result", "command_result")
_STEPS = (
    *("agent_response", "tool", "subagent", "error_message"),
    *("user_input", "system_message", "checkpoint", "finish", "unknown"),
)
_DOCUMENT = {"conversation_id", "status", "response"}
_COUNTS = ("input_tokens", "cache_read_tokens", "output_tokens", "thinking_tokens", "total_tokens")


def gather_agy(
    body: bytes, exit_code: str = "0", stderr: Iterable[str] = (), *, interrupted: bool = False
) -> SimpleNamespace:
    """Return the facts in the output of one run, of one turn or of several. An ``interrupted`` run
    has only the errors in its output.

    ``SUCCESS`` counts as a finish reason only if the turn has an answer. If stderr reports a
    time-out, ``print timeout`` is the reason. An ``exit_code`` other than 0 is an error if the
    output does not report the end of the run; ``AGY_ERROR`` on stderr is an error if the output has
    none.
    """
    run = _Run([*stderr])
    for item in items_in_lines(
        body.decode("utf-8", "surrogateescape").removeprefix("\ufeff"), _is_message
    ):
        if isinstance(item, str):
            run.facts.unreadable.append(item)
        else:
            run.read(item)
    if not interrupted:
        run.close(exit_code)
    return run.facts


def read_agy(body: bytes, answer: Answer, end: End) -> dict[str, Any]:
    """Read the facts of an answer, as `harness.proving.second_reader.compare_readers` asks it. The
    exit code of an interrupted run adds nothing to the interruption itself.
    """
    interrupted = end in INTERRUPTED
    code = "0" if interrupted else answer.headers.get(EXIT_CODE, "0")
    return vars(gather_agy(body, code, answer.stderr, interrupted=interrupted))


def _is_message(value: Object) -> bool:
    event = value.get("event")
    payload = value.get("command" if event == "command_result" else str(event))
    return event in _EVENTS and isinstance(payload, dict)


class _Run:
    def __init__(self, stderr: list[str]) -> None:
        self.facts = SimpleNamespace(
            text="",
            thoughts="",
            calls=[],
            marks=[],
            results=[],
            notices=[],
            unreadable=[],
            others=set(),
            usage={},
            opaque={},
            errors=[],
            error_words=[],
            finish=None,
            finish_message=None,
            ended_well=False,
            mended=None,
        )
        self.stderr = stderr
        self.calls: set[Json] = set()  # the indexes of steps that are calls
        self.answer: list[str] | None = None  # the pieces of the turn's text so far
        self.started = False
        self.turns = 0
        self.sums: Object = {}
        self.command: Json = None

    def read(self, message: Object) -> None:
        event = message.get("event")
        payload = message.get(event) if isinstance(event, str) else message
        if event == "init" and isinstance(payload, dict):
            self.started = False
            self.note_id(message)
            named = {"model": "modelVersion"}
            self.facts.others |= {
                named.get(name, camel(name)) if isinstance(value, str) else camel(name)
                for name, value in payload.items()
                if value is not None and (name, value) != ("model", "")
            }
        elif event == "step_update" and isinstance(payload, dict) and _is_step(payload):
            self.note_id(payload)
            self.read_step(payload)
        elif event == "command_result" and isinstance(message.get("command"), dict):
            self.note_id({})
            self.command = message["command"]
            self.facts.others.add("command")
        elif isinstance(payload, dict) and _is_result(event, payload):
            self.note_id(payload)
            self.read_result(payload)
        else:
            self.note_id({})
            self.facts.others |= {camel(name) for name in message}

    def note_id(self, payload: Object) -> None:
        """Note the id of the first message, and of each init. Other messages repeat it."""
        if isinstance(payload.get("conversation_id"), str) and payload["conversation_id"]:
            self.facts.others |= set() if self.started else {"responseId"}
        self.started = True

    def read_step(self, step: Object) -> None:
        facts, kind, index = self.facts, step.get("step_type"), step.get("step_index")
        over = step.get("state") in ("DONE", "ERROR")
        usage = step.get("usage")
        if kind == "user_input":
            self.turns += 1
        elif kind == "agent_response":
            text = step.get("text_delta")
            if isinstance(text, str):
                facts.text += text
                self.answer = [] if self.answer is None else self.answer
                self.answer.append(text)
            for name in ("thinking_delta", "thinking"):
                facts.thoughts += step[name] if isinstance(step.get(name), str) else ""
        elif kind in ("tool", "subagent") and index not in self.calls:
            self.calls.add(index)
            facts.calls.append(_call(step))
            facts.marks.append((str(index), None))
        if kind == "error_message" or (kind == "agent_response" and step.get("state") == "ERROR"):
            facts.notices.append("")
        if over and index in self.calls:
            facts.others.add("functionResponse")
            failed, value = _result(step)
            value = value if kind in _STEPS else None  # an unknown step is passed on as a whole
            result = Result.of(failed, value)
            facts.results.append((result.failed, result.text))
            for shown in opaque_values("server_tools", *strings(value)):
                facts.opaque.setdefault(shown.aspect, []).extend(shown.values)
        if isinstance(usage, dict):
            for name, count in usage.items():
                before = self.sums.get(name)
                both = type(count) is int and type(before) is int
                self.sums[name] = before + count if both else count
            count_usage(facts, self.sums)

    def read_result(self, result: Object) -> None:
        facts, usage = self.facts, result.get("usage")
        response, answer = result.get("response"), None
        if self.answer is not None:
            answer = "".join(self.answer)
        self.answer = None
        if isinstance(response, str) and response and answer is None:
            facts.text += response
        elif isinstance(response, str) and response != (answer or ""):
            facts.others.add("response")
            if response and answer == facts.text and "\ufffd" in facts.text:
                facts.mended = response
        facts.others |= {
            camel(name)
            for name in ("num_turns", "structured_output")
            if result.get(name) is not None
        }
        if result.get("command") not in (None, self.command):
            facts.others.add("command")
        if result.get("denied_actions"):
            facts.others.add("deniedActions")
            actions = result["denied_actions"]
            actions = actions if isinstance(actions, list) else [actions]
            facts.notices.append(", ".join(map(_denied, actions)))
        measured = False
        if isinstance(usage, dict):
            measured = any(type(usage.get(name)) is int and usage[name] for name in _COUNTS)
            if measured and not (self.sums and _resumed(result, self.turns)):
                count_usage(facts, usage)
            else:
                facts.others.add("usage")
        has_answer = bool(
            (response if isinstance(response, str) else answer)
            or result.get("structured_output") is not None
            or result.get("command") is not None
        )
        self.read_status(result, has_answer, measured)

    def read_status(self, result: Object, has_answer: bool, measured: bool) -> None:
        facts, status = self.facts, result.get("status")
        late = next((line for line in self.stderr if "print timeout after" in line), None)
        if status == "ERROR" or (status != "SUCCESS" and result.get("error") is not None):
            error = result.get("error")
            message = error.get("message") if isinstance(error, dict) else error
            self.fail(message if isinstance(message, str) else "", self.agy_error() or {})
        elif status != "SUCCESS":
            facts.finish = "" if status is None else str(status)
            facts.finish_message = None
            facts.ended_well = False
        elif not has_answer:
            facts.others.add("status")
        elif late and not measured:
            facts.others.add("status")
            facts.finish, facts.finish_message, facts.ended_well = "print timeout", late, True
        else:
            facts.finish, facts.finish_message, facts.ended_well = "SUCCESS", None, True

    def agy_error(self) -> Object | None:
        """Return the first object after ``AGY_ERROR:`` on stderr."""
        for line in self.stderr:
            if line.startswith("AGY_ERROR:"):
                try:
                    error = json.loads(line.removeprefix("AGY_ERROR:"))
                except ValueError:
                    continue
                if isinstance(error, dict):
                    return error
        return None

    def fail(self, message: str, detail: Object) -> None:
        named = {"code": detail.get("error_code"), "status": detail.get("status")}
        self.note(error_facts({**named, "message": message}))

    def note(self, error: tuple[ErrorWords, Error]) -> None:
        self.facts.error_words += error[0].words
        self.facts.errors.append(error[1])

    def close(self, exit_code: str) -> None:
        facts, detail = self.facts, self.agy_error()
        if facts.errors:
            return
        if detail:
            self.fail(str(detail.get("short_error") or ""), detail)
        elif exit_code != "0" and facts.finish is None:
            self.note(exit_facts(exit_code, "\n".join(self.stderr)))


def _is_step(payload: Object) -> bool:
    return type(payload.get("step_index")) is int and isinstance(payload.get("step_type"), str)


def _is_result(event: Json, payload: Object) -> bool:
    return event == "result" or (event is None and payload.keys() >= _DOCUMENT)


def _resumed(result: Object, turns: int) -> bool:
    """Return whether the totals of a result include turns that are not in this output."""
    total = result.get("num_turns")
    return isinstance(total, int) and total > turns


def _call(step: Object) -> tuple[str, Json]:
    tool = step.get("tool_info")
    info = step.get("subagent_info")
    names = [step.get("tool_name"), tool.get("name") if isinstance(tool, dict) else None]
    name = next((name for name in names if isinstance(name, str) and name), "")
    arguments = tool.get("parameters") if isinstance(tool, dict) else info
    return name, arguments if isinstance(arguments, dict) else {}


def _result(step: Object) -> tuple[bool, Json]:
    tool = step.get("tool_info")
    tool = tool if isinstance(tool, dict) else {}
    return (
        step.get("state") == "ERROR" or tool.get("error") is not None,
        tool.get("output", step.get("subagent_info")),
    )


def _denied(action: Json) -> str:
    return str(
        (action.get("display_name") or action.get("action")) if isinstance(action, dict) else action
    )


def count_usage(facts: SimpleNamespace, usage: Object) -> None:
    """Note counts in the words of the wire, and in those of generateContent: on this wire, the
    input excludes tokens that were read from the cache, and the output includes the thoughts.
    """

    def count(name: str) -> int:
        return usage[name] if type(usage.get(name)) is int else 0

    facts.usage |= count_gemini(usage) | {
        "promptTokenCount": count("input_tokens") + count("cache_read_tokens"),
        "candidatesTokenCount": count("output_tokens") - count("thinking_tokens"),
        "thoughtsTokenCount": count("thinking_tokens"),
        "cachedContentTokenCount": count("cache_read_tokens"),
        "totalTokenCount": count("total_tokens"),
    }
