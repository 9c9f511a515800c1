"""What the site's generator can't do by itself: generated pages, and links out of the docs."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parent))
from mkdocs.structure.files import File, Files
from reference import pages

from harness.specs.models import json_schema

_UP: Final = re.compile(r"\]\(((?:\.\./)+)([^)\s]+)\)")
"""A link to a folder above that of its page: the steps up, and the rest."""
_PAGES: Final = {"specs/features.yaml": "reference/features.md"}
"""The files of the repository that have a page of the reference."""
_MOVED: Final = tomllib.loads((Path(__file__).parent / "moved.toml").read_text(encoding="utf-8"))
_STUB: Final = """<!doctype html>
<meta charset="utf-8">
<title>Moved</title>
<meta http-equiv="refresh" content="0; url={address}{heading}">
<script>location.replace("{address}" + (location.hash || "{heading}"))</script>
<a href="{address}{heading}">This page has moved.</a>
"""
"""The page at an old address. An old link to a heading leads to the same heading."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the reference, the schema of specs at its ``$id``, and the old addresses."""
    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}", content=text))
    files.append(File.generated(config, "spec.schema.json", content=json.dumps(json_schema())))
    for old, new in _MOVED.items():
        page, sign, name = new.partition("#")
        address = "../" if page == "README" else f"../{page}/"
        stub = _STUB.format(address=address, heading=sign + name)
        files.append(File.generated(config, f"{old}/index.html", content=stub))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Point links that leave the folder of the docs to the repository, or to the page of the
    reference that shows the file.
    """
    if page.file.generated_by:
        return markdown
    root = config["repo_url"]
    below = page.file.src_uri.count("/")

    def target(link: re.Match[str]) -> str:
        if link[1].count("/") <= below:
            return link[0]
        if page_of_file := _PAGES.get(link[2]):
            return f"]({'../' * below}{page_of_file})"
        return f"]({root}/blob/main/{link[2]})"

    return _UP.sub(target, markdown)
