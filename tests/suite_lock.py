"""Renews the lock of the suite, `harness/project/suite.lock.json`: ``make suite``.

    python -m tests.suite_lock [--freeze]

A version that is frozen stays as it is: a changed suite gets the next one, named for the month.
``--freeze`` freezes the version, for a release, and writes its cassettes and questions. It refuses
if the ledger has other verdicts than at the last freeze, and the rules have the same version.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from msgspec import to_builtins
from msgspec.structs import replace

from harness.judging.rules_version import RULES
from harness.project.suite import (
    FROZEN,
    LOCK,
    Frozen,
    SuiteLock,
    members,
    read_suite_lock,
    suite_digest,
    suite_files,
)

LEDGER = Path(__file__).parent / "ledger" / "kept"


def renewed(lock: SuiteLock, digest: str, files: int, month: str) -> SuiteLock:
    """The lock for a suite with this digest. ``month``: such as ``2026.11``."""
    version = lock.version
    if version in lock.frozen and lock.frozen[version].digest != digest:
        number, version = 1, month
        while version in lock.frozen:
            version = f"{month}.{number}"
            number += 1
    return replace(lock, version=version, digest=digest, files=files)


def frozen(lock: SuiteLock, rules: int, ledger: str) -> SuiteLock:
    """The lock with its version frozen. Raises `ValueError` for other verdicts by the same rules."""
    for version, before in lock.frozen.items():
        if before.rules == rules and before.ledger != ledger:
            raise ValueError(
                f"the ledger has other verdicts than suite {version}, and both have the rules"
                f" {rules}; raise RULES in harness/judging/rules_version.py"
            )
    return replace(lock, frozen={**lock.frozen, lock.version: Frozen(lock.digest, rules, ledger)})


def ledger_digest(folder: Path = LEDGER) -> str:
    """The SHA-256 of the verdicts in the ledger."""
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        whole.update(path.name.encode() + b"\n" + path.read_bytes())
    return whole.hexdigest()


def main(arguments: list[str] | None = None, path: Path = LOCK) -> int:
    parser = argparse.ArgumentParser(description="Renew the lock of the suite.")
    parser.add_argument("--freeze", action="store_true", help="freeze the version, for a release")
    options = parser.parse_args(arguments)
    month = datetime.now(UTC).strftime("%Y.%m")
    lock = read_suite_lock(path) if path.exists() else SuiteLock(month, "", 0)
    lock = renewed(lock, suite_digest(), len(list(suite_files())), month)
    if options.freeze and lock.version not in lock.frozen:
        try:
            lock = frozen(lock, RULES, ledger_digest())
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        text = json.dumps(to_builtins(members()), indent=0)
        (FROZEN / f"{lock.version}.json").write_text(text + "\n", encoding="utf-8")
    path.write_text(json.dumps(to_builtins(lock), indent=2) + "\n", encoding="utf-8")
    print(f"suite {lock.version} ({lock.digest[:12]}), {lock.files} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
