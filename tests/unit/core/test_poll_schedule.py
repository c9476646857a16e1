"""When an upstream is asked: intervals, hints, caps and refusals."""

import math
import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.core.remote import schedule
from tasks_app.generators.errors import Busy, GeneratorError, NoAnswer
from tasks_app.generators.remote import Pace
from tasks_app.generators.upstream import Reply, clipped, fraction, judge, retry_after

PACE = Pace(2.0, 15.0)


@given(st.integers(0, 500), st.booleans())
def test_intervals_stay_within_floor_and_cap(asked: int, rare: bool) -> None:
    longest = 60.0 if rare else 15.0
    for pace in (PACE, Pace(2.0, 15.0, "fibonacci")):
        assert 1.0 <= schedule.interval(pace, asked, rare=rare) <= longest


@given(st.floats(0, 1e9), st.booleans())
def test_informed_intervals_follow_the_age(age: float, rare: bool) -> None:
    longest = 0.84 * 15.0 * (4 if rare else 1)
    assert 1.0 <= schedule.informed(PACE, age, rare=rare) <= longest


@given(st.floats(allow_nan=False), st.integers(0, 50))
def test_a_hint_makes_it_later_and_not_for_ever(hint: float, asked: int) -> None:
    assert min(max(hint, 0.0), 300.0) <= schedule.after(PACE, asked, hint) <= 300.0
    assert schedule.first(PACE, 20.0, hint) >= 9.5


def test_the_cap_ends_no_healthy_task() -> None:
    """Not even with the luck of always asking early: its deadline comes first."""
    for pace in (PACE, Pace(3.0, 30.0), Pace(0.1, 1.0)):
        for _ in range(50):
            elapsed, asked = 0.0, 0
            while elapsed < 900:
                elapsed += schedule.after(pace, asked, None)
                asked += 1
            assert asked < schedule.most_polls(pace, 900)


def around_two_minutes() -> float:
    return random.lognormvariate(math.log(120), 0.5)


def around_half_a_minute() -> float:
    return random.lognormvariate(math.log(30), 0.5)


def up_to_five_minutes() -> float:
    return random.uniform(30, 300)


@pytest.mark.parametrize("duration", [around_half_a_minute, around_two_minutes, up_to_five_minutes])
def test_half_the_questions_at_no_later_notice(duration: Callable[[], float]) -> None:
    """Against full jitter; what is known of earlier work is what was noticed of it."""
    random.seed(7)
    pace = Pace(2.0, 15.0)
    found = {known: [] for known in (True, False)}  # type: dict[bool, list[tuple[int, float]]]
    for known, seen in found.items():
        noticed: list[float] = []
        for _ in range(4_000):
            took = duration()
            number, at = asked(pace, took, early(noticed) if known else None)
            noticed.append(at)
            seen.append((number, at - took))
    questions = {known: sum(n for n, _ in seen) for known, seen in found.items()}
    late = {known: sorted(s for _, s in seen)[3_800] for known, seen in found.items()}
    assert questions[True] <= 0.5 * questions[False]
    assert late[True] <= late[False] * 1.03


def test_an_upstream_that_has_become_faster_is_found_out() -> None:
    """Within some dozens of generations; without scouts it took some hundreds."""
    random.seed(7)
    noticed = [60.0 + random.uniform(0, 5) for _ in range(50)]
    for _ in range(100):
        noticed.append(asked(PACE, random.uniform(3, 5), early(noticed))[1])
    assert max(noticed[-20:]) < 10.0


def early(noticed: list[float]) -> float | None:
    """As ``records.early_seconds`` has it, to within a hundredth of the next one."""
    return min(noticed[-50:]) if len(noticed) >= 10 else None


def asked(pace: Pace, took: float, first: float | None) -> tuple[int, float]:
    """Ask about a generation until it has ended; returns how often, and when that was noticed."""
    at, number = schedule.first(pace, first, None), 1
    while at < took:
        at += schedule.after(pace, number, None, age=at, known=first is not None)
        number += 1
    return number, at


@given(st.floats(1, 3_600), st.floats(10, 86_400))
def test_waits_for_the_storage_stay_below_the_most_polls(cap: float, timeout: float) -> None:
    pace, at, number = Pace(1.0, cap), 0.0, 0
    while at < timeout and number < 20_000:
        at += schedule.for_storage(pace)
        number += 1
    assert number <= schedule.most_polls(pace, timeout)


NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given_", "seconds"),
    [
        ("120", 120.0),
        ("0.5", 0.5),
        ("-7", 0.0),
        ("1e400", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Thu, 01 Jan 2026 12:01:00 GMT", 60.0),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("Thu, 99 Jan 2026 11:00:00 GMT", None),
    ],
)
def test_retry_after(given_: str, seconds: float | None) -> None:
    assert retry_after(Reply(429, {"retry-after": given_}), NOW) == seconds


@given(st.one_of(st.none(), st.floats(0, 1e12)), st.integers(0, 1_000))
def test_refusals_are_held_off_within_bounds(asked: float | None, refusals: int) -> None:
    seconds = schedule.held_off(asked, refusals)
    assert 0.0 <= seconds <= 3_961.0
    if asked is not None:
        assert seconds >= min(asked, 3_600.0)


@pytest.mark.parametrize("status", range(100, 600))
def test_every_status_has_a_meaning(status: int) -> None:
    if 200 <= status < 300:
        judge(Reply(status))
        return
    with pytest.raises(GeneratorError) as caught:
        judge(Reply(status), "said\n so")
    error = caught.value
    assert isinstance(error, Busy) is (status in (429, 503, 401, 402, 403) or 300 <= status < 400)
    unknown = status in (408, 502, 504) or 520 <= status <= 524
    assert isinstance(error, NoAnswer) is unknown
    if status in (400, 404, 422):
        assert (error.code, error.detail, error.retryable) == (
            "upstream_rejected",
            "said so",
            False,
        )
    if status in (500, 501, 505):
        assert error.retryable


@pytest.mark.parametrize(
    ("value", "found"),
    [(50, 0.5), (33.5, 0.335), (-1, 0.0), (900, 1.0), ("50", None), (None, None), (True, None)],
)
def test_progress_is_read_leniently(value: object, found: float | None) -> None:
    assert fraction(value, 100.0) == found


def test_a_progress_beyond_all_floats_is_none() -> None:
    assert fraction(10**400) is None


def test_what_an_upstream_says_is_one_line_that_can_be_shown_anywhere() -> None:
    assert clipped(" a\x1b[31m\tb\0\x85c \ud800\n") == "a [31m b c"
    assert clipped("é中文\u200d👩") == "é中文\u200d👩"
    assert len(clipped("x" * 1_000)) == 300
