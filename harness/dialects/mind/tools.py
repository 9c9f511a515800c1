"""The declarations of the mind program's tools; `harness.systems.mind` runs the tools.

A stream is untrusted, so a tool is declared only if it may run. Tools that read files may always
run; other tools only if they are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final


def _tool(description: str, required: Sequence[str] = (), **properties: str) -> dict[str, Any]:
    """Return a declaration without its name; every parameter is a string, given as
    ``name=description``.
    """
    schema: dict[str, Any] = {
        "type": "OBJECT",
        "properties": {
            name: {"type": "STRING", "description": text} for name, text in properties.items()
        },
    }
    return {
        "description": description,
        "parameters": schema | ({"required": list(required)} if required else {}),
    }


_FILE: Final = "Path below the project folder"

DECLARATIONS: Final[dict[str, dict[str, Any]]] = {
    "read_file": _tool("Read a text file", ["path"], path=_FILE),
    "list_directory": _tool("List a folder", path=f"{_FILE}; that folder itself by default"),
    "search_file_content": _tool(
        "Search the lines of files",
        ["pattern"],
        pattern="Regular expression",
        path=f"{_FILE}, a file or a folder; everything by default",
    ),
    "glob": _tool(
        "Find files by name",
        ["pattern"],
        pattern="Pattern such as **/*.py, below the project folder",
    ),
    "codebase_investigator": _tool(
        "Find the files whose names fit a question",
        ["query"],
        query="Words to look for in file names",
    ),
    "run_shell_command": _tool(
        "Run a shell command in the project folder", ["command"], command="The command line"
    ),
    "write_file": _tool(
        "Write a text file, whole", ["path", "content"], path=_FILE, content="The text"
    ),
    "replace": _tool(
        "Replace a text everywhere in a file",
        ["path", "old_string", "new_string"],
        path=_FILE,
        old_string="The text to replace",
        new_string="The new text",
    ),
    "google_web_search": _tool("Search the web", ["query"], query="What to search for"),
    "web_fetch": _tool("Fetch a page of the web", ["url"], url="An http or https address"),
}
"""Tool → its declaration for the model. The records ``tool_code`` and ``tool_result`` have the
same names.
"""

READERS: Final = (
    "read_file",
    "list_directory",
    "search_file_content",
    "glob",
    "codebase_investigator",
)
"""The tools that may run without ``--allowed-tools``: they only read files of the project."""
