"""`manage.py up`: the whole service in one command, on embedded or given servers.

1. Python version, DATA writable, no other `up` on it, port free: one sentence each if not.
2. PostgreSQL and Valkey, unless DATABASE_URL or REDIS_URL name real ones.
3. migrate, bootstrap (users, key and generator if the database has none).
4. web, workers, ticker; one line when /readyz answers.
5. Until a signal: restart what dies. Then stop everything, databases last.
"""

import argparse
import contextlib
import http.client
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from urllib.parse import quote, urlsplit

from aigc_site.embedded import EmbeddedError, locks, places, postgres, postgres_home, valkey
from aigc_site.embedded.children import Program, Stage
from aigc_site.embedded.processes import Manager, StopRequested
from aigc_site.embedded.servers import Server
from aigc_site.embedded.spawn import Command

ROOT = Path(__file__).resolve().parents[2]
OLDEST_PYTHON = (3, 11)
POOL = "default"  # the pool of generators that these workers serve
_SERVER_SECONDS = 120  # a crash recovery may take a while
_ONCE_SECONDS = 600  # migrate and bootstrap
_READY_SECONDS = 60
_ANOTHER_UP_SECONDS = 2.0  # one whose make was just killed needs a moment to notice
_PORT_SECONDS = 2.0  # the listener of a killed run may need a moment to be gone


@dataclass(frozen=True)
class Options:
    """What `up` was asked for. `data` is absolute."""

    host: str
    port: int
    data: Path
    workers: int
    stop_with_parent: bool

    @property
    def address(self) -> str:
        """The URL of what it listens on."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `up`; the environment (HOST, PORT, DATA) gives the defaults."""
    cores = max(1, min(os.cpu_count() or 1, 4))
    add = parser.add_argument
    add("--host", default=os.environ.get("HOST") or "127.0.0.1", help="address to listen on")
    add("--port", default=os.environ.get("PORT") or 8000, help="port to listen on")
    add("--data", type=Path, default=os.environ.get("DATA") or "var", help="folder for all data")
    add("--workers", default=cores, help=f"worker processes for the pool {POOL}")
    add("--stop-with-parent", action="store_true", help="end when the calling process ends")


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse and run; the exit status."""
    parser = argparse.ArgumentParser("manage.py up", description="Run the whole service.")
    add_arguments(parser)
    return run(vars(parser.parse_args(arguments)))


def run(parsed: Mapping[str, object]) -> int:
    """Run until a signal comes. 0 after an orderly stop, 1 when it could not run."""
    parent = os.getppid()  # before anything takes time: it may be gone soon
    try:
        options = _options(parsed)
        _check_python()
        _make_data(options.data)
        with _only_one(options.data):
            _check_port(options)
            _serve(options, _abandonment(parent if options.stop_with_parent else None))
    except EmbeddedError as error:
        say(str(error), stream=sys.stderr)
        return 1
    return 0


def say(line: str, *, stream: TextIO | None = None) -> None:
    """One line to the terminal, if there still is one."""
    with contextlib.suppress(OSError, ValueError):
        print(f"darkroom: {line}", file=stream or sys.stdout, flush=True)


def _options(parsed: Mapping[str, object]) -> Options:
    port = _number(parsed["port"], 65_535, "The port {} is not between 1 and {}: choose another.")
    workers = _number(
        parsed["workers"], 64, "{} workers are not between 1 and {}: choose another number."
    )
    data = Path(str(parsed["data"])).expanduser()
    data = Path(os.path.abspath(data))  # noqa: PTH100 - unlike resolve() it keeps a link
    return Options(str(parsed["host"]), port, data, workers, bool(parsed["stop_with_parent"]))


def _number(given: object, most: int, sentence: str) -> int:
    """Return a number from 1 on. What is none is refused like one that is too large."""
    try:
        number = int(str(given))
    except ValueError:
        number = 0
    if not 1 <= number <= most:
        raise EmbeddedError(sentence.format(given, most))
    return number


# --- before anything is started --------------------------------------------------------------


def _check_python() -> None:
    if sys.version_info < OLDEST_PYTHON:
        raise EmbeddedError("Python 3.11 or newer is needed: run with a newer one.")


def _make_data(data: Path) -> None:
    """Create DATA, closed to others. As root its folders can be passed: PostgreSQL's user must."""
    try:
        data.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        probe = data / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
        for name in ("logs", "results"):
            (data / name).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise EmbeddedError(
            f"The folder {data} cannot be written ({error.strerror}): "
            "choose another with DATA=... or change its owner."
        ) from error


