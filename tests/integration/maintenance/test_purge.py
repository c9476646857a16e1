"""Purging: what has expired goes, files as well; a tombstone stays, and nobody is in the way."""

from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.files.storage import FileSystemStorage
from django.core.management import call_command
from django.db import connections, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from tasks_app import metrics
from tasks_app.core import outcomes, queries, results
from tasks_app.core.clock import database_now
from tasks_app.gates.connection import client as redis
from tasks_app.generators.base import Output
from tasks_app.maintenance import archive, housekeeping, purge
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import ArchivedTask, Artifact, Event, Generator, IdempotencyKey, Task
from tasks_app.results import store
from tests.artists import picture
from tests.integration.helpers import claimed, shift, submit

PICTURE = picture()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns where results are, of which this test alone has any."""
    kept = FileSystemStorage(location=tmp_path / "results")
    monkeypatch.setattr(store, "storage", lambda: kept)
    return tmp_path / "results"


def made(user: Any, *, expired_for: float | None = 3_600, number: int = 1) -> Task:
    """A success whose files are real, and whose result expired so many seconds ago."""
    task = submit(user)
    claim = claimed()
    files = [store.save(task.pk, 1, n, Output(PICTURE, "image/png")) for n in range(number)]
    outcomes.succeeded(claim.attempt, files)
    task.refresh_from_db()
    if expired_for is not None:
        expire(task, expired_for)
    return task


def expire(task: Task, seconds: float) -> None:
    Task.objects.filter(pk=task.pk).update(
        result_expires_at=Now() - timedelta(seconds=seconds),
        created_at=F("created_at") - timedelta(days=8),
        finished_at=F("finished_at") - timedelta(days=8),
    )


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def command(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("purge_results", *arguments, stdout=out)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue()
    return 0, out.getvalue()


def forget() -> None:
    """Let the table answer, not what was kept of it before this test changed it by hand."""
    redis().flushdb()
    queries.clear_caches()


def ask(user: Any, address: str) -> Any:
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client.get(address)


def test_an_expired_result_goes_and_a_tombstone_stays(
    alice: Any, sleeper: Generator, folder: Path
) -> None:
    task, kept = made(alice, number=2), made(alice, expired_for=None)
    artifact = Artifact.objects.filter(task=task).order_by("position")[0]
    forget()
    before = queries.view(task.pk, alice.pk)
    assert len(files_of(folder)) == 6
    assert command() == (0, "files: 2\nresults: 1\n")
    assert len(files_of(folder)) == 2
    forget()
    after = queries.view(task.pk, alice.pk)
    # Readers judge by the expiry themselves: the purge tells them nothing new.
    assert (after.document, after.etag) == (before.document, before.etag)
    assert after.document["result"]["artifacts"] == []
    assert after.document["result"]["removed_at"] == after.document["result"]["expires_at"]
    answer = ask(alice, f"/v1/artifacts/{artifact.pk}")
    assert (answer.status_code, answer.json()["code"]) == (410, "result_expired")
    assert "expired" in answer.json()["detail"]
    event = Event.objects.filter(task=task).order_by("id").last()
    assert event is not None
    assert (event.kind, event.data) == ("result_removed", {"by": "expiry"})
    assert len(queries.view(kept.pk, alice.pk).document["result"]["artifacts"]) == 1
    assert command() == (0, "nothing to do\n")


def test_no_empty_folders_stay(alice: Any, sleeper: Generator, folder: Path) -> None:
    gone, kept = made(alice), made(alice, expired_for=None)
    # A task of two days ago: nothing is stored any more in the folder around it.
    old = UUID(int=gone.pk.int - (2 * 86_400_000 << 80))
    around = folder / old.hex[:6]
    (around / str(old)).mkdir(parents=True)
    store.tidy([old, kept.pk])
    assert not around.exists()
    purge.purge()
    assert [path.name for path in folder.glob("*/*")] == [str(kept.pk)]


def test_links_given_last_still_work_when_the_result_has_just_expired(
    alice: Any, sleeper: Generator, folder: Path
) -> None:
    made(alice, expired_for=60)
    assert command()[1] == "nothing to do\n"
    assert len(files_of(folder)) == 2


def test_the_expiry_of_the_task_counts(alice: Any, sleeper: Generator) -> None:
    """Not its age: plans may keep results for longer, or shorter."""
    old = made(alice, expired_for=None)
    shift(old, "created_at", -86_400 * 30)
    shift(old, "finished_at", -86_400 * 30)
    assert command()[1] == "nothing to do\n"


def test_a_dry_run_counts_and_changes_nothing(alice: Any, sleeper: Generator, folder: Path) -> None:
    made(alice)
    owed = made(alice, expired_for=None)
    Artifact.objects.filter(task=owed).update(removed_at=Now() - timedelta(seconds=100))
    expired_key(alice)
    assert command("--dry-run") == (0, "files owed: 1\nkeys: 1\nresults: 1\n")
    assert len(files_of(folder)) == 4
    assert IdempotencyKey.objects.count() == 1


def test_batches_limit_and_time(
    alice: Any, sleeper: Generator, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "BATCH", 2)
    for seconds in (5_000, 4_000, 3_000):
        made(alice, expired_for=seconds)
    done: list[int] = []
    purge.purge(seconds=-1, done=done.append)
    assert done == []
    purge.purge(limit=1, done=done.append)
    assert done == [1]
    oldest = Task.objects.get(result_removed_at__isnull=False)
    assert oldest.result_expires_at == min(
        Task.objects.values_list("result_expires_at", flat=True)  # type: ignore[type-var]
    )
    purge.purge(done=done.append)
    assert done == [1, 2]
    assert files_of(folder) == []


def test_one_bad_file_never_stops_the_rest(
    alice: Any,
    sleeper: Generator,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(purge, "BATCH", 1)
    bad, good = made(alice, expired_for=5_000), made(alice)
    refuse(monkeypatch, bad.pk)
    counted: dict[str, int] = {}
    monkeypatch.setattr(
        metrics,
        "count",
        lambda what, kind="", by=1: counted.update({kind: counted.get(kind, 0) + by}),
    )
    status, text = command()
    assert status == 1
    assert f"could not repair: task {bad.pk}: 1 files cannot be deleted" in text
    assert counted == {"results": 2, "files": 1, "file_failures": 1}
    assert any(f"task {bad.pk}" in record.getMessage() for record in caplog.records)
    assert not any(str(good.pk) in str(path) for path in files_of(folder))
    artifact = Artifact.objects.get(task=bad)
    assert (artifact.files_gone_at, artifact.files_tries) == (None, 1)
    # It is tried again later and later, behind the others, and until it is done not archived.
    assert command() == (0, "nothing to do\n")
    shift_artifact(artifact, -61)
    assert command()[0] == 1
    artifact.refresh_from_db()
    assert artifact.files_tries == 2
    assert artifact.files_due_at is not None
    assert artifact.files_due_at > database_now() + timedelta(seconds=50)
    monkeypatch.undo()
    shift_artifact(artifact, -1_000)
    Task.objects.update(
        created_at=F("created_at") - timedelta(days=30),
        finished_at=F("finished_at") - timedelta(days=30),
    )
    assert [moved.tasks for moved in archive.archive()] == [1]
    monkeypatch.setattr(store, "storage", lambda: FileSystemStorage(location=folder))
    assert sweep().counts["files deleted"] == 1
    assert files_of(folder) == []
    assert [moved.tasks for moved in archive.archive()] == [1]
    assert ArchivedTask.objects.count() == 2


def refuse(monkeypatch: pytest.MonkeyPatch, task_id: UUID) -> None:
    """A storage that does not give up the files of one task, with an error of its own kind."""

    class Refused(Exception):
        pass

    delete = store.storage().delete

    def refusing(key: str) -> None:
        if str(task_id) in key:
            raise Refused("no such permission")
        delete(key)

    monkeypatch.setattr(store.storage(), "delete", refusing)


def shift_artifact(artifact: Artifact, seconds: float) -> None:
    Artifact.objects.filter(pk=artifact.pk).update(
        files_due_at=F("files_due_at") + timedelta(seconds=seconds),
        removed_at=F("removed_at") + timedelta(seconds=seconds),
    )


def test_what_a_killed_purge_left_is_done_by_the_next(
    alice: Any, sleeper: Generator, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed between the commit of the tombstones and the first file."""
    made(alice)

    class Killed(BaseException):
        pass

    def killed(*_: Any) -> int:
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(results, "delete_files", killed)
        purge.purge()
    assert len(files_of(folder)) == 2
    Artifact.objects.update(removed_at=Now() - timedelta(seconds=100))
    assert command() == (0, "files: 1\n")
    assert files_of(folder) == []


