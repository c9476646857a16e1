"""Set-ups that are broken for real, and the sentence that the doctor has for each."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F
from pytest_django import Settings

from aigc_site.embedded import locks, postgres, valkey
from aigc_site.embedded.servers import Running, running_postgres, running_valkey
from tasks_app.core import outcomes, signs
from tasks_app.gates import workers
from tasks_app.gates.connection import client
from tasks_app.maintenance.doctor import (
    address,
    database,
    examination,
    files,
    offers,
    overdue,
    redis,
    report,
    service,
)
from tasks_app.maintenance.doctor.examination import Check, examine, within
from tasks_app.maintenance.doctor.finding import Finding, Level, ok, problem, warning
from tasks_app.models import Artifact, Attempt, Generator, Sign, Task
from tests.conftest import make_generator
from tests.integration.helpers import artifacts, claimed, submit
from tests.integration.servers import Impostor, Page, postgres_of, redis_of
from tests.processes import ROOT, free_port


def assert_says(found: Finding, level: Level, *words: str) -> None:
    text = f"{found.text} {found.cure}"
    assert found.level == level, text
    for word in words:
        assert word in text
    assert level == Level.OK or found.cure
    assert "\n" not in text


# --- the database --------------------------------------------------------------------------


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that makes new connections go elsewhere."""

    def point(**changes: Any) -> None:
        for name, value in changes.items():
            monkeypatch.setitem(connection.settings_dict, name, value)

    return point


@pytest.fixture(scope="module")
def empty_postgres() -> Iterator[Running]:
    """A server without our tables that allows five connections."""
    folder = Path(tempfile.mkdtemp(prefix="darkroom-doctor-"))
    folder.chmod(0o711)
    few = postgres.UNSAFE_BUT_FAST | {"max_connections": "8"}
    with running_postgres(folder / "postgres", few) as running:
        yield running
    shutil.rmtree(folder)


def of(running: Running) -> dict[str, str]:
    values = psycopg.conninfo.conninfo_to_dict(running.server.url)
    names = {"HOST": "host", "USER": "user", "PASSWORD": "password", "NAME": "dbname"}
    return {name: str(values[key]) for name, key in names.items()} | {"PORT": ""}


@pytest.mark.django_db
def test_a_good_database() -> None:
    assert_says(database.reachable(), Level.OK, "PostgreSQL", "answers")
    assert_says(database.migrated(), Level.OK)
    assert_says(database.room_for_connections(), Level.OK, "connections are in use")
    assert_says(database.clock(), Level.OK)


def test_a_database_that_is_not_there(elsewhere: Any) -> None:
    port = free_port()
    elsewhere(HOST="127.0.0.1", PORT=str(port))
    assert_says(database.reachable(), Level.PROBLEM, f"127.0.0.1, port {port}", "Start PostgreSQL")
    elsewhere(HOST="/nowhere", PORT="")
    assert_says(database.reachable(), Level.PROBLEM, "Nothing listens at /nowhere")
    elsewhere(HOST="nowhere.invalid")
    assert_says(database.reachable(), Level.PROBLEM, "nowhere.invalid cannot be resolved")


def test_a_wrong_password_and_a_wrong_name(elsewhere: Any, empty_postgres: Running) -> None:
    elsewhere(**of(empty_postgres) | {"PASSWORD": "not-the-password"})
    found = database.reachable()
    assert_says(found, Level.PROBLEM, "refused the password for darkroom", "ALTER ROLE")
    assert "not-the-password" not in f"{found}"
    elsewhere(**of(empty_postgres) | {"NAME": "nothing"})
    assert_says(database.reachable(), Level.PROBLEM, "no database nothing", "CREATE DATABASE")


