"""Short prompts of unified-llm, and the requests made from them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from harness import Session
from harness.dialects.unified_llm.request import translate
from harness.providers import PROVIDERS

HELLO = {"role": "user", "content": [{"kind": "text", "text": "Hello"}]}


def ask(prompt: Any, session: Session | None = None) -> dict[str, Any]:
    before = deepcopy(prompt)
    session = session or Session()
    request = PROVIDERS["gemini-api"].request(translate(prompt, {}, session), session)
    assert prompt == before, "the prompt is not touched"
    return request.body


def parts(*content: Any, role: str = "user") -> list[dict[str, Any]]:
    body = ask({"messages": [{"role": role, "content": list(content)}]})
    assert len(body["contents"]) == 1
    return list(body["contents"][0]["parts"])


def call(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    return {
        "kind": "tool_call",
        "tool_call": {"id": call_id, "name": "search_file", "arguments": {"q": call_id}, **more},
    }


def result(call_id: str = "c1", content: Any = "found", **more: Any) -> dict[str, Any]:
    return {
        "kind": "tool_result",
        "tool_result": {"tool_call_id": call_id, "content": content, **more},
    }


def turn(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def tool(*content: Any) -> dict[str, Any]:
    return {"role": "tool", "content": list(content)}
