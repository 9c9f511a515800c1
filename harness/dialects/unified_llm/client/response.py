"""A whole answer: the specification's Response, plain JSON data with the accessors that it
names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.stream.json_codec import decode_json

from .errors import NoObjectGeneratedError


class Response(dict[str, Any]):
    """``{"id", "model", "provider", "message", "finish_reason", "usage"?, "warnings"}``, as FINISH
    has it.
    """

    def __init__(self, told: Mapping[str, Any], before: Sequence[Response] = ()) -> None:
        super().__init__(told)
        self._before = tuple(before)

    @property
    def steps(self) -> tuple[Response, ...]:
        """The answers whose calls were run on the way to this one, and this one last."""
        return (*self._before, self)

    @property
    def total_usage(self) -> dict[str, int]:
        """Each count added up over the steps; one that no step has is absent. What the wire said
        stands in the steps' own ``raw``.
        """
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
        """All its text, joined; empty if there is none."""
        return "".join(part["text"] for part in self.content if part["kind"] == "text")

    @property
    def reasoning(self) -> str:
        """All its thinking, joined; empty if there is none."""
        return "".join(
            part["thinking"]["text"] for part in self.content if part["kind"] == "thinking"
        )

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """``{"id", "name", "arguments", "type", "signature"?}`` each."""
        return [part["tool_call"] for part in self.content if part["kind"] == "tool_call"]

    @property
    def object(self) -> Any:
        """The text as the JSON that a ``response_format`` asked for; raises
        `NoObjectGeneratedError` for text that is none.
        """
        try:
            return decode_json(self.text.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            raise NoObjectGeneratedError(f"the answer is not JSON: {error}", cause=error) from error
