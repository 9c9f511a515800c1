"""``harness corpus`` over loopback: an HTTP server, and a git repository."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest
from msgspec.json import encode

from harness.cassettes import CassetteError
from harness.cli.main import main
from harness.project.corpus import CorpusFile, Repository, blob_id, read_lock
from harness.project.suite import CASSETTES

TEXT = (CASSETTES / "gemini-api" / "calls-and-text.yaml").read_bytes()
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "shop/tapes"
PATH = "tests/a b#[1].yaml"


def write_lock(lock: Path, **changes: object) -> None:
    facts: dict[str, object] = {"path": PATH, "blob": blob_id(TEXT), "size": len(TEXT)} | changes
    file = CorpusFile(**facts, wire="gemini-api", exchanges=2, streamed=2)  # type: ignore[arg-type]  # the rows give the other fields
    lock.write_bytes(encode(Repository(NAME, COMMIT, "MIT", (file,))) + b"\n")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of recordings. Its lock names one."""
    write_lock(tmp_path / "lock")
    monkeypatch.setattr("harness.project.corpus.LOCK", tmp_path / "lock")
    monkeypatch.setenv("HARNESS_CORPUS", str(tmp_path / "corpus"))
    return tmp_path / "corpus"


class Server(ThreadingHTTPServer):
    """Serves one file, and counts the bytes of each answer. ``breaks``: the next answer ends after
    this number of bytes.
    """

    content = TEXT
    breaks = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        span = self.headers.get("Range", "")
        self.server.asked.append((unquote(self.path), span))
        start = int(span.removeprefix("bytes=").removesuffix("-") or 0)
        content = self.server.content[start:]
        self.send_response(206 if span else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        end, self.server.breaks = self.server.breaks or None, 0
        self.wfile.write(content[:end])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        monkeypatch.setenv("HARNESS_CORPUS_URL", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server
        server.shutdown()


def test_a_file_is_fetched_once(
    corpus: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["corpus", "fetch"]) == 0
    assert (corpus / "shop+tapes" / PATH).read_bytes() == TEXT
    assert main(["corpus", "fetch", NAME]) == 0
    assert server.asked == [(f"/{NAME}/{COMMIT}/{PATH}", "")]
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("1 fetched, 0 were there, 0 not fetched: ")
    assert out.splitlines()[1].startswith("0 fetched, 1 were there, 0 not fetched: ")
    assert "licences: MIT (1)" in err


@pytest.mark.parametrize(
    "content",
    [TEXT.replace(b"a", b"b", 1), TEXT + b"\n", TEXT * 100],
    ids=["same size", "1 more", "huge"],
)
def test_another_content_is_refused(
    corpus: Path, server: Server, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    server.content = content
    assert main(["corpus", "fetch"]) == 1
    assert f"{NAME}/{PATH}: refused: its blob id is " in capsys.readouterr().err
    assert [path for path in corpus.rglob("*") if path.is_file()] == []


def test_a_download_that_broke_continues(corpus: Path, server: Server) -> None:
    server.breaks = 1000
    assert main(["corpus", "fetch"]) == 1
    assert not (corpus / "shop+tapes" / PATH).exists()
    assert main(["corpus", "fetch"]) == 0
    assert [span for _, span in server.asked] == ["", "bytes=1000-"]
    assert (corpus / "shop+tapes" / PATH).read_bytes() == TEXT


def test_a_file_that_was_changed_is_fetched_again(corpus: Path, server: Server) -> None:
    assert main(["corpus", "fetch"]) == 0
    (corpus / "shop+tapes" / PATH).write_bytes(TEXT.replace(b"a", b"b", 1))
    assert main(["corpus", "fetch"]) == 0
    assert (corpus / "shop+tapes" / PATH).read_bytes() == TEXT


@pytest.mark.parametrize(
    "path",
    ["../a", "a/../../b", "/etc/passwd", "a//b", "a\\..\\b", "C:a", ".git/config", "a\nb", ""],
)
def test_a_path_that_leaves_the_folder_is_refused(
    path: str, corpus: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    write_lock(corpus.parent / "lock", path=path)
    assert main(["corpus", "fetch"]) == 2
    assert "leaves its folder, or is not portable" in capsys.readouterr().err
    assert not server.asked
    assert not corpus.exists()


def test_a_link_out_of_the_folder_is_refused(
    corpus: Path, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus.mkdir()
    (corpus / "shop+tapes").symlink_to(tmp_path)
    assert main(["corpus", "fetch"]) == 2
    assert "a link leads out of" in capsys.readouterr().err
    assert not server.asked


@pytest.mark.parametrize(
    "changes", [{"blob": "12"}, {"blob": "../../a"}, {"size": -1}, {"size": "1"}]
)
def test_a_damaged_lock_is_refused(changes: dict[str, object], tmp_path: Path) -> None:
    write_lock(tmp_path / "lock", **changes)
    with pytest.raises(CassetteError, match="lock:1: "):
        read_lock(tmp_path / "lock")


def test_a_server_that_is_no_url_is_refused(corpus: Path) -> None:
    assert main(["corpus", "fetch", "--base", "file:///etc"]) == 2


def test_git_fetches_the_blobs_without_history(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    upstream = tmp_path / "git" / NAME
    (upstream / "tests").mkdir(parents=True)
    (upstream / PATH).write_bytes(TEXT)
    (upstream / "other").write_text("not named")
    user = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (["init", "-q"], ["add", "."], [*user, "commit", "-qm", "Add"]):
        subprocess.run(["git", *command], cwd=upstream, check=True)
    arguments = ["corpus", "fetch", "--git", "--base", f"file://{tmp_path}/git"]
    assert main(arguments) == 0
    assert (corpus / "shop+tapes" / PATH).read_bytes() == TEXT
    assert not (corpus / "shop+tapes" / "other").exists()
    write_lock(tmp_path / "lock", blob=COMMIT)
    assert main(arguments) == 1
    assert f"{NAME}/{PATH}: git: " in capsys.readouterr().err


def test_fetched_recordings_are_judged_by_name(
    corpus: Path, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "art", "--corpus"]) == 2
    assert "fetch some first: harness corpus fetch" in capsys.readouterr().err
    assert main(["corpus", "fetch"]) == 0
    assert main(["judge", "art", "--corpus", NAME, "--json", "judge.json"]) == 0
    text = Path("judge.json").read_text()
    assert f'"cassette":"shop+tapes/{PATH}"' in text
    assert str(corpus) not in text
    capsys.readouterr()
    assert main(["judge", "art", "--cassettes", f"shop+tapes/{PATH}:1"]) == 0
    assert "1 of 1 cell passed" in capsys.readouterr().out


def test_the_list_has_licences_and_what_was_fetched(
    corpus: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["corpus", "fetch"])
    capsys.readouterr()
    for command in (["list"], ["fetch", "--list"]):
        assert main(["corpus", *command]) == 0
        _, row, _ = capsys.readouterr().out.splitlines()
        size = f"{len(TEXT) / 1e6:.1f}"
        assert row.split() == [NAME, "MIT", "1", "1", "2", size, "MB", "gemini-api", "(1)"]
    assert main(["corpus", "list", "shop/tape"]) == 2
    assert "did you mean shop/tapes?" in capsys.readouterr().err
    assert main(["corpus", "list", "--wire", "smoke"]) == 2


def test_the_lock_of_the_package_has_only_whole_facts() -> None:
    repositories = read_lock()
    assert len(repositories) > 40
    assert sum(len(repository.files) for repository in repositories) > 2_400
    assert all(repository.licence for repository in repositories)
    paths = [(r.name, file.path.lower()) for r in repositories for file in r.files]
    assert len(set(paths)) == len(paths)
