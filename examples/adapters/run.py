"""Judges the public adapters of this folder, without changes, each in a separate environment.

usage: run.py [NAME…] [--cassettes PATH…] [--cuts CUTS…] [--asked N] [--report DIR] [--resume]

Environments, results and logs are kept in ``build/peers``, so only one run at a time is possible.
With ``--resume``, an adapter is not judged again if it has results for this suite, its lock, its
shim and these options. The report has one page for all adapters. A complete run also writes
``docs/findings.md``. A loss does not change the exit status: it is 1 only if an adapter could not
be judged, or if a finding is missing or not seen (`findings.py`).
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple, get_args

from findings import main as write_findings

from harness.adapters.environment import CERTIFICATE
from harness.judging.aspect_run import Cuts
from harness.judging.judge_results import decode_results
from harness.project.suite import suite_name

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
BUILD: Final = ROOT / "build" / "peers"
HARNESS: Final = (str(Path(sys.prefix) / "bin" / "harness"), "judge")


class Peer(NamedTuple):
    """A public adapter: the folder of its shim, the lock of its environment, the target.

    ``previous_of``: the name of the newer version.

    ``service``: the command of a gateway, which runs while the gateway is judged; ``package``: the
    distribution that has the version of the gateway. ``wire``: the public wire that it writes.
    """

    folder: str
    lock: str
    target: str = "serve: shim:replay"
    service: tuple[str, ...] = ()
    package: str = ""
    wire: str = ""
    previous_of: str = ""


NODE: Final = "serve: node shim.mjs"
PORT: Final = 4000
PROXY: Final = ("litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(PORT))
OFFLINE: Final = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # else it downloads prices
TRUSTED: Final = {"SSL_CERT_FILE": str(CERTIFICATE)}
"""The setting of `harness judge`, also if the environment names other certificates."""
TIMEOUT_S: Final = "120"
"""The time for one exchange: some adapters import most of their code with the first exchange."""
STARTS_S: Final = 300.0
"""The time in which a gateway must start to listen."""
ATTEMPTS: Final = 2
"""A gateway that ends by itself is judged again: litellm's proxy has crashed in native code."""
PEERS: Final = {
    "google-genai": Peer("google-genai", "google-genai/requirements.txt"),
    "google-genai-2": Peer(
        "google-genai", "google-genai/requirements-2.34.txt", previous_of="google-genai"
    ),
    "litellm": Peer("litellm", "litellm/requirements.txt"),
    "litellm-anthropic": Peer("litellm-anthropic", "litellm/requirements.txt"),
    "langchain-google-genai": Peer(
        "langchain-google-genai", "langchain-google-genai/requirements.txt"
    ),
    "pydantic-ai": Peer("pydantic-ai", "pydantic-ai/requirements.txt"),
    "any-llm": Peer("any-llm", "any-llm/requirements.txt"),
    "google-adk": Peer("google-adk", "google-adk/requirements.txt"),
    "llm-gemini": Peer("llm-gemini", "llm-gemini/requirements.txt"),
    "google-genai-js": Peer("google-genai-js", "google-genai-js/package-lock.json", NODE),
    "ai-sdk": Peer("ai-sdk", "ai-sdk/package-lock.json", NODE),
    "gemini-cli": Peer("gemini-cli", "gemini-cli/package-lock.json", NODE),
    "strands-agents": Peer("strands-agents", "strands-agents/requirements.txt"),
    "llama-index": Peer("llama-index", "llama-index/requirements.txt"),
    "agno": Peer("agno", "agno/requirements.txt"),
    "haystack": Peer("haystack", "haystack/requirements.txt"),
    "semantic-kernel": Peer("semantic-kernel", "semantic-kernel/requirements.txt"),
    "langchain-google-genai-js": Peer(
        "langchain-google-genai-js", "langchain-google-genai-js/package-lock.json", NODE
    ),
    "genkit": Peer("genkit", "genkit/package-lock.json", NODE),
    "openai": Peer("openai", "openai/requirements.txt"),
    "openai-js": Peer("openai-js", "openai-js/package-lock.json", NODE),
    "langchain-openai": Peer("langchain-openai", "langchain-openai/requirements.txt"),
    "ai-sdk-openai-compatible": Peer(
        "ai-sdk-openai-compatible", "ai-sdk-openai-compatible/package-lock.json", NODE
    ),
    "openai-agents": Peer("openai-agents", "openai-agents/requirements.txt"),
    "autogen": Peer("autogen", "autogen/requirements.txt"),
    **{
        name: Peer(name, f"{name}/requirements.txt", "serve: shim:events", wire="ag-ui")
        for name in ("ag-ui-adk", "pydantic-ai-ag-ui")
    },
    **{
        f"litellm-proxy-{wire}": Peer(
            "litellm-proxy",
            "litellm/requirements.txt",
            f"gateway {wire}: http://127.0.0.1:{PORT}",
            PROXY,
            "litellm",
        )
        for wire in ("gemini", "anthropic", "openai-chat", "openai-responses")
    },
}


