"""The distributed semaphore on a real Valkey."""

import threading
import time
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from tasks_app.gates import keys, slots
from tasks_app.gates.connection import client
from tasks_app.gates.slots import Candidate, Holder
from tests.processes import eventually

GENERATOR, OTHER = uuid4(), uuid4()


def candidate(
    owner: int = 1, *, limit: int = 5, own: int = 3, generator: UUID = GENERATOR
) -> Candidate:
    return Candidate(uuid4(), generator, limit, owner, own)


def holder(claim: UUID, one: Candidate) -> Holder:
    return Holder(claim, one.task_id, one.generator_id, one.owner_id)


def everything(one: Candidate) -> list[int]:
    scopes = [keys.slots_all(), keys.slots_generator(one.generator_id)]
    return slots.used([*scopes, keys.slots_owner(one.owner_id)])


@pytest.mark.usefixtures("open_slots")
def test_all_scopes_or_none() -> None:
    one = candidate(limit=1)
    assert slots.acquire(uuid4(), [one]).index == 0
    assert everything(one) == [1, 1, 1]
    refused = candidate(owner=2, limit=1)
    assert slots.acquire(uuid4(), [refused]).index is None
    assert everything(refused) == [1, 1, 0]


@pytest.mark.usefixtures("open_slots")
def test_the_first_candidate_with_room_is_taken() -> None:
    full = candidate(owner=1, own=0)
    free = candidate(owner=2)
    answer = slots.acquire(uuid4(), [full, free])
    assert answer.index == 1
    assert slots.full_owners() == [1]


@pytest.mark.usefixtures("open_slots")
def test_an_owner_whose_hint_has_faded_is_told_as_newly_full() -> None:
    full = candidate(owner=1, own=0)
    assert slots.acquire(uuid4(), [full]).newly_full == 1
    assert slots.acquire(uuid4(), [full]).newly_full == 0
    client().zadd(keys.slots_full_owners(), {"1": 1.0})
    assert slots.full_owners() == []
    assert slots.acquire(uuid4(), [full]).newly_full == 1


@pytest.mark.usefixtures("open_slots")
def test_a_task_is_not_claimed_twice_at_once() -> None:
    one = candidate()
    assert slots.acquire(uuid4(), [one]).index == 0
    assert slots.acquire(uuid4(), [one]).index is None
    assert slots.acquire(uuid4(), [one, candidate()]).index == 1


