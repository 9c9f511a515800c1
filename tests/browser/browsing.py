"""Opens pages in a real browser: Debian's Chromium under Playwright, with the network off. Console
messages and requests of a page are noted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page


@dataclass
class Visit:
    """An open page, with all its console messages and requests."""

    page: Page
    messages: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def cells(self) -> int:
        """The number of cells that the page shows."""
        cells = self.page.locator("article > ul a")
        shown = cells.evaluate_all("all => all.filter(node => !node.closest('[hidden]')).length")
        return int(shown)

    def count(self) -> str:
        """The text of the tools about the cells found."""
        return self.page.locator(".tools output").inner_text()

    def choose(self, by: str, label: str) -> None:
        """Choose an option in one of the tools' lists."""
        self.page.locator(f"[data-by={by}]").select_option(label=label)


class Reader:
    """Opens files of a report, each in its own browser context."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.contexts: list[BrowserContext] = []

    def open(
        self,
        file: Path,
        anchor: str = "",
        *,
        dark: bool = False,
        width: int = 1280,
        height: int = 900,
        script: bool = True,
    ) -> Visit:
        """The page of a file, after its load event."""
        visit = Visit(self.context(dark=dark, width=width, height=height, script=script).new_page())
        visit.page.on("console", lambda message: visit.messages.append(message.text))
        visit.page.on("pageerror", lambda error: visit.messages.append(str(error)))
        visit.page.on("dialog", lambda dialog: visit.messages.append(f"dialog: {dialog.message}"))
        visit.page.on("request", lambda request: visit.asked.append(request.url))
        visit.page.goto(file.as_uri() + anchor)
        return visit

    def context(self, *, dark: bool, width: int, height: int, script: bool) -> BrowserContext:
        """A browser without a network."""
        context = self.browser.new_context(
            color_scheme="dark" if dark else "light",
            viewport={"width": width, "height": height},
            java_script_enabled=script,
            offline=True,
        )
        self.contexts.append(context)
        return context

    def close(self) -> None:
        """Close everything that was opened."""
        for context in self.contexts:
            context.close()
