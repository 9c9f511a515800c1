"""The suite is part of the wheel; in a checkout it is the repository's own folders."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness.project import suite

ROOT = Path(__file__).parents[2]
LARGEST_WHEEL = 2_000_000


def test_the_suite_of_a_checkout_is_the_folders_of_the_repository() -> None:
    assert suite.CASSETTES == ROOT / "cassettes"
    assert suite.SPECS == ROOT / "specs"


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
