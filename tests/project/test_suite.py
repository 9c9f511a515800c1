"""The suite is part of the wheel; in a checkout it is the repository's own folders."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness.project import suite
from harness.project.suite import (
    Frozen,
    SuiteLock,
    members,
    read_frozen,
    read_suite_lock,
    suite_digest,
)
from tests.suite_lock import frozen, renewed

ROOT = Path(__file__).parents[2]
LARGEST_WHEEL = 3_000_000


def test_the_suite_of_a_checkout_is_the_folders_of_the_repository() -> None:
    assert suite.CASSETTES == ROOT / "cassettes"
    assert suite.SPECS == ROOT / "specs"


def test_the_lock_has_the_digest_of_the_suite() -> None:
    lock = read_suite_lock()
    assert suite_digest() == lock.digest, "cassettes or specs have changed: run `make suite`"
    if kept := lock.frozen.get(lock.version):
        assert kept.digest == lock.digest
        assert members().cassettes == read_frozen(lock.version).cassettes
    assert suite.suite_name() == f"{lock.version} ({lock.digest[:12]})"


def test_the_digest_changes_with_each_path_and_byte(tmp_path: Path) -> None:
    for folder in ("cassettes", "specs"):
        (tmp_path / folder).mkdir()
    digests = {suite_digest(tmp_path)}
    for name, content in {"cassettes/a.yaml": "1", "specs/a.yaml": "1", "specs/b.yaml": ""}.items():
        (tmp_path / name).write_text(content)
        digests.add(suite_digest(tmp_path))
    (tmp_path / "specs/a.yaml").write_text("2")
    digests.add(suite_digest(tmp_path))
    (tmp_path / "specs/a.yaml").rename(tmp_path / "specs/c.yaml")
    digests.add(suite_digest(tmp_path))
    assert len(digests) == 6
    (tmp_path / "specs/.b.yaml.swp").write_text("hidden")
    (tmp_path / "README.md").write_text("elsewhere")
    assert suite_digest(tmp_path) in digests


def test_a_frozen_version_never_changes() -> None:
    open_lock = SuiteLock("2026.11", "aa", 1)
    assert renewed(open_lock, "bb", 2, "2026.12") == SuiteLock("2026.11", "bb", 2)
    closed = frozen(open_lock, 1, "ledger")
    assert renewed(closed, "aa", 1, "2026.12") == closed
    after = renewed(closed, "bb", 2, "2026.11")
    assert after == SuiteLock("2026.11.1", "bb", 2, {"2026.11": Frozen("aa", 1, "ledger")})
    assert renewed(closed, "bb", 2, "2026.12").version == "2026.12"
    assert renewed(frozen(after, 1, "ledger"), "cc", 2, "2026.11").version == "2026.11.2"


def test_other_verdicts_need_another_version_of_the_rules() -> None:
    closed = frozen(SuiteLock("2026.11", "aa", 1), 1, "ledger")
    later = renewed(closed, "bb", 2, "2026.12")
    with pytest.raises(ValueError, match=r"other verdicts than suite 2026\.11.*raise RULES"):
        frozen(later, 1, "other")
    assert frozen(later, 2, "other").frozen["2026.12"] == Frozen("bb", 2, "other")


def test_each_frozen_version_has_its_members() -> None:
    frozen_versions = set(read_suite_lock().frozen)
    assert {path.stem for path in suite.FROZEN.glob("*.json")} == frozen_versions
    for version in frozen_versions:
        assert read_frozen(version).cassettes["gemini-api/text"]
    with pytest.raises(ValueError, match=r"no suite 1999\.01 was frozen; the frozen versions are"):
        read_frozen("1999.01")


def test_only_the_project_of_the_suite_has_its_version(tmp_path: Path) -> None:
    assert suite.is_suite(suite.CASSETTES)
    assert not suite.is_suite(tmp_path)
    assert suite.is_of_suite("gemini-api/text")
    assert not suite.is_of_suite("gemini-api/text.yaml")


def test_a_changed_suite_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "read_suite_lock", lambda: SuiteLock("2026.11", "aa", 1))
    changed = suite.suite_name.__wrapped__()
    assert changed == f"2026.11+changed ({suite_digest()[:12]})"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    assert wheel.stat().st_size < LARGEST_WHEEL
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


@pytest.mark.slow
def test_a_wheel_has_every_cassette_and_spec(installed: Path) -> None:
    for name in ("cassettes", "specs"):
        shipped = {path.relative_to(ROOT) for path in (ROOT / name).rglob("*") if path.is_file()}
        inside = installed / "harness" / "suite"
        packed = {path.relative_to(inside) for path in (inside / name).rglob("*") if path.is_file()}
        assert shipped
        assert packed == shipped


@pytest.mark.slow
def test_an_installed_package_finds_the_suite_inside_itself(
    installed: Path, tmp_path: Path
) -> None:
    code = (
        "from harness.project.suite import CASSETTES; print(CASSETTES);"
        "from harness.project.project import shipped_features; print(shipped_features()[0])"
    )
    environment = os.environ | {"PYTHONPATH": str(installed)}
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    inside = installed / "harness" / "suite"
    assert run.stdout.split() == [
        str(inside / "cassettes"),
        str(inside / "specs" / "features.yaml"),
    ]


@pytest.mark.slow
def test_an_installed_package_has_its_locks(installed: Path) -> None:
    for name in ("suite.lock.json", "corpus.lock.jsonl"):
        packed = installed / "harness" / "project" / name
        assert packed.read_bytes() == (ROOT / "harness" / "project" / name).read_bytes()
