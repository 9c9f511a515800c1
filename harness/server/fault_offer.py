"""Serves one exchange to one adapter under test, and a fault to its first requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from harness.providers import Identity
from harness.stream.exchange import Exchange

from .connection import GRACE_S, HttpRequest
from .google import fault_answer
from .offer import Offer
from .options import Options, ServedFault
from .response import ServedAnswer, recorded_answer

RETRY_AFTER_S: Final = 1
"""The value of ``Retry-After`` beside the statuses 429 and 503, in seconds."""
_MARGIN_S: Final = 0.5
"""The time that the server has to notice that a client has left."""


class FaultOffer(Offer):
    """Answers every request that generates. The first ``times`` of them get the fault.

    After the reads of a ``stall``, the server waits `GRACE_S` for the client to disconnect. Then it
    closes the connection.
    """

    def __init__(
        self,
        base_url: str,
        exchange: Exchange,
        fault: ServedFault | None,
        times: int,
        *,
        options: Callable[[], Options],
        close: Callable[[], object],
    ) -> None:
        super().__init__(base_url, [exchange], final=False, options=options, close=close)
        self._fault = fault
        self._times = times
        self._served: list[ServedAnswer] = []

    @property
    def answered(self) -> int:
        """1 if a request got the answer or the fault."""
        return min(1, len(self._served))

    def client_left(self) -> bool:
        """Wait for the client to disconnect from the last ``stall``. Return whether it did; True if
        there was none.
        """
        stalled = [answer.left for answer in self._served if answer.end == "aborted"]
        return not stalled or stalled[-1].wait(GRACE_S + _MARGIN_S)

    def _generated(self, request: HttpRequest, path: str, identity: Identity) -> ServedAnswer:
        (exchange,) = self._exchanges
        if miss := self._miss(request, exchange, exchange, path, identity):
            return miss
        fault = self._fault if len(self._served) < self._times else None
        match fault:
            case ServedFault("status", code):
                answer = fault_answer(request, code)
                if code in (429, 503):
                    headers = [*answer.headers, ("Retry-After", str(RETRY_AFTER_S))]
                    answer = replace(answer, headers=headers)
            case _:
                answer = recorded_answer(exchange, replace(self._options(), fault=fault))
        if answer.end == "stall":
            answer = replace(answer, end="aborted")
        self._served.append(answer)
        return answer
