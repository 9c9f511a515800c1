"""What an answer says, gathered twice: from its raw bytes, and from the events and payloads that
were made of them.

Both halves end in the same `Facts`, and `losses` compares them. Nothing here imports anything of
ours: this is the witness behind the law that nothing is lost and nothing invented.
"""

from harness.facts.account import Facts
from harness.facts.comparison import losses

from .carried import gather_events, gather_payloads_anthropic, gather_payloads_unified
from .gemini import gather_body
from .gemini_cli import gather_cli
from .listened import gather_payloads_agent_events, gather_payloads_art, gather_payloads_mind
from .sent_back import Returned, gather_request, return_losses

__all__ = [
    "Facts",
    "Returned",
    "gather_body",
    "gather_cli",
    "gather_events",
    "gather_payloads_agent_events",
    "gather_payloads_anthropic",
    "gather_payloads_art",
    "gather_payloads_mind",
    "gather_payloads_unified",
    "gather_request",
    "losses",
    "return_losses",
]
