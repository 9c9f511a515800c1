"""Runs the Antigravity CLI (``agy``) and records its output
(https://antigravity.google/docs/cli/headless).

The CLI updates itself in the background, and its output does not contain its version. So the driver
first requests the version and writes it into the origin. Updates are off during the run. With
``--base-url``, the CLI calls another server only if its settings file contains ``{"modelProvider":
"gemini"}``.
"""

from __future__ import annotations

import os
import subprocess
from types import MappingProxyType

from harness.providers import PROGRAM
from harness.recording.drivers.gemini_cli import ProgramDriver
from harness.recording.settings import Settings
from harness.recording.tape import Tape

NO_UPDATE = "AGY_CLI_DISABLE_AUTO_UPDATE"
_VERSION_TIMEOUT_S = 20.0


class AgyDriver(ProgramDriver):
    """Runs the CLI once for each request."""

    default_program = ("agy",)
    install = "install it from https://antigravity.google/docs/cli/install"
    model_option = "--model"
    headers = MappingProxyType({PROGRAM: ["agy"]})

    def __init__(self, tape: Tape, settings: Settings) -> None:
        super().__init__(tape, settings)
        self._environment.setdefault(NO_UPDATE, "1")
        if version := self._version():
            tape.origin["client"] += f" {version}"

    def _version(self) -> str:
        """Return the last word of ``--version``; empty if the program prints none."""
        try:
            shown = subprocess.run(  # noqa: S603  # the command is the user's own
                [*self._program, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=True,
                timeout=_VERSION_TIMEOUT_S,
                env={**os.environ, **self._environment},
            )
        except (OSError, subprocess.SubprocessError):  # the run reports this error
            return ""
        words = shown.stdout.decode("utf-8", "replace").split()
        return words[-1] if words else ""
