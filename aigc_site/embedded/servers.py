"""Run one embedded server without the process manager, as tests do."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from aigc_site.embedded import EmbeddedError, locks, places, postgres, valkey
from aigc_site.embedded.spawn import Command, spawn

_STEP = 0.02  # seconds between two looks


class Server(Protocol):
    """What postgres.Postgres and valkey.Valkey have in common."""

    stop_signal: signal.Signals

    @property
    def lock(self) -> Path:
        """The file that every process of the server holds locked."""

    @property
    def url(self) -> str:
        """Where clients reach it, password included."""

    def command(self, lock: int) -> Command:
        """How to start it."""

    def ready(self) -> bool:
        """Whether it answers."""


class Running:
    """A server that was started; `stop` may be called more than once."""

    def __init__(self, server: Server, lock: int, log: Path) -> None:
        self.server, self._log = server, log
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self.process = spawn(server.command(lock), output=output)
        finally:
            os.close(output)
            os.close(lock)

    def wait_ready(self, seconds: float) -> None:
        """Return when the server answers; raises EmbeddedError if it ends or takes longer."""
        deadline = time.monotonic() + seconds
        while not self.server.ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise EmbeddedError(f"A server did not start; see {self._log}.")
            time.sleep(_STEP)

    def stop(self, grace: float = 5.0) -> None:
        """Shut down within `grace` seconds, else by force; nothing of it is left after."""
        if self.process.poll() is None:
            self.process.send_signal(self.server.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(grace)
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(locks.take_from_leftovers(self.server.lock, patience=0.5))


@contextlib.contextmanager
def running_postgres(home: Path, settings: Mapping[str, str] | None = None) -> Iterator[Running]:
    """A PostgreSQL in home for the length of a with block."""
    running = start_postgres(home, settings)
    try:
        yield running
    finally:
        running.stop()


@contextlib.contextmanager
def running_valkey(home: Path, settings: Mapping[str, str] | None = None) -> Iterator[Running]:
    """A Valkey in home for the length of a with block."""
    running = start_valkey(home, settings)
    try:
        yield running
    finally:
        running.stop()


def start_postgres(home: Path, settings: Mapping[str, str] | None = None) -> Running:
    """Create (if new) and start a PostgreSQL; returns when it answers."""
    places.private_folder(home, places.server_identity(home))
    lock = locks.take_from_leftovers(home / "lock")
    password = places.kept_secret(home / "password")
    server = postgres.prepare(home, password, lock, settings)
    running = Running(server, lock, home / "log")
    running.wait_ready(60)
    return running


def start_valkey(home: Path, settings: Mapping[str, str] | None = None) -> Running:
    """Start a Valkey; returns when it answers."""
    places.private_folder(home)
    lock = locks.take_from_leftovers(home / "lock")
    server = valkey.prepare(home, places.kept_secret(home / "password"), settings)
    running = Running(server, lock, home / "log")
    running.wait_ready(60)
    return running
