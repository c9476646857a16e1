"""The fair order on the real tables: who is claimed next."""

import math
from typing import Any

import pytest

from tasks_app.core import cancellation, fairness, outcomes, submission
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


def unbounded() -> Generator:
    """Make a generator whose operator did not bound the number of pictures."""
    schema = {"properties": {"n": {"type": "integer", "default": 1}}}
    return make_generator(
        "unbounded", settings={"callable": "tests.artists:sleeper", "parameters": schema}
    )


def ask(user: Any, **params: Any) -> Task:
    wish = submission.Wish("unbounded", params)
    return Task.objects.get(pk=submission.submit(user, wish).task_id)


@pytest.mark.parametrize("number", [2**63 - 1, 10**18, -5, 0])
def test_no_number_of_pictures_moves_the_virtual_time_for_ever(alice: Any, number: int) -> None:
    unbounded()
    for _ in range(3):
        ask(alice, n=number)
        assert finish_next().share <= 86_400
    assert Pool.objects.get().virtual_time <= 3 * 86_400


def test_a_long_expectation_leaves_the_order_to_others(
    alice: Any, bob: Any, sleeper: Generator
) -> None:
    Generator.objects.filter(pk=unbounded().pk).update(expected_seconds=86_400)
    light = make_user("light", weight=0.01)
    for _ in range(3):
        ask(light, n=1_000)
        submit(bob)
    for _ in range(6):
        finish_next()
    shares = [fairness.share(number, 0.01, Priority.LOW) for number in (86_400, 1e308)]
    assert all(math.isfinite(share) and share <= 1e9 for share in shares)
    assert Pool.objects.get().virtual_time <= 1e9


@pytest.mark.parametrize("poison", [float("inf"), float("nan")])
def test_what_is_not_finite_neither_spreads_nor_stays(
    alice: Any, sleeper: Generator, poison: float
) -> None:
    first = submit(alice)
    fairness.advance("default", poison)
    fairness.give_back(first.flow_id, poison)
    assert not Pool.objects.filter(virtual_time=poison).exists()
    Pool.objects.update_or_create(name="default", defaults={"virtual_time": poison})
    Flow.objects.update(finish_tag=poison)
    second = submit(alice)
    assert math.isfinite(second.tag)
    flow = Flow.objects.get()
    assert math.isfinite(flow.finish_tag)
    assert math.isfinite(flow.last_tag)
    fairness.advance("default", second.tag)
    assert Pool.objects.get().virtual_time == second.tag
