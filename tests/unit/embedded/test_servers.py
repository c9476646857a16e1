"""PostgreSQL and Valkey on real folders: start, stop, kill, start again."""

import contextlib
import os
import shutil
import signal
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from aigc_site.embedded import EmbeddedError, locks, places, postgres, servers
from tests.unit.embedded.helpers import alive, eventually

Start = Callable[[Path], servers.Running]


def start_postgres(home: Path) -> servers.Running:
    return servers.start_postgres(home, {"fsync": "off", "shared_buffers": "16MB"})


BOTH = pytest.mark.parametrize("start", [start_postgres, servers.start_valkey])


def put(url: str) -> None:
    """Write something durable."""
    if url.startswith("unix"):
        with redis.Redis.from_url(url) as client:
            client.set("kept", "yes")
            client.waitaof(1, 0, 5_000)
    else:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 'yes' AS word")


def got(url: str) -> str:
    if url.startswith("unix"):
        with redis.Redis.from_url(url) as client:
            value = client.get("kept")
            assert isinstance(value, bytes)
            return value.decode()
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT word FROM kept").fetchone()
        assert row is not None
        return str(row[0])


def family(running: servers.Running) -> list[int]:
    process = psutil.Process(running.process.pid)
    return [process.pid, *(child.pid for child in process.children(recursive=True))]


@BOTH
def test_data_survives_a_restart_and_nothing_is_left(data: Path, start: Start) -> None:
    running = start(data / "home")
    put(running.server.url)
    pids = family(running)
    running.stop()
    assert not any(alive(pid) for pid in pids)
    again = start(data / "home")
    try:
        assert again.server.url == running.server.url
        assert got(again.server.url) == "yes"
    finally:
        again.stop()


@BOTH
def test_kill_9_of_the_main_process_does_not_hurt_the_next_start(data: Path, start: Start) -> None:
    running = start(data / "home")
    put(running.server.url)
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    again = start(data / "home")
    try:
        assert got(again.server.url) == "yes"
    finally:
        again.stop()


@BOTH
def test_a_running_left_over_is_replaced_not_doubled(data: Path, start: Start) -> None:
    """As after a kill -9 of a manager on a system that does not end its children."""
    running = start(data / "home")
    put(running.server.url)
    threading.Thread(target=running.process.wait).start()  # reaps it, as init would
    again = start(data / "home")
    try:
        assert not alive(running.process.pid)
        assert got(again.server.url) == "yes"
    finally:
        again.stop()


def test_a_busy_backend_of_a_killed_postgres_is_no_obstacle(data: Path) -> None:
    running = start_postgres(data / "home")

    def work() -> None:
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(running.server.url).execute(
                "SELECT count(*) FROM generate_series(1, 100000000000)"
            )

    client = threading.Thread(target=work)
    client.start()

    def busy() -> bool:
        with psycopg.connect(running.server.url) as connection:
            query = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query ~ '^SELECT c'"
            return connection.execute(query).fetchone() is not None

    eventually(busy, "the backend works")
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    start_postgres(data / "home").stop()
    client.join(20)
    assert not client.is_alive()


def test_a_stale_pid_file_is_ignored_and_its_process_spared(data: Path) -> None:
    running = start_postgres(data / "home")
    running.stop()
    pid_file = data / "home" / "data" / "postmaster.pid"
    # Our own pid stands for a foreign process that was given the old number.
    places.write_private(pid_file, f"{os.getpid()}\n", places.server_identity(data / "home"))
    start_postgres(data / "home").stop()
    assert alive(os.getpid())


@BOTH
def test_only_the_password_opens_it(data: Path, start: Start) -> None:
    running = start(data / "home")
    try:
        password = (data / "home" / "password").read_text().strip()
        assert len(password) > 30
        wrong = running.server.url.replace(password, "guess")
        with pytest.raises((psycopg.OperationalError, redis.AuthenticationError)):
            got(wrong)
    finally:
        running.stop()


@BOTH
def test_nothing_is_open_to_others(data: Path, start: Start) -> None:
    running = start(data / "home")
    try:
        for path in (data / "home", data / "home" / "socket"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert stat.S_IMODE((data / "home" / "password").stat().st_mode) == 0o600
        for pid in family(running):
            with contextlib.suppress(psutil.NoSuchProcess):  # PostgreSQL's helpers come and go
                assert not psutil.Process(pid).net_connections(kind="inet")
    finally:
        running.stop()


@BOTH
def test_a_deep_folder_gets_a_short_socket(data: Path, start: Start) -> None:
    deep = data / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    running = start(deep / "home")
    try:
        sockets = running.server.sockets  # type: ignore[attr-defined]
        assert len(os.fsencode(sockets)) < 80
        assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
        assert running.server.ready()
    finally:
        running.stop()
        shutil.rmtree(sockets)


def test_postgres_runs_as_root_only_in_name(data: Path) -> None:
    running = start_postgres(data / "home")
    try:
        owner = psutil.Process(running.process.pid).uids().effective
        assert owner != 0
        assert owner == (data / "home").stat().st_uid
    finally:
        running.stop()


def test_the_role_is_no_superuser_but_may_create_databases(data: Path) -> None:
    running = start_postgres(data / "home")
    try:
        with psycopg.connect(running.server.url) as connection:
            row = connection.execute(
                "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
        assert row == (False, True)
    finally:
        running.stop()


def test_a_half_made_cluster_is_made_anew(data: Path) -> None:
    home = places.private_folder(data / "home", places.server_identity(data / "home"))
    draft = places.private_folder(home / "draft", places.server_identity(home))
    places.write_private(draft / "PG_VERSION", "18\n")
    start_postgres(home).stop()
    assert not draft.exists()


def test_another_major_version_is_one_sentence(data: Path) -> None:
    start_postgres(data / "home").stop()
    version = data / "home" / "data" / "PG_VERSION"
    version.write_text("17\n")
    with pytest.raises(EmbeddedError, match="made by PostgreSQL 17"):
        start_postgres(data / "home")


def test_a_server_that_cannot_start_says_where_to_look(data: Path) -> None:
    with pytest.raises(EmbeddedError, match="log"):
        servers.start_valkey(data / "home", {"no-such-setting": "1"})
    lock = locks.open_lock(data / "home" / "lock")
    assert locks.try_lock(lock)
    os.close(lock)


def test_valkey_keeps_everything_it_is_given(data: Path) -> None:
    wanted = {"maxmemory-policy": "noeviction", "appendonly": "yes", "appendfsync": "everysec"}
    with (
        servers.running_valkey(data / "home") as running,
        redis.Redis.from_url(running.server.url, decode_responses=True) as client,
    ):
        assert client.config_get(*wanted) == wanted


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm")
def test_a_killed_postgres_has_no_shared_memory_to_leave(data: Path) -> None:
    with servers.running_postgres(data / "home", {"fsync": "off"}) as running:
        for pid in family(running):
            with contextlib.suppress(psutil.Error):
                maps = psutil.Process(pid).memory_maps()
                assert not [m.path for m in maps if m.path.startswith("/dev/shm/PostgreSQL")]


def test_settings_of_the_modules_are_used(data: Path) -> None:
    with (
        servers.running_postgres(data / "home", postgres.UNSAFE_BUT_FAST) as running,
        psycopg.connect(running.server.url) as connection,
    ):
        assert connection.execute("SHOW max_connections").fetchone() == ("200",)
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
