"""The order played forward: who starts when, and what is told of it."""

from collections import deque
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.core import estimates
from tasks_app.core.estimates import Flow, Lane, Owner, Play, Running

NARROW, WIDE = uuid4(), uuid4()


def flow(owner: int, number: int = 1, **fields: Any) -> Flow:
    known: dict[str, Any] = {"generator_id": WIDE, "rank": 1, "start": 0.0, "factor": 1.0}
    cost = fields.pop("cost", 10.0)
    tasks = deque((float(tag), cost) for tag in range(1, number + 1))
    return Flow(id=uuid4(), owner_id=owner, tasks=tasks, **{**known, **fields})


def play(
    flows: list[Flow], *, free: int = 1, workers: int = 1, limit: int = 100, **lane: Any
) -> list[estimates.Start]:
    lanes = [Lane(WIDE, 100, **lane), Lane(NARROW, 1)]
    owners = {one.owner_id: Owner(limit) for one in flows}
    return Play(lanes, flows, owners, [], free=free, workers=workers, now=0.0).starts()


def owners_of(flows: list[Flow], starts: list[estimates.Start]) -> list[int]:
    owner = {one.id: one.owner_id for one in flows}
    return [owner[start.flow_id] for start in starts]


def test_turns_are_taken_and_time_passes_as_slots_come_free() -> None:
    flows = [flow(1, 3), flow(2, 1)]
    starts = play(flows)
    assert owners_of(flows, starts) == [1, 2, 1, 1]
    assert [one.seconds for one in starts] == [0, 10, 20, 30]
    assert [one.position for one in starts] == [1, 2, 3, 4]


def test_an_owners_limit_holds_him_back_and_nobody_else() -> None:
    flows = [flow(1, 3), flow(2, 1, start=50.0)]
    starts = play(flows, free=3, workers=3, limit=1)
    assert [(o, s.seconds) for o, s in zip(owners_of(flows, starts), starts, strict=True)] == [
        (1, 0),
        (2, 0),
        (1, 10),
        (1, 20),
    ]


def test_a_generators_slots_and_an_upstreams_rate_hold_back_their_own_lane() -> None:
    flows = [flow(1, 2, generator_id=NARROW), flow(2, 2, start=5.0)]
    assert [one.seconds for one in play(flows, free=9, workers=9)] == [0, 0, 0, 10]
    paced = play([flow(1, 4, cost=1.0)], free=9, workers=9, interval=3.0, wait=2.0)
    assert [one.seconds for one in paced] == [2, 5, 8, 11]


def test_urgent_work_goes_before_the_owners_own() -> None:
    low, high = flow(1, 2, rank=2, factor=0.25), flow(1, 2, rank=0, factor=4.0, start=99.0)
    starts = play([low, high])
    assert [one.flow_id for one in starts] == [high.id, high.id, low.id, low.id]


def test_what_runs_frees_its_slot_when_it_is_thought_to_end() -> None:
    waiting = flow(1)
    owners = {1: Owner(1, used=1)}
    running = [Running(WIDE, 1, 7.0)]
    lane = Lane(WIDE, 1, used=1)
    (start,) = Play([lane], [waiting], owners, running, free=0, workers=0, now=0.0).starts()
    assert start.seconds == 7.0
    assert estimates.left_of(10.0, 4.0) == 6.0
    assert estimates.left_of(10.0, 40.0) == 1.0


def test_without_an_end_in_sight_nothing_is_foretold() -> None:
    assert play([flow(1)], workers=0) == []


flows_of = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(1, 12),
        st.floats(0.01, 100),
        st.sampled_from([0.25, 1.0, 4.0]),
        st.sampled_from([NARROW, WIDE]),
        st.floats(0.1, 50),
    ),
    min_size=1,
    max_size=6,
)


@given(flows_of, st.integers(1, 4), st.integers(1, 3))
def test_everything_starts_once_in_the_order_of_its_flow_and_time_moves_forward(
    told: list[tuple[int, int, float, float, UUID, float]], free: int, limit: int
) -> None:
    flows = [
        flow(owner, number, start=start, factor=factor, generator_id=generator, cost=cost)
        for owner, number, start, factor, generator, cost in told
    ]
    wanted = {one.id: [tag for tag, _ in one.tasks] for one in flows}
    starts = play(flows, free=free, workers=free, limit=limit)
    for one in flows:
        assert [s.tag for s in starts if s.flow_id == one.id] == wanted[one.id]
    assert [s.position for s in starts] == list(range(1, len(starts) + 1))
    for column in ("seconds", "virtual"):
        values = [getattr(s, column) for s in starts]
        if column == "seconds":
            assert values == sorted(values)
        assert all(value >= 0 for value in values)


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from([1.0, 4.0]))
def test_whoever_waits_gets_the_share_of_his_weight(mine: int, others: int, weight: float) -> None:
    flows = [flow(1, mine, factor=weight), flow(2, others)]
    both = owners_of(flows, play(flows))
    got, gave = 0, 0
    for owner in both:
        if got == mine or gave == others:
            break  # from here on only one of them waits
        got, gave = got + (owner == 1), gave + (owner == 2)
        assert abs(got / weight - gave) <= 2


def test_samples_keep_the_first_and_the_last_and_are_read_between_them() -> None:
    found = estimates.samples(play([flow(1, 100)]), most=5)
    (known,) = found.values()
    assert (known[0], known[-1], len(known)) == ((1.0, 1, 0.0), (100.0, 100, 990.0), 5)
    for tag in (40.0, 120.0):
        position, seconds = estimates.interpolated(known, tag)
        assert position == tag
        assert seconds == pytest.approx(10 * (tag - 1))


def test_who_comes_in_now_starts_behind_what_is_as_early_as_he() -> None:
    starts = play([flow(1, 3), flow(2, 3)])
    assert estimates.entry(starts, WIDE, 0.0) == (3, 20.0)
    assert estimates.entry([], WIDE, 0.0) == (1, 0.0)