def test_a_database_that_hangs(elsewhere: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_CONNECT_SECONDS", 2)
    over = threading.Event()
    silent = Impostor(lambda one: (one.recv(1), over.wait(20), None)[2])
    elsewhere(HOST="127.0.0.1", PORT=str(silent.port))
    try:
        assert_says(database.reachable(), Level.PROBLEM, "does not answer", "firewalls")
    finally:
        over.set()
        silent.close()


def test_an_old_database(elsewhere: Any) -> None:
    old = postgres_of("13.14")
    plain = connection.settings_dict["OPTIONS"] | {"sslmode": "disable", "gssencmode": "disable"}
    elsewhere(HOST="127.0.0.1", PORT=str(old.port), OPTIONS=plain)
    try:
        assert_says(database.reachable(), Level.PROBLEM, "PostgreSQL 13.14 is too old", "Upgrade")
    finally:
        old.close()


@pytest.mark.django_db
def test_a_database_without_tables(elsewhere: Any, empty_postgres: Running) -> None:
    elsewhere(**of(empty_postgres))
    assert_says(database.reachable(), Level.OK)
    assert_says(within(database.migrated, 30), Level.PROBLEM, "migrations", "manage.py migrate")


@pytest.mark.django_db
def test_a_database_behind_or_ahead_of_the_code() -> None:
    recorder = MigrationRecorder(connection)
    newest = max(name for app, name in recorder.applied_migrations() if app == "tasks_app")
    recorder.record_applied("tasks_app", "9999_of_tomorrow")
    assert_says(database.migrated(), Level.WARNING, "9999_of_tomorrow", "Upgrade Darkroom")
    recorder.record_unapplied("tasks_app", newest)
    assert_says(database.migrated(), Level.PROBLEM, f"tasks_app.{newest}", "manage.py migrate")


@pytest.mark.django_db
def test_a_database_with_hardly_a_connection_left(elsewhere: Any, empty_postgres: Running) -> None:
    elsewhere(**of(empty_postgres))
    with ExitStack() as held:
        for _ in range(4):
            held.enter_context(psycopg.connect(empty_postgres.server.url))
        found = within(database.room_for_connections, 30)
        assert_says(found, Level.WARNING, "5 of 5 database connections", "max_connections")
        held.enter_context(psycopg.connect(empty_postgres.server.url))
        assert_says(database.reachable(), Level.PROBLEM, "no connection left", "fewer workers")


@pytest.mark.django_db
def test_a_database_that_forgets_or_takes_no_writes() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
        assert_says(database.durable(), Level.WARNING, "lost in a crash", "synchronous_commit")
        cursor.execute("SET TRANSACTION READ ONLY")
        assert_says(database.durable(), Level.PROBLEM, "read-only", "primary")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("shift", "level"), [(0, "ok"), (5, "warning"), (-5, "warning"), (120, "problem")]
)
def test_a_clock_that_is_wrong(monkeypatch: pytest.MonkeyPatch, shift: float, level: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp())")
        start = float(cursor.fetchone()[0])
    monkeypatch.setattr(database, "time", SimpleNamespace(time=lambda: start + shift))
    found = database.clock()
    words = [] if level == "ok" else ["ahead" if shift > 0 else "behind", "chrony"]
    assert_says(found, Level(level), *words)


# --- Redis ---------------------------------------------------------------------------------


@contextmanager
def a_valkey(folder: Path, settings: Settings, **lines: str) -> Iterator[None]:
    with running_valkey(folder / "valkey", {k.replace("_", "-"): v for k, v in lines.items()}) as r:
        settings.REDIS_URL = r.server.url
        yield


def test_a_good_redis(tmp_path: Path, settings: Settings) -> None:
    with a_valkey(tmp_path, settings):
        for check in (redis.reachable, redis.never_evicts, redis.persists, redis.takes_writes):
            assert_says(check(), Level.OK)


def test_a_redis_that_is_not_there(settings: Settings) -> None:
    port = free_port()
    settings.REDIS_URL = f"redis://:hidden@127.0.0.1:{port}/0"
    found = redis.reachable()
    assert_says(found, Level.PROBLEM, f"127.0.0.1, port {port}", "Start Redis")
    assert "hidden" not in f"{found}"


