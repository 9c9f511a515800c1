"""Judges the public adapters of this folder, without changes, each in a separate environment.

usage: run.py [NAME…] [--cassettes PATH…] [--cuts CUTS…] [--asked N] [--site DIR] [--resume]

Environments, results and logs are kept in ``build/peers``, so only one run at a time is possible;
the results with ``--cassettes`` in ``build/peers/sample``. With ``--resume``, an adapter is not
judged again if it has results of this harness, for this suite, its lock, its shim and these
options. Each run writes the site of all results (`matrix.py`); a run of all adapters also writes
``docs/findings.md`` and ``docs/findings`` (`findings.py`). A loss does not change the exit status:
it is 1 only if an adapter could not be judged, or if a finding is missing or not seen.
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
from functools import cache
from pathlib import Path
from typing import IO, Final, NamedTuple, get_args

import findings
import matrix
from peers import BUILD, HERE, PEERS, PORT, ROOT, Peer

from harness.adapters.environment import CERTIFICATE
from harness.adapters.gateway import upstream_address
from harness.judging.aspect_run import JudgedCuts
from harness.judging.judge_results import decode_results
from harness.project.suite import suite_name

OFFLINE: Final = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # else it downloads prices
TRUSTED: Final = {"SSL_CERT_FILE": str(CERTIFICATE)}
"""The setting of `harness judge`, also if the environment names other certificates."""
TIMEOUT_S: Final = "120"
"""The time for one exchange: some adapters import most of their code with the first exchange."""
STARTS_S: Final = 300.0
"""The time in which a gateway must start to listen."""
PACKAGE: Final = ROOT / "harness"
NOT_JUDGING: Final = ("cli", "proving", "pytest_plugin", "recording", "report", "sweep")
"""The folders of the harness that change no verdict of `harness judge`."""
ATTEMPTS: Final = 2
"""A gateway that ends by itself is judged again: litellm's proxy has crashed in native code."""


