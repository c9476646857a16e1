"""What follows a failed attempt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.core.decisions import (
    Again,
    Over,
    after_error,
    after_interruption,
    after_loss,
    full_jitter,
)
from tasks_app.lifecycle import ErrorCode


@pytest.mark.parametrize(
    ("retryable", "failures", "budget", "attempts", "again"),
    [
        (False, 1, 3, 1, False),
        (True, 1, 3, 1, True),
        (True, 2, 3, 2, True),
        (True, 3, 3, 3, False),
        (True, 1, 1, 1, False),
        (True, 1, 3, 50, False),
        (True, 1, 3, 49, True),
    ],
)
def test_an_error_is_tried_again_within_budget_and_cap(
    retryable: bool, failures: int, budget: int, attempts: int, again: bool
) -> None:
    decision = after_error(
        ErrorCode.UPSTREAM_ERROR,
        retryable=retryable,
        failures=failures,
        budget=budget,
        attempts=attempts,
        cap=50,
    )
    assert isinstance(decision, Again) is again
    if not again:
        assert decision == Over(ErrorCode.UPSTREAM_ERROR)


def test_a_lost_worker_is_replaced_at_once_until_the_budget_is_spent() -> None:
    assert after_loss(failures=2, budget=3, attempts=2, cap=50) == Again(0.0)
    assert after_loss(failures=3, budget=3, attempts=3, cap=50) == Over(ErrorCode.WORKER_LOST)


def test_interruptions_cost_no_budget_but_end_at_the_cap() -> None:
    assert after_interruption(attempts=49, cap=50) == Again(0.0)
    assert after_interruption(attempts=50, cap=50) == Over(ErrorCode.WORKER_LOST)


@given(st.integers(-5, 10_000), st.floats(0.01, 100), st.floats(0.01, 1000))
def test_full_jitter_stays_within_its_cap(failures: int, base: float, cap: float) -> None:
    assert 0.0 <= full_jitter(failures, base, cap) <= cap
