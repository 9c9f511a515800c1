"""The page of the table of models is current."""

from __future__ import annotations

from harness.server.refusals.models import read_rows
from tests.docs.model_page import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read_rows()), "run `make model-page`"
