"""Records the Gemini CLI again: ``python -m tests.clients.record_cli [CASSETTE…]`` writes
``cassettes/gemini-cli/recorded-*.yaml``.

The project's own recorder (``harness record``) runs the real program as a process, in a home and a
working folder made for it. ``harness serve`` answers it from the written cassettes beside this
module. The names of its folders are replaced in the output, since they depend on the machine.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from harness import load
from harness.cassettes import Cassette, Exchange, Origin
from harness.cassettes.redaction.guard import Guard
from harness.recording.atomic_file import save
from harness.server import serve

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
CLI: Final = HERE / "node_modules" / "@google" / "gemini-cli"
KEY: Final = "none"
NOTES: Final = "hello\n"
"""The text of notes.txt, the only file of the working folder."""
LIMIT_S: Final = 240.0


@dataclass(frozen=True)
class Run:
    """One run of the CLI. ``answers`` names the cassette with the answers. ``ends`` is the status
    of the expected error, see `status_of`. ``settings`` are added to settings.json.
    """

    answers: str
    prompt: str
    model: str = "gemini-3-flash-preview"
    streamed: bool = True
    key: bool = True
    ends: str = ""
    settings: dict[str, Any] = field(default_factory=dict)


CASSETTES: Final[dict[str, list[Run]]] = {
    "recorded-text": [
        Run("text", "Say hello."),
        Run("document", "How many files are there?", streamed=False),
    ],
    "recorded-tools": [
        Run("tools", "What is in this folder?"),
        Run("failing-tools", "Read missing.txt, then fly to Mars."),
    ],
    "recorded-turns": [Run("turns", "Look around, then tell me what the notes say.")],
    "recorded-errors": [
        Run("retried", "Say hello."),
        Run("broken", "Say hello.", ends="503"),
        Run("no-finish", "Say hello."),
        Run("refused-key", "Say hello.", ends="400"),
        Run("text", "Say hello.", key=False, ends="401"),
        Run(
            "turn-limit",
            "What is in this folder?",
            ends="53",
            settings={"model": {"maxSessionTurns": 1}},
        ),
    ],
}
"""The shipped cassettes, an exchange a run."""


def main(names: list[str]) -> int:
    """Record the named cassettes, by default all; returns the exit status."""
    if unknown := [name for name in names if name not in CASSETTES]:
        print(
            f"no cassette {', '.join(unknown)}; known ones are {', '.join(CASSETTES)}",
            file=sys.stderr,
        )
        return 2
    if not CLI.is_dir() or shutil.which("node") is None:
        print("the Gemini CLI is not installed; run `make test-clients`", file=sys.stderr)
        return 2
    for name in names or CASSETTES:
        path = ROOT / "cassettes" / "gemini-cli" / f"{name}.yaml"
        save(path, Guard().pieces(record(name), str(path)))
        print(f"recorded {path.relative_to(ROOT)}", flush=True)
    return 0


def record(name: str) -> Cassette:
    """The new recording of a cassette; raises CalledProcessError if the recorder refuses a run."""
    runs = CASSETTES[name]
    version = json.loads((CLI / "package.json").read_text(encoding="utf-8"))["version"]
    served = ", ".join(dict.fromkeys(f"{run.answers}.yaml" for run in runs))
    origin = Origin(
        "loopback",
        date=date.today().isoformat(),
        client=f"gemini-cli {version}",
        model=", ".join(dict.fromkeys(run.model for run in runs)),
        note=f"by tests/clients/record_cli.py; the CLI was served {served} of tests/clients/answers, and its folders are renamed",
    )
    return Cassette(tuple(record_run(run) for run in runs), origin)


def record_run(run: Run) -> Exchange:
    """The output of one run, with its exit code and stderr."""
    with (
        TemporaryDirectory() as made,
        serve(HERE / "answers" / f"{run.answers}.yaml", match="path") as server,
    ):
        folder = Path(made).resolve()
        project = folder / "project"
        environment = _prepare(folder, run, server.base_url)
        options = [
            "--provider",
            "gemini-cli",
            "--model",
            run.model,
            "--cassettes",
            str(folder),
            *(["--allow-status", run.ends] if run.ends else []),
        ]
        options += [
            "--prompt",
            run.prompt,
            "--program",
            shlex.join(["node", str(CLI / "bundle" / "gemini.js")]),
        ]
        command = [
            sys.executable,
            "-c",
            "import sys, harness.cli.main; sys.exit(harness.cli.main.main())",
            "record",
            "gemini-cli/run",
            *options,
        ]
        subprocess.run(
            [*command, *([] if run.streamed else ["--unary"])],
            cwd=project,
            env=environment,
            check=True,
            timeout=LIMIT_S,
        )
        (exchange,) = load(folder / "gemini-cli" / "run.yaml").exchanges
        return _rename(
            exchange,
            {str(folder): "/home/user", str(HERE / "node_modules"): "/usr/lib/node_modules"},
        )


def _prepare(folder: Path, run: Run, base_url: str) -> dict[str, str]:
    """Make a home with settings and a working folder with a file; returns the environment of the
    run.
    """
    settings = {
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        **run.settings,
    }
    for name in (".gemini", "project", "tmp"):
        (folder / name).mkdir()
    (folder / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "project" / "notes.txt").write_text(NOTES, encoding="utf-8")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),  # it writes a report of every error there
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "NO_COLOR": "1",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GOOGLE_GEMINI_BASE_URL": base_url,
        **({"GEMINI_API_KEY": KEY} if run.key else {}),
    }


def _rename(exchange: Exchange, names: dict[str, str]) -> Exchange:
    """The exchange with other names for folders. Raises ValueError if an old name is left, since a
    read may end inside a name.
    """

    def renamed(text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    reads = tuple(
        (at, renamed(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape"))
        for at, data in exchange.reads
    )
    headers = {
        name: [renamed(value) for value in values] for name, values in exchange.headers.items()
    }
    left = b"".join(data for _, data in reads).decode("utf-8", "replace") + str(headers)
    if left_names := [old for old in names if old in left]:
        raise ValueError(f"{left_names[0]} is cut by a read; record again")
    return replace(exchange, reads=reads, headers=headers)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
