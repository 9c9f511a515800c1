"""Renews the lock of the suite, `harness/project/suite.lock.json`: ``make suite``.

    python -m tests.suite_lock [--freeze]

A version that is frozen stays as it is: a changed suite gets the next one, named for the month.
``--freeze`` freezes the version, for a release.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from msgspec import to_builtins
from msgspec.structs import replace

from harness.project.suite import LOCK, SuiteLock, read_suite_lock, suite_digest, suite_files


def renewed(lock: SuiteLock, digest: str, files: int, month: str) -> SuiteLock:
    """The lock for a suite with this digest. ``month``: such as ``2026.11``."""
    version = lock.version
    if lock.frozen.get(version, digest) != digest:
        number, version = 1, month
        while version in lock.frozen:
            version = f"{month}.{number}"
            number += 1
    return replace(lock, version=version, digest=digest, files=files)


def frozen(lock: SuiteLock) -> SuiteLock:
    """The lock with its version frozen."""
    return replace(lock, frozen={**lock.frozen, lock.version: lock.digest})


def main(arguments: list[str] | None = None, path: Path = LOCK) -> int:
    parser = argparse.ArgumentParser(description="Renew the lock of the suite.")
    parser.add_argument("--freeze", action="store_true", help="freeze the version, for a release")
    options = parser.parse_args(arguments)
    month = datetime.now(UTC).strftime("%Y.%m")
    lock = read_suite_lock(path) if path.exists() else SuiteLock(month, "", 0)
    lock = renewed(lock, suite_digest(), len(list(suite_files())), month)
    if options.freeze:
        lock = frozen(lock)
    path.write_text(json.dumps(to_builtins(lock), indent=2) + "\n", encoding="utf-8")
    print(f"suite {lock.version} ({lock.digest[:12]}), {lock.files} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
