"""The mind program: a prompt on the command line, records of Gemini's answers on stdout.

`main` has the command and its loop, `files` and `shell_and_web` the tools. Run it as
``harness-mind`` or ``python -m harness.systems.mind``.
"""

from typing import Final

MAIN: Final = "harness.systems.mind.main"
