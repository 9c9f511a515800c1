"""A process that has imported a program, and runs it for each line that it gets.

It is started as a script and imports nothing from this package, so it is ready as soon as the
program is. A line on stdin is JSON: arguments, environment, working folder. The line on the
descriptor that ``HARNESS_OUT`` names has stdout, in base64, and the exit code.
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
    """Answer until stdin is closed."""
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
    """The output of the program and its exit code, as the interpreter would give them."""
    os.environ.clear()
    os.environ.update(environment)
    printed = BytesIO()
    with chdir(folder), redirect_stdout(TextIOWrapper(printed, "utf-8")) as stdout:
        try:
            status = program(arguments)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:  # noqa: BLE001  # any exception is printed, as the interpreter does
            traceback.print_exc()
            status = 1
        stdout.flush()
    return b64encode(printed.getvalue()).decode(), status


if __name__ == "__main__":
    main()
