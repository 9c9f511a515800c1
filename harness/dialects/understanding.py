"""Notes whether anything of an answer was understood.

An answer in which nothing was understood (a web page with the status 200, the stream of another
provider, an empty body) ends as an error in every dialect, never as an empty answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.stream import events as ev
from harness.stream.printable import printable, short_json, shorten

QUOTED: Final = 200
"""The number of characters of an answer that the message of its error quotes."""

_CALLS: Final[frozenset[type[ev.Event]]] = frozenset({ev.CallStart, ev.CallInvalid})
_CONTENT: Final[frozenset[type[ev.Event]]] = frozenset({ev.CallStart}) | {
    *(ev.NamelessCall, ev.ToolResult, ev.Media, ev.Code, ev.CodeResult),
    *(ev.ServerCall, ev.ServerResult),
}
_UNDERSTOOD: Final[frozenset[type[ev.Event]]] = frozenset(
    {ev.Finish, ev.Blocked, ev.Error, ev.Notice, ev.Incomplete}
)
_ALL: Final = _CALLS | _CONTENT | _UNDERSTOOD | {ev.Text, ev.Reasoning, ev.Unknown}


class Understanding:
    """Watches the events of one stream, for candidate 0.

    ``content``: the answer has a text, a thought, a call, a result, media or code. ``understood``:
    it has content, a finish reason, a block, an error or a warning. ``invalid``: a sentence about
    the first call whose arguments are not a JSON object; "" if there is none. ``watched``: the
    kinds of events that can still change any of these values. Other events need no `note`.
    """

    def __init__(self) -> None:
        self.content = False
        self.understood = False
        self.invalid = ""
        self._called = (0, "")  # number and name of the latest call of the answer
        self.watched = _ALL
        self._quoted = ""

    def note(self, event: ev.Event) -> None:
        """Look at the next event."""
        if isinstance(event, ev.CallStart) and event.candidate == 0:
            self._called = event.call, event.name
        elif (
            isinstance(event, ev.CallInvalid) and event.call == self._called[0] and not self.invalid
        ):
            quoted, name = shorten(printable(event.text), QUOTED), self._called[1]
            call = f"the call {name}" if name else "a call"
            self.invalid = f"the arguments of {call} are not a JSON object: {quoted}"
        if self.content or getattr(event, "candidate", 0) > 0:
            return
        if isinstance(event, ev.Text):
            self.content = bool(event.text) and not event.role
        elif isinstance(event, ev.Reasoning):
            self.content = bool(event.text)
        elif type(event) in _CONTENT:
            self.content = True
        elif type(event) in _UNDERSTOOD:
            self.understood = True
        elif isinstance(event, ev.Unknown) and len(self._quoted) < QUOTED:
            raw = event.raw
            text = printable(raw) if isinstance(raw, str) else short_json(raw, QUOTED)
            self._quoted += f" {text}"
        if self.content:
            self.understood, self.watched = True, _CALLS

    def nothing(self) -> str:
        """The message of the error that ends an answer in which nothing was understood."""
        if self._quoted:
            quoted = shorten(self._quoted.strip(), QUOTED)
            return f"nothing in the answer was understood; it begins with {quoted}"
        return "the answer has no content and no finish reason"


_ENDS: Final[Mapping[ev.End, str]] = {
    "cut": "the stream was cut before its end",
    "reset": "the connection was reset before the end of the stream",
    "aborted": "the client left before the end of the stream",
}


def describe_break(event: ev.Incomplete) -> str:
    """The message of the error that ends an answer whose stream stopped before its end."""
    message = _ENDS.get(event.end, "the stream stopped before its end")
    if event.rest:
        message += f", inside a message of which {len(event.rest)} characters had arrived"
    return message


def describe_failure(finish: ev.Finish) -> str:
    """The message of the error that ends an answer whose finish reason reports a failure: the
    reason, and the text beside it.
    """
    if finish.reason == "failed":
        return f"the run ended with the status {finish.raw!r}"
    return finish.raw if finish.message is None else f"{finish.raw}: {finish.message}"
