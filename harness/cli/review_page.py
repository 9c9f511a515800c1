"""The local page of ``harness review --page``: each change with the recording beside it.

The server listens on a loopback address. Every path begins with a random token, so that no other
page can read it or send a decision; the host and the origin of each request are checked too. The
page has no script.
"""

from __future__ import annotations

import hmac
import os
import secrets
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Final
from urllib.parse import parse_qs

from harness.cassettes.redaction.secrets import mask
from harness.project.review import Review, SpecChange
from harness.specs.spec_error import SpecError
from harness.stream.printable import plural, printable

from .demo import open_url
from .output import note

MAX_FORM: Final = 4096
MOST_LINES: Final = 400
MOST_CHANGES: Final = 200
"""The number of changes that the page shows at a time."""
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_STYLE: Final = """
:root { color-scheme: light dark; --old: #b3261e; --new: #1a7f37; --line: #8884; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1rem auto; max-width: 90rem; }
main { padding: 0 1rem; }
section { border-top: 1px solid var(--line); padding: .8rem 0; }
h2 { font-size: 1rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
div.sides { display: grid; gap: 1rem; grid-template-columns: repeat(3, minmax(0, 1fr)); }
@media (max-width: 60rem) { div.sides { grid-template-columns: minmax(0, 1fr); } }
h3 { font-size: .8rem; font-weight: 600; margin: 0; }
pre { font: 12px/1.4 ui-monospace, monospace; margin: .2rem 0; max-height: 24rem; overflow: auto;
  overflow-wrap: anywhere; white-space: pre-wrap; }
pre.old { border-left: 3px solid var(--old); padding-left: .5rem; }
pre.new { border-left: 3px solid var(--new); padding-left: .5rem; }
form { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .5rem; }
button { font: inherit; padding: .2rem .8rem; }
"""


def serve_review(review: Review, *, open_browser: bool) -> None:
    """Serve the page until Ctrl-C. Prints its address."""
    token = secrets.token_urlsafe(24)
    with make_server(review, token) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/{token}/"
        print(f"Review at {address}\nCtrl-C ends it.", flush=True)
        if open_browser:
            open_url(address)
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            note("the page is closed")


def make_server(review: Review, token: str) -> ThreadingHTTPServer:
    """Return the server on a free port of 127.0.0.1."""
    lock = Lock()

    class Page(_Page):
        """The page of this review."""

    Page.review, Page.token, Page.lock = review, token, lock
    return ThreadingHTTPServer(("127.0.0.1", 0), Page)


class _Page(BaseHTTPRequestHandler):
    review: Review
    token: str
    lock: Lock

    def do_GET(self) -> None:
        if self._is_allowed(""):
            with self.lock:
                self._send_page()

    def do_POST(self) -> None:
        if not self._is_allowed("decide"):
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_FORM:
            self._send(400, "<p>The form is too long.")
            return
        form = parse_qs(self.rfile.read(int(length)).decode("ascii", "replace"))
        (name,), (word,) = form.get("change", [""]), form.get("decision", [""])
        with self.lock:
            try:
                self._decide(name, word)
            except (SpecError, OSError) as error:
                self._send(500, f"<p>{escape(printable(str(error)))}")
                return
        self.send_response(303)
        self.send_header("Location", f"/{self.token}/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _decide(self, name: str, word: str) -> None:
        change = self.review.change(name)
        if change is None:
            return  # decided in another window
        changes = self.review.group(change) if word.endswith("-all") else [change]
        if word in ("accept", "accept-all", "reject", "reject-all"):
            self.review.decide(changes, accept=word.startswith("accept"))

    def _is_allowed(self, rest: str) -> bool:
        """Return whether the path has the token, and the request comes from our own page."""
        path = f"/{self.token}/{rest}"
        own = f"127.0.0.1:{self.server.server_address[1]}"  # type: ignore[index]  # only a Unix socket has no pair
        is_own = (
            hmac.compare_digest(self.path.encode(), path.encode())
            and self.headers.get("Host") == own
            and self.headers.get("Origin", f"http://{own}") == f"http://{own}"
            and self.headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
        )
        if not is_own:
            self._send(403, "<p>Use the address that `harness review --page` printed.")
        return is_own

    def _send_page(self) -> None:
        try:
            changes = self.review.changes()
            body = "".join(map(self._section, changes[:MOST_CHANGES]))
        except (SpecError, OSError) as error:
            self._send(500, f"<p>{escape(printable(str(error)))}")
            return
        head = plural(len(changes), "change") if changes else "Nothing is left to review"
        if len(changes) > MOST_CHANGES:
            body += f"<p>{len(changes) - MOST_CHANGES:,} more are shown after these."
        self._send(200, f"<h1>{head}</h1>{body}")

    def _section(self, change: SpecChange) -> str:
        hunk = change.hunk
        buttons = [("accept", "Accept"), ("reject", "Reject")]
        if change.same > 1:
            buttons += [
                ("accept-all", f"Accept all {change.same}"),
                ("reject-all", f"Reject all {change.same}"),
            ]
        shown = "".join(
            f'<button name="decision" value="{word}">{text}</button>' for word, text in buttons
        )
        wire = list(self.review.wire(change))
        sides = (("Before", "old", hunk.old), ("After", "new", hunk.new), ("Wire", "wire", wire))
        columns = "".join(
            f'<div><h3>{title}</h3><pre class="{name}" tabindex="0">{_text(lines)}</pre></div>'
            for title, name, lines in sides
        )
        place = escape(printable(f"{os.path.relpath(change.path)}:{hunk.new_at + 1} {hunk.place}"))
        return (
            f'<section><h2>{place}</h2><div class="sides">{columns}</div>'
            f'<form method="post" action="/{self.token}/decide">'
            f'<input type="hidden" name="change" value="{change.id}">{shown}</form></section>'
        )

    def _send(self, status: int, body: str) -> None:
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>harness review</title><style>{_STYLE}</style>"
            f"<main>{mask().text(body)}</main></html>"
        ).encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing for each request."""


def _text(lines: list[str] | tuple[str, ...]) -> str:
    shown = [escape(printable(line)) for line in lines[:MOST_LINES]]
    return "\n".join(shown + (["…"] if len(lines) > MOST_LINES else []))