def main() -> int:
    """Judge the named adapters, or all. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Judge public adapters, each in an environment.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(PEERS)}")
    parser.add_argument("--cassettes", nargs="+", default=[], metavar="PATH")
    cuts = "as in harness judge (default: all three)"
    parser.add_argument("--cuts", nargs="+", default=get_args(Cuts), metavar="CUTS", help=cuts)
    parser.add_argument("--asked", type=int, default=1, metavar="N", help="minimum of exchanges")
    parser.add_argument("--report", type=Path, default=ROOT / "reports" / "peers", metavar="DIR")
    parser.add_argument("--resume", action="store_true", help="keep results that are still valid")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in PEERS]:
        parser.error(f"no adapter is called {', '.join(unknown)}; expected {', '.join(PEERS)}")
    names = options.names or list(PEERS)
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            parser.error(f"another run writes to {BUILD}; name all adapters in one run, or wait")
        return judge_all(names, options)


def judge_all(names: list[str], options: argparse.Namespace) -> int:
    """Install and judge the adapters, and write the report. Returns the exit status."""
    arguments = [
        *(["--cassettes", *options.cassettes] if options.cassettes else []),
        *("--cuts", *options.cuts),
    ]
    keys = {name: key_of(PEERS[name], arguments) for name in names}
    waiting = [name for name in names if not (options.resume and is_judged(name, keys[name]))]
    install({PEERS[name].lock for name in waiting})
    failed = []
    for name in waiting:
        key = BUILD / f"{name}.key"
        key.unlink(missing_ok=True)
        if judge(name, arguments, options.asked):
            key.write_text(keys[name])
        else:
            failed.append(name)
    judged = [str(BUILD / f"{name}.json") for name in names if name not in failed]
    if judged:
        subprocess.run([*HARNESS, *judged, "--report", str(options.report)], check=False)  # noqa: S603  # our own table of commands
    if failed:
        print(f"could not be judged: {', '.join(failed)}")
        return 1
    return 0 if options.names or options.cassettes else write_findings(judged)


def key_of(peer: Peer, arguments: list[str]) -> str:
    """A digest of all that results depend on: suite, options, lock and shim."""
    whole = hashlib.sha256(json.dumps([suite_name(), arguments, peer]).encode())
    folder = HERE / peer.folder
    own = (path for path in folder.iterdir() if path.is_file() and path.name != "README.md")
    for path in (HERE / peer.lock, HERE / "program.mjs", *sorted(own)):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def is_judged(name: str, key: str) -> bool:
    """Whether the results of an adapter have this key, and are whole."""
    file, results = BUILD / f"{name}.key", BUILD / f"{name}.json"
    if not (file.is_file() and results.is_file()) or file.read_text() != key:
        return False
    return not decode_results(results.read_bytes(), results.name).partial


def judge(name: str, options: list[str], asked: int) -> bool:
    """Judge one adapter, and keep its results. ``options``: arguments for `harness judge`. Returns
    whether it was judged.
    """
    peer, log, results = PEERS[name], BUILD / f"{name}.log", BUILD / f"{name}.json"
    programs = environment(peer.lock) / "bin"
    command = [
        str(programs / "harness"),
        *(
            "judge",
            f"{name}: {peer.wire} = {peer.target}" if peer.wire else f"{name} = {peer.target}",
        ),
        *("--json", str(results), "--timeout", TIMEOUT_S),
        *options,
    ]
    started, cpu = time.monotonic(), cpu_seconds()
    for _ in range(ATTEMPTS):
        with log.open("wb") as output, running(peer, programs, output) as gateway:
            status = subprocess.run(  # noqa: S603  # our own table of commands
                command,
                cwd=HERE / peer.folder,
                env={**os.environ, **TRUSTED},
                stdout=output,
                stderr=output,
                check=False,
            ).returncode
            ended = gateway.poll() if gateway else None
        if ended is None:
            break
        print(f"{name}: its gateway ended by itself, with status {ended}; {log}", flush=True)
    if status not in (0, 1):
        print(f"{name}: status {status}; {log}", flush=True)
        return False
    if peer.package:
        name_version(peer, programs, results)
    (adapter,) = decode_results(results.read_bytes(), results.name).adapters
    counts = Counter(cell.verdict for cell in adapter.cells)
    number = counts["passed"] + counts["failed"]
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    elapsed, cpu = time.monotonic() - started, cpu_seconds() - cpu
    print(f"{name} {adapter.version}: {words}; {elapsed:.0f} s, {cpu:.0f} s of CPU; {log}")
    sys.stdout.flush()
    texts = Counter(cell.aspects.get("text") for cell in adapter.cells)
    if number < asked or texts["kept"] < texts["lost"] + texts["wrong"] + texts["raised"]:
        print(f"{name}: expected at least {asked} exchanges, with most texts kept")
        return False
    return True


@contextmanager
def running(
    peer: Peer, programs: Path, output: IO[bytes]
) -> Iterator[subprocess.Popen[bytes] | None]:
    """The gateway of a peer, if it is one, while it is judged. Raises `TimeoutError`."""
    if not peer.service:
        yield None
        return
    program, *arguments = peer.service
    service = subprocess.Popen(  # noqa: S603  # our own table of commands
        [str(programs / program), *arguments],
        cwd=HERE / peer.folder,
        env={**os.environ, **TRUSTED, **OFFLINE},
        stdout=output,
        stderr=output,
    )
    try:
        wait_for(PORT, time.monotonic() + STARTS_S)
        yield service
    finally:
        service.terminate()
        service.wait()


def wait_for(port: int, deadline: float) -> None:
    """Wait until a port of this machine is open. Raises `TimeoutError`."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing listens at port {port}") from None
            time.sleep(0.2)
        else:
            return


