"""The rate of an upstream: taken with the slots, never beyond the contract, in nobody's way."""

import threading
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from tasks_app.core import claim
from tasks_app.gates import figures, keys, slots
from tasks_app.gates import workers as signs
from tasks_app.gates.connection import client
from tasks_app.gates.slots import Candidate, Rate
from tasks_app.maintenance import due
from tasks_app.maintenance.figures import publish_all
from tasks_app.models import Generator
from tests.conftest import make_generator
from tests.integration.helpers import claimed, submit

pytestmark = [pytest.mark.django_db(transaction=True)]


def candidate(owner: int = 1, *, limit: int = 100, rate: Rate, own: int = 100) -> Candidate:
    return Candidate(uuid4(), rate.generator_id, limit, owner, own, rate.interval, rate.burst)


def later(rate: Rate, seconds: float) -> None:
    """Date back what has been used, instead of waiting."""
    key = keys.slots_rate(rate.generator_id)
    held = client().get(key)
    assert isinstance(held, bytes)
    client().set(key, f"{float(held) - 1000 * seconds:.3f}", keepttl=True)


@pytest.mark.usefixtures("open_slots")
def test_a_burst_and_then_one_per_interval() -> None:
    rate = Rate(uuid4(), 60.0, 3)
    for _ in range(3):
        assert slots.acquire(uuid4(), [candidate(rate=rate)]).index == 0
    assert slots.acquire(uuid4(), [candidate(rate=rate)]).index is None
    assert 59 < slots.rate_waits([rate])[rate.generator_id] <= 60
    later(rate, 59.0)
    assert slots.acquire(uuid4(), [candidate(rate=rate)]).index is None
    later(rate, 1.0)
    assert slots.rate_waits([rate]) == {}
    assert slots.acquire(uuid4(), [candidate(rate=rate)]).index == 0
    assert slots.acquire(uuid4(), [candidate(rate=rate)]).index is None


@pytest.mark.usefixtures("open_slots")
def test_the_rate_is_not_spent_where_a_slot_is_missing_nor_a_slot_where_the_rate_is() -> None:
    rate = Rate(uuid4(), 60.0, 1)
    for full in (candidate(rate=rate, limit=0), candidate(rate=rate, own=0)):
        assert slots.acquire(uuid4(), [full]).index is None
    assert slots.rate_waits([rate]) == {}
    assert slots.acquire(uuid4(), [candidate(rate=rate)]).index == 0
    assert slots.acquire(uuid4(), [candidate(2, rate=rate)]).index is None
    assert slots.used([keys.slots_owner(2), keys.slots_all()]) == [0, 1]


@pytest.mark.usefixtures("open_slots")
def test_exactly_the_rate_under_many_claimers() -> None:
    rate = Rate(uuid4(), 3600.0, 5)
    got: list[int | None] = []
    barrier = threading.Barrier(16)

    def take() -> None:
        barrier.wait(10)
        got.extend(slots.acquire(uuid4(), [candidate(rate=rate)]).index for _ in range(4))

    threads = [threading.Thread(target=take) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(index is not None for index in got) == 5


@pytest.mark.usefixtures("open_slots")
def test_a_raised_rate_acts_at_once() -> None:
    slow = Rate(uuid4(), 3600.0, 1)
    assert slots.acquire(uuid4(), [candidate(rate=slow)]).index == 0
    quick = Rate(slow.generator_id, 0.5, 1)
    assert slots.rate_waits([quick])[quick.generator_id] <= 0.5


def test_after_redis_lost_everything_the_rate_is_used_up(alice: Any, open_slots: None) -> None:
    generator = make_generator("upstream", rate_per_minute=2.0, rate_burst=2)
    rate = claim.rate_of(generator)
    assert (rate.interval, rate.burst) == (30.0, 2)
    client().flushdb()
    slots.restore([], rates=[rate])
    assert 29 < slots.rate_waits([rate])[generator.pk] <= 30
    submit(alice, "upstream")
    assert claim.claim_next("default", "worker") is None
    client().flushdb()
    slots.acquire(uuid4(), [])  # notices, and starts the fence
    held = client().get(keys.slots_epoch())
    assert isinstance(held, bytes)
    client().set(keys.slots_epoch(), held.rsplit(b":", 1)[0] + b":0")
    assert claim.claim_next("default", "worker") is None
    assert generator.pk in slots.rate_waits([rate])


def test_work_for_a_busy_upstream_does_not_block_others(
    alice: Any, bob: Any, sleeper: Generator, open_slots: None
) -> None:
    make_generator("upstream", rate_per_minute=1.0)
    for _ in range(30):
        submit(alice, "upstream")
    assert claimed().task.generator.name == "upstream"
    wanted = submit(bob)
    assert claimed().task.pk == wanted.pk
    assert claim.claim_next("default", "worker") is None
    assert due.pools_with_work() == []


def test_the_ticker_looks_again_when_the_rate_allows(alice: Any, open_slots: None) -> None:
    generator = make_generator("upstream", rate_per_minute=1.0)
    assert due.soonest_rate() is None
    submit(alice, "upstream")
    submit(alice, "upstream")
    claimed()
    left = due.soonest_rate()
    assert left is not None
    assert 50 < left <= 60
    later(claim.rate_of(generator), 60.0)
    assert due.soonest_rate() is None
    assert due.pools_with_work() == ["default"]
    connection.close()


def test_it_is_said_that_the_upstream_is_waited_for(alice: Any, open_slots: None) -> None:
    generator = make_generator("upstream", rate_per_minute=1.0)
    for _ in range(3):
        submit(alice, "upstream")
    claimed()
    for name in ("a", "b", "c"):
        signs.alive("default", name, client())
    publish_all()
    found = figures.read("default")
    assert found is not None
    known = found.of(generator.pk)
    assert known is not None
    assert 50 < known.rate_wait <= 60
    ((first, second),) = found.flows.values()
    assert first[2] == pytest.approx(60, abs=5)
    assert second[2] - first[2] == pytest.approx(60, abs=1)