def main() -> int:
    """Judge the named adapters, or all. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Judge public adapters, each in an environment.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(PEERS)}")
    parser.add_argument("--cassettes", nargs="+", default=[], metavar="PATH")
    cuts = "as in harness judge (default: all three)"
    parser.add_argument(
        "--cuts", nargs="+", default=get_args(JudgedCuts), metavar="CUTS", help=cuts
    )
    parser.add_argument("--asked", type=int, default=1, metavar="N", help="minimum of exchanges")
    parser.add_argument("--site", type=Path, default=matrix.SITE, metavar="DIR")
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
    """Install and judge the adapters, and write the site. Returns the exit status."""
    folder = BUILD / "sample" if options.cassettes else BUILD
    folder.mkdir(exist_ok=True)
    arguments = [
        *(["--cassettes", *options.cassettes] if options.cassettes else []),
        *("--cuts", *options.cuts),
    ]
    places = {name: Results(folder, name) for name in names}
    keys = {name: key_of(PEERS[name], arguments) for name in names}
    waiting = [name for name in names if not (options.resume and places[name].has(keys[name]))]
    install({PEERS[name].lock for name in waiting})
    failed = []
    for name in waiting:
        places[name].key.unlink(missing_ok=True)
        if judge(name, places[name], arguments, options.asked):
            places[name].key.write_text(f"{keys[name]}\n{' '.join(options.cuts)}\n")
        else:
            failed.append(name)
    if failed:
        print(f"could not be judged: {', '.join(failed)}")
    status = matrix.main(["--results", str(folder), "--output", str(options.site)])
    if failed or options.names or options.cassettes:
        return 1 if failed else status
    return findings.main([str(places[name].file) for name in names]) or status


class Results(NamedTuple):
    """The places of the results of one adapter."""

    folder: Path
    name: str

    @property
    def file(self) -> Path:
        """The results of `harness judge`."""
        return self.folder / f"{self.name}.json"

    @property
    def key(self) -> Path:
        """A line with the digest of all that the results depend on, and a line with their cuts."""
        return self.folder / f"{self.name}.key"

    @property
    def log(self) -> Path:
        """The output of the adapter and of the harness."""
        return self.folder / f"{self.name}.log"

    def has(self, key: str) -> bool:
        """Whether there are results of this key, and they are whole."""
        if not (self.key.is_file() and self.file.is_file()):
            return False
        if self.key.read_text().split()[:1] != [key]:
            return False
        return not decode_results(self.file.read_bytes(), self.file.name).partial


def key_of(peer: Peer, arguments: list[str]) -> str:
    """A digest of all that results depend on: the harness, the suite, options, lock and shim."""
    whole = hashlib.sha256(json.dumps([judge_digest(), suite_name(), arguments, peer]).encode())
    folder = HERE / peer.folder
    own = (*folder.glob(shim_of(peer)), *folder.glob("config.yaml"))
    shared = (*sorted(HERE.glob("*_client.py")), *sorted(HERE.glob("*.mjs")))
    for path in (HERE / peer.lock, *shared, *own):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


@cache
def judge_digest(package: Path = PACKAGE) -> str:
    """The SHA-256 of the code and the data of the harness that can change a verdict."""
    whole = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        place = path.relative_to(package)
        if path.is_file() and path.suffix != ".pyc" and place.parts[0] not in NOT_JUDGING:
            whole.update(f"{place.as_posix()}\n".encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def shim_of(peer: Peer) -> str:
    """The pattern of the name of a shim."""
    return "live_shim.*" if "live_shim" in peer.target else "shim.*"


def judge(name: str, places: Results, options: list[str], asked: int) -> bool:
    """Judge one adapter, and keep its results. ``options``: arguments for `harness judge`. Returns
    whether it was judged.
    """
    peer, log, results = PEERS[name], places.log, places.file
    if peer.lock.endswith(".json"):
        use_node_modules(HERE / peer.lock)
    programs = environment(peer.lock) / "bin"
    command = [
        str(programs / "harness"),
        *(
            "judge",
            f"{name}: {peer.wire} = {peer.target}" if peer.wire else f"{name} = {peer.target}",
        ),
        *("--json", str(results), "--timeout", TIMEOUT_S),
        *(("--losses", peer.losses) if peer.losses else ()),
        *peer.options,
        *options,
    ]
    started, cpu = time.monotonic(), cpu_seconds()
    for _ in range(ATTEMPTS):
        try:
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
        except OSError as error:
            print(f"{name}: {error}; {log}", flush=True)
            return False
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
    """The gateway of a peer, if it is one, while it is judged. Raises `OSError` if a port is in
    use, or if it does not start.
    """
    if not peer.service:
        yield None
        return
    program, *arguments = peer.service
    for port in (PORT, upstream_address()[1]):
        check_free(port)
    service = subprocess.Popen(  # noqa: S603  # our own table of commands
        [str(programs / program), *arguments],
        cwd=HERE / peer.folder,
        env={**os.environ, **TRUSTED, **OFFLINE},
        stdout=output,
        stderr=output,
    )
    try:
        wait_for(service, time.monotonic() + STARTS_S)
        yield service
    finally:
        service.terminate()
        service.wait()


def check_free(port: int) -> None:
    """Raise `OSError` if a port of this machine is in use."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        raise OSError(
            f"port {port} can't be used: {error.strerror}; end the program there"
        ) from None


def wait_for(service: subprocess.Popen[bytes], deadline: float) -> None:
    """Wait until a gateway listens at its port. Raises `OSError` if it ends, or is too slow."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", PORT), 1).close()
        except OSError:
            if service.poll() is not None:
                raise OSError(f"the gateway ended with status {service.returncode}") from None
            if time.monotonic() > deadline:
                raise OSError(f"nothing listens at port {PORT}") from None
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
    folder = BUILD / f"{lock.parent.name}-{lock.stem}"
    return folder / "node_modules" if lock.suffix == ".json" else folder


def use_node_modules(lock: Path) -> None:
    """Link ``node_modules`` beside the shim to what is installed from a lock: a program in
    JavaScript finds its packages only there.
    """
    link = lock.parent / "node_modules"
    if link.is_dir() and not link.is_symlink():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(installed(lock))


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
        copy = folder.parent
        copy.mkdir(parents=True, exist_ok=True)
        shutil.copy(lock, copy / "package-lock.json")
        shutil.copy(lock.with_name(lock.name.replace("-lock", "", 1)), copy / "package.json")
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=copy)
    else:
        uv = str(Path(sys.prefix) / "bin" / "uv")
        run(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
        install = (uv, "pip", "install", "--quiet", "--python", str(folder), "--no-deps")
        run(*install, "--require-hashes", "-r", str(lock))
        run(*install, "-e", str(ROOT))
    ready.write_text(digest)


def run(*command: str, folder: Path = ROOT) -> None:
    """Run a command. Raises `CalledProcessError`."""
    subprocess.run(command, cwd=folder, check=True)  # noqa: S603  # our own table of commands


if __name__ == "__main__":
    sys.exit(main())
