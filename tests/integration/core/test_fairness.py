"""The fair order on the real tables: who is claimed next."""

import math
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from tasks_app.core import cancellation, fairness, outcomes, submission
from tasks_app.core.claim import Claim
from tasks_app.gates import keys
from tasks_app.gates.connection import client
from tasks_app.lifecycle import Priority
from tasks_app.models import Account, Attempt, Flow, Generator, Lane, Pool, Task, new_id
from tests.conftest import make_generator, make_user
from tests.integration.helpers import artifacts, claimed, submit, wrong_heads

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("open_slots")]


def finish_next(seconds: float | None = None) -> Task:
    """Claim and finish a task that takes what it was expected to."""
    one = claimed()
    take(one, (one.task.cost or 1.0) if seconds is None else seconds)
    return one.task


def take(one: Claim, seconds: float) -> None:
    """Finish a task that took so long."""
    started = Now() - timedelta(seconds=seconds)
    Attempt.objects.filter(pk=one.attempt.pk).update(started_at=started)
    outcomes.succeeded(one.attempt, artifacts(one.task.pk))


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
    fairness.advance("default", sleeper.pk, 7.0)
    fairness.advance("default", sleeper.pk, 3.0)
    assert Pool.objects.get(name="default").virtual_time == 7.0
    assert Lane.objects.get().clock == 7.0
    submit(alice)
    assert Flow.objects.get().head_tag == 7.0


def test_canceled_waiting_work_costs_nothing(alice: Any, bob: Any, sleeper: Generator) -> None:
    """Also when it is canceled after others of its flow have started."""
    many = [submit(alice) for _ in range(20)]
    wanted = submit(alice)
    submit(bob)
    assert finish_next().owner_id == alice.pk
    for task in many[1:]:
        cancellation.cancel(task.pk, alice.pk)
    assert {finish_next().pk for _ in range(2)} >= {wanted.pk}
    assert Flow.objects.get(owner=alice).finish_tag == pytest.approx(2, abs=0.5)


def test_work_that_started_and_is_canceled_pays_for_what_it_took(
    alice: Any, sleeper: Generator
) -> None:
    submit(alice)
    one = claimed()
    assert Flow.objects.get().finish_tag == 1.0
    Attempt.objects.update(started_at=F("started_at") - timedelta(seconds=30))
    cancellation.cancel(one.task.pk, alice.pk)
    assert Flow.objects.get().finish_tag == 1.0, "it may still run"
    outcomes.stopped(one.attempt)
    assert Flow.objects.get().finish_tag == pytest.approx(30, abs=5)
    outcomes.stopped(one.attempt)
    assert Flow.objects.get().finish_tag == pytest.approx(30, abs=5)


def test_what_a_task_really_took_is_charged(alice: Any, bob: Any, sleeper: Generator) -> None:
    """Who says one thing and takes another gains nothing."""
    for user in (alice, bob):
        for _ in range(40):
            submit(user)
    took = dict.fromkeys((alice.pk, bob.pk), 0.0)
    for _ in range(22):
        one = claimed()
        seconds = 10.0 if one.task.owner_id == alice.pk else 1.0
        took[one.task.owner_id] += seconds
        take(one, seconds)
    assert took[alice.pk] / took[bob.pk] == pytest.approx(1, rel=0.5)


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
    fairness.advance("default", sleeper.pk, poison)
    fairness.give_back(first.flow_id, poison)
    assert not Pool.objects.filter(virtual_time=poison).exists()
    Pool.objects.update_or_create(name="default", defaults={"virtual_time": poison})
    Lane.objects.create(pool="default", generator=sleeper, clock=poison, shift=poison)
    Flow.objects.update(finish_tag=poison, last_tag=poison, head_tag=poison)
    second = submit(alice)
    assert math.isfinite(second.tag)
    paid = [finish_next().paid_tag for _ in range(2)]
    assert all(tag is not None and math.isfinite(tag) for tag in paid)
    flow, lane = Flow.objects.get(), Lane.objects.get()
    numbers = (flow.finish_tag, flow.last_tag, lane.clock, lane.shift)
    assert all(math.isfinite(number) for number in numbers)
    assert math.isfinite(Pool.objects.get().virtual_time)


# --- who waits for whom -----------------------------------------------------------------------


def batch(user: Any, number: int, generator: str = "sleeper", **fields: Any) -> None:
    """Let so many tasks of a user wait, as if he had submitted them one after the other."""
    first = submit(user, generator, **fields)
    rows = []
    for tag in range(2, number + 1):
        copy = Task.objects.get(pk=first.pk)
        copy.pk, copy.tag = new_id(), float(tag)
        rows.append(copy)
    Task.objects.bulk_create(rows)
    Flow.objects.filter(pk=first.flow_id).update(last_tag=number)


class Slots:
    """A few slots that are always in use; each step ends the oldest execution and claims."""

    def __init__(self, number: int) -> None:
        self._running = [claimed() for _ in range(number)]

    def step(self, seconds: float = 1.0) -> Task:
        take(self._running.pop(0), seconds)
        self._running.append(claimed())
        return self._running[-1].task


def test_five_thousand_waiting_tasks_delay_a_light_users_first_one_by_a_few_claims(
    alice: Any, bob: Any, sleeper: Generator
) -> None:
    batch(alice, 5_000)
    Generator.objects.update(max_running=5)
    slots_of_five = Slots(5)
    for _ in range(20):
        slots_of_five.step()
    submit(bob)
    assert bob.pk in [slots_of_five.step().owner_id for _ in range(10)]


