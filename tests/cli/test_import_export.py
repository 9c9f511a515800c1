"""The command ``harness import``, to a cassette and to a file for stock vcrpy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness import load
from harness.cassettes import Cassette, Exchange, Origin, dumps
from harness.cli.main import main
from tests.cli.project import BODY, EXCHANGE, write


def test_import_does_not_write_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    assert main(["import", "two.yaml", "-o", "link.yaml"]) == 2
    assert not (tmp_path / "outside.yaml").exists()


@pytest.mark.parametrize("command", [["import"], ["import", "--to", "vcrpy"]], ids=" ".join)
def test_import_checks_the_target_before_the_recording(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("there.yaml").write_text("precious", encoding="utf-8")
    assert main([*command, "nowhere.yaml", "-o", "there.yaml"]) == 2
    assert capsys.readouterr().err.startswith("harness: there.yaml already exists;")
    assert Path("there.yaml").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("command", [["import"], ["import", "--to", "vcrpy"]], ids=" ".join)
def test_a_file_above_the_target_is_found_before_the_recording(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("there.yaml").write_text("precious", encoding="utf-8")
    assert main([*command, "nowhere.yaml", "-o", "there.yaml/new/a.yaml"]) == 2
    assert capsys.readouterr().err == (
        "harness: there.yaml is a file, so there.yaml/new/a.yaml can't be written;"
        " name another file\n"
    )


@pytest.mark.parametrize("name", ["body.txt", "two.yaml"])
def test_an_imported_cassette_keeps_the_provider_that_the_user_named(name: str) -> None:
    Path("body.txt").write_bytes(BODY)
    assert main(["import", name, "--provider", "vertex-ai", "-o", "named.yaml"]) == 0
    answers = [exchange for exchange in load("named.yaml").exchanges if exchange.generates]
    assert answers
    assert {exchange.provider for exchange in answers} == {"vertex-ai"}


def test_import_redacts_secrets_and_states_the_source(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        main(
            [
                "import",
                "two.yaml",
                "-o",
                "new/dir/kept.yaml",
                "--source",
                "s",
                "--commit",
                "c",
                "--licence",
                "l",
            ]
        )
        == 0
    )
    text = Path("new/dir/kept.yaml").read_text(encoding="utf-8")
    assert "hush" not in text
    assert "AIza" not in text
    cassette = load("new/dir/kept.yaml")
    assert (cassette.origin.source, cassette.origin.commit, cassette.origin.licence) == (
        "s",
        "c",
        "l",
    )
    assert cassette.exchanges[1].body == BODY
    assert cassette.exchanges[1].request is not None
    assert cassette.exchanges[1].request.url.endswith("?alt=sse&key=REDACTED")


SECRETS = [
    "AIzaSyA-0123456789-0123456789-0123456",
    "ya29.a0AfH6SMBx-0123456789abcdef",
    "AQ.Ab8RN6Jx0123456789abcdefghij",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("command", [["import"], ["import", "--to", "vcrpy"]], ids=" ".join)
def test_a_secret_in_a_body_refuses_the_file(
    command: list[str], secret: str, capsys: pytest.CaptureFixture[str]
) -> None:
    leaky = Exchange(EXCHANGE.request, 200, {}, ((None, BODY + f': "{secret}"\n'.encode()),))
    write("leaky.yaml", dumps(Cassette((leaky,), Origin("imported"))))
    assert main([*command, "leaky.yaml", "-o", "out.yaml"]) == 2
    err = capsys.readouterr().err
    assert re.match(
        r"harness: leaky\.yaml: line \d+ shows an? .*; a file must not contain secrets", err
    )
    assert secret not in err
    assert not Path("out.yaml").exists()
