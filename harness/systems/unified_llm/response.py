"""The specification's Response: a whole answer as JSON data, with accessors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.stream.json_codec import decode_json

from .errors import NoObjectGeneratedError


class Response(dict[str, Any]):
    """``{"id", "model", "provider", "message", "finish_reason", "usage"?, "warnings",
    "rate_limit"?}``.
    """

    def __init__(
        self,
        response: Mapping[str, Any],
        before: Sequence[Response] = (),
        asked: Sequence[Any] = (),
    ) -> None:
        super().__init__(response)
        self._before = tuple(before)
        self._asked = tuple(asked)

    @property
    def messages(self) -> list[Any]:
        """The messages of the Request that was sent last, with calls and results of the steps, then
        the message of this answer: the history for the next Request.
        """
        return [*self._asked, self["message"]]

    @property
    def steps(self) -> tuple[Response, ...]:
        """The answers whose calls were run before this one, then this one."""
        return (*self._before, self)

    @property
    def total_usage(self) -> dict[str, int]:
        """The sum of each count over the steps, without ``raw``; a count may be absent."""
        total: dict[str, int] = {}
        for step in self.steps:
            for name, count in step.get("usage", {}).items():
                if name != "raw":
                    total[name] = total.get(name, 0) + count
        return total

    @property
    def content(self) -> list[dict[str, Any]]:
        """The parts of the message."""
        parts: list[dict[str, Any]] = self["message"]["content"]
        return parts

    @property
    def text(self) -> str:
        """All text, joined."""
        return "".join(part["text"] for part in self.content if part["kind"] == "text")

    @property
    def reasoning(self) -> str:
        """All thinking, joined."""
        return "".join(
            part["thinking"]["text"] for part in self.content if part["kind"] == "thinking"
        )

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls: ``{"id", "name", "arguments", "type", "signature"?}`` each."""
        return [part["tool_call"] for part in self.content if part["kind"] == "tool_call"]

    @property
    def object(self) -> Any:
        """The text as JSON, for a ``response_format``; raises `NoObjectGeneratedError`."""
        try:
            return decode_json(self.text.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise NoObjectGeneratedError(f"the answer is not JSON: {error}", cause=error) from error