@pytest.mark.usefixtures("open_slots")
def test_exactly_the_limit_under_many_claimers(settings: Settings) -> None:
    settings.DARKROOM = settings.DARKROOM | {"limit_all": 7}
    barrier = threading.Barrier(20)
    got: list[int | None] = []

    def take() -> None:
        barrier.wait(10)
        got.extend(slots.acquire(uuid4(), [candidate(n, limit=100)]).index for n in range(10))

    threads = [threading.Thread(target=take) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(index is not None for index in got) == 7


@pytest.mark.usefixtures("open_slots")
def test_released_slots_can_be_taken_and_releasing_twice_is_harmless() -> None:
    one, claim = candidate(limit=1), uuid4()
    slots.acquire(claim, [one])
    assert slots.release(holder(claim, one)) == 3
    assert slots.release(holder(claim, one)) == 0
    assert everything(one) == [0, 0, 0]
    assert slots.acquire(uuid4(), [one]).index == 0


@pytest.mark.usefixtures("open_slots")
def test_releasing_removes_only_ones_own_members() -> None:
    one, claim = candidate(), uuid4()
    slots.acquire(claim, [one])
    slots.release(holder(uuid4(), one))
    assert slots.members(keys.slots_all()) == {claim}


@pytest.mark.usefixtures("open_slots")
def test_slots_come_back_after_a_crash(settings: Settings) -> None:
    settings.DARKROOM = settings.DARKROOM | {"claim_lease": 0.3, "slot_fence": 0.05}
    slots.vouch(time.monotonic())
    one = candidate(limit=1)
    slots.acquire(uuid4(), [one])
    assert slots.acquire(uuid4(), [candidate(limit=1)]).index is None

    def vouched_for() -> bool:
        return slots.vouch(time.monotonic())

    eventually(lambda: vouched_for() and slots.acquire(uuid4(), [candidate(limit=1)]).index == 0)


@pytest.mark.usefixtures("open_slots")
def test_extending_never_shortens_and_adds_what_was_lost() -> None:
    one, claim = candidate(), uuid4()
    slots.acquire(claim, [one])
    slots.extend(holder(claim, one), lease=100)
    slots.extend(holder(claim, one), lease=1)
    score = client().zscore(keys.slots_all(), str(claim))
    seconds, _ = client().time()
    assert score is not None
    assert score / 1000 - seconds > 50
    client().delete(keys.slots_all())
    slots.extend(holder(claim, one))
    assert slots.members(keys.slots_all()) == {claim}


@pytest.mark.usefixtures("open_slots")
def test_keys_live_as_long_as_their_latest_member() -> None:
    one, claim = candidate(), uuid4()
    slots.acquire(claim, [one])
    slots.extend(holder(claim, one), lease=1000)
    slots.acquire(uuid4(), [candidate()])
    assert client().ttl(keys.slots_owner(1)) > 900


def test_nobody_is_admitted_while_the_sets_may_be_incomplete() -> None:
    assert slots.acquire(uuid4(), [candidate()]).wait > 0
    eventually(lambda: slots.acquire(uuid4(), [candidate()]).restore)
    one = candidate()
    running = holder(uuid4(), one)
    slots.restore([running])
    assert slots.members(keys.slots_all()) == {running.claim_id}
    assert slots.acquire(uuid4(), [candidate()]).index == 0


@pytest.mark.usefixtures("open_slots")
def test_nobody_is_admitted_unless_the_sets_were_compared_lately() -> None:
    """Leases end while their holders cannot reach Redis, and the holders run on."""
    eventually(lambda: slots.acquire(uuid4(), []).vouch)
    assert slots.vouch(time.monotonic())
    assert slots.acquire(uuid4(), [candidate()]).index == 0
    client().delete(f"{keys.slots_epoch()}:vouched")
    assert not slots.vouch(time.monotonic() - slots.vouched_seconds()), "comparing took too long"
    assert slots.acquire(uuid4(), [candidate()]).vouch
    client().delete(keys.slots_epoch())
    assert not slots.vouch(time.monotonic()), "what is lost is restored, not vouched for"


@pytest.mark.usefixtures("open_slots")
@pytest.mark.parametrize("name", ["epoch", "all", "claiming", "full", "generator", "owner"])
def test_a_key_of_a_wrong_type_counts_as_lost(name: str) -> None:
    one = candidate()
    spoiled = {
        "epoch": keys.slots_epoch(),
        "all": keys.slots_all(),
        "claiming": keys.slots_claiming(),
        "full": keys.slots_full_owners(),
        "generator": keys.slots_generator(one.generator_id),
        "owner": keys.slots_owner(one.owner_id),
    }[name]
    client().delete(spoiled)
    client().lpush(spoiled, "nonsense")
    assert slots.acquire(uuid4(), [candidate(limit=0), one]).index is None
    assert slots.acquire(uuid4(), [one]).wait > 0
    eventually(lambda: slots.acquire(uuid4(), [one]).restore)
    slots.restore([])
    assert slots.acquire(uuid4(), [candidate()]).index == 0


@pytest.mark.usefixtures("open_slots")
def test_reading_mends_wrong_types_too() -> None:
    scopes = [keys.slots_all(), keys.slots_generator(uuid4())]
    for scope in scopes:
        client().set(scope, "nonsense")
    assert slots.used(scopes) == [0, 0]
    client().set(scopes[0], "nonsense")
    assert slots.members(scopes[0]) == set()
    client().set(keys.slots_full_owners(), "nonsense")
    assert slots.full_owners() == []


@pytest.mark.usefixtures("open_slots")
def test_an_old_dump_of_another_server_run_does_not_count_as_complete() -> None:
    held = client().get(keys.slots_epoch())
    assert isinstance(held, bytes)
    assert held.startswith(b"complete:")
    client().set(keys.slots_epoch(), "complete:0123456789abcdef")
    assert slots.acquire(uuid4(), [candidate()]).wait > 0


@pytest.mark.usefixtures("open_slots")
def test_other_generators_do_not_matter() -> None:
    slots.acquire(uuid4(), [candidate(limit=1)])
    assert slots.acquire(uuid4(), [candidate(owner=2, limit=1, generator=OTHER)]).index == 0
