"""Archivers that are killed and that run beside each other: every task is in exactly one place."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from tasks_app.core import archived
from tasks_app.models import ArchivedTask, Artifact, Attempt, Event, Generator, Task
from tests.history import fill
from tests.processes import Service, eventually, kill_group

Services = Callable[..., Service]
NUMBER = 400


def test_killed_archivers_lose_nothing_and_double_nothing(
    service: Services, alice: Any, sleeper: Generator
) -> None:
    fill(alice, NUMBER, sleeper)
    Event.objects.bulk_create(
        Event(task_id=pk, at=Now(), kind="submitted")
        for pk in Task.objects.values_list("pk", flat=True)
    )
    age = timedelta(days=40)
    Task.objects.update(created_at=F("created_at") - age, finished_at=F("finished_at") - age)
    Task.objects.filter(state="success").update(
        result_expires_at=F("finished_at"), result_removed_at=F("finished_at")
    )
    Artifact.objects.update(removed_at=Now() - age, files_gone_at=Now() - age)
    accepted = set(Task.objects.values_list("pk", flat=True))
    assert len(accepted) == NUMBER
    events = Event.objects.count()

    darkroom = service()
    for killed_at in (20, 120, 220):
        archivers = [darkroom.start("archive_tasks", "--batch", "2") for _ in range(2)]
        eventually(lambda: ArchivedTask.objects.count() >= killed_at, pause=0.005)  # noqa: B023
        for archiver in archivers:
            kill_group(archiver)
            archiver.wait(10)
        _nothing_is_lost(accepted)
    both = [darkroom.start("archive_tasks", "--batch", "7") for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert darkroom.run("archive_tasks").stdout == "nothing to do\n"
    _nothing_is_lost(accepted)
    assert ArchivedTask.objects.count() == NUMBER
    assert sum(len(archived.events(pk)) for pk in accepted) == events
    assert not Event.objects.exists()
    assert not Attempt.objects.exists()


def _nothing_is_lost(accepted: set[Any]) -> None:
    live = set(Task.objects.values_list("pk", flat=True))
    moved = set(ArchivedTask.objects.values_list("pk", flat=True))
    assert not live & moved
    assert live | moved == accepted