def test_a_redis_that_hangs(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings.REDIS_URL = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        assert_says(redis.reachable(), Level.PROBLEM, "cannot be reached", "firewalls")


def test_a_redis_that_wants_another_password(tmp_path: Path, settings: Settings) -> None:
    with a_valkey(tmp_path, settings):
        url = urlsplit(settings.REDIS_URL)
        for user in (":wrong@", ""):
            settings.REDIS_URL = f"unix://{user}{url.path}?db=0"
            found = redis.reachable()
            assert_says(found, Level.PROBLEM, "refused the user or the password", "requirepass")
            assert "wrong" not in found.text


def test_a_redis_that_speaks_no_tls(settings: Settings) -> None:
    server = redis_of("7.0.15")
    settings.REDIS_URL = f"rediss://127.0.0.1:{server.port}/0"
    try:
        assert_says(redis.reachable(), Level.PROBLEM, "encrypted connection", "ssl_ca_certs")
    finally:
        server.close()


def test_an_old_redis(settings: Settings) -> None:
    for version, level in (("6.2.14", Level.PROBLEM), ("7.0.15", Level.OK)):
        server = redis_of(version)
        settings.REDIS_URL = f"redis://127.0.0.1:{server.port}/0"
        try:
            assert_says(redis.reachable(), level, f"Redis {version}")
        finally:
            server.close()


def test_a_redis_that_throws_keys_away(tmp_path: Path, settings: Settings) -> None:
    with a_valkey(tmp_path, settings, maxmemory_policy="allkeys-lru"):
        assert_says(redis.never_evicts(), Level.PROBLEM, "allkeys-lru", "noeviction")


def test_a_redis_that_forgets(tmp_path: Path, settings: Settings) -> None:
    with a_valkey(tmp_path, settings, **valkey.IN_MEMORY):
        assert_says(redis.persists(), Level.WARNING, "append-only", "appendonly yes")


def test_a_redis_that_is_full(tmp_path: Path, settings: Settings) -> None:
    with a_valkey(tmp_path, settings, maxmemory="100kb"):
        assert_says(redis.never_evicts(), Level.WARNING, "memory are in use", "maxmemory")
        assert_says(redis.takes_writes(), Level.PROBLEM, "refuses writes")


def test_a_redis_that_is_a_replica(tmp_path: Path, settings: Settings) -> None:
    with a_valkey(tmp_path, settings, replicaof=f"127.0.0.1 {free_port()}"):
        assert_says(redis.takes_writes(), Level.PROBLEM, "refuses writes", "primary")


# --- results -------------------------------------------------------------------------------


@pytest.fixture
def results(settings: Settings, tmp_path: Path) -> Any:
    """Returns a function that makes results go to a folder."""

    def point(folder: Path) -> Path:
        backend = settings.STORAGES["results"]
        changed = backend | {"OPTIONS": backend["OPTIONS"] | {"location": str(folder)}}
        settings.STORAGES = settings.STORAGES | {"results": changed}
        return folder

    return point


def test_a_folder_that_takes_files_and_one_that_is_none(results: Any, tmp_path: Path) -> None:
    folder = results(tmp_path)
    assert_says(files.writable(), Level.OK, str(folder))
    assert list(folder.iterdir()) == []
    (tmp_path / "file").touch()
    results(tmp_path / "file")
    assert_says(files.writable(), Level.PROBLEM, "cannot be written", "chown")
    results(tmp_path / "file" / "results")
    assert_says(files.writable(), Level.PROBLEM, "does not exist and cannot be made", "mount")
    results(tmp_path / "new" / "results")
    assert_says(files.writable(), Level.WARNING, "does not exist yet")


@pytest.mark.skipif(sys.platform != "linux", reason="a folder that not even root can write to")
def test_a_folder_of_others(results: Any) -> None:
    results(Path("/proc/self/fdinfo"))
    assert_says(files.writable(), Level.PROBLEM, "cannot be written to /proc", "DARKROOM_DATA")


@pytest.mark.parametrize(
    ("free", "level"), [(300 << 20, "problem"), (3 << 30, "warning"), (300 << 30, "ok")]
)
def test_a_disk_that_is_nearly_full(
    results: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: str
) -> None:
    results(tmp_path / "not" / "made")
    seen: list[Path] = []

    def usage(path: Path) -> Any:
        seen.append(path)
        return SimpleNamespace(free=free)

    monkeypatch.setattr(files, "shutil", SimpleNamespace(disk_usage=usage))
    assert_says(files.room(), Level(level), "GiB are free")
    assert seen == [tmp_path]


def test_a_folder_that_is_not_the_one_of_the_others(
    results: Any, tmp_path: Path, alice: Any, sleeper: Generator
) -> None:
    folder = results(tmp_path)
    assert_says(files.shared(), Level.OK, "no result yet")
    (artifact,) = artifacts(submit(alice).pk)
    artifact.save()
    assert_says(files.shared(), Level.PROBLEM, artifact.storage_key, "Mount")
    (folder / artifact.storage_key).parent.mkdir()
    (folder / artifact.storage_key).touch()
    assert_says(files.shared(), Level.OK)
    (folder / artifact.storage_key).unlink()
    Artifact.objects.update(removed_at=F("created_at"))
    assert_says(files.shared(), Level.OK, "no result yet")


# --- what runs -----------------------------------------------------------------------------


def test_a_pool_without_workers(alice: Any, sleeper: Generator) -> None:
    assert_says(service.workers_live(), Level.WARNING, "pools: default", "manage.py worker")
    assert_says(service.nothing_waits_in_vain(), Level.OK)
    submit(alice)
    submit(alice)
    assert_says(service.nothing_waits_in_vain(), Level.PROBLEM, "2 in default", "manage.py worker")
    workers.alive("default", "one", client())
    assert_says(service.nothing_waits_in_vain(), Level.OK)
    assert_says(service.workers_live(), Level.OK, "default 1")
    far = make_generator("far", adapter="replicate", settings={})
    assert_says(service.workers_live(), Level.WARNING, "submit: default", "POOL-polls")
    workers.alive("default-polls", "w2", client())
    assert_says(service.workers_live(), Level.OK, "default 1")
    far.delete()
    Generator.objects.update(enabled=False)
    assert_says(service.workers_live(), Level.WARNING, "No generator is offered")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("chore", "check", "cure"),
    [
        (signs.TICK, service.ticker_lives, "manage.py tick"),
        (signs.SWEEP, service.cron_sweeps, "deploy/cron/darkroom"),
    ],
)
def test_a_chore_that_nobody_does(chore: str, check: Any, cure: str) -> None:
    assert_says(check(), Level.WARNING, "within a day", cure)
    signs.leave(chore)
    assert_says(check(), Level.OK, socket.gethostname())
    Sign.objects.update(at=F("at") - timedelta(hours=3))
    assert_says(check(), Level.WARNING, "3 h ago", cure)


