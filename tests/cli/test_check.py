"""The command ``harness check``."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassettes import Cassette, Origin, dumps
from harness.cli.main import main
from tests.cli.project import EXCHANGE, SPEC, write


def test_check_validates_specs_features_and_cassettes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("specs/a.yaml", SPEC)
    write("specs/other.yaml", "x: 1\n")
    write("specs/questions.yaml", QUESTION.replace("RECORDING", "a"))
    assert main(["check"]) == 0
    printed = capsys.readouterr().out
    assert printed == "1 spec, 1 question file, 1 cassette, 1 other file valid, 0 problems\n"


@pytest.mark.parametrize("option", ["--specs", "--cassettes"])
def test_check_of_a_named_folder_that_is_not_there_is_a_problem(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", option, "nosuch"]) == 1
    assert "nosuch: no such file or folder" in capsys.readouterr().out


QUESTION = """\
harness: 1
questions:
- question: again
  asks: The second request.
  turns: 2
  recordings: [gemini-api/RECORDING]
  ask: {}
"""


PROBLEMS = [
    (
        ("specs/q.yaml", QUESTION.replace("RECORDING", "nosuch")),
        "specs/q.yaml:6: no cassette gemini-api/nosuch: ",
    ),
    (("specs/q.yaml", QUESTION.replace("asks", "ask")), "specs/q.yaml:7: "),
    (
        ("specs/a.yaml", SPEC.replace("cassette:", "casette:")),
        "specs/a.yaml:7: unknown key 'casette'",
    ),
    (
        ("specs/a.yaml", SPEC.replace("gemini-api/a", "gemini-api/b")),
        "specs/a.yaml:7: no cassette gemini-api/b: cassettes/gemini-api/b.yaml does not exist; record or import it there, or use another name",
    ),
    (
        ("specs/a.yaml", SPEC.replace("exchange: 2", "exchange: 3")),
        "specs/a.yaml:8: cassette gemini-api/a has 2 exchanges; the case names number 3",
    ),
    (
        ("specs/a.yaml", SPEC.replace("gemini-api/a", "gemini_api/a")),
        "specs/a.yaml:7: no cassette gemini_api/a: cassettes/gemini_api/a.yaml does not exist; did you mean gemini-api/a?",
    ),
    (
        ("specs/a.yaml", SPEC.replace("  exchange: 2\n", "")),
        "specs/a.yaml:7: exchange 1 of cassette gemini-api/a does not generate; there is nothing to replay",
    ),
    (("specs/a.yaml", SPEC.replace("text.streaming", "text.steaming")), "specs/a.yaml:5: "),
    (
        (
            "specs/a.yaml",
            SPEC
            + "  known_failing: {unified-llm: {reason: r, link: 'https://x.example', expires: 2001-01-01}}\n",
        ),
        "specs/a.yaml:10: ",
    ),
    (
        ("specs/a.yaml", SPEC + "  kill: {unified-llm: text-last}\n"),
        "specs/a.yaml:10: unknown mutation 'text-last' (did you mean text-lost?); ",
    ),
    (
        ("specs/a.yaml", SPEC.replace("gemini-api/a", "gemini-api/a.yaml")),
        "specs/a.yaml:7: cassette 'gemini-api/a.yaml' ends in .yaml, which is left out here",
    ),
    (
        ("specs/b.yaml", SPEC.replace("harness: 1", "harnes: 1")),
        "specs/b.yaml:1: has `cases:` but does not begin with `harness: 1`",
    ),
    (
        ("cassettes/c.yaml", dumps(Cassette((EXCHANGE,), Origin("imported")))),
        "cassettes/c.yaml: line 8 shows a Google API key",
    ),
    (
        ("specs/features.yaml", "harness: 1\nfeatures: 7\n"),
        "specs/features.yaml:2: features must be a list, not the number 7",
    ),
    (
        ("cassettes/b.yaml", "version: 1\nmetadata:\n  harness: 1\n  origin: x\n"),
        "cassettes/b.yaml:4: metadata.origin must be 'recorded', ",
    ),
]


@pytest.mark.parametrize(("file", "problem"), PROBLEMS)
def test_check_lists_problems_with_file_and_line(
    file: tuple[str, str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb"),
    )
    write("specs/a.yaml", SPEC)
    write(*file)
    assert main(["check"]) == 1
    assert any(line.startswith(problem) for line in capsys.readouterr().out.splitlines())


def test_check_reports_a_damaged_cassette_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("cassettes/gemini-api/a.yaml", "version: 1\nmetadata:\n  harness: 1\n  origin: x\n")
    write("specs/a.yaml", SPEC)
    write("specs/b.yaml", SPEC)
    assert main(["check", "specs"]) == 1
    assert [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()[:-1]] == [
        "specs/a.yaml:7",
        "specs/b.yaml:7",
    ]
    assert main(["check"]) == 1
    known = "'recorded', 'loopback', 'imported' or 'written'"
    problem = f"cassettes/gemini-api/a.yaml:4: metadata.origin must be {known}, not 'x'"
    assert capsys.readouterr().out.splitlines() == [problem, "0 files valid, 1 problem"]


def test_check_reports_a_damaged_features_file_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("specs/a.yaml", SPEC)
    write("specs/b.yaml", SPEC)
    write("specs/features.yaml", "harness: 1\nfeatures: 7\n")
    assert main(["check"]) == 1
    problem = "specs/features.yaml:2: features must be a list, not the number 7"
    assert capsys.readouterr().out.splitlines() == [problem, "0 files valid, 1 problem"]


def test_a_check_without_files_is_a_problem(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 1
    assert capsys.readouterr().out == (
        f"nothing to check: neither {here / 'specs'} nor {here / 'cassettes'} has a YAML file; name"
        " files or folders, or import a recording: harness import FILE -o"
        " cassettes/gemini-api/hello.yaml\n0 files valid, 1 problem\n"
    )


def test_check_of_a_path_that_is_not_there_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "nowhere"]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "nowhere: no such file or folder"


def test_a_cassette_that_nothing_names_is_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("unused", "marked"):
        target = Path("cassettes", "gemini-api", f"{name}.yaml")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Path("two.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    Path("test_it.py").write_text("NAME = 'gemini-api/marked'\n", encoding="utf-8")
    main(["check"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("unused")] == [
        "unused: nothing names the cassette gemini-api/unused"
    ]


def test_prune_moves_unused_cassettes_only_on_request_and_only_without_problems(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb")
    for name in ("gemini-api/a", "gemini-api/unused", "test_shop/test_text[x]"):
        write(f"cassettes/{name}.yaml", text)
    write("tests/test_shop.py", "def test_text(letter):\n    pass\n")
    write("specs/a.yaml", SPEC.replace("cassette:", "casette:"))
    unused = Path("cassettes/gemini-api/unused.yaml")
    assert main(["check", "--prune", "--yes"]) == 1
    assert "nothing was moved, because there are problems" in capsys.readouterr().out
    assert main(["check", "--prune", "specs"]) == 1
    write("specs/a.yaml", SPEC)
    assert main(["check"]) == 0
    assert unused.exists()
    capsys.readouterr()
    assert main(["check", "--prune"]) == 0
    listed = capsys.readouterr().out
    assert "unused: nothing names the cassette gemini-api/unused\n" in listed
    assert "nothing was moved: add --yes to move 1 unused cassette to .harness/unused\n" in listed
    assert unused.exists()
    assert main(["check", "--prune", "--yes"]) == 0
    moved = ".harness/unused/cassettes/gemini-api/unused.yaml"
    assert f"moved: cassettes/gemini-api/unused.yaml to {moved}\n" in capsys.readouterr().out
    assert Path(moved).read_text(encoding="utf-8") == text
    assert sorted(path.name for path in Path("cassettes").rglob("*.yaml")) == [
        "a.yaml",
        "test_text[x].yaml",
    ]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("more/b.yaml", SPEC.replace("gemini-api/a", "gemini-api/shop-1")),
        ("run.sh", "harness replay gemini-api/shop-1\n"),
        ("tests/data.json", '["gemini-api/shop-1"]'),
        (".github/workflows/test.yml", "run: ./judge cassettes/gemini-api/shop-1.yaml\n"),
        ("tests/test_a.py", "class TestShop:\n    async def shop_1(self):\n        pass\n"),
    ],
)
def test_a_cassette_that_any_text_names_is_used(
    file: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = Path("two.yaml").read_text(encoding="utf-8")
    for name in ("gemini-api/shop-1", "test_a/TestShop.shop_1"):
        write(f"cassettes/{name}.yaml", recording)
    write(file, text)
    main(["check"])
    unused = [
        line.rpartition(" ")[2]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(("unused", "not decided"))
    ]
    is_test = file.endswith(".py")
    assert unused == ["gemini-api/shop-1" if is_test else "test_a/TestShop.shop_1"]


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("a.py", "NAMES = [f'gemini-api/{n}' for n in 'ab']\n", 1),
        ("a.py", "\ndef load(n):\n    return read('gemini-api/' + n)\n", 3),
        ("a.py", "FOLDER = Path('cassettes')\n", 1),
        ("a.py", "FILES = glob.glob('cassettes/*/*.yaml')\n", 1),
        ("a.py", "FOLDER = HERE / 'gemini-api'\n", 1),
        ("a.py", "def test_it(harness_replay, name):\n    harness_replay(name)\n", 2),
        ("a.py", "def test_it(harness_replay):\n    check(harness_replay)\n", 2),
        ("a.py", "from harness import load as read\nread(PATH)\n", 2),
        ("a.py", "import harness as h\nh.load(HERE / f'{name}.yaml')\n", 2),
        ("a.py", "@pytest.mark.harness_cassette(NAME)\ndef test_it(harness_cassette): ...\n", 1),
        ("a.py", "def test_it(harness_server):\n    harness_server.add(NAME)\n", 2),
        ("a.py", "import harness\nthis is no code\n", 1),
        ("run.sh", "for file in cassettes/gemini-api/*; do judge $file; done\n", 1),
        ("run.sh", 'harness replay "$1"\n', 1),
        ("run.sh", "find cassettes -name '*.yaml' | xargs judge\n", 1),
        ("a.mjs", "const path = `${root}/gemini-api/${name}.yaml`\n", 1),
    ],
)
def test_a_computed_name_leaves_a_cassette_undecided(
    file: str, text: str, line: int, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb")
    write("cassettes/gemini-api/lost.yaml", recording)
    write(file, text)
    assert main(["check", "--prune", "--yes"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"not decided: {file}:{line} computes the name of a cassette, which may be gemini-api/lost",
        "nothing was moved: no cassette is known to be unused",
    ]
    assert Path("cassettes/gemini-api/lost.yaml").exists()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.py", "def test_it(harness_replay):\n    harness_replay('gemini-api/other')\n"),
        ("a.py", "import harness\nharness.load(Path('cassettes/gemini-api/other.yaml'))\n"),
        ("a.py", "replay(body, provider='gemini-api')\nGEMINI = 'the cassettes of gemini-api'\n"),
        ("a.py", "import json\njson.load(file)\n"),
        ("README.md", "The recordings are in `cassettes/`.\n"),
        ("ruff.toml", "exclude = ['cassettes']\n"),
        (".gitattributes", "cassettes/** -whitespace\n"),
        ("Makefile", "check:\n\t$(BIN)/harness scan cassettes specs\n"),
        (".venv/a.py", "FOLDER = Path('cassettes')\n"),
    ],
)
def test_other_texts_leave_a_cassette_unused(
    file: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = Path("two.yaml").read_text(encoding="utf-8")
    for name in ("lost", "other"):
        write(f"cassettes/gemini-api/{name}.yaml", recording)
    write("specs/a.yaml", SPEC.replace("gemini-api/a", "gemini-api/other"))
    write(file, text)
    main(["check"])
    assert "unused: nothing names the cassette gemini-api/lost" in capsys.readouterr().out


def test_a_script_of_the_repository_around_the_project_names_a_cassette(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("app/cassettes/gemini-api/lost.yaml", Path("two.yaml").read_text(encoding="utf-8"))
    write(".git/HEAD", "")
    write("run.py", "FILE = 'app/cassettes/gemini-api/lost.yaml'\n")
    monkeypatch.chdir("app")
    main(["check"])
    assert "unused" not in capsys.readouterr().out


def test_prune_leaves_cassettes_outside_of_the_project(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path("two.yaml").read_text(encoding="utf-8").replace("&key=AIza", "&kei=AIzb")
    shared = here.parent / "shared" / "unused.yaml"
    shared.parent.mkdir()
    shared.write_text(text, encoding="utf-8")
    assert main(["check", "--prune", "--yes", "--cassettes", "../shared"]) == 1
    assert "nothing was moved: the folder of cassettes is outside" in capsys.readouterr().out
    assert shared.exists()


def test_a_spec_outside_of_the_folders_of_specs_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("specs/a.yaml", SPEC.replace("cassette: gemini-api/a\n  exchange: 2", "prompt: {}"))
    write("more/b.yaml", SPEC)
    write("other/c.yaml", SPEC)
    write("other/pyproject.toml", "")
    write("env/lib/c.yaml", SPEC)
    write("env/pyvenv.cfg", "")
    main(["check"])
    assert [line for line in capsys.readouterr().out.splitlines() if "not collected" in line] == [
        "not collected: more/b.yaml is a spec outside of the folders of specs"
    ]


def test_an_exchange_that_nothing_names_is_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unused() -> list[str]:
        main(["check"])
        lines = capsys.readouterr().out.splitlines()
        return [line for line in lines if line.startswith("unused")]

    target = Path("cassettes", "gemini-api", "two.yaml")
    target.parent.mkdir(parents=True)
    target.write_text(Path("two.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    Path("specs").mkdir(exist_ok=True)
    case = "harness: 1\ncases:\n- {case: a, requirement: It holds., features: [text.streaming], source: 'https://a.example/', cassette: gemini-api/two, expect: {art: [{type: END}]}}\n"
    Path("specs", "two.yaml").write_text(case, encoding="utf-8")
    assert unused() == ["unused: nothing names exchange 2 of the cassette gemini-api/two"]
    Path("test_it.py").write_text("NAME = 'gemini-api/two'\n", encoding="utf-8")
    assert unused() == []


@pytest.mark.parametrize(
    ("status", "body", "is_named"), [(200, "", True), (200, "x", False), (500, "", False)]
)
def test_check_and_import_name_an_answer_without_a_byte(
    status: int, body: str, *, is_named: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        "cassettes/gemini-api/a.yaml",
        "version: 1\ninteractions:\n- request:\n    method: POST\n    uri: https://"
        "generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse\n"
        "    headers: {}\n    body: '{}'\n  response:\n"
        f"    status: {{code: {status}, message: OK}}\n"
        f"    headers: {{Content-Type: [text/event-stream]}}\n    body: {{string: '{body}'}}\n",
    )
    line = "cassettes/gemini-api/a.yaml: nothing was recorded of the answer of exchange 1: it has"
    main(["check"])
    assert (line in capsys.readouterr().out) is is_named
    assert main(["import", "cassettes/gemini-api/a.yaml", "-o", "b.yaml"]) == 0
    assert (line in capsys.readouterr().err) is is_named
