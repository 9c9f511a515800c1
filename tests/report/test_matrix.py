"""The matrix of public adapters: a static site of stored results."""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
from contextlib import ExitStack
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from msgspec import convert
from msgspec.structs import replace

from harness.judging.judge_results import JudgeResults, decode_results, encode_results
from harness.report import ReportError
from harness.report.matrix import Dispute, matrix_files
from tests.support.aspect_samples import HOSTILE_RESULTS, OTHER, SHOP, cell
from tests.support.report_samples import HOSTILE

FOLDER = Path(__file__).parents[2] / "examples" / "adapters"
SUITE = "2026.11 (0123456789ab)"
NEW = replace(SHOP, suite=SUITE)
OLD = replace(NEW, version="1.1.0", day="2026-10-01")
THREAD = "https://example.org/threads/1"
DISPUTE = Dispute("shop", THREAD, ("finish",), "The word is documented.")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    groups = {"shop": [NEW, OLD], "other": [replace(OTHER, suite=SUITE)]}
    return matrix_files(groups, [DISPUTE])


def test_each_adapter_has_a_page_results_and_a_badge_for_each_version(
    files: dict[str, str],
) -> None:
    assert set(files) == {
        "index.html",
        "matrix.json",
        "shop/index.html",
        "shop/judge.json",
        "other/index.html",
        "other/judge.json",
        "badges/shop.svg",
        "badges/shop-1.1.0.svg",
        "badges/other.svg",
    }
    shop = decode_results(files["shop/judge.json"].encode(), "shop")
    assert shop.adapters == (NEW, OLD)
    assert "shop 1.2.3: ✕ 4 of 5 cells red" in files["badges/shop.svg"]
    assert "other unknown: ✓ 1 cell passed" in files["badges/other.svg"]


def test_the_index_has_versions_dates_suite_losses_and_disputes(files: dict[str, str]) -> None:
    page = files["index.html"]
    assert f"<small>suite {SUITE}</small>" in page
    assert "from <time>2026-10-01</time> to <time>2026-11-22</time>" in page
    assert "<td>1.1.0 <small>previous</small></td>" in page
    assert page.count("<td>media</td>") == 2
    assert page.count(f'<a href="{THREAD}">disputed: finish</a> The word is documented.') == 2
    assert "Documented wire" in page
    assert "Second turn" in page


def test_each_red_number_leads_to_its_finding_with_a_command(files: dict[str, str]) -> None:
    page = files["shop/index.html"]
    links = [part.partition('"')[0] for part in files["index.html"].split('href="shop/index.html#')]
    anchors = [link for link in links[1:] if link]
    assert len(anchors) > 4
    for anchor in anchors:
        assert f'id="{anchor}"' in page
    assert (
        "harness judge 'shop = serve: shims:shop' --cassettes gemini-api/a:1 --questions none"
        in unescape(page)
    )


def test_the_json_has_the_suite_and_the_counts(files: dict[str, str]) -> None:
    document = json.loads(files["matrix.json"])
    assert document["suite"] == SUITE
    other, new, old = document["adapters"]
    assert (other["is_red"], other["losses"], other["disputes"]) == (False, [], [])
    assert (new["version"], new["is_previous"]) == ("1.2.3", False)
    assert (old["version"], old["is_previous"]) == ("1.1.0", True)
    assert new["suite"] == SUITE
    assert new["aspects"]["documented"]["finish"] == {"wrong": 2, "kept": 1}
    assert new["aspects"]["second_turn"]["calls"] == {"lost": 1}
    assert new["verdicts"]["documented"] == {"passed": 1, "failed": 2, "error": 1}
    assert new["losses"] == ["media"]
    assert new["disputes"][0]["link"] == THREAD
    for entry in document["adapters"]:
        assert {entry["page"], entry["results"], entry["badge"]} <= set(files)


def test_results_of_two_suites_have_no_common_one() -> None:
    old = replace(OLD, suite="2026.10 (ba9876543210)")
    files = matrix_files({"shop": [NEW, old]})
    assert json.loads(files["matrix.json"])["suite"] == ""
    assert "<h1>Adapters of model streams</h1>" in files["index.html"]


