"""Gemini Code Assist, the server of the Gemini CLI and IDE plugins: messages in an envelope.

The reader of the Gemini API reads the envelope of an answer; the envelope of a request is made here
(https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/code_assist/converter.ts).
The models of Code Assist write calls as ``<tool_code>`` in their text, so by default these are read
as calls.
"""

from __future__ import annotations

import re
from typing import Any, Final

from harness.stream.framing import frame_by_content
from harness.stream.generation import TranslationError
from harness.stream.prompt import Prompt
from harness.stream.session import Session

from .gemini.messages import METHOD, is_envelope
from .gemini.provider import GeminiProvider
from .gemini.request import write_body
from .provider import Endpoint, FirstMessages, Identity, bearer


def _detect(first: FirstMessages) -> Identity | None:
    if any(map(is_envelope, first.messages)):
        return Identity("code-assist", generates=True, streamed=first.streamed)
    return None


def _write(prompt: Prompt, session: Session) -> tuple[dict[str, Any], list[str]]:
    """Return a generate request in the envelope: model, project and ids are beside it.

    A request with functions and without a mode gets the mode ``VALIDATED``. ``project``,
    ``user_prompt_id`` and ``session_id`` come from the session's context. Without them there is no
    project, prompts are counted, and the session is ``session_1``.
    """
    body, warnings = write_body(prompt, session)
    if not prompt.model:
        raise TranslationError(
            "model",
            "no model is named; Code Assist needs one in the body, so name one in the prompt",
        )
    if "toolConfig" not in body and any(
        "functionDeclarations" in tool for tool in body.get("tools", ())
    ):
        body["toolConfig"] = {"functionCallingConfig": {"mode": "VALIDATED"}}
    project = {"project": session.context["project"]} if "project" in session.context else {}
    envelope = {
        "model": prompt.model,
        **project,
        "user_prompt_id": session.context.get("user_prompt_id") or session.next_id("prompt"),
        "request": {**body, "session_id": session.context.get("session_id", "session_1")},
    }
    return envelope, warnings


PROVIDER: Final = GeminiProvider(
    name="code-assist",
    title="Gemini Code Assist",
    framer=frame_by_content,  # an envelope is no usual message
    url=re.compile(rf"/v1internal{METHOD}"),
    detect=_detect,
    write=_write,
    tool_code=True,
    endpoint=Endpoint(
        "https://cloudcode-pa.googleapis.com",
        "CODE_ASSIST_ENDPOINT",
        "/v1internal:{method}",
        re.compile("/v1internal"),
        authorize=bearer,
    ),
    driver="harness.recording.drivers.code_assist:CodeAssistDriver",
)