@pytest.mark.django_db
def test_nobody_needs_cron_while_up_runs(settings: Settings, tmp_path: Path) -> None:
    settings.DATA = tmp_path
    assert_says(service.cron_sweeps(), Level.WARNING, "within a day")
    lock = locks.open_lock(tmp_path / "up.lock")
    assert_says(service.cron_sweeps(), Level.WARNING, "within a day")
    assert locks.try_lock(lock)
    assert_says(service.cron_sweeps(), Level.OK, "manage.py up")
    assert locks.try_lock(lock), "the doctor took it away"
    os.close(lock)
    assert_says(service.cron_sweeps(), Level.WARNING, "within a day")


@pytest.mark.django_db
def test_signs_of_hosts_that_are_gone_are_forgotten() -> None:
    Sign.objects.create(chore=signs.TICK, host="gone", key_print="x", at="2020-01-01T00:00Z")
    signs.leave(signs.TICK)
    signs.leave(signs.TICK)
    assert list(Sign.objects.values_list("host", flat=True)) == [signs.this_host()]


@pytest.mark.django_db
def test_hosts_with_different_keys(settings: Settings) -> None:
    signs.tick()
    assert_says(service.same_key(), Level.OK)
    settings.SECRET_KEY = "another key than that of the ticker, just as long as it"
    assert_says(service.same_key(), Level.PROBLEM, signs.this_host(), "same key everywhere")
    assert settings.SECRET_KEY not in str(Sign.objects.values())


