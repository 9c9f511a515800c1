"""A process that imports a program once, and runs it for each line on stdin.

It is started as a script and imports nothing from this package, so only the program needs time to
start. A line on stdin is JSON: arguments, environment, working folder. The answer is a line on the
file descriptor in ``HARNESS_OUT``. It has the exit code, and stdout in base64.
"""

import json
import os
import sys
import traceback
from base64 import b64encode
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from importlib import import_module
from io import BytesIO, StringIO, TextIOWrapper


def main() -> None:
    """Answer lines until stdin is closed."""
    lines, sys.stdin = sys.stdin, StringIO()
    sys.path[:], name = json.loads(sys.argv[1])
    program = import_module(name)
    with os.fdopen(int(os.environ["HARNESS_OUT"]), "w") as out:
        program.warm_up()
        for line in lines:
            print(json.dumps(_run(program.main, *json.loads(line))), file=out, flush=True)


def _run(
    program: Callable[[list[str]], int],
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
) -> tuple[str, int]:
    """The program's output and exit code, which are the same as from the interpreter."""
    os.environ.clear()
    os.environ.update(environment)
    printed = BytesIO()
    with chdir(folder), redirect_stdout(TextIOWrapper(printed, "utf-8")) as stdout:
        try:
            status = program(arguments)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001  # prints any exception, as the interpreter does
            traceback.print_exc()
            status = 1
        stdout.flush()
    return b64encode(printed.getvalue()).decode(), status


if __name__ == "__main__":
    main()
