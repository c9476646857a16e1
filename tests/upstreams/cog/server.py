"""Cog's own server, in an environment of its own, which is made once and kept."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import httpx
import pytest

from aigc_site.embedded import locks
from tests.processes import eventually, free_port, kill_group

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
_INSTALL_SECONDS = 170


def environment() -> Path:
    """Return the folder of cog's environment; makes it if it is not there.

    It is not there where the network is not. Then the tests are skipped, or fail where CI is set:
    a promise that nobody checks is none.
    """
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:16]
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "darkroom-tests"
    home = kept / f"cog-{digest}"
    kept.mkdir(parents=True, exist_ok=True)
    lock = locks.open_lock(kept / "cog.lock")
    try:
        if not locks.wait_lock(lock, _INSTALL_SECONDS):
            raise AssertionError("another run makes the environment of cog and does not end")
        if not (home / "complete").exists():
            _make(home)
    finally:
        os.close(lock)
    return home


def _make(home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    command = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "--requirement"]
    done = subprocess.run(
        [*command, str(REQUIREMENTS)],
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    if done.returncode:
        reason = f"COG CANNOT BE INSTALLED, its tests do not run: {done.stderr[-500:]}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    (home / "complete").touch()


class Cog:
    """A server with the model of ``predict.py``."""

    def __init__(self) -> None:
        self._home = environment()
        self.folder = Path(tempfile.mkdtemp(prefix="darkroom-cog-"))
        self.log = self.folder / "log.txt"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        shutil.copy(HERE / "predict.py", self.folder)
        (self.folder / "cog.yaml").write_text('predict: "predict.py:Predictor"\n')
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready."""
        own = {
            "PATH": f"{self._home / 'bin'}:{os.environ['PATH']}",
            "COG_PREDICT_TYPE_STUB": "predict.py:Predictor",
            "PORT": str(self.port),
            "COG_LOG": str(self.log),
            "HOME": str(self.folder),
        }
        with (self.folder / "server.log").open("ab") as output:
            self._child = subprocess.Popen(
                [self._home / "bin" / "python", "-m", "cog.server.http"],
                cwd=self.folder,
                env=own,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        eventually(lambda: self.health() == "READY", why="cog is ready")

    def health(self) -> str:
        """Return what it says of itself; "" when it does not answer."""
        try:
            answer = httpx.get(f"{self.url}/health-check", timeout=2, trust_env=False)
            return str(answer.json()["status"])
        except (httpx.TransportError, ValueError):
            return ""

    def kill(self) -> None:
        """kill -9, with everything that it started."""
        if self._child is not None:
            kill_group(self._child)

    def stop(self) -> None:
        """End it and leave nothing behind."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def lines(self, what: str) -> list[str]:
        """Return the prompts of the predictions that did this."""
        if not self.log.exists():
            return []
        rows = [line.split("\t") for line in self.log.read_text().splitlines()]
        return [prompt for done, prompt in rows if done == what]