@pytest.mark.usefixtures("open_slots")
def test_attempts_and_tasks_that_hang(alice: Any, sleeper: Generator) -> None:
    task = submit(alice)
    claimed()
    assert_says(service.nothing_is_stuck(), Level.OK)
    Attempt.objects.update(heartbeat_at=F("heartbeat_at") - timedelta(minutes=10))
    assert_says(service.nothing_is_stuck(), Level.PROBLEM, "1 attempts are silent", "sweep_tasks")
    Attempt.objects.update(remote=True)
    assert_says(service.nothing_is_stuck(), Level.OK)
    Task.objects.filter(pk=task.pk).update(deadline_at=F("deadline_at") - timedelta(hours=1))
    assert_says(service.nothing_is_stuck(), Level.PROBLEM, "1 tasks are past their deadline")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"adapter": "nothing"}, "no adapter 'nothing'"),
        ({"settings": {"callable": "nowhere.module:f"}}, "'nowhere.module' cannot be found"),
        ({"settings": {"callable": "tests.artists:nobody"}}, "has no 'nobody'"),
        ({"settings": {"callable": "tests.artists:sleeper", "speed": 1}}, "Unknown settings"),
        ({"settings": {"callable": "ends_the_process:f"}}, "ends the process"),
        ({"settings": {"callable": "raises_at_import:f"}}, "ZeroDivisionError"),
    ],
)
def test_a_generator_that_cannot_be_loaded(
    sleeper: Generator,
    fields: dict[str, Any],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "ends_the_process.py").write_text("raise SystemExit(3)")
    (tmp_path / "raises_at_import.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert_says(offers.generators_load(), Level.OK, "1 generators")
    Generator.objects.update(**fields)
    assert_says(offers.generators_load(), Level.PROBLEM, f"sleeper: {words}"[:9], words, "admin")
    Generator.objects.update(enabled=False)
    assert_says(offers.generators_load(), Level.OK)


# --- the address ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "level", "words"),
    [
        (200, b'{"status": "ok"}', "ok", "leads here"),
        (200, b"<h1>Welcome to nginx!</h1>", "problem", "not answered by Darkroom"),
        (400, b"", "problem", "DARKROOM_ALLOWED_HOSTS"),
        (404, b"", "problem", "status 404"),
        (308, b"", "problem", "redirects to https://elsewhere.example"),
        (502, b"", "problem", "does not reach the web server"),
    ],
)
def test_what_answers_at_the_public_url(
    settings: Settings, status: int, body: bytes, level: str, words: str
) -> None:
    page = Page(status, body, Location="https://elsewhere.example/healthz")
    settings.PUBLIC_URL = page.url
    try:
        assert_says(address.public_url(), Level(level), words, page.url)
    finally:
        page.close()


def test_a_public_url_that_leads_nowhere(settings: Settings) -> None:
    settings.PUBLIC_URL = f"http://127.0.0.1:{free_port()}"
    assert_says(address.public_url(), Level.WARNING, "cannot be reached", "refused")
    settings.PUBLIC_URL = "http://nowhere.invalid"
    assert_says(address.public_url(), Level.WARNING, "cannot be reached", "name service")


def test_results_that_anybody_may_read(settings: Settings, alice: Any, sleeper: Generator) -> None:
    assert_says(address.files_are_internal(), Level.OK, "Python sends")
    settings.BEHIND_PROXY = True
    assert_says(address.files_are_internal(), Level.WARNING, "DARKROOM_ACCEL_PREFIX")
    settings.DARKROOM = settings.DARKROOM | {"accel_prefix": "/_results/"}
    assert_says(address.files_are_internal(), Level.OK, "no result yet")
    artifacts(submit(alice).pk)[0].save()
    for status, level, words in ((200, Level.PROBLEM, "internal;"), (404, Level.OK, "closed")):
        page = Page(status)
        settings.PUBLIC_URL = page.url
        try:
            assert_says(address.files_are_internal(), level, words)
        finally:
            page.close()
    assert_says(address.files_are_internal(), Level.WARNING, "cannot be told")


def test_settings_that_do_not_fit(settings: Settings) -> None:
    settings.INSECURE_HTTP = True
    assert_says(address.settings_fit(), Level.OK)
    settings.PUBLIC_URL = "https://pictures.example.org"
    assert_says(address.settings_fit(), Level.PROBLEM, "DARKROOM_ALLOWED_HOSTS", "400")


# --- the whole examination -----------------------------------------------------------------


