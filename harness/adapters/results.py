"""The results of the calls of an answer, for the second request: each call has its own text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count, zip_longest

from harness.facts import Call, NamedArguments, WireFacts, arguments_of
from harness.providers.second_turn import result_text, result_with_image
from harness.stream.json_codec import Json, same_json


@dataclass(frozen=True, slots=True)
class MediaResult:
    """The result of a call as a text and an image."""

    text: str
    mime_type: str
    data: bytes


def media_result(number: int) -> MediaResult:
    """Return the result with an image of the call with this number."""
    text, image = result_with_image(number)
    return MediaResult(text, "image/png", image)


class Results:
    """The number of a result is that of its call in the answer, in whatever order the results are
    requested. A call that the answer does not have gets the next free number. ``read``: returns the
    facts of the answer.
    """

    def __init__(self, read: Callable[[], WireFacts]) -> None:
        self._read = read
        self._owners: dict[int, str] = {}
        self._requests: dict[str, int] = {}

    @cached_property
    def _calls(self) -> list[tuple[str | None, NamedArguments]]:
        """The id of each call, and the call."""
        facts = self._read()
        ids = [call_id for call_id, _ in facts.marks]
        return list(zip_longest(ids, facts.calls))

    def text(self, call: Call) -> str:
        """Return the text of the result of a call. Equal calls get the texts of their numbers in
        turn.
        """
        return result_text(self._number(call))

    def media(self, call: Call) -> MediaResult:
        """Return the same result as a text and an image."""
        return media_result(self._number(call))

    def _number(self, call: Call) -> int:
        key = repr((call.id or None, call.name, call.arguments))
        request = self._requests[key] = self._requests.get(key, 0) + 1
        numbers = self._numbers_of(call)
        free = [number for number in numbers if number not in self._owners]
        own = [number for number, owner in self._owners.items() if owner == key]
        if own and not free:
            return own[(request - 1) % len(own)]
        number = free[0] if free else next(n for n in count(1) if n not in self._owners)
        self._owners[number] = key
        return number

    def _numbers_of(self, call: Call) -> list[int]:
        """Return the numbers of the calls of the answer that are this one by id and arguments, by
        id, by arguments, or only by name.
        """
        numbered = list(enumerate(self._calls, 1))
        arguments = _object_of(call.arguments)
        named = [number for number, (_, (name, _)) in numbered if name == call.name]
        same_id = [n for n, (call_id, _) in numbered if call_id and call_id == call.id]
        equal = [n for n, (_, (_, value)) in numbered if same_json(value, arguments)]
        choices = (
            [number for number in named if number in same_id and number in equal],
            [number for number in named if number in same_id],
            [number for number in named if number in equal],
        )
        return next(filter(None, choices), named)


def _object_of(arguments: Json) -> Json:
    if isinstance(arguments, str):
        return arguments_of(arguments.strip())
    return {} if arguments is None else arguments