def test_a_result_that_is_locked_is_left_to_its_holder(
    alice: Any, sleeper: Generator, folder: Path
) -> None:
    first, second = made(alice), made(alice)
    with transaction.atomic():
        Task.objects.select_for_update().get(pk=first.pk)
        report = _elsewhere(purge.purge)
    assert report.counts["results"] == 1
    second.refresh_from_db()
    assert second.result_removed_at == second.result_expires_at
    assert purge.purge().counts["results"] == 1


def _elsewhere(action: Any) -> Any:
    from threading import Thread

    found: list[Any] = []

    def run() -> None:
        try:
            found.append(action())
        finally:
            connections.close_all()

    thread = Thread(target=run)
    thread.start()
    thread.join(20)
    return found[0]


def test_a_download_in_progress_is_not_cut_off(
    alice: Any, sleeper: Generator, folder: Path
) -> None:
    task = made(alice, expired_for=None)
    artifact = Artifact.objects.get(task=task)
    address = ask(alice, f"/v1/artifacts/{artifact.pk}")["Location"]
    answer = Client(headers={"host": "localhost"}).get(address)
    expire(task, 3_600)
    assert purge.purge().counts["files"] == 1
    assert files_of(folder) == []
    assert b"".join(answer.streaming_content) == PICTURE  # type: ignore[attr-defined]