def test_hostile_results_are_escaped() -> None:
    (hostile,) = HOSTILE_RESULTS.adapters
    files = matrix_files({HOSTILE: [hostile]})
    assert all("<script>alert" not in text for name, text in files.items() if "html" in name)
    for name in files:
        assert not name.startswith("/")
        assert ".." not in name.split("/")


@pytest.mark.parametrize(
    "dispute", [Dispute("shop", "javascript:alert(1)"), Dispute("shopp", THREAD)], ids=str
)
def test_a_dispute_without_a_web_address_or_adapter_is_refused(dispute: Dispute) -> None:
    with pytest.raises(ReportError, match="dispute"):
        matrix_files({"shop": [NEW]}, [dispute])


@pytest.mark.parametrize("names", [("a b", "a-b"), ("..",), ("badges",)], ids=str)
def test_a_name_that_is_no_folder_of_its_own_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ReportError):
        matrix_files({name: [NEW] for name in names})


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The scripts of the adapters' folder."""
    monkeypatch.syspath_prepend(FOLDER)
    modules = {}
    for name in ("peers", "findings", "matrix", "run"):
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        modules[name] = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, modules[name])
        spec.loader.exec_module(modules[name])
    return modules


def stored(folder: Path, name: str, **changes: Any) -> None:
    adapter = replace(SHOP, name=name, **changes)
    (folder / f"{name}.json").write_bytes(encode_results(JudgeResults((adapter,))))


