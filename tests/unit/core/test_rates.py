"""The submit rate, against a simulation that keeps every arrival."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from tasks_app.core.rates import conform

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_burst_passes_and_the_next_is_told_when() -> None:
    tat = None
    for expected_left in (2, 1, 0):
        verdict = conform(tat, START, 10, 3)
        assert (verdict.allowed, verdict.remaining) == (True, expected_left)
        tat = verdict.tat
    refused = conform(tat, START, 10, 3)
    assert (refused.allowed, refused.retry_after) == (False, 10.0)
    assert conform(tat, START + timedelta(seconds=9.9), 10, 3).allowed is False
    assert conform(tat, START + timedelta(seconds=10), 10, 3).allowed is True


def test_no_interval_means_no_limit() -> None:
    assert all(conform(START + timedelta(days=9), START, 0, 1).allowed for _ in range(5))


@given(
    st.lists(st.floats(0, 30), min_size=1, max_size=60),
    st.sampled_from([0.5, 1.0, 10.0]),
    st.integers(1, 5),
)
def test_never_more_than_burst_plus_rate_in_any_window(
    gaps: list[float], interval: float, burst: int
) -> None:
    now, tat, accepted = START, None, []
    for gap in gaps:
        now += timedelta(seconds=gap)
        verdict = conform(tat, now, interval, burst)
        if verdict.allowed:
            tat = verdict.tat
            accepted.append(now)
        else:
            later = now + timedelta(seconds=verdict.retry_after + 1e-5)
            assert conform(tat, later, interval, burst).allowed
    for first in range(len(accepted)):
        for last in range(first, len(accepted)):
            window = (accepted[last] - accepted[first]).total_seconds()
            assert last - first + 1 <= burst + window / interval + 1e-3


def test_a_faster_rate_acts_at_once() -> None:
    slow = conform(None, START, 86_400, 1)
    assert not conform(slow.tat, START, 86_400, 1).allowed
    faster = conform(slow.tat, START, 10, 3)
    assert (faster.allowed, faster.remaining) == (True, 0)
    assert conform(faster.tat, START, 10, 3).retry_after == 10
    assert conform(faster.tat, START + timedelta(seconds=10), 10, 3).allowed