def test_a_vip_gets_four_times_the_share_of_a_normal_user(sleeper: Generator) -> None:
    users = [make_user(f"normal {n}") for n in range(4)]
    vip = make_user("vip", weight=4.0)
    for user in [*users, vip]:
        batch(user, 30)
    in_use = Slots(2)
    owners = [in_use.step().owner_id for _ in range(40)]
    share = owners.count(vip.pk) / (len(owners) - owners.count(vip.pk)) * len(users)
    assert share == pytest.approx(4, rel=0.2)


def test_weight_holds_where_one_generator_is_the_bottleneck(
    alice: Any, bob: Any, sleeper: Generator
) -> None:
    """The virtual time of the pool runs ahead with another generator that has many slots."""
    make_generator("narrow", max_running=1)
    vip = make_user("vip", weight=4.0)
    for user in (alice, vip):
        batch(user, 15, "narrow")
    batch(bob, 60)
    owners = []
    for _ in range(15):
        held = claimed()
        owners.append(held.task.owner_id)
        for _ in range(4):
            assert finish_next().owner_id == bob.pk
        take(held, 1.0)
    assert owners.count(vip.pk) == pytest.approx(12, abs=1)
    assert owners.count(alice.pk) == pytest.approx(3, abs=1)


@pytest.mark.parametrize("blocked", ["owner", "generator"])
def test_who_was_blocked_gets_no_credit_for_it(
    alice: Any, bob: Any, sleeper: Generator, blocked: str
) -> None:
    other = make_generator("other")
    carol = make_user("carol", max_running=1_000)
    batch(alice, 50, "other")
    if blocked == "owner":
        Account.objects.filter(user=alice).update(max_running=0)
    else:
        Generator.objects.filter(pk=other.pk).update(paused=True)
    batch(bob, 100)
    for _ in range(40):
        assert finish_next().owner_id == bob.pk
    Account.objects.filter(user=alice).update(max_running=1_000)
    Generator.objects.filter(pk=other.pk).update(paused=False)
    client().delete(keys.slots_full_owners())
    submit(carol)
    owners = [finish_next().owner_id for _ in range(12)]
    assert carol.pk in owners[:4]
    assert 4 <= owners.count(bob.pk) <= 7, "alice and bob take turns from the first one on"


def test_low_priority_is_served_in_bounded_time(alice: Any, bob: Any, sleeper: Generator) -> None:
    batch(alice, 100, priority=Priority.HIGH)
    finish_next()
    wanted = submit(bob, priority=Priority.LOW)
    batch(bob, 20, priority=Priority.LOW)
    started = [finish_next().pk for _ in range(40)]
    assert wanted.pk in started[:5]
    lows = Task.objects.filter(pk__in=started, priority="low").count()
    assert 2 <= lows <= 4, "a sixteenth of what goes to high priority, and not nothing"


@pytest.mark.parametrize("limit", [1, 1_000])
def test_an_owners_urgent_tasks_all_go_before_his_own_low_ones(
    bob: Any, sleeper: Generator, limit: int
) -> None:
    carol = make_user("carol", max_running=limit)
    for _ in range(4):
        submit(carol, priority=Priority.LOW)
    finish_next()
    for _ in range(6):
        submit(carol, priority=Priority.HIGH)
    assert [finish_next().priority for _ in range(9)] == ["high"] * 6 + ["low"] * 3


def test_urgent_tasks_before_own_ones_of_another_generator(alice: Any, sleeper: Generator) -> None:
    make_generator("other")
    for _ in range(3):
        submit(alice, "other", priority=Priority.LOW)
    for _ in range(3):
        submit(alice, priority=Priority.HIGH)
    assert [finish_next().priority for _ in range(6)] == ["high"] * 3 + ["low"] * 3


def test_urgency_among_ones_own_work_takes_nothing_from_others(
    alice: Any, bob: Any, sleeper: Generator
) -> None:
    """A turn that low priority has earned is paid at the price of low priority."""
    batch(alice, 30, priority=Priority.LOW)
    batch(bob, 100)
    for _ in range(10):
        finish_next()
    paid_before = Flow.objects.get(owner=alice, priority="low").finish_tag
    submit(alice, priority=Priority.HIGH)
    while Task.objects.filter(owner=alice, priority="high", state="pending").exists():
        finish_next()
    high = Task.objects.get(owner=alice, priority="high")
    assert high.paid_tag is not None
    flows = Flow.objects.filter(owner=alice).values_list("priority", "finish_tag")
    assert dict(flows)["low"] >= paid_before
    assert wrong_heads() == []


def test_a_task_that_comes_back_is_not_charged_twice(alice: Any, sleeper: Generator) -> None:
    submit(alice)
    one = claimed()
    outcomes.interrupted(one.attempt)
    before = Flow.objects.get()
    assert (before.head_tag, before.finish_tag) == (0.0, 1.0)
    again = claimed()
    assert again.task.pk == one.task.pk
    assert Flow.objects.get().finish_tag == 1.0


def test_another_weight_acts_on_what_waits(alice: Any, bob: Any, sleeper: Generator) -> None:
    for user in (alice, bob):
        batch(user, 40)
    Account.objects.filter(user=bob).update(weight=4.0)
    owners = [finish_next().owner_id for _ in range(20)]
    assert 15 <= owners.count(bob.pk) <= 17