def test_the_script_groups_the_versions_of_an_adapter(
    scripts: dict[str, ModuleType], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored(tmp_path, "google-genai", version="3.4.0")
    stored(tmp_path, "google-genai-2", version="2.34.0")
    disputes = tmp_path / "disputes.yaml"
    disputes.write_text(f"- adapter: google-genai\n  link: {THREAD}\n")
    given = ["--results", str(tmp_path), "--output", str(tmp_path / "site")]
    assert scripts["matrix"].main([*given, "--disputes", str(disputes)]) == 0
    assert "1 adapter, 2 versions" in capsys.readouterr().out
    document = json.loads((tmp_path / "site" / "matrix.json").read_bytes())
    versions = [(entry["name"], entry["version"]) for entry in document["adapters"]]
    assert versions == [("google-genai", "3.4.0"), ("google-genai", "2.34.0")]
    assert (tmp_path / "site" / "badges" / "google-genai-2.34.0.svg").is_file()
    assert scripts["matrix"].main(["--results", str(tmp_path / "site")]) == 1


def test_each_adapter_has_a_previous_version_with_a_lock_of_its_own(
    scripts: dict[str, ModuleType],
) -> None:
    peers = scripts["peers"]
    previous = {peer.previous_of: peer for peer in peers.PEERS.values() if peer.previous_of}
    assert {*previous} == {*peers.NEWEST}
    for name, peer in previous.items():
        assert peer == peers.NEWEST[name]._replace(lock=peer.lock, previous_of=name)
        folder, _, lock = peer.lock.partition("/")
        source = lock.replace("-lock", "").replace(".txt", ".in")
        assert (FOLDER / folder / source).is_file()
        text = (FOLDER / peer.lock).read_text(encoding="utf-8")
        assert peer.lock != peers.NEWEST[name].lock
        assert "sha512-" in text or "--hash=sha256:" in text
        assert '"resolved"' not in text  # a lock names no registry


def test_a_program_finds_the_packages_of_the_lock_that_is_judged(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scripts["run"]
    monkeypatch.setattr(run, "BUILD", tmp_path / "build")
    folder = tmp_path / "shop"
    (folder / "node_modules" / "left-over").mkdir(parents=True)
    for name in ("package-lock.json", "package-lock-1.0.json"):
        packages = run.installed(folder / name)
        packages.mkdir(parents=True)
        (packages / name).touch()
        run.use_node_modules(folder / name)
        assert [path.name for path in (folder / "node_modules").iterdir()] == [name]


def test_results_are_kept_only_if_they_are_whole_and_nothing_has_changed(
    scripts: dict[str, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = scripts["run"]
    places = run.Results(tmp_path, "litellm")
    peer = run.PEERS["litellm"]
    key = run.key_of(peer, ["--cuts", "recorded"])
    assert not places.has(key)
    stored(tmp_path, "litellm")
    (tmp_path / "litellm.key").write_text(f"{key}\nrecorded\n")
    assert places.has(key)
    assert run.key_of(peer, ["--cuts", "whole"]) != key
    assert run.key_of(run.PEERS["agno"], ["--cuts", "recorded"]) != key
    assert run.key_of(run.PEERS["litellm-1-105"], ["--cuts", "recorded"]) != key
    assert not places.has(run.key_of(peer, ["--cuts", "whole"]))
    with monkeypatch.context() as patch:
        patch.setattr(run, "judge_digest", lambda: "0")
        assert run.key_of(peer, ["--cuts", "recorded"]) != key
    monkeypatch.setattr(run, "suite_name", lambda: "2027.01 (0)")
    assert run.key_of(peer, ["--cuts", "recorded"]) != key
    document = json.loads((tmp_path / "litellm.json").read_bytes())
    document["plan"]["adapters"][0]["second_turn"].append("gemini-api/z:1")
    (tmp_path / "litellm.json").write_text(json.dumps(document))
    assert not places.has(key)


def test_only_the_files_that_can_change_a_verdict_change_the_key(
    scripts: dict[str, ModuleType], tmp_path: Path
) -> None:
    run = scripts["run"]
    folders = {path.name for path in run.PACKAGE.iterdir()}
    assert {*run.NOT_JUDGING} < folders
    digests = [run.judge_digest(tmp_path)]
    places = ("judging/laws/a.py", "questions.yaml", "report/a.py", "facts/__pycache__/a.pyc")
    for place in places:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        run.judge_digest.cache_clear()
        digests.append(run.judge_digest(tmp_path))
    assert len({*digests}) == 3
    assert digests[2] == digests[4]


GATEWAY = """
import socket, sys, time
if sys.argv[1] == "bad":
    sys.exit(3)
with socket.create_server(("127.0.0.1", int(sys.argv[2]))):
    time.sleep(60)
"""


def test_a_gateway_that_can_not_start_is_an_error_at_once(
    scripts: dict[str, ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = scripts["run"]
    (tmp_path / "gateway.py").write_text(GATEWAY)
    port, upstream = free_ports(2)
    monkeypatch.setattr(run, "PORT", port)
    monkeypatch.setenv("HARNESS_GATEWAY_ADDRESS", f"127.0.0.1:{upstream}")
    programs = Path(sys.executable).parent

    def started(how: str) -> None:
        service = ("python", str(tmp_path / "gateway.py"), how, str(port))
        peer = run.PEERS["litellm-proxy-gemini"]._replace(service=service)
        with (
            (tmp_path / "log").open("wb") as log,
            run.running(peer, programs, log) as process,
            pytest.raises(OSError, match=f"port {port} can't be used: .*; end the program there"),
            run.running(peer, programs, log),
        ):
            pass
        assert process.poll() is not None

    started("good")
    with pytest.raises(OSError, match="the gateway ended with status 3"):
        started("bad")
    with socket.create_server(("127.0.0.1", upstream)):
        monkeypatch.setattr(run, "environment", lambda lock: Path(sys.prefix))
        places = run.Results(tmp_path, "litellm-proxy-gemini")
        assert not run.judge("litellm-proxy-gemini", places, [], 1)
    listed = capsys.readouterr().out
    assert listed.startswith(f"litellm-proxy-gemini: port {upstream} can't be used: ")
    assert len(listed.splitlines()) == 1


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)
        ]
        return [each.getsockname()[1] for each in sockets]


def test_the_form_of_a_dispute_on_the_pages_is_read(files: dict[str, str]) -> None:
    findings = (
        (FOLDER.parents[1] / "docs" / "findings.md").read_text(encoding="utf-8").replace("\n", " ")
    )
    form = "- {adapter: ai-sdk, aspects: [finish], link: URL}"
    assert f"<code>{form}</code>" in files["index.html"]
    assert f"`{form}`" in findings
    assert convert(yaml.safe_load(form), list[Dispute]) == [Dispute("ai-sdk", "URL", ("finish",))]


def test_the_shipped_disputes_are_read(scripts: dict[str, ModuleType], tmp_path: Path) -> None:
    stored(tmp_path, "litellm", cells=(cell(text="kept"),), second_turn=(), unused_losses=())
    given = ["--results", str(tmp_path), "--output", str(tmp_path / "site")]
    assert scripts["matrix"].main(given) == 0
