"""Waiting tasks that go to another generator or pool."""

from typing import Any

import pytest

from tasks_app.core import moving, outcomes
from tasks_app.core.costs import expected
from tasks_app.lifecycle import EventKind, Priority
from tasks_app.maintenance.sweep import sweep
from tasks_app.models import Event, Flow, Generator, Task
from tests.conftest import make_generator
from tests.integration.helpers import claimed, submit, wrong_heads

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]


@pytest.fixture
def other(db: None) -> Generator:
    return make_generator("other", pool="elsewhere", expected_seconds=7.0)


def test_a_moved_task_gets_a_place_of_its_own(
    alice: Any, sleeper: Generator, other: Generator
) -> None:
    submit(alice, "other")
    task = submit(alice, priority=Priority.HIGH)
    assert moving.move_to(task, other, degraded=True, told={"why": "circuit open"})
    moved = Task.objects.get(pk=task.pk)
    assert (moved.generator_id, moved.pool, moved.degraded) == (other.pk, "elsewhere", True)
    assert (moved.version, moved.cost) == (task.version + 1, expected(other, task.params))
    assert moved.flow_id != task.flow_id
    assert wrong_heads() == []
    (line,) = Event.objects.filter(task=task, kind=EventKind.REQUEUED.value)
    assert line.data["reason"] == "moved to another generator"
    assert line.data["why"] == "circuit open"
    assert claimed("elsewhere").task.pk == task.pk, "its urgency moved along"
    assert not Flow.objects.get(pk=task.flow_id).head_tag


def test_what_it_had_paid_is_given_back(alice: Any, sleeper: Generator, other: Generator) -> None:
    submit(alice)
    one = claimed()
    outcomes.interrupted(one.attempt)
    assert Flow.objects.get().finish_tag == 1.0
    assert moving.move_to(Task.objects.get(), other)
    assert Flow.objects.get(generator=sleeper).finish_tag == 0.0
    assert claimed("elsewhere").task.share == pytest.approx(7.0, rel=0.9)
    assert Flow.objects.get(generator=other).finish_tag > 0


def test_a_task_that_changed_meanwhile_is_left_alone(
    alice: Any, sleeper: Generator, other: Generator
) -> None:
    task = submit(alice)
    claimed()
    assert not moving.move_to(task, other)
    assert not moving.move_to(Task.objects.get(), other)
    assert Task.objects.get().generator_id == sleeper.pk
    assert Flow.objects.filter(head_tag__isnull=False).count() == 0
    assert not moving.move_to(submit(alice), sleeper), "it is there already"


def test_what_waits_follows_its_generator_to_another_pool(alice: Any, sleeper: Generator) -> None:
    waiting = [submit(alice) for _ in range(3)]
    Generator.objects.update(pool="new")
    assert sweep().counts["moved to another pool"] == 3
    assert [claimed("new").task.pk for _ in range(3)] == [task.pk for task in waiting]
    assert sweep().counts["moved to another pool"] == 0
