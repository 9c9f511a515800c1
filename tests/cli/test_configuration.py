"""The folders and adapters that pytest's configuration names."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.main import main
from tests.cli.project import FEATURES, SPEC, write

CONFIGURED = [
    (
        "pytest.ini",
        "[pytest]\nharness_adapters =\n    # ours\n    shop = nowhere:replay\n    shop-program: shop = run: nothing --x=1\n",
    ),
    ("pyproject.toml", "[tool.pytest.ini_options]\nharness_adapters = ['shop = nowhere:replay']\n"),
    (
        "pyproject.toml",
        '[tool.pytest.ini_options]\nharness_adapters = """\nshop = nowhere:replay\n"""\n',
    ),
    ("pyproject.toml", "[tool.pytest]\nharness_adapters = ['shop = nowhere:replay']\n"),
    ("tox.ini", "[tox]\nenvlist = py\n[pytest]\nharness_adapters = shop = nowhere:replay\n"),
    ("setup.cfg", "[tool:pytest]\nharness_adapters = shop = nowhere:replay\n"),
]


@pytest.mark.parametrize(("name", "text"), CONFIGURED)
def test_commands_know_the_adapters_of_pytests_configuration(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("specs/a.yaml", SPEC.replace("unified-llm: []", "shop: []"))
    assert main(["check"]) == 1
    assert "unknown layer or dialect 'shop'" in capsys.readouterr().out
    write(name, text)
    assert main(["check"]) == 0
    assert main(["check", "--prove"]) == 1
    assert "no spec expects payloads or requests of an event model" in capsys.readouterr().err


FOLDERS = [
    ("pytest.ini", "[pytest]\nharness_specs = golden 'more of it'\nharness_cassettes = tapes\n"),
    (
        "setup.cfg",
        "[tool:pytest]\nharness_specs =\n    golden\n    'more of it'\nharness_cassettes = tapes\n",
    ),
    (
        "pyproject.toml",
        "[tool.pytest.ini_options]\nharness_specs = ['golden', 'more of it']\nharness_cassettes = 'tapes'\n",
    ),
    (
        "pyproject.toml",
        "[tool.pytest]\nharness_specs = ['golden', 'more of it']\nharness_cassettes = 'tapes'\n",
    ),
]


@pytest.fixture
def tapes() -> None:
    """A project whose specs and cassettes are in folders of other names than the usual ones."""
    write(
        "tapes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("golden/features.yaml", FEATURES)
    write("golden/a.yaml", SPEC.replace("text.streaming", "own.one"))
    write("more of it/b.yaml", SPEC.replace("text.streaming", "own.one"))


@pytest.mark.usefixtures("tapes")
@pytest.mark.parametrize(("name", "text"), FOLDERS)
def test_commands_read_the_folders_of_pytests_configuration(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(name, text)
    assert main(["check"]) == 0
    assert capsys.readouterr().out == "2 specs, 1 features file, 1 cassette valid, 0 problems\n"
    assert main(["check", "--prove"]) == 1
    assert "! b.yaml: a[unified-llm]: fails without a mutation" in capsys.readouterr().out
    assert main(["check", "--schema"]) == 0
    assert '"own.one"' in capsys.readouterr().out
    Path("tapes/gemini-api/a.yaml").unlink()
    assert main(["record", "--missing"]) == 0
    assert capsys.readouterr().err.startswith("harness: gemini-api/a: not recordable: ")


@pytest.mark.usefixtures("tapes")
def test_options_override_the_folders_of_the_configuration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("pytest.ini", "[pytest]\nharness_specs = nosuch\nharness_cassettes = nosuch\n")
    assert main(["check"]) == 1
    assert capsys.readouterr().out.startswith("nosuch: no such file or folder\n")
    assert main(["check", "--specs", "golden", "--cassettes", "tapes"]) == 0


BROKEN = [
    (
        "pytest.ini",
        "[pytest]\nharness_adapters = shop shop:replay\n",
        "harness_adapters: 'shop shop:replay' names no adapter; expected NAME = TARGET",
    ),
    (
        "pyproject.toml",
        "[tool.pytest.ini_options]\nharness_adapters = 5\n",
        "harness_adapters: '5' names no adapter",
    ),
    ("pytest.ini", "[pytest]\nharness_specs = 'golden\n", "harness_specs: No closing quotation"),
    (
        "pytest.ini",
        "harness_adapters = shop\n",
        "not a configuration of pytest: File contains no section headers",
    ),
    ("pyproject.toml", "[tool\n", "not a configuration of pytest: Expected ']'"),
]


@pytest.mark.parametrize(("name", "text", "fault"), BROKEN)
def test_a_configuration_that_cannot_be_read_is_bad_usage(
    name: str, text: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("specs/a.yaml", SPEC)
    write(name, text)
    assert main(["check"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"harness: {name}: {fault}")
    assert err.count("\n") == 1


def test_a_configuration_of_something_else_is_passed_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("specs/a.yaml", SPEC)
    write("pyproject.toml", "[project]\nname = 'x'\n")
    write("tox.ini", "[tox]\n")
    assert main(["check"]) == 0
    assert capsys.readouterr().out.endswith("0 problems\n")
