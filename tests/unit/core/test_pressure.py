"""How an upstream is pressed: the rules, without a clock and without a database."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tasks_app.core.pressure import Fact, State, after

START = datetime(2026, 1, 1, tzinfo=UTC)


def step(state: State, fact: Fact, at: float, most: int = 20, **more: float) -> State:
    now = START + timedelta(seconds=at)
    return after(state, fact, now=now, begun=now, most=most, **more)


def test_a_busy_upstream_gets_less_and_then_one_more_for_every_twenty() -> None:
    state = step(State(), Fact.BUSY, 0)
    assert state.limit == 14
    state = step(state, Fact.BUSY, 1)
    assert round(state.limit or 0, 1) == 9.8
    for number in range(40):
        state = step(state, Fact.TAKEN, 2 + number)
    assert round(state.limit or 0, 1) == 11.8
    for number in range(400):
        state = step(state, Fact.TAKEN, 100 + number)
    assert state.limit is None, "its own limit again"


def test_what_was_sent_before_the_limit_was_lowered_lowers_it_no_further() -> None:
    now = START + timedelta(seconds=5)
    state = after(State(), Fact.BUSY, now=now, begun=START, most=20)
    for _ in range(10):
        state = after(state, Fact.BUSY, now=now + timedelta(seconds=1), begun=START, most=20)
    assert state.limit == 14


def test_never_less_than_one() -> None:
    state = State()
    for number in range(50):
        state = step(state, Fact.BUSY, number)
    assert state.limit == 1


def test_holds_are_clamped() -> None:
    assert step(State(), Fact.BUSY, 0).hold_until is None
    for asked, seconds in ((10.0, 10), (1e12, 300)):
        state = step(State(), Fact.BUSY, 0, retry_after=asked)
        assert state.hold_until == START + timedelta(seconds=seconds)
    assert step(State(), Fact.BUSY, 0, retry_after=-5.0).hold_until is None
    assert step(State(), Fact.OURS, 0).hold_until == START + timedelta(seconds=30)
    longer = step(step(State(), Fact.BUSY, 0, retry_after=100.0), Fact.BUSY, 1, retry_after=1.0)
    assert longer.hold_until == START + timedelta(seconds=100)


def test_the_circuit_opens_at_half_of_ten_and_doubles() -> None:
    state = State()
    for number in range(9):
        state = step(state, Fact.FAILED, number)
    assert state.open_until is None, "nine are too few"
    state = step(state, Fact.FAILED, 9)
    assert state.open_until == START + timedelta(seconds=39)
    seconds, at = 30.0, 40.0
    for expected in (60.0, 120.0, 240.0, 300.0, 300.0):
        probing = State(
            open_until=START + timedelta(seconds=at - 1),
            open_seconds=seconds,
            probe_at=START + timedelta(seconds=at),
        )
        state = step(probing, Fact.FAILED, at)
        assert (state.open_seconds, state.probe_at) == (expected, None)
        seconds = expected
    shut = State(
        open_until=START,
        open_seconds=60.0,
        probe_at=START + timedelta(seconds=1),
    )
    state = step(shut, Fact.TAKEN, 2)
    assert (state.open_until, state.open_seconds, state.window) == (None, 0.0, ())


def test_answers_from_before_the_circuit_opened_do_not_close_it() -> None:
    shut = State(open_until=START + timedelta(seconds=30), open_seconds=30.0)
    for fact in Fact:
        assert step(shut, fact, 1).open_until == shut.open_until


def test_old_failures_are_forgotten() -> None:
    state = State()
    for number in range(9):
        state = step(state, Fact.FAILED, number)
    state = step(state, Fact.FAILED, 90)
    assert (state.open_until, len(state.window)) == (None, 1)


def test_being_busy_opens_no_circuit() -> None:
    state = State()
    for number in range(100):
        state = step(state, Fact.BUSY, number)
    assert state.open_until is None


@given(st.lists(st.tuples(st.sampled_from(Fact), st.floats(0, 30)), max_size=200))
def test_it_stays_within_its_bounds(facts: list[tuple[Fact, float]]) -> None:
    state, at = State(), 0.0
    for fact, pause in facts:
        at += pause
        state = step(state, fact, at, most=7)
        assert state.limit is None or 1 <= state.limit < 7
        assert state.open_seconds <= 300
        assert len(state.window) <= 12
        assert 0 <= state.tokens <= 10
