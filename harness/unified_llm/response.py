"""A whole answer: the specification's Response, plain JSON data with the accessors that it names."""

from __future__ import annotations

from typing import Any

from ..json_text import decode_json
from .errors import NoObjectGeneratedError


class Response(dict[str, Any]):
    """``{"id", "model", "provider", "message", "finish_reason", "usage"?, "warnings"}``, as FINISH has it."""

    @property
    def content(self) -> list[dict[str, Any]]:
        """The parts of the message."""
        parts: list[dict[str, Any]] = self["message"]["content"]
        return parts

    @property
    def text(self) -> str:
        """All its text, joined; empty if there is none."""
        return "".join(part["text"] for part in self.content if part["kind"] == "text")

    @property
    def reasoning(self) -> str:
        """All its thinking, joined; empty if there is none."""
        return "".join(part["thinking"]["text"] for part in self.content if part["kind"] == "thinking")

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """``{"id", "name", "arguments", "type", "signature"?}`` each."""
        return [part["tool_call"] for part in self.content if part["kind"] == "tool_call"]

    @property
    def object(self) -> Any:
        """The text as the JSON that a ``response_format`` asked for; raises `NoObjectGeneratedError` for text that is none."""
        try:
            return decode_json(self.text.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise NoObjectGeneratedError(f"the answer is not JSON: {error}", cause=error) from error