@contextlib.contextmanager
def _only_one(data: Path) -> Iterator[None]:
    try:
        lock = locks.open_lock(data / "up.lock")
    except OSError as error:
        raise EmbeddedError(f"{data / 'up.lock'} cannot be opened: {error.strerror}.") from error
    try:
        if not locks.wait_lock(lock, _ANOTHER_UP_SECONDS):
            raise EmbeddedError(
                f"Darkroom is already running on {data}: stop it first or choose other DATA."
            )
        yield
    finally:
        os.close(lock)


def _check_port(options: Options) -> None:
    """Bind the address once. Raises EmbeddedError when it is taken or not ours."""
    deadline = time.monotonic() + _PORT_SECONDS
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    while True:
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((options.host, options.port))
                probe.listen()
                return
        except OSError as error:
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"Port {options.port} on {options.host} cannot be used "
                    f"({error.strerror}): choose another with PORT=..."
                ) from error
            time.sleep(0.1)


# --- the service -----------------------------------------------------------------------------


def _abandonment(parent: int | None) -> Callable[[], bool]:
    """Whether the process that started us, or the terminal we had, is gone.

    A hang-up signals only the leader of the session. When that is make, it does not pass it on.
    """
    nohup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    terminals = [] if nohup else [fd for fd in (0, 1, 2) if os.isatty(fd)]

    def gone() -> bool:
        if parent is not None and os.getppid() != parent:
            return True
        return not all(os.isatty(fd) for fd in terminals)

    return gone


def _serve(options: Options, stop_when: Callable[[], bool]) -> None:
    manager = Manager(options.data / "logs", say, stop_when=stop_when)
    with contextlib.suppress(StopRequested), manager as m, _told_when_it_stops():
        started = time.monotonic()
        environment = _environment(options, *_start_servers(m, options.data))
        _set_up(m, options, environment)
        _start_service(m, options, environment)
        url = environment["DARKROOM_PUBLIC_URL"]
        host = urlsplit(url).netloc
        while not m.wait_for(lambda: _ready(options, host), _READY_SECONDS, step=0.1):
            say(f"not ready after {_READY_SECONDS} s; the logs are in {options.data / 'logs'}")
        took = time.monotonic() - started
        say(f"ready at {url} after {took:.1f} s (Ctrl-C stops it)")
        m.run_forever()
    say("stopped")


@contextlib.contextmanager
def _told_when_it_stops() -> Iterator[None]:
    """Say at once that a signal was heard: draining the workers may take seconds."""
    try:
        yield
    except StopRequested:
        say("stopping… (once more: at once)")
        raise


def _start_servers(manager: Manager, data: Path) -> tuple[str, str]:
    """The URLs of PostgreSQL and Valkey; starts those that the environment does not name."""
    database = _foreign("DATABASE_URL", postgres_home.known_home(data))
    broker = _foreign("REDIS_URL", data / "valkey")
    waiting: list[tuple[str, Server]] = []
    if not database:
        waiting.append(("postgres", _prepare_postgres(data)))
        database = waiting[-1][1].url
    if not broker:
        waiting.append(("valkey", _prepare_valkey(data)))
        broker = waiting[-1][1].url
    for name, server in waiting:
        manager.start(_server_program(name, server))
    for name, server in waiting:
        if not manager.wait_for(server.ready, _SERVER_SECONDS, step=0.02):
            raise EmbeddedError(f"{name} does not answer; see {data / 'logs' / name}.log.")
    return database, broker


def _foreign(name: str, home: Path) -> str | None:
    """The server that the environment names, unless it is the embedded one of this very folder.

    Whoever has exported first-run.env names it without meaning to.
    """
    url = os.environ.get(name)
    password = home / "password"
    if url and password.is_file() and quote(password.read_text().strip(), safe="") in url:
        return None
    return url


