"""The public wires that an adapter may write: it gives chunks or events, and needs no shim.

The reader of a wire is as strict as the official client of that wire. If the client would raise an
exception, drop a message or join the pieces of an answer to another message, the reader does the
same, or says that the message can't be read. It is a view of the one reader of the wire (`view`),
which also reads recordings, where the same oddities are no faults. AG-UI is no wire of a provider:
its reader is in the folder of that dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Final

from harness.facts import Entry, NoFact, Raised, check_fact

from ..reply import Reply
from .wire_reader import Unreadable, WireReader, messages_of, text_of_bytes

__all__ = ["WIRES", "Unreadable", "read_reply", "text_of_bytes"]

WIRES: Final[Mapping[str, str]] = {
    "gemini": "gemini:Gemini",
    "interactions": "interactions:Interactions",
    "anthropic-messages": "anthropic_messages:AnthropicMessages",
    "openai-chat": "openai_chat:OpenAIChat",
    "openai-responses": "openai_responses:OpenAIResponses",
    "ag-ui": "ag_ui:AgUi",
}
"""The word for each wire in configuration and on the command line, and the file and class of its
strict reader, which is imported when it is first used.
"""

UNREADABLE: Final = "UnreadableAnswer"
"""The type of the error for an answer that the official client can't read."""


def read_reply(reply: Reply, wire: str, *, streamed: bool | None = None) -> None:
    """Replace the native events of a reply, which are objects of the wire or text of server-sent
    events, by the messages of the wire with their facts.

    ``streamed``: the answer must be a stream, or one document; None: it may be either. A message
    that the official client can't read ends the answer like an exception.
    """
    strict: type[WireReader] = resolve_name(f"{__name__}.{WIRES[wire]}")
    reader = strict(streamed)
    items = [entry.native for entry in reply.entries]
    entries, times, fault, at = [], [], "", -1
    try:
        for message in messages_of(items, reader.framing):
            at = message.at
            entries.append(message.native)
            times.append(reply.times[at])
            reader.read(message)
    except Unreadable as error:
        fault = str(error)
        entries += items[at + 1 :]
        times += reply.times[at + 1 :]
    reader.close()
    facts = [*reader.facts, *([[]] * (len(entries) - len(reader.facts)))]
    try:
        facts = [[check_fact(fact) for fact in given] for given in facts]
    except NoFact as error:  # too large
        facts, fault = [[]] * len(entries), str(error)
    reply.entries = [
        Entry(native, tuple(given)) for native, given in zip(entries, facts, strict=True)
    ]
    reply.times = times
    if fault and reply.raised is None:
        number = len(reader.facts) or 1
        words = f"message {number} is not {wire}: {fault}"
        reply.raised = Raised(UNREADABLE, words, crash=True)
