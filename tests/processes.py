"""A running Darkroom for tests: real web, worker and ticker processes on the test databases."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from django.db import connection
from redis import Redis

from tasks_app.gates import keys

logging.getLogger("httpx").setLevel(logging.WARNING)

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 30.0
"""Seconds to wait for what must happen; generous, because machines are slow at times."""

T = TypeVar("T")

FAST_ENVIRONMENT = {
    "DARKROOM_LEASE": "3",
    "DARKROOM_CLAIM_LEASE": "2",
    "DARKROOM_GRACE": "3",
    "DARKROOM_SLOT_FENCE": "0.5",
    "DARKROOM_CONTROL_INTERVAL": "0.05",
    "DARKROOM_TICK_INTERVAL": "0.1",
    "DARKROOM_FIGURES_INTERVAL": "0.2",
    "DARKROOM_SWEEP_INTERVAL": "0.3",
    "DARKROOM_WORKER_DRAIN_SECONDS": "2",
}


def eventually(
    question: Callable[[], T | None],
    *,
    within: float = PATIENCE,
    pause: float = 0.05,
    why: str = "",
) -> T:
    """Ask until the answer is truthy, and return it. Fails after ``within`` seconds."""
    give_up = time.monotonic() + within
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > give_up:
            raise AssertionError(f"did not happen within {within:g} s: {why or question}")
        time.sleep(pause)


def database_url(host: str = "") -> str:
    """Return the URL of the database that this test uses, or of the same by way of ``host``."""
    values = connection.settings_dict
    password = f":{quote(values['PASSWORD'], safe='')}" if values["PASSWORD"] else ""
    host = host or quote(values["HOST"], safe="")
    port = f":{values['PORT']}" if values["PORT"] else ""
    return f"postgresql://{values['USER']}{password}@{host}{port}/{values['NAME']}"


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Service:
    """Starts and ends the processes of one Darkroom."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "artists.log"
        self._children: list[subprocess.Popen[bytes]] = []
        self._starting = threading.Lock()
        self._ending = threading.Event()
        self._keepers: list[threading.Thread] = []
        self.kept: dict[int, subprocess.Popen[bytes]] = {}
        """The kept workers, by the thread that keeps each."""
        self.died: dict[int, float] = {}
        """When kept workers were seen to have ended, by ``time.monotonic()``."""
        self._environment = {
            **os.environ,
            **FAST_ENVIRONMENT,
            "DATABASE_URL": database_url(),
            "DARKROOM_DATA": os.environ["DARKROOM_DATA"],
            "DARKROOM_PUBLIC_URL": self.url,
            "DARKROOM_INSECURE_HTTP": "1",
            "DARKROOM_TEST_LOG": str(self.log),
            "PYTHONPATH": str(ROOT),
            **environment,
        }

    def start(self, *command: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Start `manage.py COMMAND…`; its output goes to a file of the folder."""
        return self._spawn(command[0], str(ROOT / "manage.py"), *command, **environment)

    def python(self, source: str) -> "subprocess.Popen[bytes]":
        """Start a Python program; the settings are configured when it begins."""
        return self.program(f"import django\ndjango.setup()\n{source}")

    def program(self, source: str) -> "subprocess.Popen[bytes]":
        """Start a Python program."""
        return self._spawn("python", "-c", source)

    def _spawn(self, name: str, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
        with self._starting:
            number = len(self._children)
            with (self.folder / f"{number}-{name}.log").open("wb") as output:
                child = subprocess.Popen(
                    [sys.executable, *arguments],
                    env=self._environment | environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            self._children.append(child)
        return child

    def run(self, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run `manage.py COMMAND…` to its end."""
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *command],
            env=self._environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def web(self) -> "subprocess.Popen[bytes]":
        """Start the web server and wait until it is ready."""
        child = self.start("web", "--port", str(self.port))
        eventually(self.ready, why="the web server is ready")
        return child

    def workers(self, number: int, pool: str = "default") -> "list[subprocess.Popen[bytes]]":
        """Start workers and wait until each has given a sign of life."""
        before = self._alive(pool)
        started = [self.start("worker", pool) for _ in range(number)]
        eventually(lambda: len(self._alive(pool) - before) >= number, why="the workers live")
        return started

    def kept_workers(self, number: int, pool: str = "default") -> None:
        """Start workers that are started again whenever they end, as a supervisor does."""
        before = self._alive(pool)
        for _ in range(number):
            keeper = threading.Thread(target=self._keep, args=(pool,), daemon=True)
            self._keepers.append(keeper)
            keeper.start()
        eventually(lambda: len(self._alive(pool) - before) >= number, why="the workers live")

    def child(self, pid: int) -> "subprocess.Popen[bytes]":
        """Return the child with this process id."""
        return next(child for child in self._children if child.pid == pid)

    @property
    def redis_url(self) -> str:
        """Where this service reaches Redis."""
        return self._environment["REDIS_URL"]

    def redis(self) -> Redis:
        """Return a client of the Redis that this service uses."""
        return Redis.from_url(self.redis_url, socket_timeout=5)

    def _alive(self, pool: str) -> set[bytes]:
        found: list[bytes] = self.redis().zrange(keys.workers(pool), 0, -1)  # type: ignore[assignment]
        return set(found)

    def _keep(self, pool: str) -> None:
        child = self.start("worker", pool)
        me = threading.get_ident()
        self.kept[me] = child
        while not self._ending.wait(0.1):
            if child.poll() is not None:
                self.died.setdefault(child.pid, time.monotonic())
                child = self.kept[me] = self.start("worker", pool)

    def ticker(self) -> "subprocess.Popen[bytes]":
        """Start a ticker."""
        return self.start("tick")

    def client(self, key: str | None = None) -> httpx.Client:
        """Return an HTTP client, with an API key if one is given."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False)

    def stop(self) -> None:
        """End everything that was started."""
        self._ending.set()
        for keeper in self._keepers:
            keeper.join()
        for child in self._children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
                child.send_signal(signal.SIGCONT)
        give_up = time.monotonic() + 10
        for child in self._children:
            try:
                child.wait(max(0.1, give_up - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            kill_group(child)
        for name, output in sorted(self.outputs().items()):  # shown by pytest on a failure
            print(f"--- {name}\n{output[-4000:]}")

    def ready(self) -> bool:
        """Whether the web server answers, and so do its databases."""
        try:
            return httpx.get(f"{self.url}/readyz", timeout=2, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def outputs(self) -> dict[str, str]:
        """Return what each process printed."""
        return {path.name: path.read_text(errors="replace") for path in self.folder.glob("*-*.log")}


def kill_group(child: "subprocess.Popen[Any]") -> None:
    """kill -9 a child and everything it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()