def test_a_check_that_hangs_or_fails_does_not_stop_the_others() -> None:
    over = threading.Event()
    checks = (
        Check("hangs", lambda: ok(str(over.wait(60))), seconds=0.1),
        Check("fails", lambda: ok(str(1 // 0))),
        Check("needs it", lambda: ok("never"), needs=("hangs",)),
        Check("needs that", lambda: ok("never"), needs=("needs it",)),
        Check("works", lambda: ok("fine")),
    )
    found = dict(examine(checks))
    over.set()
    assert_says(found["hangs"], Level.PROBLEM, "No answer within 0.1 s")
    assert_says(found["fails"], Level.PROBLEM, "ZeroDivisionError")
    assert found["needs it"].level == found["needs that"].level == Level.UNKNOWN
    assert found["works"] == ok("fine")


def test_every_need_is_the_name_of_an_earlier_check() -> None:
    earlier: set[str] = set()
    for check in examination.CHECKS:
        assert set(check.needs) <= earlier, check.name
        assert check.name not in earlier
        earlier.add(check.name)


@pytest.mark.parametrize(
    ("findings", "status"),
    [
        ([], 0),
        ([ok("fine")], 0),
        ([ok("fine"), warning("hm", "do")], 1),
        ([problem("oh", "do"), warning("hm", "do")], 2),
    ],
)
def test_the_exit_status_is_that_of_the_worst(findings: list[Finding], status: int) -> None:
    named = [(f"check {number}", found) for number, found in enumerate(findings)]
    assert report.status(named) == status
    assert json.loads(report.document(named))["exit"] == status


def test_lines_have_colours_only_where_they_are_seen() -> None:
    found = problem("It is broken.", "Mend it.")
    plain = report.line("redis", found, colour=False)
    assert " ".join(plain.split()) == "problem redis It is broken. Mend it."
    assert report.line("redis", found, colour=True).startswith("\x1b[31mproblem\x1b[0m")


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_with_everything_away_it_ends_and_says_so(tmp_path: Path) -> None:
    port = free_port()
    ended = run(
        "doctor",
        "--json",
        DATABASE_URL=f"postgresql://nobody:hidden@127.0.0.1:{port}/nothing",
        REDIS_URL=f"redis://:hidden@127.0.0.1:{port}/0",
        DARKROOM_PUBLIC_URL=f"http://127.0.0.1:{port}",
        DARKROOM_DATA=str(tmp_path),
    )
    found = {one["check"]: one["level"] for one in json.loads(ended.stdout)["checks"]}
    assert list(found) == [check.name for check in examination.CHECKS]
    assert (found["database"], found["redis"], found["queue"]) == ("problem", "problem", "unknown")
    assert ended.returncode == 2
    assert "hidden" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"DARKROOM_SECRET_KEY": ""}, "DARKROOM_SECRET_KEY is not set"),
        ({"DATABASE_URL": "sqlite:///x"}, "PostgreSQL is the only database"),
        ({"DARKROOM_LEASE": "long"}, "DARKROOM_LEASE is 'long'"),
    ],
)
def test_settings_that_cannot_be_read_are_one_sentence(
    variables: dict[str, str], sentence: str
) -> None:
    told = run("doctor", **variables)
    assert (told.returncode, told.stderr) == (2, "")
    assert told.stdout.startswith("problem  settings") and sentence in told.stdout
    assert told.stdout.count("\n") == 1
    (check,) = json.loads(run("doctor", "--json", **variables).stdout)["checks"]
    assert check["level"] == "problem" and sentence in check["text"]
    other = run("migrate", **variables)
    assert (other.returncode, other.stdout) == (2, "")
    assert other.stderr.count("\n") == 1 and sentence in other.stderr


# --- what ought to have been purged and archived -------------------------------------------


@pytest.mark.django_db
def test_what_is_overdue_to_be_purged_or_archived(
    alice: Any, sleeper: Generator, open_slots: None
) -> None:
    assert_says(overdue.nothing_is_overdue(), Level.OK)
    task = submit(alice)
    outcomes.succeeded(claimed().attempt, artifacts(task.pk))
    before = F("finished_at") - timedelta(days=40)
    Task.objects.update(created_at=before, finished_at=before, result_expires_at=before)
    assert_says(overdue.nothing_is_overdue(), Level.WARNING, "1 results expired", "purge_results")
    Task.objects.update(result_removed_at=F("result_expires_at"))
    Artifact.objects.update(removed_at=F("created_at") - timedelta(days=2))
    assert_says(overdue.nothing_is_overdue(), Level.PROBLEM, str(task.pk), "storage")
    Artifact.objects.update(files_gone_at=F("removed_at"))
    assert_says(overdue.nothing_is_overdue(), Level.WARNING, "archived", "archive_tasks")
