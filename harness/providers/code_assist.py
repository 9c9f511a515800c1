"""Gemini Code Assist, which the Gemini CLI and IDE clients talk to: Gemini's messages in an
envelope.

The envelope
(https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/code_assist/converter.ts)
of an answer is read by the reader of the Gemini API, that of a request is put on here. What differs
is a default: models behind it write calls as ``<tool_code>`` in their text, so it is looked for.
"""

from __future__ import annotations

from typing import Any, Final

from harness.stream.generation import GenerateRequest, TranslationError
from harness.stream.session import Session

from .gemini.normalizer import GeminiNormalizer
from .provider import Provider


def _wrap(asked: GenerateRequest, session: Session) -> dict[str, Any]:
    """The envelope: model, project and ids beside the request, which says ``VALIDATED`` where it
    has functions and no mode.

    ``project``, ``user_prompt_id`` and ``session_id`` come from the session's context; without them
    there is no project, prompts are counted, and the session is ``session_1``.
    """
    if not asked.model:
        raise TranslationError(
            "model",
            "no model is named, and Code Assist has no other place for it; name one in the prompt",
        )
    body = dict(asked.body)
    if "toolConfig" not in body and any(
        "functionDeclarations" in tool for tool in body.get("tools", ())
    ):
        body["toolConfig"] = {"functionCallingConfig": {"mode": "VALIDATED"}}
    project = {"project": session.context["project"]} if "project" in session.context else {}
    return {
        "model": asked.model,
        **project,
        "user_prompt_id": session.context.get("user_prompt_id") or session.next_id("prompt"),
        "request": {**body, "session_id": session.context.get("session_id", "session_1")},
    }


CODE_ASSIST: Final = Provider(
    "code-assist", "Gemini Code Assist", GeminiNormalizer, tool_code=True, wrap=_wrap
)