def expired_key(user: Any, seconds: float = 1) -> None:
    now = timezone.now()
    IdempotencyKey.objects.create(
        user=user,
        key=f"key {IdempotencyKey.objects.count()}",
        fingerprint="0" * 64,
        task_id=UUID(int=0),
        created_at=now,
        expires_at=now - timedelta(seconds=seconds),
    )


def test_keys_and_sessions_that_have_run_out_go(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "_ROWS", 2)
    for _ in range(5):
        expired_key(alice)
    expired_key(alice, seconds=-1_000)
    sessions = [SessionStore(), SessionStore()]
    for session in sessions:
        session.save()
    Session.objects.filter(pk=sessions[0].session_key).update(
        expire_date=timezone.now() - timedelta(days=1)
    )
    assert command() == (0, "keys: 5\nsessions: 1\n")
    assert IdempotencyKey.objects.count() == 1
    assert list(Session.objects.values_list("pk", flat=True)) == [sessions[1].session_key]


def test_the_ticker_keeps_house(
    alice: Any, sleeper: Generator, folder: Path, settings: Any
) -> None:
    from threading import Event as Flag

    from tests.processes import eventually

    settings.DARKROOM = settings.DARKROOM | {"purge_interval": 0.05, "archive_days": 0.001}
    made(alice)
    stop = Flag()
    thread = housekeeping.start(stop)
    try:
        eventually(lambda: files_of(folder) == [])
        eventually(lambda: ArchivedTask.objects.count() == 1)
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()
