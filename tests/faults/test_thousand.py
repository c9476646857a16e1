"""Two sweeps, a cancel, a finish and a deadline at once; a thousand times by `make faults`."""

import os
import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from tasks_app.core import cancellation, observation, outcomes
from tasks_app.core.claim import holder_of
from tasks_app.core.clock import database_now
from tasks_app.gates import slots
from tasks_app.lifecycle import TERMINAL, State
from tasks_app.maintenance import sweep
from tasks_app.maintenance.report import Report
from tasks_app.models import Attempt, Generator, Task
from tests import scenes
from tests.faults.oracle import Count, History, Row, judge
from tests.faults.witness import late
from tests.integration.helpers import artifacts

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = int(os.environ.get("DARKROOM_FAULTS_RACES", "250"))


def test_all_that_may_end_a_task_at_the_same_instant(
    alice: Any, sleeper: Generator, open_slots: None
) -> None:
    attempts = _running(alice, sleeper)
    endings: list[Callable[[Attempt], object]] = [
        _sweep,
        _sweep,
        lambda one: cancellation.cancel(one.task_id, alice.pk),
        lambda one: outcomes.succeeded(one, artifacts(one.task_id)),
        lambda one: outcomes.timed_out(one.task),
    ]
    together = threading.Barrier(len(endings) + 1)
    raised: list[BaseException] = []

    def end_each(ending: Callable[[Attempt], object]) -> None:
        try:
            for attempt in attempts:
                together.wait(30)
                ending(attempt)
                together.wait(30)
        except BaseException as error:
            raised.append(error)
            together.abort()
        finally:
            connection.close()

    threads = [threading.Thread(target=end_each, args=(ending,)) for ending in endings]
    for thread in threads:
        thread.start()
    try:
        for attempt in attempts:
            slots.extend(holder_of(attempt))
            Task.objects.filter(pk=attempt.task_id).update(deadline_at=database_now())
            together.wait(30)  # now
            together.wait(30)  # all have tried
    except threading.BrokenBarrierError:
        pass
    for thread in threads:
        thread.join(30)
    assert raised == []
    states = Counter(Task.objects.values_list("state", "error_code"))
    assert sum(states.values()) == ROUNDS
    assert len(states) == 3, f"each of them wins at times: {states}"
    assert judge(_history(sleeper)) == []
    assert scenes.slots_taken() == 0


def _sweep(_: Attempt) -> None:
    report = Report()
    sweep.time_out_running(report, False)
    assert report.troubles == []


def _running(owner: Any, generator: Generator) -> list[Attempt]:
    """Make running tasks of one flow, an attempt of each."""
    like = Task.objects.get(pk=scenes.submit(owner, generator, "picture"))
    flow, now = like.flow, database_now()
    like.delete()
    tasks = [
        Task(
            owner=owner,
            generator=generator,
            flow=flow,
            pool=generator.pool,
            state=State.RUNNING,
            params={"prompt": f"picture {number}"},
            tag=0.0,
            share=0.0,
            attempt_number=1,
            max_wait=3600.0,
            created_at=now,
            started_at=now,
            deadline_at=now + timedelta(hours=1),
        )
        for number in range(ROUNDS)
    ]
    Task.objects.bulk_create(tasks)
    attempts = [
        Attempt(
            task=task,
            number=1,
            claim_id=uuid4(),
            generator_name=generator.name,
            owner_id=owner.pk,
            started_at=now,
            heartbeat_at=now,
        )
        for task in tasks
    ]
    Attempt.objects.bulk_create(attempts)
    return attempts


def _history(generator: Generator) -> History:
    rows = [
        Row(
            key=task.params["prompt"],
            task_id=str(task.pk),
            state=task.state,
            owner="alice",
            generator=generator.name,
            attempts=1,
            outcomes=[one.outcome for one in task.attempts.all()],
            events=[one.kind for one in task.events.all()],
            late=late(task),
        )
        for task in Task.objects.prefetch_related("attempts", "events")
    ]
    for task in Task.objects.filter(state="success"):
        assert (task.result_count, task.artifacts.count()) == (1, 1)
    assert not Task.objects.exclude(state="success").filter(artifacts__isnull=False).exists()
    assert not Attempt.objects.filter(ended_at__isnull=True).exists()
    counted = observation.states(observation.totals())
    return History(
        sent={row.key for row in rows},
        rows=[row for row in rows if row.state != "success"],  # no files were stored
        counts=[
            Count(state, counted[state], sum(row.state == state for row in rows))
            for state in sorted(TERMINAL)
        ],
        lateness=30.0,
    )
