"""Hostile YAML: deep nesting, tags that could run code, and aliases."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness import replay
from harness.cassettes import CassetteError, loads
from harness.cassettes.importers import read
from harness.specs.spec_error import SpecError
from tests.security.samples import TEXT, exchange, spec

DEEP = 200_000
NESTINGS = {
    "flow lists": "  " + "[" * DEEP,
    "flow mappings": "  " + "{a: " * DEEP,
    "flow keys": "  " + "{? " * DEEP,
    "lists in lists": "- " * DEEP,
    "keys in keys": "? " * DEEP,
    "indented": "".join(f"\n{' ' * level}a:" for level in range(1, 2000)),
    "indented lists": "".join(f"\n{' ' * level}-" for level in range(1, 2000)),
}
READERS: dict[str, tuple[Any, type[Exception], str]] = {
    "cassette": (
        lambda text: loads(text.encode()),
        CassetteError,
        "version: 1\nmetadata: {harness: 1, origin: written}\ninteractions:\n",
    ),
    "spec": (spec, SpecError, "harness: 1\ncases:\n"),
    "recording": (lambda text: read(text.encode()), CassetteError, "interactions:\n"),
}


@pytest.mark.parametrize("nesting", NESTINGS)
@pytest.mark.parametrize("reader", READERS)
def test_nesting_is_refused_by_every_reader_of_yaml(reader: str, nesting: str) -> None:
    run, fault, head = READERS[reader]
    with pytest.raises(fault, match=r"nested deeper than 100 levels|a key must be a string"):
        run(head + NESTINGS[nesting])


@pytest.mark.slow
@pytest.mark.parametrize("opening", ["[", '{"a":', '{"log":{"entries":['])
def test_nesting_is_refused_by_the_readers_of_json(opening: str) -> None:
    with pytest.raises(CassetteError):
        read((opening * DEEP).encode())
    events = replay(exchange(b"data: " + opening.encode() * DEEP + b"\n\n" + TEXT), layer="events")
    assert [
        event["kind"] for event in events if event["kind"] in ("unknown", "text", "finish")
    ] == ["unknown", "text", "finish"]


@pytest.mark.slow
def test_the_yaml_library_alone_fails_on_deep_nesting() -> None:
    careless = (
        "import yaml; yaml.load('[' * 200000, Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", careless], capture_output=True, check=False
        ).returncode
        != 0
    )


OWNED = "!!python/object/apply:os.mkdir [owned]"


@pytest.mark.parametrize("reader", READERS)
def test_a_tag_runs_nothing(reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run, fault, head = READERS[reader]
    with pytest.raises(
        fault,
        match="no exchange|interactions|not" if reader == "recording" else "tag .* is not allowed",
    ):
        run(f"{head}- {OWNED}\n")
    assert not Path("owned").exists()
    yaml.unsafe_load(OWNED)  # an unprotected loader runs the same text
    assert Path("owned").exists()


@pytest.mark.parametrize("reader", ["cassette", "spec"])
def test_our_own_files_have_no_aliases(reader: str) -> None:
    run, fault, head = READERS[reader]
    with pytest.raises(fault, match="anchor &a is not allowed"):
        run(f"{head}- &a [x, x]\n- [*a, *a]\n")


def test_repeated_binary_is_measured_before_it_is_copied() -> None:
    megabyte = base64.b64encode(bytes(1 << 20)).decode()
    bomb = f"x: &a !!binary {megabyte}\ny: &b [{'*a, ' * 20}*a]\ninteractions:\n- request: {{method: POST, uri: u}}\n"
    with pytest.raises(CassetteError, match="with aliases expanded"):
        read(
            f"{bomb}  response: {{status: {{code: 200}}, parsed_body: [{'*b, ' * 20}*b]}}\n".encode()
        )
