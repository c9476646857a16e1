"""A storage that refuses: the result waits, nobody starts anything, nothing is made twice."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import connection

from tasks_app.core import cancellation, claim, execution, storing
from tasks_app.core.claim import Claim
from tasks_app.gates import figures, refusals
from tasks_app.gates.connection import client, private_client
from tasks_app.generators.base import Output
from tasks_app.maintenance.figures import publish_all
from tasks_app.models import Generator
from tasks_app.results import store
from tests import scenes
from tests.processes import eventually
from tests.upstreams.fake import PICTURE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def results() -> Path:
    """Return the folder of results."""
    return scenes.results_folder()


@pytest.fixture
def run(alice: Any, sleeper: Generator, open_slots: None) -> Callable[[], tuple[Claim, Any]]:
    """Return a function that claims a task and executes it in a thread."""

    def start() -> tuple[Claim, threading.Thread]:
        scenes.submit(alice, sleeper, "picture")
        found = claim.claim_next("default", "test")
        assert found is not None

        def execute() -> None:
            try:
                execution.run(found, private_client(), lambda _: None)
            finally:
                connection.close()

        thread = threading.Thread(target=execute)
        thread.start()
        return found, thread

    return start


def test_a_result_waits_for_the_storage_and_nobody_starts_meanwhile(
    run: Callable[[], tuple[Claim, Any]], sleeper: Generator
) -> None:
    assert storing.accepting()
    with scenes.storage_refusing():
        found, thread = run()
        eventually(refusals.known)
        assert not storing.accepting()
        publish_all()
        told = figures.read(sleeper.pool)
        assert told is not None and told.storage_refuses
        assert scenes.state_of(found.task.pk) == "running"
    thread.join(30)
    assert scenes.history(found.task.pk) == ["submitted", "claimed", "succeeded"]
    assert scenes.has_its_files(found.task.pk)
    assert not refusals.known(), "whoever stores at last says so"


def test_who_waits_for_the_storage_still_listens(
    run: Callable[[], tuple[Claim, Any]], alice: Any
) -> None:
    with scenes.storage_refusing():
        found, thread = run()
        eventually(refusals.known)
        cancellation.cancel(found.task.pk, alice.pk)
        thread.join(30)
        assert not thread.is_alive()
    assert scenes.state_of(found.task.pk) == "failed/canceled"
    assert scenes.slots_taken() == 0


def test_patience_has_an_end(
    run: Callable[[], tuple[Claim, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storing, "_PATIENCE", 0.3)
    with scenes.storage_refusing():
        found, thread = run()
        thread.join(30)
    assert scenes.history(found.task.pk) == ["submitted", "claimed", "requeued: internal"]


def test_the_storage_proves_itself_before_anybody_starts(results: Path) -> None:
    refusals.note()
    with scenes.storage_refusing():
        assert not storing.accepting()
        assert not storing.accepting(), "somebody has just looked"
    assert refusals.known()
    client().delete(*client().keys("*storage:looked"))
    assert storing.accepting()
    assert not refusals.known()
    assert not list((results / "probe").iterdir()), "the probe is deleted"


def test_what_a_full_disk_took_is_deleted(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []

    def full(self: FileSystemStorage, name: str, content: Any) -> str:
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half of it")
        taken.append(name)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FileSystemStorage, "_save", full)
    with pytest.raises(store.StorageRefused):
        store.probe()
    assert [(results / name).exists() for name in taken] == [False]


def test_a_copy_that_is_refused_takes_none_away(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two may store one attempt's result, such as one who was taken for lost."""
    task_id, output = uuid4(), Output(PICTURE, "image/png")
    kept = store.save(task_id, 1, 0, output)

    def full(self: FileSystemStorage, name: str, content: Any) -> str:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(FileSystemStorage, "_save", full)
        with pytest.raises(store.StorageRefused):
            store.save(task_id, 1, 0, output)
    assert (results / kept.storage_key).read_bytes() == PICTURE
    assert (results / kept.thumbnail_key).is_file()


def test_storages_of_other_hosts_refuse_in_their_own_words(
    run: Callable[[], tuple[Claim, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class ClientError(Exception):
        """What a storage's own library raises, such as botocore: no ``OSError``."""

    stored = FileSystemStorage._save  # type: ignore[attr-defined]
    refused: list[str] = []

    def once_away(self: FileSystemStorage, name: str, content: Any) -> str:
        if not refused:
            refused.append(name)
            raise ClientError("SlowDown")
        return str(stored(self, name, content))

    monkeypatch.setattr(FileSystemStorage, "_save", once_away)
    found, thread = run()
    thread.join(30)
    assert scenes.history(found.task.pk) == ["submitted", "claimed", "succeeded"]
