"""The fair order on the real tables: who is claimed next."""

from typing import Any

import pytest

from tasks_app.core import cancellation, fairness, outcomes
from tasks_app.lifecycle import Priority
from tasks_app.models import Flow, Generator, Pool, Task
from tests.conftest import make_generator, make_user
from tests.integration.helpers import artifacts, claimed, submit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]


def finish_next() -> Task:
    one = claimed()
    outcomes.succeeded(one.attempt, artifacts(one.task.pk))
    return one.task


def test_a_burst_does_not_delay_another_users_first_task(
    alice: Any, bob: Any, sleeper: Generator
) -> None:
    for _ in range(10):
        submit(alice)
    finish_next()
    first = submit(bob)
    order = [finish_next().pk for _ in range(2)]
    assert first.pk in order


def test_two_users_take_turns(alice: Any, bob: Any, sleeper: Generator) -> None:
    for user in (alice, bob):
        for _ in range(5):
            submit(user)
    owners = [finish_next().owner_id for _ in range(10)]
    for turn in range(0, 10, 2):
        assert set(owners[turn : turn + 2]) == {alice.pk, bob.pk}


def test_weight_gives_a_share(sleeper: Generator) -> None:
    heavy, light = make_user("heavy", weight=4.0), make_user("light", weight=1.0)
    for user in (light, heavy):
        for _ in range(20):
            submit(user)
    owners = [finish_next().owner_id for _ in range(10)]
    assert 7 <= owners.count(heavy.pk) <= 9


def test_an_owners_urgent_task_does_not_queue_behind_his_own_low_ones(
    alice: Any, sleeper: Generator
) -> None:
    for _ in range(5):
        submit(alice, priority=Priority.LOW)
    finish_next()
    urgent = submit(alice, priority=Priority.HIGH)
    assert finish_next().pk == urgent.pk


def test_within_a_flow_first_come_first_served(alice: Any, sleeper: Generator) -> None:
    submitted = [submit(alice).pk for _ in range(5)]
    assert [finish_next().pk for _ in range(5)] == submitted


def test_virtual_time_only_moves_forward(alice: Any, sleeper: Generator) -> None:
    fairness.advance("default", 7.0)
    fairness.advance("default", 3.0)
    assert Pool.objects.get(name="default").virtual_time == 7.0
    assert submit(alice).tag == 7.0


def test_canceled_waiting_work_gives_its_share_back(alice: Any, sleeper: Generator) -> None:
    submit(alice)
    before = Flow.objects.get().finish_tag
    task = submit(alice)
    assert Flow.objects.get().finish_tag > before
    cancellation.cancel(task.pk, alice.pk)
    assert Flow.objects.get().finish_tag == pytest.approx(before)


def test_a_paused_generator_does_not_block_the_others(alice: Any, sleeper: Generator) -> None:
    make_generator("paused", paused=True)
    for _ in range(40):
        submit(alice, "paused")
    wanted = submit(alice)
    assert claimed().task.pk == wanted.pk


def test_owners_at_their_limit_do_not_block_the_others(alice: Any, sleeper: Generator) -> None:
    capped = [make_user(f"capped {n}", max_running=0) for n in range(40)]
    for user in capped:
        submit(user)
    wanted = submit(alice)
    assert claimed().task.pk == wanted.pk


def test_what_was_taken_away_goes_to_the_front_again(
    alice: Any, bob: Any, sleeper: Generator
) -> None:
    submit(alice)
    one = claimed()
    for _ in range(3):
        submit(bob)
    outcomes.interrupted(one.attempt)
    assert claimed().task.pk == one.task.pk
