"""The result of one stream as a row of a table: the columns of the output."""

from __future__ import annotations

from typing import Final

from msgspec import field

from harness.judging.rows import Row


class StreamRow(Row, frozen=True, kw_only=True, tag="stream"):
    """The row of a captured stream. `COLUMNS` describes those of its fields that are in the output
    of a sweep.
    """

    id: str
    source: str
    version: str
    model: str | None = None
    status: int | None = None
    end: str = ""
    laws: dict[str, str] = field(default_factory=dict)
    layer: str = ""
    group: str = ""
    sentence: str = ""
    digest: str = ""
    against: str = ""
    worse: tuple[str, ...] = ()
    better: tuple[str, ...] = ()

    @property
    def red(self) -> bool:
        """Whether the row makes a sweep fail, because it could not be judged or a part of the
        documented wire is lost. With a baseline, only the aspects that the baseline kept are
        counted.
        """
        if self.verdict == "error":
            return True
        if self.against:
            return bool(self.worse) and not self.variants
        return self.verdict == "failed" and not self.variants


COLUMNS: Final = {
    "id": "The name of the stream.",
    "source": "The place of the stream, for `harness replay` and `harness show`.",
    "adapter": "The name of the adapter.",
    "version": "Its version.",
    "provider": "The provider of the answer.",
    "model": "The requested model, else the model that the answer names.",
    "status": "The HTTP status.",
    "end": "The end of the answer.",
    "verdict": "`passed`; `failed`: something is lost, wrong or raised; `error`: the row could not"
    " be judged; `not-carried`: every fact is a declared loss; `not-run`: nothing was compared.",
    "aspects": "The verdict of each aspect that was judged.",
    "laws": "The verdict of each law that was checked, by its number.",
    "layer": "The lowest layer in which something is lost: `events` or `payloads` of our event"
    " models, `facts` of other adapters.",
    "group": "The first reason without its values. Rows with the same group differ only in values.",
    "sentence": "The first reason as a sentence.",
    "variants": "The ways in which a failed answer differs from the documented wire. A row with"
    " a variant is never red.",
    "digest": "A digest of status, end and body. Rows of two sweeps with the same id and digest"
    " are about the same answer.",
    "against": "The name and version of the baseline, if there is one.",
    "worse": "The aspects that the baseline kept, and this adapter does not keep.",
    "better": "The aspects that this adapter keeps, and the baseline did not keep.",
}
"""The columns of an output row."""
