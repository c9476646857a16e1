"""A generation that does not stop when told costs its process, not the pool a worker for ever."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from tasks_app.core import cancellation
from tasks_app.gates import keys, slots
from tasks_app.models import Attempt, Task
from tests import artists
from tests.conftest import make_generator
from tests.integration.helpers import submit
from tests.processes import Service, eventually


def hang(service: Service, user: Any) -> tuple[Task, Any]:
    """Return a task whose generator will not listen for a minute, and its worker."""
    (worker,) = service.workers(1)
    service.ticker()
    task = submit(user, "deaf", seconds=60.0)
    eventually(lambda: any(line.what == "start" for line in artists.read(service.log)))
    return task, worker


@pytest.mark.parametrize("way", ["cancel", "deadline"])
def test_a_hung_worker_ends_after_the_grace_and_frees_its_slots(
    service: Callable[..., Service], alice: Any, way: str
) -> None:
    make_generator("deaf", "deaf", timeout_seconds=1.0 if way == "deadline" else 60.0)
    task, worker = hang(service(), alice)
    if way == "cancel":
        cancellation.cancel(task.pk, alice.pk)
    assert eventually(lambda: worker.poll() is not None and worker)
    assert worker.returncode == os.EX_TEMPFAIL
    task.refresh_from_db()
    assert task.error_code == {"cancel": "canceled", "deadline": "deadline_exceeded"}[way]
    eventually(lambda: not Attempt.objects.filter(ended_at__isnull=True).exists())
    eventually(lambda: slots.members(keys.slots_all()) == set())