def _prepare_postgres(data: Path) -> Server:
    home, said = postgres_home.choose_home(data)
    if said:
        say(said)
    lock = locks.take_from_leftovers(home / "lock")
    try:
        return postgres.prepare(home, places.kept_secret(home / "password"), lock)
    finally:
        os.close(lock)


def _prepare_valkey(data: Path) -> Server:
    home = places.private_folder(data / "valkey")
    return valkey.prepare(home, places.kept_secret(home / "password"))


def _server_program(name: str, server: Server) -> Program:
    def command() -> Command:
        return server.command(locks.take_from_leftovers(server.lock, patience=1.0))

    return Program(name, command, Stage.SERVER, server.stop_signal, server.lock)


def _environment(options: Options, database: str, broker: str) -> dict[str, str]:
    """What every child gets. DEBUG is never taken over from the shell."""
    ours = {
        "DATABASE_URL": database,
        "REDIS_URL": broker,
        "DARKROOM_DATA": str(options.data),
        "DJANGO_SETTINGS_MODULE": "aigc_site.settings",
        # Plain http on loopback is what `up` serves, so cookies cannot be for https only.
        "DARKROOM_INSECURE_HTTP": "1",
    }
    if not os.environ.get("DARKROOM_SECRET_KEY") and not os.environ.get("DARKROOM_SECRET_KEY_FILE"):
        ours["DARKROOM_SECRET_KEY"] = places.kept_secret(options.data / "secret.key")
    defaults = {
        "DARKROOM_PUBLIC_URL": options.address,
        # A worker must be done draining before the manager's patience ends.
        "DARKROOM_WORKER_DRAIN_SECONDS": "6",
        "PYTHONUNBUFFERED": "1",
        "DARKROOM_LOG_FORMAT": "text",  # its log files are for eyes
    }
    inherited = {name: value for name, value in os.environ.items() if name != "DARKROOM_DEBUG"}
    return defaults | inherited | ours


def _set_up(manager: Manager, options: Options, environment: Mapping[str, str]) -> None:
    """Migrate and create the first users. Prints the logins when they were made just now."""
    logins = options.data / "first-run.env"
    before = _logins(logins)
    url = environment["DARKROOM_PUBLIC_URL"]
    arguments = ("--env-file", str(logins), "--url", url)
    command = _python(environment, "-m", "aigc_site.embedded.database", *arguments)
    manager.run_to_end(Program("set-up", lambda: command, restart=False), _ONCE_SECONDS)
    say(f"starting at {url}; logins are in {logins}")
    now = _logins(logins)
    if any(line not in before for line in now if not line.startswith("DARKROOM_URL=")):
        for line in now:
            say(f"  {line}")


def _logins(path: Path) -> list[str]:
    """What the file says of users and their ways in; nothing when it is not there."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return []
    return [line for line in lines if line.startswith("DARKROOM_")]


def _start_service(manager: Manager, options: Options, environment: Mapping[str, str]) -> None:
    address = ("--host", options.host, "--port", str(options.port))
    manager.start(_program("web", environment, "web", *address))
    for number in range(1, options.workers + 1):
        manager.start(_program(f"worker-{number}", environment, "worker", POOL))
    manager.start(_program("polls", environment, "worker", f"{POOL}-polls"))
    manager.start(_program("callbacks", environment, "worker", "callbacks"))
    manager.start(_program("ticker", environment, "tick"))


def _program(name: str, environment: Mapping[str, str], *arguments: str) -> Program:
    return Program(name, lambda: _python(environment, str(ROOT / "manage.py"), *arguments))


def _python(environment: Mapping[str, str], *arguments: str) -> Command:
    return Command([sys.executable, *arguments], env=environment, cwd=ROOT)


def _ready(options: Options, public: str) -> bool:
    """Whether /readyz answers 200 at our own address. `public` is a Host that is allowed."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what the operator chose
    host = everywhere.get(options.host, options.host)
    connection = http.client.HTTPConnection(host, options.port, timeout=2)
    try:
        connection.request("GET", "/readyz", headers={"Host": public})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
