"""The page *Can Gemini take it?*: made from the table of the package,
`harness/server/refusals/models.tsv`. ``python -m tests.docs.model_page`` writes it.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Final

from harness.server.refusals import RULES
from harness.server.refusals.models import Row, read_rows

PAGE: Final = Path(__file__).parents[2] / "docs" / "can-gemini-take-it.md"
TITLES: Final = {
    "gemini-api": "Gemini API",
    "vertex-ai": "Vertex AI",
    "code-assist": "Code Assist",
    "interactions": "Interactions API",
    "openai-compat": "OpenAI-compatible endpoint",
    "live-api": "Live API",
}

_HEAD = """\
# Can Gemini take it?

The APIs of Gemini accept, refuse or ignore a value by API and by model. Each row of this page is a
public fact with its source: a recording that a project has published, a probe of the live API in a
thread, a report in a thread, or documentation. {rows} rows, {recordings} of them from recordings.

A field without `generationConfig` in its path is in it or in the request itself; `*` in a model's
name or in a value is any text, `!` begins the values that are not meant, and `**` is each Schema at
or below its place. A row that is *refused* names the
[rule](refused-requests.md) that [`harness serve`](serving.md) and `harness judge` check. A rule of
this table has the level `api` if its row has a recording, a live probe or two threads; otherwise it
ends in `-reported`, has the level `reported`, and refuses nothing.

`make model-page` writes this page from the
[table](../harness/server/refusals/models.tsv), and `make model-rows CORPORA="DIR DIR"` writes the
rows of recordings from folders of recordings.
"""
_VERDICTS = {
    "refused": "The API answers with an error.",
    "ignored": "The API answers, and the value has no effect.",
    "accepted": "The API answers.",
}


def page(rows: tuple[Row, ...]) -> str:
    """The text of the page."""
    recordings = sum(row.kind == "recording" for row in rows)
    lines = [_HEAD.format(rows=len(rows), recordings=recordings)]
    for verdict, meaning in _VERDICTS.items():
        lines += [f"## {verdict.capitalize()}\n", f"{meaning}\n"]
        with_rule = verdict == "refused"
        head = ["field", "API", "models", "note", "source", *(["rule"] if with_rule else [])]
        lines += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        chosen = sorted((row for row in rows if row.verdict == verdict), key=lambda row: row.field)
        for _, group in groupby(chosen, key=lambda row: row.field):
            lines += [_line(row, with_rule=with_rule) for row in group]
        lines.append("")
    return "\n".join(lines)


def _line(row: Row, *, with_rule: bool) -> str:
    apis = ", ".join(TITLES[api] for api in row.api.split(", "))
    models = (
        "all" if row.models == "*" else ", ".join(f"`{name}`" for name in row.models.split(", "))
    )
    sources = ", ".join(
        f"[{name.removeprefix('https://')}]({url})"
        for name, url in zip(row.source.split(", "), row.urls, strict=True)
    )
    cells = [f"`{row.field}`", apis, models, row.note, f"{row.kind}: {sources}"]
    if with_rule:
        cells.append(f"`{rule_of(row)}`" if row.rule else "–")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def rule_of(row: Row) -> str:
    """The name of the rule that checks a refused row."""
    names = {rule.name for rule in RULES}
    reported = f"{row.rule}-reported"
    return reported if row.level != "api" and reported in names else row.rule


if __name__ == "__main__":
    PAGE.write_text(page(read_rows()), encoding="utf-8", newline="\n")
