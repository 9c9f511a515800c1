"""The mind program's tools for the shell and the web, which run only if ``--allowed-tools`` names
them.

A shell command starts in the project folder and has a time limit. Apart from that it may do
anything that the user may do.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_plus, unquote, urlsplit
from urllib.request import Request, urlopen

from .files import Arguments, ToolError

SHELL_SECONDS: Final = 60.0
WEB_SECONDS: Final = 20.0
MAX_OUTPUT: Final = 100_000
"""Characters of a command's output, and bytes of a page."""
MAX_RESULTS: Final = 5
SEARCH_URL: Final = "https://www.google.com/search"

_LINK: Final = re.compile(r'href="(?:/url\?q=)?(https?://[^"&]{1,2000})')


class ShellAndWebTools:
    """The tools for one project folder. ``search_url`` answers ``?q=…`` with a page of links."""

    def __init__(
        self, project: Path, search_url: str = SEARCH_URL, shell_seconds: float = SHELL_SECONDS
    ) -> None:
        self._project = project
        self._search_url = search_url
        self._shell_seconds = shell_seconds
        self.tools: Mapping[str, Callable[[Arguments], dict[str, Any]]] = {
            "run_shell_command": self.run_shell_command,
            "google_web_search": self.google_web_search,
            "web_fetch": self.web_fetch,
        }

    def run_shell_command(self, arguments: Arguments) -> dict[str, Any]:
        """Run a command in a process group of its own, so that the time limit also ends its
        children.
        """
        process = subprocess.Popen(  # noqa: S602  # the user allowed this shell
            arguments["command"],
            shell=True,
            cwd=self._project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=self._shell_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise ToolError(
                f"the command ran longer than {self._shell_seconds:g} s and was stopped"
            ) from None
        return {"stdout": _text(out), "stderr": _text(err), "exit_code": process.returncode}

    def google_web_search(self, arguments: Arguments) -> dict[str, Any]:
        page = _fetch(f"{self._search_url}?q={quote_plus(arguments['query'])}")
        own = urlsplit(self._search_url).hostname
        links = dict.fromkeys(unquote(link) for link in _LINK.findall(page))
        return {
            "results": [{"url": url} for url in links if urlsplit(url).hostname != own][
                :MAX_RESULTS
            ]
        }

    def web_fetch(self, arguments: Arguments) -> dict[str, Any]:
        return {"url": arguments["url"], "content": _fetch(arguments["url"])}


def _fetch(url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https"):
        raise ToolError(f"{url!r} is not an http or https URL")
    headers = {"User-Agent": "gemini-conformance"}
    request = Request(url, headers=headers)  # noqa: S310  # the scheme is checked above
    try:
        with urlopen(request, timeout=WEB_SECONDS) as answer:  # noqa: S310  # the scheme is checked above
            return _text(answer.read(MAX_OUTPUT))
    except HTTPException as error:
        raise ToolError(f"{url}: {type(error).__name__} {error}") from None


def _text(data: bytes) -> str:
    return data.decode(errors="replace")[:MAX_OUTPUT]
