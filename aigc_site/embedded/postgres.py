"""One PostgreSQL in a folder: create it, its command line, its URL, is it ready.

It listens on a Unix socket in a private folder only, and every login needs the password
(scram-sha-256). The service's role owns its database and may create others; it is no superuser,
and nobody can log in as the superuser.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg

from aigc_site.embedded import EmbeddedError, places, postgres_home
from aigc_site.embedded.spawn import Command, Identity, spawn

ROLE = DATABASE = "darkroom"
_SOCKET = ".s.PGSQL.5432"
_INITDB_SECONDS = 120
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "log_min_duration_statement": "1s",
    # Files below its data: in /dev/shm, what a killed server leaves would stay for ever.
    "dynamic_shared_memory_type": "mmap",
    # Containers often have a small /dev/shm; the service needs no parallel plans.
    "max_parallel_workers_per_gather": "0",
    # Long transactions bloat the queue table: end what was forgotten.
    "idle_in_transaction_session_timeout": "5min",
}
UNSAFE_BUT_FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "autovacuum_naptime": "5s",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "min_wal_size": "32MB",
    "log_min_duration_statement": "-1",
}


@dataclass(frozen=True)
class Postgres:
    """A prepared PostgreSQL. `home` holds the data, the lock and (if short) the socket."""

    home: Path
    sockets: Path
    install: Path
    identity: Identity
    password: str
    settings: Mapping[str, str]

    # SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for the clients to leave.
    stop_signal = signal.SIGINT
    # When the manager is gone nobody would help a fast shutdown that hangs, which one does that
    # meets a recovery after the crash of a backend. SIGQUIT always ends; the log is replayed.
    death_signal = signal.SIGQUIT

    @property
    def lock(self) -> Path:
        """The file that every process of the server holds locked."""
        return self.home / "lock"

    @property
    def url(self) -> str:
        """Where clients reach it, password included."""
        host = quote(str(self.sockets), safe="")
        return f"postgresql://{ROLE}:{quote(self.password, safe='')}@{host}/{DATABASE}"

    def command(self, lock: int) -> Command:
        """The server in the foreground. The caller holds `lock`, so no server is running."""
        for stale in (self.home / "data" / "postmaster.pid", self.sockets / f"{_SOCKET}.lock"):
            # Their pid may by now belong to any process; PostgreSQL would refuse to start.
            stale.unlink(missing_ok=True)
        (self.sockets / _SOCKET).unlink(missing_ok=True)
        options = _SETTINGS | dict(self.settings)
        options["unix_socket_directories"] = f'"{self.sockets}"'
        return Command(
            [
                self.install / "bin" / "postgres",
                *("-D", self.home / "data"),
                *(word for name, value in options.items() for word in ("-c", f"{name}={value}")),
            ],
            env=_environment(),
            cwd=self.home,
            identity=self.identity,
            death_signal=self.death_signal,
            inherit=(lock,),
        )

    def ready(self) -> bool:
        """Whether it answers a login."""
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


def prepare(
    home: Path, password: str, lock: int, settings: Mapping[str, str] | None = None
) -> Postgres:
    """Create the database cluster in home if there is none. The caller holds `lock`.

    Raises EmbeddedError when the binaries, the folder or initdb fail.
    """
    identity = places.server_identity(home)
    install = postgres_home.reachable_install(home, identity)
    sockets = places.socket_folder(home, _SOCKET + ".lock", identity)
    server = Postgres(home, sockets, install, identity, password, settings or {})
    if not (home / "data" / "PG_VERSION").exists():
        _create_cluster(server, lock)
    _check_version(server)
    return server


def _create_cluster(server: Postgres, lock: int) -> None:
    """Initdb into a draft folder that gets its name when it is complete."""
    draft = server.home / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    _run(
        server,
        lock,
        "initdb",
        *("-D", str(draft), "-U", "postgres", "--encoding=UTF8", "--locale=C"),
        *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--auth=reject"),
        "--no-instructions",
        *(["--no-sync"] if server.settings.get("fsync") == "off" else []),
    )
    places.write_private(
        draft / "pg_hba.conf", f"local all {ROLE} scram-sha-256\n", server.identity
    )
    _run(
        server,
        lock,
        "postgres",
        *("--single", "-j", "-D", str(draft), "-c", "password_encryption=scram-sha-256"),
        *("-c", "log_min_error_statement=panic", "postgres"),
        script=f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{server.password}';\n\n"
        f"CREATE DATABASE {DATABASE} OWNER {ROLE};\n\n",
    )
    draft.rename(server.home / "data")


def _run(server: Postgres, lock: int, program: str, *arguments: str, script: str = "") -> None:
    """One of PostgreSQL's own programs, to its end. Raises EmbeddedError when it fails."""
    command = Command(
        [server.install / "bin" / program, *arguments],
        env=_environment(),
        cwd=server.home,
        identity=server.identity,
        inherit=(lock,),
    )
    child = spawn(command, output=subprocess.PIPE, stdin=subprocess.PIPE)
    try:
        output, _ = child.communicate(script.encode(), timeout=_INITDB_SECONDS)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        raise
    if child.returncode != 0 or b"ERROR:" in output:
        reason = output.decode(errors="replace").strip()[-400:]
        raise EmbeddedError(f"PostgreSQL could not be set up in {server.home}: {reason}")


def _check_version(server: Postgres) -> None:
    """A folder made by another major version cannot be opened. Say so before the server does."""
    made_by = (server.home / "data" / "PG_VERSION").read_text().strip()
    installed = server.install.name.removeprefix("pginstall").split("-")[0]
    if installed and made_by != installed:
        raise EmbeddedError(
            f"{server.home} was made by PostgreSQL {made_by}, this is {installed}: "
            "dump it with the old version or choose other DATA."
        )


def _environment() -> dict[str, str]:
    """A clean environment: libpq and PostgreSQL read many PG* variables."""
    kept = ("PATH", "TZDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return found | {"LC_ALL": "C"}
