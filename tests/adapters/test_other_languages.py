"""The recipes of `examples/languages`: the build of each one passes as it is, and fails with a fault
in its adapter. The tool is a wheel of this checkout, which `uvx` installs as from an index.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import which
from typing import Final, NamedTuple

import pytest

from tests.support.need import need

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).parents[2]
RECIPES: Final = ROOT / "examples" / "languages"
DEBIAN: Final = {"maven": Path("/usr/share/maven-repo"), "cargo": Path("/usr/share/cargo/registry")}
"""The packages of Debian: the builds here download none of Maven's or Cargo's."""
SOURCES: Final = f"""
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "{DEBIAN["cargo"]}"
"""
REPOSITORY: Final = (
    f"allprojects {{ repositories {{ maven {{ url '{DEBIAN['maven'].as_uri()}' }} }} }}"
)


class Recipe(NamedTuple):
    """A recipe, the commands of its build, and a fault: a text of a file and what replaces it."""

    folder: str
    commands: tuple[str, ...]
    file: str
    old: str
    new: str


JS: Final = ("adapter.mjs", "kind: part.thought ? 'thought' : 'text'", "kind: 'other'")
CALLS: Final = (
    "src/main/java/Adapter.java",
    '"functionCall") ? "call"',
    '"functionCall") ? "other"',
)
MAVEN: Final = f"mvn -q -o -Dsurefire.version=2.22.3 -Dmaven.repo.local={DEBIAN['maven']} test"
GRADLE: Final = "gradle -q --offline --no-daemon -g ../gradle -I ../debian.gradle check"
RECIPE: Final = {
    "vitest": Recipe("vitest", ("npm install --no-audit --no-fund", "npm test"), *JS),
    "node-test": Recipe("node-test", ("npm test",), "gateway.mjs", "calls += 1;", ""),
    "go": Recipe("go", ("go test ./...",), "gateway.go", "nil)\n\t\t\t\t\t\tcalls++", "nil)"),
    "maven": Recipe("java", (MAVEN,), *CALLS),
    "gradle": Recipe("java", (GRADLE,), *CALLS),
    "rust": Recipe(
        "rust",
        ("cargo test -q --offline --config ../debian.toml",),
        "src/lib.rs",
        "block.or(candidate",
        "None.or(block).and(candidate",
    ),
    "ruby": Recipe(
        "ruby", ("ruby conformance_test.rb",), "adapter.rb", 'candidate["finish', 'candidate["'
    ),
}


@pytest.fixture(scope="module", name="environment")
def _environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a user, whose index has this checkout."""
    folder = tmp_path_factory.mktemp("index")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    build = ("uv", "build", "-q", "--wheel", "--no-build-isolation", "-o", folder, ROOT)
    subprocess.run(build, check=True, env={**os.environ, "PATH": path, "UV_PYTHON": sys.executable})
    return {
        **{name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"},
        "PATH": path,
        "UV_CACHE_DIR": str(folder / "cache"),
        "UV_FIND_LINKS": str(folder),
        "UV_PYTHON": sys.executable,
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # half the time of a build
    }


@pytest.mark.usefixtures("upstream")
@pytest.mark.parametrize("name", RECIPE)
def test_a_fault_in_the_adapter_fails_the_build(
    name: str, environment: Mapping[str, str], tmp_path: Path
) -> None:
    recipe = RECIPE[name]
    tools = {command.split()[0] for command in recipe.commands}
    need("languages", all(map(which, tools)), f"{' and '.join(tools)} not found")
    for tool in tools & {"mvn", "gradle", "cargo"}:
        need(
            "languages",
            DEBIAN["cargo" if tool == "cargo" else "maven"].is_dir(),
            f"no packages for {tool}",
        )
    project = tmp_path / recipe.folder
    unwritten = shutil.ignore_patterns("node_modules", "target", "build")
    shutil.copytree(RECIPES / recipe.folder, project, ignore=unwritten)
    (tmp_path / "debian.gradle").write_text(REPOSITORY)
    (tmp_path / "debian.toml").write_text(SOURCES)
    given = {**environment, "HARNESS_GATEWAY_ADDRESS": os.environ["HARNESS_GATEWAY_ADDRESS"]}

    def build() -> tuple[int, str]:
        for command in recipe.commands:
            ended = subprocess.run(
                command.split(), cwd=project, env=given, capture_output=True, text=True
            )
        return ended.returncode, ended.stdout + ended.stderr

    status, output = build()
    assert status == 0, output
    path = project / recipe.file
    text = path.read_text(encoding="utf-8")
    assert text.count(recipe.old) == 1
    path.write_text(text.replace(recipe.old, recipe.new), encoding="utf-8")
    status, output = build()
    assert status != 0
    assert "lost" in output, output


def test_the_page_names_each_recipe() -> None:
    page = (ROOT / "docs" / "other-languages.md").read_text(encoding="utf-8")
    folders = {path.name for path in RECIPES.iterdir()}
    assert folders == {recipe.folder for recipe in RECIPE.values()}
    assert all(f"| `{folder}` |" in page for folder in folders)