def name_version(peer: Peer, programs: Path, results: Path) -> None:
    """Write the installed version into the results of a gateway, which does not report it."""
    code = f"from importlib.metadata import version; print(version('{peer.package}'))"
    found = subprocess.run(  # noqa: S603  # our own table of commands
        [str(programs / "python"), "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    document = json.loads(results.read_bytes())
    document["adapters"][0]["version"] = found.stdout.strip()
    results.write_text(json.dumps(document), encoding="utf-8")


def cpu_seconds() -> float:
    """The CPU time of all processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment(path: str) -> Path:
    """The folder of the programs for the adapter with this lock."""
    lock = HERE / path
    return Path(sys.prefix) if lock.suffix == ".json" else installed(lock)


def installed(lock: Path) -> Path:
    """The folder that is installed from a lock."""
    if lock.suffix == ".json":
        return lock.parent / "node_modules"
    return BUILD / f"{lock.parent.name}-{lock.stem}"


def install(paths: set[str]) -> None:
    """Install from the locks that have changed, two at a time. Raises `CalledProcessError`."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(install_from, sorted(HERE / path for path in paths)))


def install_from(lock: Path) -> None:
    """Install from a lock if it has changed, with the harness if it is a lock for Python. Raises
    `CalledProcessError`.
    """
    folder = installed(lock)
    ready, digest = folder / ".ready", hashlib.sha256(lock.read_bytes()).hexdigest()
    if ready.exists() and ready.read_text() == digest:
        return
    shutil.rmtree(folder, ignore_errors=True)
    print(f"installing {lock.relative_to(HERE)}", flush=True)
    if lock.suffix == ".json":
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=lock.parent)
    else:
        run(sys.executable, "-m", "venv", str(folder))
        pip = (str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet")
        run(*pip, "--no-deps", "--require-hashes", "-r", str(lock))
        run(*pip, "--no-deps", "-e", str(ROOT))
    ready.write_text(digest)


def run(*command: str, folder: Path = ROOT) -> None:
    """Run a command. Raises `CalledProcessError`."""
    subprocess.run(command, cwd=folder, check=True)  # noqa: S603  # our own table of commands


if __name__ == "__main__":
    sys.exit(main())
